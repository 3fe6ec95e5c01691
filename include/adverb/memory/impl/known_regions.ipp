// SPDX-License-Identifier: MIT
#pragma once

#include <new>

#include <adverb/core/ids.hpp>
#include <adverb/device/detail/explain_device.hpp>
#include <adverb/memory/detail/known_regions.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC void known_regions::slot::write(const region_record& record) noexcept {
  __atomic_store_n(&version_, version_ + 1, __ATOMIC_RELAXED);
  __atomic_store_n(&record_.context, record.context, __ATOMIC_RELEASE);
  __atomic_store_n(&record_.local_key, record.local_key, __ATOMIC_RELEASE);
  __atomic_store_n(&record_.domain, record.domain, __ATOMIC_RELEASE);
  __atomic_store_n(&record_.is_gone, record.is_gone, __ATOMIC_RELEASE);
  __atomic_store_n(&version_, version_ + 1, __ATOMIC_RELEASE);
}

[[gnu::noinline]] ADVERB_FUNC void known_regions::note(const ibv_mr* region) noexcept {
  if (region->pd == nullptr) return;
  const lock guard{*this};
  slot* place = find(region);
  if (place == nullptr) place = &unused_in(bucket_of(region->lkey));
  place->write({region->context, region->lkey, region->pd->handle});
}

ADVERB_FUNC void known_regions::note_gone(const ibv_mr* region) noexcept {
  const lock guard{*this};
  slot* const place = find(region);
  if (place == nullptr || place->read().is_gone) return;
  region_record record = place->read();
  record.is_gone = true;
  place->write(record);
  place->went_after = gone_count_;
  slot*& entry = gone_[gone_count_++ % kept];
  // Not if its region was registered again since, even if that is gone too.
  if (entry != nullptr && entry->went_after + kept < gone_count_ && entry->read().is_gone)
    entry->write({});
  entry = place;
}

ADVERB_FUNC void known_regions::forget(const ibv_mr* region) noexcept {
  const lock guard{*this};
  if (slot* const place = find(region)) place->write({});
}

ADVERB_FUNC known_regions::flaw known_regions::judge(const ibv_pd* domain,
                                                     std::uint32_t local_key) noexcept {
  for (const slot* each = &bucket_of(local_key); each != nullptr; each = each->next()) {
    const region_record found = each->read();
    if (found.local_key != local_key || found.context != domain->context) continue;
    if (found.is_gone) return flaw::region_gone;
    // A parent domain has the number of the domain that it extends.
    return found.domain == domain->handle ? flaw::none : flaw::other_domain;
  }
  return flaw::none;
}

ADVERB_FUNC known_regions::slot* known_regions::find(const ibv_mr* region) noexcept {
  for (slot* each = &bucket_of(region->lkey); each != nullptr; each = each->next()) {
    const region_record found = each->read();
    if (found.context == region->context && found.local_key == region->lkey) return each;
  }
  return nullptr;
}

ADVERB_FUNC known_regions::slot& known_regions::unused_in(slot& bucket) noexcept {
  slot* last = &bucket;
  for (slot* each = last; each != nullptr; last = each, each = each->next())
    if (each->read().context == nullptr) return *each;
  slot* const added = new (std::nothrow) slot;
  if (added == nullptr) return lost_;
  last->append(added);
  return *added;
}

ADVERB_FUNC void require_regions(const ibv_pd* domain, const char* call, const ibv_sge* elements,
                                 std::size_t count) noexcept {
  if (domain == nullptr) return;
  known_regions& regions = known_regions::instance();
  for (std::size_t index = 0; index < count; ++index) {
    const std::uint32_t key = elements[index].lkey;
    const known_regions::flaw found = regions.judge(domain, key);
    if (found == known_regions::flaw::none) continue;
    end_program(call, [domain, index, key, found](failure_description& description) {
      description.object("{} pd {}", {domain->context->device->name, domain->handle})
          .explain("the region of buffer {} (lkey {}) {}",
                   {index, static_cast<lkey>(key),
                    found == known_regions::flaw::region_gone
                        ? "is gone: it was closed or destroyed"
                        : "belongs to another protection domain than the queue"});
    });
  }
}

}  // namespace adverb::inline ADVERB_ABI::detail
