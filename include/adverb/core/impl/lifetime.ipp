// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <utility>

#include <adverb/core/detail/lifetime.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC void lifetime_registry::add_child(const void* parent, object_kind kind) noexcept {
  const lock guard{*this};
  ++objects_.find_or_add(parent).children.of[static_cast<std::size_t>(kind)];
}

ADVERB_FUNC void lifetime_registry::remove_child(const void* parent, object_kind kind) noexcept {
  const lock guard{*this};
  live_object* const found = objects_.find(parent);
  if (found == nullptr) return;
  std::uint32_t& count = found->children.of[static_cast<std::size_t>(kind)];
  // Zero if C code has changed the object's parent since it was counted.
  if (count == 0) return;
  --count;
  if (found->empty()) objects_.remove(found);
}

ADVERB_FUNC child_counts lifetime_registry::children_of(const void* parent) noexcept {
  const lock guard{*this};
  const live_object* const found = objects_.find(parent);
  return found == nullptr ? child_counts{} : found->children;
}

ADVERB_FUNC void lifetime_registry::note_parents(const void* child, const void* const* parents,
                                                 std::size_t count) noexcept {
  if (count == 0) return;
  const lock guard{*this};
  objects_.find_or_add(child).parents.assign(parents, parents + count);
}

ADVERB_FUNC noted_parents lifetime_registry::noted_parents_of(const void* child) noexcept {
  const lock guard{*this};
  const live_object* const found = objects_.find(child);
  return found == nullptr ? noted_parents{} : found->parents;
}

ADVERB_FUNC noted_parents lifetime_registry::take_noted_parents(const void* child) noexcept {
  const lock guard{*this};
  live_object* const found = objects_.find(child);
  if (found == nullptr) return {};
  noted_parents taken = std::exchange(found->parents, {});
  if (found->empty()) objects_.remove(found);
  return taken;
}

}  // namespace adverb::inline ADVERB_ABI::detail
