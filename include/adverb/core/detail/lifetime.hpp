// SPDX-License-Identifier: MIT
// The lifetime checker: counts the live children of verbs objects, in a table beside the objects.
// It counts the children that adverb made. It costs a few hundred instructions when an object is
// made or destroyed, and nothing otherwise.
#pragma once

#include <cstddef>
#include <initializer_list>

#include <adverb/core/detail/live_objects.hpp>
#include <adverb/core/detail/side_table.hpp>
#include <adverb/core/object_kind.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// The table of the lifetime checker. Thread safe. Aborts the program if memory for an entry runs
/// out.
class [[gnu::visibility("default")]] lifetime_registry : public side_table<lifetime_registry> {
 public:
  void add_child(const void* parent, object_kind kind) noexcept;

  void remove_child(const void* parent, object_kind kind) noexcept;

  [[nodiscard]] child_counts children_of(const void* parent) noexcept;

  /// Stores the parents of an object until they are replaced or taken.
  void note_parents(const void* child, const void* const* parents, std::size_t count) noexcept;
  [[nodiscard]] noted_parents noted_parents_of(const void* child) noexcept;
  /// Returns the stored parents of an object and removes them.
  noted_parents take_noted_parents(const void* child) noexcept;

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

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/core/impl/lifetime.ipp>
#endif
