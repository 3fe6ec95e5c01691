// SPDX-License-Identifier: MIT
// Private data: its wire format, the padding of InfiniBand and RoCE, and what is too long.
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <adverb/cm/private_data.hpp>
#include <adverb/memory/remote_buffer.hpp>
#include <adverb/queue/endpoint.hpp>
#include <support/catch.hpp>

using namespace adverb;
using cm::private_data;

namespace {

struct greeting {
  std::uint32_t number;
  std::uint16_t kind;
  friend bool operator==(const greeting&, const greeting&) = default;
};

std::vector<std::byte> padded(const private_data& data, std::size_t size) {
  std::vector<std::byte> bytes{data.bytes().begin(), data.bytes().end()};
  bytes.resize(size);
  return bytes;
}

}  // namespace

TEST_CASE("Private data is empty by default") {
  const private_data none;
  CHECK(none.empty());
  CHECK(none.bytes().empty());
  CHECK_FALSE(none.as<std::uint8_t>());
  CHECK(private_data{std::span<const std::byte>{}}.empty());
}

TEST_CASE("private_data::of writes a little-endian length before the value") {
  const auto data = private_data::of(std::array<std::uint8_t, 3>{7, 8, 9});
  const std::array expected{std::byte{3}, std::byte{0}, std::byte{7}, std::byte{8}, std::byte{9}};
  CHECK(std::vector<std::byte>(data.bytes().begin(), data.bytes().end()) ==
        std::vector<std::byte>(expected.begin(), expected.end()));
}

TEST_CASE("private_data::as returns the value even if padding follows") {
  const greeting hello{42, 7};
  const auto data = private_data::of(hello);
  CHECK(data.as<greeting>() == hello);
  CHECK(private_data{padded(data, cm::max_request_data)}.as<greeting>() == hello);
  CHECK(private_data{padded(data, cm::max_accept_data)}.as<greeting>() == hello);
}

TEST_CASE("A type with its own wire format is encoded and decoded in that format") {
  constexpr access_rights both = access_right::remote_read | access_right::remote_write;
  using whole_buffer = remote_buffer<std::uint32_t, both>;
  using readable = remote_buffer<std::uint32_t, access_right::remote_read>;
  const whole_buffer whole{adopt, 0x1000, 16, rkey{7}};
  const auto data = private_data::of(whole);
  CHECK(data.size() == 2 + whole.encode().size());
  CHECK(data.as<whole_buffer>() == whole);

  const auto narrower = private_data::of(readable{whole});
  CHECK(narrower.as<readable>());
  CHECK_FALSE(narrower.as<whole_buffer>());
  CHECK_FALSE(data.as<endpoint>());
  const endpoint pair{.number = qp_number{0x11}, .mtu = mtu::bytes_1024};
  CHECK(private_data::of(pair).as<endpoint>()->number == qp_number{0x11});
}

TEST_CASE("private_data::as returns none if the size does not match or the data is truncated") {
  const auto data = private_data::of(std::uint32_t{42});
  CHECK_FALSE(data.as<std::uint16_t>());
  CHECK_FALSE(data.as<std::uint64_t>());
  // Padded so that the bytes would suffice for the longer one.
  CHECK_FALSE(private_data{padded(data, 56)}.as<std::uint64_t>());
  // Cut short.
  CHECK_FALSE(private_data{data.bytes().first(5)}.as<std::uint32_t>());
  CHECK_FALSE(private_data{data.bytes().first(1)}.as<std::uint32_t>());
  // A type with its own wire format, and one byte more.
  using readable = remote_buffer<std::byte, access_right::remote_read>;
  std::array<std::byte, readable::encoded_size + 1> longer{};
  std::ranges::copy(readable{adopt, 0x1000, 16, rkey{7}}.encode(), longer.begin());
  CHECK_FALSE(private_data::of(longer).as<readable>());
}

TEST_CASE("private_data::text returns the text even if padding follows") {
  const std::string why = "too many clients";
  for (const private_data& data :
       {private_data::of("too many clients"), private_data::of(why),
        private_data::of(std::string_view{why}), private_data::of(why.c_str())}) {
    CHECK(data.size() == 2 + why.size());
    CHECK(data.text() == why);
    const private_data arrived{padded(data, cm::max_reject_data)};
    CHECK(arrived.text() == why);
  }
}

TEST_CASE("private_data::text returns none if the data contains no text") {
  const private_data none;
  CHECK_FALSE(none.text());
  const auto data = private_data::of("words");
  const private_data cut{data.bytes().first(6)};
  CHECK_FALSE(cut.text());
  const private_data one{data.bytes().first(1)};
  CHECK_FALSE(one.text());
  // The private data of a rejection without words over InfiniBand and RoCE.
  const private_data padding{padded({}, cm::max_reject_data)};
  CHECK_FALSE(padding.text());
  const auto nothing = private_data::of("");
  CHECK_FALSE(nothing.text());
}

TEST_CASE("private_data::text returns none if the text exceeded the capacity") {
  const std::string longest(private_data::capacity - 2, 'x');
  const auto most = private_data::of(longest);
  CHECK(most.size() == private_data::capacity);
  CHECK(most.text() == longest);
  const auto more = private_data::of(longest + "y");
  CHECK(more.size() == private_data::capacity + 1);
  CHECK_FALSE(more.text());
}

TEST_CASE("Private data beyond the capacity keeps its size but not its bytes") {
  const std::vector<std::byte> bytes(300, std::byte{5});
  const private_data data{bytes};
  CHECK(data.size() == 300);
  CHECK(data.bytes().size() == private_data::capacity);
  const private_data most{std::span{bytes}.first(private_data::capacity)};
  CHECK(most.size() == private_data::capacity);
  CHECK(most.bytes().back() == std::byte{5});
}
