// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <span>
#include <system_error>

#include <adverb/core/detail/hardening.hpp>
#include <adverb/pool/registration_cache.hpp>

namespace adverb::inline ADVERB_ABI {

ADVERB_FUNC registration_cache::registration_cache(protection_domain_ref domain,
                                                   const registration_cache_options& options,
                                                   on_failure policy)
    : domain_{domain}, options_{options} {
  options_.rights = options.rights - access_right::on_demand;
  policy.clear();
  if (!options.on_demand ||
      !detail::check_present(policy, "registration_cache", domain.native_handle()))
    return;
  const device_attributes device = domain.context().query_device(policy);
  if (device.on_demand_paging().features.contains(paging_feature::explicit_registration))
    options_.rights |= access_right::on_demand;
}

ADVERB_FUNC registration_cache::~registration_cache() {
  detail::require(in_use_.empty(), "registration_cache",
                  "the cache is destroyed while a cached_region of it lives");
}

ADVERB_FUNC cached_region registration_cache::region(const dmabuf_range& range, on_failure policy) {
  return find({.space = range.file_descriptor,
               .device_base = range.device_address - range.offset,
               .begin = range.offset},
              range.length, policy);
}

ADVERB_FUNC cached_region registration_cache::find(const detail::byte_range& memory,
                                                   on_failure policy) {
  using key = detail::cached_key;
  return find({.space = memory.constant ? key::const_memory : key::process_memory,
               .device_base = 0,
               .begin = memory.address()},
              memory.length, policy);
}

ADVERB_FUNC cached_region registration_cache::find(const detail::cached_key& key,
                                                   std::size_t length, on_failure policy) {
  const std::lock_guard lock{mutex_};
  policy.clear();
  entry found = covering(key, key.begin + length);
  if (found == in_use_.end() && key.space == detail::cached_key::const_memory) {
    detail::cached_key writable = key;
    writable.space = detail::cached_key::process_memory;
    found = covering(writable, key.begin + length);
  }
  if (found != in_use_.end()) {
    ++hits_;
    if (found->users++ == 0) in_use_.splice(in_use_.end(), idle_, found);
    return {*this, found, key.begin, length};
  }
  ++misses_;
  if (!make_room(length)) {
    policy.report(ENOBUFS, "registration_cache::region", [&](failure_description& description) {
      description.explain(
          "{} more bytes would exceed the limits of {} regions and {} bytes: {} regions with {} "
          "bytes are registered, and {} regions are in use",
          {length, options_.max_regions, options_.max_bytes, in_use_.size() + idle_.size(), bytes_,
           in_use_.size()});
    });
    return {};
  }
  memory_region region = registered(key, length, policy);
  if (!region) return {};
  return add(key, length, std::move(region));
}

ADVERB_FUNC registration_cache::entry registration_cache::covering(const detail::cached_key& key,
                                                                   std::uint64_t end) noexcept {
  const auto after = index_.upper_bound(key);
  if (after == index_.begin()) return in_use_.end();
  // The last region that begins early enough has the highest end.
  const auto& [at, found] = *std::prev(after);
  return at.is_beside(key) && found->end >= end ? found : in_use_.end();
}

ADVERB_FUNC memory_region registration_cache::registered(const detail::cached_key& key,
                                                         std::size_t length, on_failure policy) {
  adverb::failure why;
  for (;;) {
    memory_region made;
    if (key.space >= 0) {
      made = memory_region::of_dmabuf(domain_,
                                      {.file_descriptor = key.space,
                                       .offset = key.begin,
                                       .length = length,
                                       .device_address = key.device_base + key.begin},
                                      options_.rights - access_right::on_demand, why);
    } else {
      const std::span memory{reinterpret_cast<std::byte*>(key.begin), length};
      if (key.space == detail::cached_key::const_memory)
        made = memory_region{domain_, std::span<const std::byte>{memory},
                             options_.rights - detail::writing_rights, why};
      else
        made = memory_region{domain_, memory, options_.rights, why};
    }
    if (made) return made;
    if (!detail::is_code(why.code(), std::errc::not_enough_memory) || !evict()) break;
  }
  policy.report(why);
  return {};
}

ADVERB_FUNC cached_region registration_cache::add(const detail::cached_key& key, std::size_t length,
                                                  memory_region&& region) {
  entries made;
  made.push_back({.key = key, .end = key.begin + length, .region = std::move(region)});
  auto at = index_.lower_bound(key);
  while (at != index_.end() && at->first.is_beside(key) && at->second->end <= made.front().end)
    at = unindex(at);
  index_.emplace_hint(at, key, made.begin());
  bytes_ += length;
  in_use_.splice(in_use_.end(), made);
  return {*this, std::prev(in_use_.end()), key.begin, length};
}

ADVERB_FUNC bool registration_cache::make_room(std::size_t length) noexcept {
  if (length > options_.max_bytes || options_.max_regions == 0) return false;
  while (in_use_.size() + idle_.size() >= options_.max_regions ||
         bytes_ > options_.max_bytes - length)
    if (!evict()) return false;
  return true;
}

ADVERB_FUNC bool registration_cache::evict() noexcept {
  if (idle_.empty()) return false;
  ++evictions_;
  unindex(index_.find(idle_.front().key));
  return true;
}

ADVERB_FUNC registration_cache::index::iterator registration_cache::unindex(
    index::iterator which) noexcept {
  const entry removed = which->second;
  const auto next = index_.erase(which);
  removed->is_indexed = false;
  if (removed->users == 0) erase(idle_, removed);
  return next;
}

ADVERB_FUNC void registration_cache::erase(entries& from, entry which) noexcept {
  bytes_ -= which->end - which->key.begin;
  from.erase(which);
}

ADVERB_FUNC void registration_cache::release(entry which) noexcept {
  const std::lock_guard lock{mutex_};
  if (--which->users != 0) return;
  if (which->is_indexed)
    idle_.splice(idle_.end(), in_use_, which);
  else
    erase(in_use_, which);
}

ADVERB_FUNC void registration_cache::forget(int space, std::uint64_t begin,
                                            std::uint64_t end) noexcept {
  auto at = index_.lower_bound({.space = space, .device_base = 0, .begin = end});
  while (at != index_.begin()) {
    const auto before = std::prev(at);
    if (before->first.space != space || before->second->end <= begin) return;
    at = unindex(before);
  }
}

ADVERB_FUNC std::size_t registration_cache::forget(const detail::byte_range& memory) noexcept {
  if (memory.length == 0) return 0;
  const std::lock_guard lock{mutex_};
  const std::uint64_t begin = memory.address();
  const std::uint64_t end = begin + memory.length;
  forget(detail::cached_key::process_memory, begin, end);
  forget(detail::cached_key::const_memory, begin, end);
  return static_cast<std::size_t>(
      std::count_if(in_use_.begin(), in_use_.end(), [&](const detail::cached_entry& each) {
        return each.key.space < 0 && each.key.begin < end && each.end > begin;
      }));
}

ADVERB_FUNC std::size_t registration_cache::forget_dmabuf(int file_descriptor) noexcept {
  if (file_descriptor < 0) return 0;
  const std::lock_guard lock{mutex_};
  auto at = index_.lower_bound({.space = file_descriptor, .device_base = 0, .begin = 0});
  while (at != index_.end() && at->first.space == file_descriptor) at = unindex(at);
  return static_cast<std::size_t>(std::count_if(
      in_use_.begin(), in_use_.end(),
      [&](const detail::cached_entry& each) { return each.key.space == file_descriptor; }));
}

ADVERB_FUNC registration_cache_statistics registration_cache::statistics() const noexcept {
  const std::lock_guard lock{mutex_};
  return {.hits = hits_,
          .misses = misses_,
          .evictions = evictions_,
          .regions = in_use_.size() + idle_.size(),
          .in_use = in_use_.size(),
          .bytes = bytes_};
}

}  // namespace adverb::inline ADVERB_ABI
