// SPDX-License-Identifier: MIT
// The content of an entry from one rank to another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <stdexcept>
#include <string>

namespace examples {

/// An entry. Its bytes depend on all its numbers.
struct rank_entry {
  std::uint32_t seed = 0;
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint32_t number = 0;

  [[nodiscard]] std::byte operator[](std::size_t offset) const noexcept {
    std::uint64_t mixed = seed;
    for (const std::uint64_t each :
         {std::uint64_t{from}, std::uint64_t{to}, std::uint64_t{number}, std::uint64_t{offset}})
      mixed = (mixed + each) * 0x9e3779b97f4a7c15;
    return static_cast<std::byte>(mixed >> 56U);
  }
  void fill(std::span<std::byte> memory) const noexcept {
    for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = (*this)[i];
  }
  /// Throws if a byte differs.
  void check(std::span<const std::byte> memory) const {
    for (std::size_t i = 0; i < memory.size(); ++i)
      if (memory[i] != (*this)[i])
        throw std::runtime_error{"byte " + std::to_string(i) + " of entry " +
                                 std::to_string(number) + " from rank " + std::to_string(from) +
                                 " is wrong"};
  }
};

}  // namespace examples
