// SPDX-License-Identifier: MIT
// The messages that ping-pong programs send, and check with the option -c.
#pragma once

#include <cstddef>
#include <cstdio>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <unistd.h>

namespace examples {

/// Returns the byte at an offset of a message: rdma-core's programs begin each page with a zero.
[[nodiscard]] inline std::byte message_byte(std::size_t offset) {
  static const auto page_size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return offset % page_size == 0 ? std::byte{0} : std::byte{0x7b};
}

[[nodiscard]] inline std::vector<std::byte> make_message(std::size_t size) {
  std::vector<std::byte> message(size);
  for (std::size_t offset = 0; offset < size; ++offset) message[offset] = message_byte(offset);
  return message;
}

/// Throws if a message is not as it was made.
inline void check_message(std::span<const std::byte> message) {
  for (std::size_t offset = 0; offset < message.size(); ++offset) {
    if (message[offset] == message_byte(offset)) continue;
    throw std::runtime_error{"byte " + std::to_string(offset) + " of the last message is " +
                             std::to_string(std::to_integer<int>(message[offset])) + ", not " +
                             std::to_string(std::to_integer<int>(message_byte(offset))) +
                             "; does the peer send messages of this size?"};
  }
  std::printf("%zu bytes of the last message are correct\n", message.size());
}

}  // namespace examples
