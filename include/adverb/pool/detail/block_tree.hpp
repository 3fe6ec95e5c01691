// SPDX-License-Identifier: MIT
// The free blocks of a slab.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>

#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// The free units of a slab of 2^order units: a buddy system. Each node of a binary tree holds the
/// order of the largest free block below it. The tree lies outside the slab, so peers cannot write
/// it. A block has any number of units: it consists of the largest aligned powers of two. Taking
/// and giving back are logarithmic, and giving back allocates nothing. Not thread safe.
class block_tree {
 public:
  /// Makes a tree without units.
  block_tree() noexcept = default;
  /// Makes a tree of free units.
  explicit block_tree(unsigned order)
      : largest_{std::make_unique<std::uint8_t[]>(std::size_t{2} << order)}, order_{order} {
    for (unsigned depth = 0; depth <= order; ++depth)
      std::fill_n(&largest_[std::size_t{1} << depth], std::size_t{1} << depth, full(order - depth));
  }

  [[nodiscard]] explicit operator bool() const noexcept { return largest_ != nullptr; }
  /// Returns true if all units are free.
  [[nodiscard]] bool is_whole() const noexcept { return largest_[1] == full(order_); }

  /// Takes consecutive units. The first is a multiple of `alignment`, a power of two, and of the
  /// power of two that contains `units`. Returns the first unit, or nothing if no block is free.
  [[nodiscard]] std::optional<std::size_t> take(std::size_t units, std::size_t alignment) noexcept {
    const auto order = static_cast<unsigned>(std::bit_width(std::max(units, alignment) - 1));
    if (largest_[1] < full(order)) return std::nullopt;
    std::size_t node = 1;
    for (unsigned here = order_; here > order; --here) {
      const unsigned left = largest_[2 * node];
      const unsigned right = largest_[2 * node + 1];
      // The smaller block that suffices.
      const bool is_left = left >= full(order) && (right < full(order) || left <= right);
      node = 2 * node + (is_left ? 0 : 1);
    }
    const std::size_t first = (node << order) - (std::size_t{1} << order_);
    mark(first, units, false);
    return first;
  }

  /// Frees units that were taken together. Returns false if they were not.
  [[nodiscard]] bool give_back(std::size_t first, std::size_t units) noexcept {
    return mark(first, units, true);
  }

 private:
  /// The value of a node of 2^order units that are all free; 0 if none of them are.
  [[nodiscard]] static constexpr std::uint8_t full(unsigned order) noexcept {
    return static_cast<std::uint8_t>(order + 1);
  }

  /// Frees or takes units. Returns false if those to free are not taken.
  bool mark(std::size_t first, std::size_t units, bool is_free) noexcept {
    const std::size_t all = std::size_t{1} << order_;
    if (first >= all || units > all - first) return false;
    while (units > 0) {
      // std::bit_width does not return int everywhere.
      const int longest = std::numeric_limits<std::size_t>::digits - 1 - std::countl_zero(units);
      const auto order = static_cast<unsigned>(std::min(std::countr_zero(first | all), longest));
      const std::size_t node = (all + first) >> order;
      if (is_free && largest_[node] != 0) return false;
      largest_[node] = is_free ? full(order) : std::uint8_t{0};
      renew_above(node, order);
      first += std::size_t{1} << order;
      units -= std::size_t{1} << order;
    }
    return true;
  }

  void renew_above(std::size_t node, unsigned order) noexcept {
    while (node > 1) {
      node /= 2;
      const std::uint8_t left = largest_[2 * node];
      const std::uint8_t right = largest_[2 * node + 1];
      const bool is_whole = left == full(order) && right == full(order);
      ++order;
      const std::uint8_t value = is_whole ? full(order) : std::max(left, right);
      if (largest_[node] == value) return;
      largest_[node] = value;
    }
  }

  std::unique_ptr<std::uint8_t[]> largest_;
  unsigned order_ = 0;
};

}  // namespace adverb::inline ADVERB_ABI::detail
