// SPDX-License-Identifier: MIT
// The fake's calls as lines of text, and their comparison with an expected log.
#include <array>
#include <cerrno>
#include <string>

#include <support/catch.hpp>

#include "render.hpp"
#include "test_bench.hpp"

using namespace adverb;
using fake::fields;

TEST_CASE("a line has the fields that the mask makes valid, and names stray values") {
  const auto line = [](std::uint32_t mask) {
    return fields{"f"}
        .add_or_stray((mask & 1) != 0, "first", 7)
        .add_or_stray((mask & 2) != 0, "second", 0)
        .unknown_bits(mask, 3)
        .text();
  };
  CHECK(line(3) == "f first=7 second=0");
  CHECK(line(1) == "f first=7");
  CHECK(line(2) == "f second=0 stray=first");
  CHECK(line(0x13) == "f first=7 second=0 unknown_bits=0x10");
}

TEST_CASE("enumerators, masks, bytes and big-endian numbers are written readably") {
  CHECK(fake::pair_state(IBV_QPS_RTR).text == "RTR");
  CHECK(fake::enumerator(99, {{1, "ONE"}}).text == "99");
  CHECK(fake::access(0).text == "0");
  CHECK(fake::access(IBV_ACCESS_REMOTE_READ | 1 | 0x4000'0000).text ==
        "LOCAL_WRITE|REMOTE_READ|0x40000000");
  CHECK(fake::quoted(std::string_view{"a\0\xff", 3}) == "\"a\\x00\\xff\"");
  CHECK(fake::big_endian(htobe32(0x01020304)).text == "0x1020304");
  CHECK(fake::show(fake::ipv4_gid(10, 0, 0, 2)).text == "::ffff:10.0.0.2");
}

TEST_CASE("objects are numbered by kind, and addresses are relative to their region") {
  test_bench bench;
  std::array<std::byte, 64> memory{};
  bench.machine.name("memory", memory);
  const memory_region region{bench.domain, memory};
  const completion_queue second{bench.context, 4};
  CHECK(fake::name_of(second.native_handle()).text == "cq1");
  CHECK(fake::name_of(nullptr).text == "null");
  CHECK(fake::name_of(&memory[5]).text == "memory+5");
  CHECK(fake::name_of(reinterpret_cast<void*>(0x20)).text == "0x20");
  const std::uint64_t begin = region.device_address();
  const std::uint32_t key = region.native_handle()->lkey;
  CHECK(fake::elements_text({{begin + 8, 16, key}, {begin, 64, key}, {0x10, 4, 99}}) ==
        "[mr0+8 16][mr0+0 64][0x10 4 lkey=0x63]");
}

TEST_CASE("a failed comparison of logs names the first difference") {
  test_bench bench;
  const fake::log_lines log =
      bench.machine.lines<fake::called::alloc_pd, fake::called::create_cq>();
  CHECK_THAT(log, is_log(R"(
    ibv_alloc_pd ctx0
    ibv_create_cq ctx0
      cqe=16)"));
  const auto difference = [&](std::string_view expected) {
    const is_log matcher{expected};
    CHECK_FALSE(matcher.match(log));
    return matcher.describe();
  };
  CHECK(difference("ibv_alloc_pd ctx0\nibv_create_cq ctx0 cqe=17") ==
        "differs from the expected log in call 2:\n"
        "  expected: ibv_create_cq ctx0 cqe=17\n"
        "  but was:  ibv_create_cq ctx0 cqe=16\n"
        "  from here on: \"cqe=17\", but was \"cqe=16\"");
  CHECK(difference("ibv_alloc_pd ctx0").find("expected: no more calls") != std::string::npos);
}
