// SPDX-License-Identifier: MIT
// The free blocks of a slab.
#include <cstddef>
#include <map>
#include <random>
#include <vector>

#include <adverb/pool/detail/block_tree.hpp>
#include <support/catch.hpp>

using adverb::detail::block_tree;

namespace {

constexpr unsigned order = 8;
constexpr std::size_t all = std::size_t{1} << order;

/// The lowest first unit that a block may have, by trying each.
bool is_possible(const std::vector<bool>& taken, std::size_t units, std::size_t alignment) {
  std::size_t step = alignment;
  while (step < units) step *= 2;
  for (std::size_t first = 0; first + step <= all; first += step) {
    bool is_free = true;
    for (std::size_t unit = first; unit < first + step; ++unit) is_free = is_free && !taken[unit];
    if (is_free) return true;
  }
  return false;
}

/// Thousands of blocks of any size, in any order.
void run(unsigned seed) {
  block_tree tree{order};
  std::vector<bool> taken(all);
  std::map<std::size_t, std::size_t> blocks;
  std::mt19937 random{seed};
  for (int step = 0; step < 4000; ++step) {
    if (random() % 2 == 0 && !blocks.empty()) {
      auto chosen = std::next(blocks.begin(), static_cast<int>(random() % blocks.size()));
      REQUIRE(tree.give_back(chosen->first, chosen->second));
      for (std::size_t unit = 0; unit < chosen->second; ++unit) taken[chosen->first + unit] = false;
      blocks.erase(chosen);
    } else {
      const std::size_t units = 1 + random() % (random() % 8 == 0 ? all : 12);
      const std::size_t alignment = std::size_t{1} << (random() % 4);
      const auto first = tree.take(units, alignment);
      REQUIRE(first.has_value() == is_possible(taken, units, alignment));
      if (first) {
        REQUIRE(*first % alignment == 0);
        REQUIRE(*first + units <= all);
        for (std::size_t unit = *first; unit < *first + units; ++unit) {
          REQUIRE_FALSE(taken[unit]);
          taken[unit] = true;
        }
        blocks.emplace(*first, units);
      }
    }
    REQUIRE(tree.is_whole() == blocks.empty());
  }
}

}  // namespace

TEST_CASE("Any sequence of takes and returns finds every block that is free") {
  for (unsigned seed = 1; seed <= 10; ++seed) {
    CAPTURE(seed);
    run(seed);
  }
}

TEST_CASE("The rest of a power of two stays free") {
  block_tree tree{3};
  CHECK(tree.take(5, 1) == 0U);
  CHECK(tree.take(2, 1) == 6U);
  CHECK(tree.take(1, 1) == 5U);
  CHECK_FALSE(tree.take(1, 1));
}

TEST_CASE("Giving back units that are free, or outside the slab, fails") {
  block_tree tree{3};
  CHECK_FALSE(tree.give_back(0, 1));
  REQUIRE(tree.take(2, 1) == 0U);
  CHECK_FALSE(tree.give_back(7, 2));
  CHECK_FALSE(tree.give_back(8, 1));
  CHECK(tree.give_back(0, 2));
  CHECK_FALSE(tree.give_back(0, 2));
}

TEST_CASE("A block is taken from the smaller free block that suffices") {
  for (const bool is_left_smaller : {true, false}) {
    block_tree tree{3};
    for (std::size_t each = 0; each < 8; each += 2) REQUIRE(tree.take(2, 1) == each);
    const std::size_t of_smaller = is_left_smaller ? 0 : 4;
    REQUIRE(tree.give_back(4 - of_smaller, 2));
    REQUIRE(tree.give_back(6 - of_smaller, 2));
    REQUIRE(tree.give_back(of_smaller + 2, 2));
    CHECK(tree.take(1, 1) == of_smaller + 2);
    CHECK(tree.take(4, 1) == 4 - of_smaller);
  }
}
