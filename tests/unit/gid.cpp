// SPDX-License-Identifier: MIT
// GIDs and table entries, from and to the C structs.
#include <cstring>
#include <string_view>

#include <adverb/device/gid.hpp>
#include <support/catch.hpp>

namespace {

constexpr ibv_gid some_address{
    .raw = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x50, 0x54, 0, 0xff, 0xfe, 0x12, 0x34, 0x56}};

ibv_gid_entry some_entry() {
  ibv_gid_entry entry{};
  entry.gid = some_address;
  entry.gid_index = 3;
  entry.port_num = 2;
  entry.gid_type = IBV_GID_TYPE_ROCE_V2;
  entry.ndev_ifindex = 7;
  return entry;
}

}  // namespace

TEST_CASE("a gid keeps the bytes of the C struct, in order") {
  const adverb::gid address{some_address};
  CHECK(std::memcmp(address.bytes().data(), some_address.raw, 16) == 0);
  const ibv_gid native = address.native();
  CHECK(std::memcmp(native.raw, some_address.raw, 16) == 0);
  CHECK(std::string_view{to_text(address)} == "fe80::5054:ff:fe12:3456");
}

TEST_CASE("an entry has all fields of the C struct") {
  const adverb::gid_entry entry{some_entry()};
  CHECK(entry.gid() == adverb::gid{some_address});
  CHECK(entry.index() == adverb::gid_index{3});
  CHECK(entry.port() == adverb::port_number{2});
  CHECK(entry.type() == adverb::gid_type::roce_v2);
  CHECK(entry.network_interface() == 7);
  CHECK(entry.native().gid_index == 3);
}

TEST_CASE("an entry is written as index, type and address") {
  CHECK(std::string_view{to_text(adverb::gid_entry{some_entry()})} ==
        "3 (RoCE v2, fe80::5054:ff:fe12:3456)");
  CHECK(std::string_view{to_text(adverb::gid_entry{})} == "0 (InfiniBand, ::)");
}

TEST_CASE("the longest entry is written completely") {
  ibv_gid_entry entry = some_entry();
  std::memset(entry.gid.raw, 0xff, 16);
  entry.gid_index = 255;
  entry.gid_type = 0xffff'ffff;
  CHECK(std::string_view{to_text(adverb::gid_entry{entry})} ==
        "255 (unknown (4294967295), ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff)");
}
