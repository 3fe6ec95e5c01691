// SPDX-License-Identifier: MIT
// The ends of streams and rings: numbered bytes, and the description of a ring that crosses the
// connection of the ring.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <system_error>
#include <vector>

#include <adverb/async.hpp>
#include <adverb/remote.hpp>

#include "cm/async_side.hpp"

namespace async_test {

/// The byte at a position of a stream.
[[nodiscard]] constexpr std::byte byte_at(std::uint64_t position) {
  return static_cast<std::byte>((position * 2654435761U) >> 24U);
}

/// Writes numbered bytes, up to `most` at once.
inline async::task<> write_numbered(const remote_stream& to, std::uint64_t total,
                                    std::uint32_t most, std::uint32_t seed) {
  std::mt19937 random{seed};
  std::vector<std::byte> bytes;
  for (std::uint64_t written = 0; written < total; written += bytes.size()) {
    bytes.resize(
        static_cast<std::size_t>(std::min<std::uint64_t>(1 + random() % most, total - written)));
    for (std::size_t each = 0; each < bytes.size(); ++each) bytes[each] = byte_at(written + each);
    co_await to.write(bytes);
  }
}

/// Reads numbered bytes to the end, up to `most` at once. Returns their number; 0 if one is wrong.
inline async::task<std::uint64_t> read_numbered(const remote_stream& from, std::uint32_t most,
                                                std::uint32_t seed) {
  std::mt19937 random{seed};
  std::vector<std::byte> bytes(most);
  bool is_right = true;
  std::uint64_t total = 0;
  while (true) {
    const std::size_t size = co_await from.read(std::span{bytes}.first(1 + random() % most));
    if (size == 0) co_return is_right ? total : 0;
    for (std::size_t each = 0; each < size; ++each)
      is_right = bytes[each] == byte_at(total++) && is_right;
  }
}

inline async::task<> send_bytes(const async::connection& to, std::span<const std::byte> bytes) {
  const async::loop_memory memory = to.memory(bytes.size());
  std::ranges::copy(bytes, memory.bytes().begin());
  co_await to.send(memory.buffer());
}

inline constexpr async::connection_options for_rings{.max_send_wr = 16,
                                                     .receives = 80,
                                                     .block_size = 256,
                                                     .connect_timeout = std::chrono::seconds{30},
                                                     .end_timeout = std::chrono::minutes{1}};

/// Longer than the requests that soft-iWARP sends wrongly now and then.
struct record {
  std::uint64_t number = 0;
  std::array<std::uint64_t, 4> words{};
};

[[nodiscard]] inline record numbered(std::uint64_t number) {
  return {.number = number, .words = {number * 3, ~number, number ^ 0x5a5a, number}};
}
[[nodiscard]] inline bool is_numbered(const record& read, std::uint64_t number) {
  const record expected = numbered(number);
  return read.number == number && read.words == expected.words;
}

/// Sends a description, when the writer's side has sent a message: over iWARP, the connecting side
/// is the first to send.
inline async::task<> describe_to(const async::connection& writer, const ring_description& ring) {
  const async::message question = co_await writer.next();
  co_await send_bytes(writer, ring.encode());
}
inline async::task<ring_description> ask_for_ring(const async::connection& reader) {
  constexpr std::byte question[1]{};
  co_await send_bytes(reader, question);
  const async::message answer = co_await reader.next();
  if (!answer)
    throw std::system_error{std::make_error_code(std::errc::connection_reset), "no description"};
  co_return ring_description::decode(answer.bytes().first<ring_description::encoded_size>());
}

}  // namespace async_test
