// SPDX-License-Identifier: MIT
// Each request as it reaches ibv_post_send and ibv_post_recv.
#include <array>
#include <string>
#include <vector>

#include <support/catch.hpp>

#include "test_bench.hpp"

using namespace adverb;
using fake::called::post_send;

namespace {

/// Memory, local and remote, for the requests of a test.
struct posting_bench : test_bench {
  std::array<std::uint64_t, 8> memory{};
  memory_region region{domain, memory,
                       access_right::local_write | access_right::remote_write |
                           access_right::remote_read | access_right::remote_atomic};
  queue_pair<transport::rc> pair = ready<transport::rc>();

  static constexpr access_rights every_remote_right =
      access_right::remote_write | access_right::remote_read | access_right::remote_atomic;
  remote_buffer<std::uint64_t, every_remote_right> remote{adopt, 0x1122334455667788, 512,
                                                          rkey{0xaabbccdd}};
  mutable_buffer first = region.slice(0, 8);
  const_buffer second = region.const_slice(16, 24);

  /// Posts one request to the pair, and returns it as it arrived.
  template <class Request>
  [[nodiscard]] std::string posted(const Request& request) {
    pair.post(request).check();
    const std::string line = machine.line<post_send>();
    REQUIRE(line.starts_with("ibv_post_send qp0: "));
    return line.substr(19);
  }
};

}  // namespace

TEST_CASE("Each request sets the fields of its operation and no others", "[ibv_post_send]") {
  posting_bench bench;
  const mutable_buffer first = bench.first;
  const const_buffer second = bench.second;
  const std::string remote = " remote_addr=0x1122334455667788 rkey=0xaabbccdd";
  CHECK(bench.posted(send(first, second, first)) == "SEND [mr0+0 8][mr0+16 24][mr0+0 8]");
  CHECK(bench.posted(send()) == "SEND");
  CHECK(bench.posted(send_with_immediate(immediate{0x11223344}, first)) ==
        "SEND_WITH_IMM imm_data=0x11223344 [mr0+0 8]");
  CHECK(bench.posted(write_with_immediate(bench.remote, immediate{0x55667788}, first)) ==
        "RDMA_WRITE_WITH_IMM imm_data=0x55667788" + remote + " [mr0+0 8]");
  CHECK(bench.posted(write(bench.remote, second, first)) ==
        "RDMA_WRITE" + remote + " [mr0+16 24][mr0+0 8]");
  CHECK(bench.posted(read(bench.remote.slice(2, 2), first, first)) ==
        "RDMA_READ remote_addr=0x1122334455667798 rkey=0xaabbccdd [mr0+0 8][mr0+0 8]");
  CHECK(bench.posted(compare_and_swap(bench.remote, {.expected = 0x0102030405060708, .desired = 9},
                                      first)) ==
        "ATOMIC_CMP_AND_SWP" + remote + " compare=0x102030405060708 swap=0x9 [mr0+0 8]");
  CHECK(bench.posted(fetch_and_add(bench.remote, 0x0102030405060708, first)) ==
        "ATOMIC_FETCH_AND_ADD" + remote + " add=0x102030405060708 [mr0+0 8]");
}

TEST_CASE("Each modifier sets its flag, and modifiers combine") {
  posting_bench bench;
  const auto plain = send(bench.first);
  CHECK(bench.posted(plain.signaled()) == "SEND flags=SIGNALED [mr0+0 8]");
  CHECK(bench.posted(plain.fenced()) == "SEND flags=FENCE [mr0+0 8]");
  CHECK(bench.posted(plain.solicited()) == "SEND flags=SOLICITED [mr0+0 8]");
  CHECK(field(bench.posted(write(bench.remote, bench.first).signaled().fenced()), "flags") ==
        "FENCE|SIGNALED");
  CHECK(bench.posted(plain.solicited().id(7).fenced().signaled()) ==
        "SEND wr_id=7 flags=FENCE|SIGNALED|SOLICITED [mr0+0 8]");
  // A request is a value: modifying a copy leaves it alone.
  CHECK(bench.posted(plain) == "SEND [mr0+0 8]");
}

TEST_CASE("The last call of signaled(bool) sets or clears the flag") {
  posting_bench bench;
  const auto asked = send(bench.first).solicited().signaled(true);
  CHECK(asked.is_signaled());
  CHECK(field(bench.posted(asked), "flags") == "SIGNALED|SOLICITED");
  CHECK_FALSE(asked.signaled(false).is_signaled());
  CHECK(field(bench.posted(asked.signaled(false)), "flags") == "SOLICITED");
}

TEST_CASE("An id is any integer or a pointer, and other modifiers keep it") {
  posting_bench bench;
  bench.machine.name("bench", bench);
  CHECK(bench.posted(send(bench.first).id(0)) == "SEND [mr0+0 8]");
  CHECK(bench.posted(send(bench.first).id(0x1122334455667788).signaled()) ==
        "SEND wr_id=0x1122334455667788 flags=SIGNALED [mr0+0 8]");
  CHECK(field(bench.posted(send(bench.first).id(~std::uint64_t{0})), "wr_id") ==
        "0xffffffffffffffff");
  CHECK(field(bench.posted(write(bench.remote).id(&bench).fenced()), "wr_id") == "bench");
}

