// SPDX-License-Identifier: MIT
// The frames in a stream of bytes.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include <adverb/messages.hpp>
#include <support/catch.hpp>

using namespace adverb;
using detail::frame_stream;
using detail::message_frame;
using type = detail::message_frame_type;

namespace {

/// A frame of a stream, and the message behind `taken`.
struct sent_frame {
  std::vector<std::byte> frame;
  std::vector<std::byte> landed;
};

constexpr std::size_t block_size = 64;

[[nodiscard]] std::vector<std::byte> random_bytes(std::mt19937& random, std::size_t size) {
  std::vector<std::byte> bytes(size);
  std::ranges::generate(bytes, [&] { return static_cast<std::byte>(random()); });
  return bytes;
}

[[nodiscard]] sent_frame random_frame(std::mt19937& random) {
  constexpr std::array types{type::data,    type::offer,  type::take,  type::taken,
                             type::refused, type::credit, type::close, static_cast<type>(77)};
  message_frame made{.type = types[random() % types.size()],
                     .sequence = static_cast<std::uint32_t>(random())};
  std::size_t behind = 0;
  std::size_t landed = 0;
  switch (made.type) {
    case type::data:
      made.flags = random() % 2 == 0 ? message_frame::tagged : std::uint8_t{0};
      made.length = static_cast<std::uint32_t>(random() % (block_size - made.front_size() + 1));
      behind = made.front_size() - message_frame::header_size + made.length;
      break;
    case type::offer: made.length = 1000; break;
    case type::take: behind = detail::message_session::take_size; break;
    case type::taken:
      landed = random() % 200;
      made.length = static_cast<std::uint32_t>(landed);
      break;
    default: break;
  }
  const auto header = made.encode();
  sent_frame whole{{header.begin(), header.end()}, random_bytes(random, landed)};
  const std::vector<std::byte> rest = random_bytes(random, behind);
  whole.frame.insert(whole.frame.end(), rest.begin(), rest.end());
  return whole;
}

}  // namespace

TEST_CASE("Frames are found in a stream, however it is cut") {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    INFO("seed " << seed);
    std::mt19937 random{seed};
    std::vector<sent_frame> sent;
    std::vector<std::byte> stream;
    for (int i = 0; i < 30; ++i) {
      sent.push_back(random_frame(random));
      stream.insert(stream.end(), sent.back().frame.begin(), sent.back().frame.end());
      stream.insert(stream.end(), sent.back().landed.begin(), sent.back().landed.end());
    }
    std::array<std::byte, block_size> block{};
    std::vector<std::byte> landing;
    std::size_t found = 0;
    frame_stream under_test;
    under_test.next_frame(block);
    const auto check_frame = [&] {
      CHECK(std::ranges::equal(under_test.frame(), sent.at(found).frame));
      CHECK(landing == sent.at(found).landed);
      landing.clear();
      ++found;
      under_test.next_frame(block);
    };
    std::span<const std::byte> rest = stream;
    while (!rest.empty()) {
      std::span<const std::byte> piece =
          rest.first(1 + random() % std::min<std::size_t>(90, rest.size()));
      rest = rest.subspan(piece.size());
      // A part of a message may be filled without the stream, as a read into it does.
      if (!under_test.landing().empty() && random() % 2 == 0) {
        const std::size_t count = std::min(piece.size(), under_test.landing().size());
        std::ranges::copy(piece.first(count), under_test.landing().begin());
        piece = piece.subspan(count);
        if (under_test.landed(count)) check_frame();
      }
      while (!piece.empty()) {
        switch (under_test.take(piece)) {
          case frame_stream::outcome::more: break;
          case frame_stream::outcome::frame: check_frame(); break;
          case frame_stream::outcome::landing:
            landing.resize(under_test.header().length);
            under_test.land(landing);
            break;
          case frame_stream::outcome::too_long: FAIL("no frame is too long");
        }
      }
    }
    CHECK(found == sent.size());
  }
}

TEST_CASE("A frame that is longer than its block is refused before a byte of it is copied") {
  std::array<std::byte, block_size> block{};
  for (const std::uint32_t length : {49U, 0xffff'ffffU}) {
    frame_stream under_test;
    under_test.next_frame(block);
    const auto header = message_frame{.type = type::data, .length = length}.encode();
    std::span<const std::byte> bytes = header;
    CHECK(under_test.take(bytes) == frame_stream::outcome::too_long);
  }
}
