// SPDX-License-Identifier: MIT
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include <endian.h>

#include <adverb/core/detail/byte_order.hpp>
#include <support/catch.hpp>

using namespace adverb::detail;

TEST_CASE("swap_network_order matches htobe32") {
  CHECK(swap_network_order(0x0102'0304U) == htobe32(0x0102'0304));
  const std::uint32_t number = swap_network_order(0x0102'0304U);
  unsigned char bytes[4];
  std::memcpy(bytes, &number, sizeof bytes);
  CHECK(bytes[0] == 1);
  CHECK(bytes[3] == 4);
}

TEST_CASE("little-endian numbers start with their lowest byte") {
  std::array<std::byte, 8> bytes{};
  store_little_endian<0, std::uint64_t>(bytes, 0x0102'0304'0506'0708);
  CHECK(std::to_integer<int>(bytes[0]) == 8);
  CHECK(std::to_integer<int>(bytes[7]) == 1);
  CHECK(load_little_endian<0, std::uint64_t>(std::span{std::as_const(bytes)}) ==
        0x0102'0304'0506'0708);
}

TEST_CASE("numbers of 16 and 32 bits are stored and loaded unchanged") {
  std::array<std::byte, 2> two{};
  store_little_endian<0, std::uint16_t>(two, 0xfffe);
  CHECK(std::to_integer<int>(two[0]) == 0xfe);
  CHECK(load_little_endian<0, std::uint16_t>(std::span{std::as_const(two)}) == 0xfffe);

  std::array<std::byte, 4> four{};
  store_little_endian<0, std::uint32_t>(four, 0x8000'0001);
  CHECK(load_little_endian<0, std::uint32_t>(std::span{std::as_const(four)}) == 0x8000'0001);
}

TEST_CASE("a number has the same bytes in a constant expression") {
  constexpr auto stored = [](std::uint64_t number) {
    std::array<std::byte, 9> bytes{};
    store_little_endian<1, std::uint64_t>(bytes, number);
    return bytes;
  };
  constexpr auto loaded = [](const std::array<std::byte, 9>& bytes) {
    return load_little_endian<1, std::uint64_t>(std::span{bytes});
  };
  static constexpr auto constant = stored(0x8102'0304'0506'0708);
  static_assert(loaded(constant) == 0x8102'0304'0506'0708);
  CHECK(stored(0x8102'0304'0506'0708) == constant);
  CHECK(loaded(constant) == 0x8102'0304'0506'0708);
}

TEST_CASE("a number is stored and loaded at the given offset only") {
  std::array<std::byte, 8> bytes{};
  store_little_endian<2, std::uint32_t>(bytes, 0x0403'0201);
  CHECK(bytes == std::array<std::byte, 8>{std::byte{0}, std::byte{0}, std::byte{1}, std::byte{2},
                                          std::byte{3}, std::byte{4}, std::byte{0}, std::byte{0}});
  CHECK(load_little_endian<3, std::uint16_t>(std::span{std::as_const(bytes)}) == 0x0302);
}
