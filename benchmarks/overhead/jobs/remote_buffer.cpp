// SPDX-License-Identifier: MIT
// A remote buffer is decoded from the bytes that a peer sent, and encoded again.
#include <array>
#include <cstring>

#include "job.hpp"

namespace {

using buffer = overhead::adverb_objects::remote_words;
using wire = std::array<std::byte, buffer::encoded_size>;

/// The bytes that arrive.
[[gnu::noinline]] void receive(wire& bytes, std::uint64_t address, std::uint64_t length,
                               std::uint32_t key) {
  std::uint32_t rights =
      IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
  std::memcpy(&bytes[0], &address, sizeof address);
  std::memcpy(&bytes[8], &length, sizeof length);
  std::memcpy(&bytes[16], &key, sizeof key);
  std::memcpy(&bytes[20], &rights, sizeof rights);
}

[[nodiscard]] std::uint64_t sum_of(std::uint64_t address, std::uint64_t length, std::uint32_t key) {
  return address + length + key;
}

std::uint64_t decode_in_c(overhead::c_objects c, std::uint64_t count) {
  wire bytes;
  receive(bytes, c.remote_address, c.memory_size, c.remote_key);
  std::uint64_t sum = 0;
  for (std::uint64_t index = 0; index < count; ++index) {
    // The bytes may be others in each turn.
    asm volatile("" : : "r"(&bytes) : "memory");
    std::uint64_t address;
    std::uint64_t length;
    std::uint32_t key;
    std::uint32_t rights;
    std::memcpy(&address, &bytes[0], sizeof address);
    std::memcpy(&length, &bytes[8], sizeof length);
    std::memcpy(&key, &bytes[16], sizeof key);
    std::memcpy(&rights, &bytes[20], sizeof rights);
    constexpr std::uint32_t wanted =
        IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
    if ((rights & wanted) != wanted || length % sizeof(std::uint64_t) != 0 ||
        address + length < address || address % sizeof(std::uint64_t) != 0)
      break;
    sum += sum_of(address, length, key);
  }
  return sum;
}

std::uint64_t decode(overhead::adverb_objects my, std::uint64_t count) {
  wire bytes;
  receive(bytes, my.remote.address(), my.remote.size_bytes(),
          static_cast<std::uint32_t>(my.remote.key()));
  std::uint64_t sum = 0;
  for (std::uint64_t index = 0; index < count; ++index) {
    asm volatile("" : : "r"(&bytes) : "memory");
    const buffer there = buffer::decode(bytes);
    sum += sum_of(there.address(), there.size_bytes(), static_cast<std::uint32_t>(there.key()));
  }
  return sum;
}

const overhead::listed_job listed{{.name = "remote buffer decoded",
                                   .careful_bar = 1.05,
                                   .reached = 1.23,
                                   .operations = 0,
                                   .careful = decode_in_c,
                                   .ordinary = decode_in_c,
                                   .with_adverb = decode}};

}  // namespace
