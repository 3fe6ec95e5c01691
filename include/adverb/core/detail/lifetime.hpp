// SPDX-License-Identifier: MIT
// The lifetime checker: counts the live children of verbs objects, in a table beside the objects.
// It counts the children that adverb made. It costs a few hundred instructions when an object is
// made or destroyed, and nothing otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <utility>

#include <adverb/core/detail/live_objects.hpp>
#include <adverb/core/detail/side_table.hpp>
#include <adverb/core/object_kind.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// The table of the lifetime checker. Thread safe. Aborts the program if memory for an entry runs
/// out.
class [[gnu::visibility("default")]] lifetime_registry : public side_table<lifetime_registry> {
 public:
  void add_child(const void* parent, object_kind kind) noexcept {
    const lock guard{*this};
    ++objects_.find_or_add(parent).children.of[static_cast<std::size_t>(kind)];
  }

  void remove_child(const void* parent, object_kind kind) noexcept {
    const lock guard{*this};
    live_object* const found = objects_.find(parent);
    if (found == nullptr) return;
    std::uint32_t& count = found->children.of[static_cast<std::size_t>(kind)];
    // Zero if C code has changed the object's parent since it was counted.
    if (count == 0) return;
    --count;
    if (found->empty()) objects_.remove(found);
  }

  [[nodiscard]] child_counts children_of(const void* parent) noexcept {
    const lock guard{*this};
    const live_object* const found = objects_.find(parent);
    return found == nullptr ? child_counts{} : found->children;
  }

  /// Stores the parents of an object until they are replaced or taken.
  void note_parents(const void* child, const void* const* parents, std::size_t count) noexcept {
    if (count == 0) return;
    const lock guard{*this};
    objects_.find_or_add(child).parents.assign(parents, parents + count);
  }
  [[nodiscard]] noted_parents noted_parents_of(const void* child) noexcept {
    const lock guard{*this};
    const live_object* const found = objects_.find(child);
    return found == nullptr ? noted_parents{} : found->parents;
  }
  /// Returns the stored parents of an object and removes them.
  noted_parents take_noted_parents(const void* child) noexcept {
    const lock guard{*this};
    live_object* const found = objects_.find(child);
    if (found == nullptr) return {};
    noted_parents taken = std::exchange(found->parents, {});
    if (found->empty()) objects_.remove(found);
    return taken;
  }

 private:
  live_objects objects_;
};

/// Returns `made`, and stores the parents that its C struct does not name. The type of `parents`
/// needs no allocation, which could throw after the object was made.
// Two names, because the compiler would compare every list of parents with all conversions to an
// overload's range parameter.
// See docs/decisions.md, "Parents that the C struct does not name".
template <class Native>
[[nodiscard]] Native* with_parents(Native* made,
                                   std::initializer_list<const void*> parents) noexcept {
  if (made != nullptr)
    lifetime_registry::instance().note_parents(made, parents.begin(), parents.size());
  return made;
}
template <class Native>
[[nodiscard]] Native* with_parents_of(Native* made, const noted_parents& parents) noexcept {
  if (made != nullptr)
    lifetime_registry::instance().note_parents(made, parents.data(), parents.size());
  return made;
}

}  // namespace adverb::inline ADVERB_ABI::detail
