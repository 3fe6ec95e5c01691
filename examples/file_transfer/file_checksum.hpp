// SPDX-License-Identifier: MIT
// The checksum with which the receiver checks that it has the sender's bytes.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <string>

#include <xxhash.h>

namespace file_transfer {

/// The form in which the checksum is sent, independent of byte order.
using digest = std::array<unsigned char, 16>;

[[nodiscard]] inline std::string to_hexadecimal(const digest& value) {
  std::string text;
  for (const unsigned char each : value) {
    constexpr char digits[] = "0123456789abcdef";
    text += digits[each / 16];
    text += digits[each % 16];
  }
  return text;
}

/// XXH3 with 128 bits: faster than any network, and what `xxhsum -H2` prints.
class file_checksum {
 public:
  file_checksum() : state_{XXH3_createState()} {
    if (!state_) throw std::bad_alloc{};
    XXH3_128bits_reset(state_.get());
  }

  void add(std::span<const std::byte> bytes) noexcept {
    XXH3_128bits_update(state_.get(), bytes.data(), bytes.size());
  }
  [[nodiscard]] digest value() const noexcept {
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state_.get()));
    return std::to_array(canonical.digest);
  }

 private:
  struct free_state {
    void operator()(XXH3_state_t* state) const noexcept { XXH3_freeState(state); }
  };

  std::unique_ptr<XXH3_state_t, free_state> state_;
};

}  // namespace file_transfer
