// SPDX-License-Identifier: MIT
// The lifetime checker: counts, for every verbs object that adverb knows, the live children that
// adverb made for it, in a table beside the objects. It costs a few hundred instructions when an
// object is made or destroyed, and nothing at any other time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <adverb/core/object_kind.hpp>
#include <adverb/core/side_table.hpp>
#include <adverb/core/text.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// How many live children an object has, by kind.
struct child_counts {
  std::array<std::uint32_t, object_kinds> of{};

  [[nodiscard]] constexpr bool none() const noexcept {
    for (const std::uint32_t count : of)
      if (count != 0) return false;
    return true;
  }

  /// "1 memory region, 2 queue pairs".
  constexpr void write_to(text_writer& writer) const noexcept {
    std::string_view separator;
    for (std::size_t kind = 0; kind < object_kinds; ++kind) {
      if (of[kind] == 0) continue;
      writer.put(separator).decimal(of[kind]).put(" ").put(name_of(static_cast<object_kind>(kind)));
      writer.put(of[kind] == 1 ? "" : "s");
      separator = ", ";
    }
  }
};

/// The table. Thread safe. Running out of memory for an entry ends the program.
class [[gnu::visibility("default")]] lifetime_registry : public side_table<lifetime_registry> {
 public:
  void add_child(const void* parent, object_kind kind) noexcept {
    const lock guard{*this};
    ++objects_[parent].children.of[static_cast<std::size_t>(kind)];
  }

  void remove_child(const void* parent, object_kind kind) noexcept {
    const lock guard{*this};
    const auto found = objects_.find(parent);
    if (found == objects_.end()) return;
    std::uint32_t& count = found->second.children.of[static_cast<std::size_t>(kind)];
    // Zero when C code has given the object another parent since it was counted.
    if (count == 0) return;
    --count;
    if (found->second.empty()) objects_.erase(found);
  }

  [[nodiscard]] child_counts children_of(const void* parent) noexcept {
    const lock guard{*this};
    const auto found = objects_.find(parent);
    return found == objects_.end() ? child_counts{} : found->second.children;
  }

  /// The parents of an object whose C struct does not name them; null for none.
  using noted_parents = std::vector<const void*>;

  /// Remembers them until they are noted anew or taken.
  void note_parents(const void* child, std::span<const void* const> parents) noexcept {
    if (parents.empty()) return;
    const lock guard{*this};
    objects_[child].parents.assign(parents.begin(), parents.end());
  }
  [[nodiscard]] noted_parents noted_parents_of(const void* child) noexcept {
    const lock guard{*this};
    const auto found = objects_.find(child);
    return found == objects_.end() ? noted_parents{} : found->second.parents;
  }
  /// Hands out what was noted, and remembers it no more.
  noted_parents take_noted_parents(const void* child) noexcept {
    const lock guard{*this};
    const auto found = objects_.find(child);
    if (found == objects_.end()) return {};
    noted_parents taken = std::exchange(found->second.parents, {});
    if (found->second.empty()) objects_.erase(found);
    return taken;
  }

 private:
  struct object {
    child_counts children;
    noted_parents parents;

    [[nodiscard]] bool empty() const noexcept { return children.none() && parents.empty(); }
  };

  std::unordered_map<const void*, object> objects_;
};

/// Passes on what making an object gave, and notes the parents that its C struct does not name.
/// They are given as what needs no allocation, which could throw when the object is there already.
template <class Native>
[[nodiscard]] Native* with_parents(Native* made, std::span<const void* const> parents) noexcept {
  if (made != nullptr) lifetime_registry::instance().note_parents(made, parents);
  return made;
}
template <class Native>
[[nodiscard]] Native* with_parents(Native* made,
                                   std::initializer_list<const void*> parents) noexcept {
  return with_parents(made, std::span{parents.begin(), parents.size()});
}

}  // namespace adverb::inline ADVERB_ABI::detail
