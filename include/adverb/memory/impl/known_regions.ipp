// SPDX-License-Identifier: MIT
#pragma once

#include <adverb/core/ids.hpp>
#include <adverb/device/detail/explain_device.hpp>
#include <adverb/memory/detail/known_regions.hpp>

namespace adverb::inline ADVERB_ABI::detail {

[[gnu::noinline]] ADVERB_FUNC void known_regions::note(const ibv_mr* region) noexcept {
  if (region->pd == nullptr) return;
  const lock guard{*this};
  const key of{region->context, region->lkey};
  if (key* const gone = find_gone(of)) *gone = {};
  record** const place = place_of(of);
  if (*place == nullptr) *place = new record{of, 0, nullptr};
  (*place)->domain = region->pd->handle;
}

ADVERB_FUNC void known_regions::note_gone(const ibv_mr* region) noexcept {
  const lock guard{*this};
  const key of{region->context, region->lkey};
  if (*place_of(of) == nullptr) return;
  remove(of);
  gone_[next_gone_++ % kept] = of;
}

ADVERB_FUNC void known_regions::forget(const ibv_mr* region) noexcept {
  const lock guard{*this};
  remove({region->context, region->lkey});
}

ADVERB_FUNC known_regions::flaw known_regions::judge(const ibv_pd* domain,
                                                     std::uint32_t local_key) noexcept {
  const lock guard{*this};
  const key of{domain->context, local_key};
  if (const record* const found = *place_of(of))
    // A parent domain has the number of the domain that it extends.
    return found->domain == domain->handle ? flaw::none : flaw::other_domain;
  return find_gone(of) == nullptr ? flaw::none : flaw::region_gone;
}

[[gnu::noinline]] ADVERB_FUNC known_regions::record** known_regions::place_of(
    const key& of) noexcept {
  // The keys of several providers differ in their upper bits only.
  record** place = &buckets_[(of.local_key ^ of.local_key >> 8) % kept];
  while (*place != nullptr && (*place)->of != of) place = &(*place)->next;
  return place;
}

ADVERB_FUNC void known_regions::remove(const key& of) noexcept {
  record** const place = place_of(of);
  record* const found = *place;
  if (found == nullptr) return;
  *place = found->next;
  delete found;
}

ADVERB_FUNC known_regions::key* known_regions::find_gone(const key& of) noexcept {
  for (key& each : gone_)
    if (each == of) return &each;
  return nullptr;
}

ADVERB_FUNC void require_regions(const ibv_pd* domain, std::string_view call,
                                 const ibv_sge* elements, std::size_t count) noexcept {
  if (domain == nullptr) return;
  for (std::size_t index = 0; index < count; ++index) {
    const std::uint32_t key = elements[index].lkey;
    const known_regions::flaw found = known_regions::instance().judge(domain, key);
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
