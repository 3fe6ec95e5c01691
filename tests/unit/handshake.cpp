// SPDX-License-Identifier: MIT
// The handshake of a channel.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <adverb/adverb.hpp>
#include <adverb/messages.hpp>
#include <support/catch.hpp>

using namespace adverb;
using detail::handshake;

namespace {

/// Returns a handshake with four bytes that are changed.
[[nodiscard]] std::vector<std::byte> changed(const handshake& of, std::size_t offset,
                                             std::uint32_t value) {
  const cm::private_data encoded = of.encode();
  std::vector<std::byte> bytes(encoded.bytes().begin(), encoded.bytes().end());
  for (std::size_t each = 0; each < 4; ++each) {
    bytes[offset + each] = static_cast<std::byte>(value & 0xffU);
    value >>= 8U;
  }
  return bytes;
}
[[nodiscard]] bool is_read(const std::vector<std::byte>& bytes) {
  return handshake::decode(std::span<const std::byte>{bytes}).has_value();
}

}  // namespace

TEST_CASE("A handshake carries its values, and the receives that are granted at the start") {
  handshake mine =
      handshake::of({.receives = 64, .block_size = 1024, .longest = 1 << 20}, throwing{});
  for (const std::uint32_t granted : {0U, 4U, 64U}) {
    mine.granted_at_start = granted;
    const auto read = handshake::decode(mine.encode());
    REQUIRE(read);
    CHECK(read->receives == 64);
    CHECK(read->block_size == 1024);
    CHECK(read->longest == 1 << 20);
    CHECK(read->granted_at_start == granted);
    CHECK(mine.limits_with(*read).granted_by_peer == granted);
  }
}

TEST_CASE("A handshake that resumes a session has its next message in that place") {
  handshake mine = handshake::of({.resume_within = std::chrono::seconds{1}}, throwing{});
  mine.session = 7;
  mine.granted_at_start = 4;
  const auto first = handshake::decode(mine.encode());
  REQUIRE(first);
  CHECK(first->granted_at_start == 4);
  const auto next = handshake::decode(mine.resumed_at({.next = 99, .granted = 5}).encode());
  REQUIRE(next);
  CHECK(next->point.next == 99);
  CHECK(next->point.granted == 5);
  CHECK(next->granted_at_start == 0);
}

TEST_CASE("A handshake with values out of their ranges is refused") {
  constexpr std::size_t receives_at = 8;
  constexpr std::size_t block_size_at = 12;
  constexpr std::size_t granted_at = 32;
  const handshake mine = handshake::of({.receives = 64}, throwing{});
  CHECK(is_read(changed(mine, receives_at, 4)));
  CHECK_FALSE(is_read(changed(mine, receives_at, 3)));
  CHECK(is_read(changed(mine, receives_at, 65'536)));
  CHECK_FALSE(is_read(changed(mine, receives_at, 65'537)));
  CHECK(is_read(changed(mine, block_size_at, 64)));
  CHECK_FALSE(is_read(changed(mine, block_size_at, 63)));
  CHECK(is_read(changed(mine, granted_at, 4)));
  CHECK_FALSE(is_read(changed(mine, granted_at, 3)));
  CHECK(is_read(changed(mine, granted_at, 64)));
  CHECK_FALSE(is_read(changed(mine, granted_at, 65)));
}
