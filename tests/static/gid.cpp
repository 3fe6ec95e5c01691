// SPDX-License-Identifier: MIT
// GIDs in the notation of RFC 5952 for IPv6 addresses, and their properties.
#include <array>
#include <cstdint>
#include <string_view>

#include <adverb/device/gid.hpp>

namespace {

using adverb::gid;
using std::string_view;

constexpr gid of_groups(std::array<std::uint16_t, 8> groups) {
  std::array<std::uint8_t, 16> bytes{};
  for (std::size_t i = 0; i < groups.size(); ++i) {
    bytes[2 * i] = static_cast<std::uint8_t>(groups[i] >> 8);
    bytes[2 * i + 1] = static_cast<std::uint8_t>(groups[i]);
  }
  return gid{bytes};
}

constexpr bool is_written(std::array<std::uint16_t, 8> groups, string_view text) {
  return string_view{to_text(of_groups(groups))} == text;
}

static_assert(is_written({}, "::"));
static_assert(is_written({0, 0, 0, 0, 0, 0, 0, 1}, "::1"));
static_assert(is_written({1}, "1::"));
static_assert(is_written({0xfe80, 0, 0, 0, 0x5054, 0xff, 0xfe12, 0x3456},
                         "fe80::5054:ff:fe12:3456"));
static_assert(is_written({0x2001, 0xdb8, 1, 2, 3, 4, 5, 6}, "2001:db8:1:2:3:4:5:6"));
static_assert(is_written({0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff},
                         "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"));
// A single zero group is not shortened, the longest run is, and of two equal runs the first.
static_assert(is_written({0x2001, 0, 3, 4, 5, 6, 7, 8}, "2001:0:3:4:5:6:7:8"));
static_assert(is_written({0, 2, 3, 4, 5, 6, 7, 0}, "0:2:3:4:5:6:7:0"));
static_assert(is_written({1, 0, 0, 4, 0, 0, 0, 8}, "1:0:0:4::8"));
static_assert(is_written({1, 0, 0, 4, 5, 0, 0, 8}, "1::4:5:0:0:8"));
static_assert(is_written({1, 2, 3, 4, 5, 6, 0, 0}, "1:2:3:4:5:6::"));
static_assert(is_written({0, 0, 3, 4, 5, 6, 0, 0}, "::3:4:5:6:0:0"));
// Mapped IPv4 addresses end as such.
static_assert(is_written({0, 0, 0, 0, 0, 0xffff, 0x0a00, 0x0001}, "::ffff:10.0.0.1"));
static_assert(is_written({0, 0, 0, 0, 0, 0xffff, 0xffff, 0xffff}, "::ffff:255.255.255.255"));
static_assert(is_written({0, 0, 0, 0, 1, 0xffff, 0x0a00, 1}, "::1:ffff:a00:1"));

static_assert(gid{}.is_empty() && !of_groups({0, 0, 0, 0, 0, 0, 0, 1}).is_empty());

static_assert(of_groups({0xfe80}).is_link_local() && of_groups({0xfebf}).is_link_local());
static_assert(!of_groups({0xfec0}).is_link_local() && !of_groups({0xff80}).is_link_local());
static_assert(!gid{}.is_link_local());

static_assert(of_groups({0, 0, 0, 0, 0, 0xffff, 0x0a00, 1}).is_ipv4_mapped());
static_assert(!of_groups({0, 0, 0, 0, 0, 0xff00, 0x0a00, 1}).is_ipv4_mapped());
static_assert(!of_groups({1, 0, 0, 0, 0, 0xffff, 0x0a00, 1}).is_ipv4_mapped());
static_assert(!of_groups({0, 0, 0, 0, 1, 0xffff, 0x0a00, 1}).is_ipv4_mapped());
static_assert(!gid{}.is_ipv4_mapped());

static_assert(of_groups({1, 2, 3, 4, 5}).same_subnet(of_groups({1, 2, 3, 4, 9})));
static_assert(!of_groups({1, 2, 3, 4, 5}).same_subnet(of_groups({1, 2, 3, 5, 5})));

static_assert(of_groups({1, 2}) == of_groups({1, 2}) && of_groups({1, 2}) != of_groups({2, 1}));
static_assert(of_groups({0x0102}).bytes()[0] == 1 && of_groups({0x0102}).bytes()[1] == 2);

}  // namespace
