// SPDX-License-Identifier: MIT
// Shared by the fuzz targets: the bytes of an input, and checks that hold in every build.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>

namespace fuzz {

/// Takes values from the front of an input; zeros behind its end.
class input {
 public:
  input(const std::uint8_t* data, std::size_t size)
      : rest_{reinterpret_cast<const std::byte*>(data), size} {}

  [[nodiscard]] bool is_empty() const noexcept { return rest_.empty(); }
  [[nodiscard]] std::uint8_t byte() noexcept {
    const std::span<const std::byte> one = bytes(1);
    return one.empty() ? std::uint8_t{0} : std::to_integer<std::uint8_t>(one.front());
  }
  /// Returns up to `count` bytes.
  [[nodiscard]] std::span<const std::byte> bytes(std::size_t count) noexcept {
    const std::span<const std::byte> taken = rest_.first(std::min(count, rest_.size()));
    rest_ = rest_.subspan(taken.size());
    return taken;
  }

 private:
  std::span<const std::byte> rest_;
};

/// Ends the program unless a property holds.
inline void require(bool holds, const char* property) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: %s\n", property);
  std::abort();
}

}  // namespace fuzz