TEST_CASE("Inline data is posted as one element with IBV_SEND_INLINE") {
  posting_bench bench;
  const std::array<char, 12> text{"eleven more"};
  const auto* const bytes = text.data();
  CHECK(bench.posted(send(inline_data{std::span{text}}).signaled()) ==
        "SEND flags=SIGNALED|INLINE \"eleven more\\x00\"");
  const auto call = bench.machine.calls<post_send>().back();
  REQUIRE(call.requests.at(0).elements.size() == 1);
  CHECK(call.requests[0].elements[0].addr == reinterpret_cast<std::uintptr_t>(bytes));
  CHECK(bench.posted(write(bench.remote, inline_data{std::as_bytes(std::span{text})})) ==
        "RDMA_WRITE flags=INLINE remote_addr=0x1122334455667788 rkey=0xaabbccdd "
        "\"eleven more\\x00\"");
}

TEST_CASE("A list of buffers of any kind is passed uncopied") {
  posting_bench bench;
  const std::array<mutable_buffer, 2> both{bench.first, bench.region.slice(32, 4)};
  const std::vector<const_buffer> three{bench.second, bench.first, bench.second};
  CHECK(bench.posted(send(std::span{both})) == "SEND [mr0+0 8][mr0+32 4]");
  CHECK(bench.posted(send(std::span{three})) == "SEND [mr0+16 24][mr0+0 8][mr0+16 24]");
  CHECK(bench.posted(send(std::span{three}.first(2))) == "SEND [mr0+16 24][mr0+0 8]");
  CHECK(bench.posted(read(bench.remote, std::span{both})) ==
        "RDMA_READ remote_addr=0x1122334455667788 rkey=0xaabbccdd [mr0+0 8][mr0+32 4]");
  CHECK(bench.posted(send(std::span<const const_buffer>{})) == "SEND");
}

TEST_CASE("A datagram carries its destination") {
  posting_bench bench;
  const auto pair = bench.ready<transport::ud>();
  const address_handle way{bench.domain,
                           {.route = global_route{.destination = test_bench::peer.gid}}};
  pair.post(
          send(bench.first)
              .signaled()
              .id(3)
              .to({.address = way, .queue_pair = qp_number{0x99}, .queue_key = queue_key{0x1234}}))
      .check();
  CHECK(bench.machine.line() ==
        "ibv_post_send qp1: SEND wr_id=3 flags=SIGNALED ah0 remote_qpn=0x99 remote_qkey=0x1234 "
        "[mr0+0 8]");
}

TEST_CASE("Requests of several kinds are posted by one call in order", "[ibv_post_send]") {
  posting_bench bench;
  bench.machine.forget_calls();
  const post_result result =
      bench.pair.post(send(bench.first).id(1), write(bench.remote, bench.second, bench.first).id(2),
                      read(bench.remote, bench.first).id(3), send().id(4),
                      fetch_and_add(bench.remote, 1, bench.first).id(5).signaled());
  CHECK(result);
  CHECK(!result.code());
  CHECK(result.accepted() == 5U);
  CHECK_THAT(bench.machine.lines(), is_log(R"(
    ibv_post_send qp0: SEND wr_id=1 [mr0+0 8];
      RDMA_WRITE wr_id=2 remote_addr=0x1122334455667788 rkey=0xaabbccdd [mr0+16 24][mr0+0 8];
      RDMA_READ wr_id=3 remote_addr=0x1122334455667788 rkey=0xaabbccdd [mr0+0 8];
      SEND wr_id=4;
      ATOMIC_FETCH_AND_ADD wr_id=5 flags=SIGNALED remote_addr=0x1122334455667788 rkey=0xaabbccdd
        add=0x1 [mr0+0 8])"));
}

TEST_CASE("Receives have an id and elements", "[ibv_post_recv]") {
  posting_bench bench;
  bench.machine.name("bench", bench);
  const std::array<mutable_buffer, 2> both{bench.first, bench.region.slice(32, 4)};
  const auto waiting = bench.waiting<transport::rc>();
  const post_result result =
      waiting.post(receive(bench.first).id(std::uint64_t{7}), receive(),
                   receive(std::span{both}).id(&bench), receive(both[1], both[0]));
  CHECK(result.accepted() == 4U);
  CHECK(bench.machine.line() ==
        "ibv_post_recv qp1: RECV wr_id=7 [mr0+0 8]; RECV; RECV wr_id=bench [mr0+0 8][mr0+32 4]; "
        "RECV [mr0+32 4][mr0+0 8]");
}

TEST_CASE("A reference to a pair posts like the pair") {
  posting_bench bench;
  const queue_pair_ref<transport::rc> reference = bench.pair;
  reference.post(send(bench.first).id(5)).check();
  CHECK(bench.machine.line() == "ibv_post_send qp0: SEND wr_id=5 [mr0+0 8]");
}

TEST_CASE("A pair in ERR accepts sends and receives") {
  posting_bench bench;
  const auto failed = bench.pair.error();
  CHECK(failed.post(send(bench.first)));
  CHECK(failed.post(receive(bench.first)));
}
