// SPDX-License-Identifier: MIT
// Each request as it reaches ibv_post_send and ibv_post_recv, compared with one filled by hand.
#include <array>
#include <bit>
#include <vector>

#include <arpa/inet.h>

#include <support/catch.hpp>

#include "test_bench.hpp"

using namespace adverb;
using fake::called::post_recv;
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
  remote_buffer<std::uint64_t, every_remote_right> remote{adopt, 0x1122334455667788, 4,
                                                          rkey{0xaabbccdd}};
  mutable_buffer first = region.slice(0, 8);
  const_buffer second = region.const_slice(16, 24);

  /// Posts one send request and returns it as it arrived.
  template <class Request>
  [[nodiscard]] fake::posted<ibv_send_wr> posted(const Request& request) {
    pair.post(request).check();
    const auto call = machine.calls<post_send>().back();
    CHECK(call.pair == pair.native_handle());
    REQUIRE(call.requests.size() == 1);
    return call.requests[0];
  }
};

void check_elements(const std::vector<ibv_sge>& elements,
                    const std::vector<const_buffer>& expected) {
  REQUIRE(elements.size() == expected.size());
  for (std::size_t index = 0; index < elements.size(); ++index) {
    CHECK(elements[index].addr == expected[index].native().addr);
    CHECK(elements[index].length == expected[index].native().length);
    CHECK(elements[index].lkey == expected[index].native().lkey);
  }
}

void check_plain(const fake::posted<ibv_send_wr>& request, ibv_wr_opcode opcode) {
  CHECK(request.wr.opcode == opcode);
  CHECK(request.wr.wr_id == 0);
  CHECK(request.wr.send_flags == 0);
}

}  // namespace

TEST_CASE("A send has its opcode, its elements in order, and nothing else", "[ibv_post_send]") {
  posting_bench bench;
  const auto request = bench.posted(send(bench.first, bench.second, bench.first));
  check_plain(request, IBV_WR_SEND);
  check_elements(request.elements, {bench.first, bench.second, bench.first});
  CHECK(request.elements[0].addr == reinterpret_cast<std::uintptr_t>(bench.memory.data()));
  CHECK(request.elements[0].length == 8);
  CHECK(request.elements[0].lkey == bench.region.native_handle()->lkey);
  CHECK(request.elements[1].addr == reinterpret_cast<std::uintptr_t>(&bench.memory[2]));
  CHECK(request.elements[1].length == 24);
}

TEST_CASE("A send of nothing has no elements") {
  posting_bench bench;
  const auto request = bench.posted(send());
  check_plain(request, IBV_WR_SEND);
  CHECK(request.wr.num_sge == 0);
}

TEST_CASE("Immediate data travels in network byte order") {
  posting_bench bench;
  const auto sent = bench.posted(send_with_immediate(immediate{0x11223344}, bench.first));
  check_plain(sent, IBV_WR_SEND_WITH_IMM);
  CHECK(sent.wr.imm_data == htonl(0x11223344));
  check_elements(sent.elements, {bench.first});

  const auto written =
      bench.posted(write_with_immediate(bench.remote, immediate{0x55667788}, bench.first));
  check_plain(written, IBV_WR_RDMA_WRITE_WITH_IMM);
  CHECK(written.wr.imm_data == htonl(0x55667788));
  CHECK(written.wr.wr.rdma.remote_addr == 0x1122334455667788);
  CHECK(written.wr.wr.rdma.rkey == 0xaabbccdd);
  check_elements(written.elements, {bench.first});
}

TEST_CASE("A write gathers, a read scatters, both at the remote address and key") {
  posting_bench bench;
  const auto written = bench.posted(write(bench.remote, bench.second, bench.first));
  check_plain(written, IBV_WR_RDMA_WRITE);
  CHECK(written.wr.wr.rdma.remote_addr == 0x1122334455667788);
  CHECK(written.wr.wr.rdma.rkey == 0xaabbccdd);
  check_elements(written.elements, {bench.second, bench.first});

  const auto got = bench.posted(read(bench.remote.at(2), bench.first, bench.first));
  check_plain(got, IBV_WR_RDMA_READ);
  CHECK(got.wr.wr.rdma.remote_addr == 0x1122334455667788 + 16);
  CHECK(got.wr.wr.rdma.rkey == 0xaabbccdd);
  check_elements(got.elements, {bench.first, bench.first});
}

TEST_CASE("A compare-and-swap has both of its values where they belong") {
  posting_bench bench;
  const auto request = bench.posted(
      compare_and_swap(bench.remote, {.expected = 0x0102030405060708, .desired = 9}, bench.first));
  check_plain(request, IBV_WR_ATOMIC_CMP_AND_SWP);
  CHECK(request.wr.wr.atomic.remote_addr == 0x1122334455667788);
  CHECK(request.wr.wr.atomic.compare_add == 0x0102030405060708);
  CHECK(request.wr.wr.atomic.swap == 9);
  CHECK(request.wr.wr.atomic.rkey == 0xaabbccdd);
  check_elements(request.elements, {bench.first});
}

TEST_CASE("A fetch-and-add has its addend") {
  posting_bench bench;
  const auto request = bench.posted(fetch_and_add(bench.remote, 0x0102030405060708, bench.first));
  check_plain(request, IBV_WR_ATOMIC_FETCH_AND_ADD);
  CHECK(request.wr.wr.atomic.remote_addr == 0x1122334455667788);
  CHECK(request.wr.wr.atomic.compare_add == 0x0102030405060708);
  CHECK(request.wr.wr.atomic.rkey == 0xaabbccdd);
  check_elements(request.elements, {bench.first});
}

TEST_CASE("Each modifier sets its flag, and together all of theirs") {
  posting_bench bench;
  CHECK(bench.posted(send(bench.first).signaled()).wr.send_flags == IBV_SEND_SIGNALED);
  CHECK(bench.posted(send(bench.first).fenced()).wr.send_flags == IBV_SEND_FENCE);
  CHECK(bench.posted(send(bench.first).solicited()).wr.send_flags == IBV_SEND_SOLICITED);
  CHECK(bench.posted(write(bench.remote, bench.first).signaled().fenced()).wr.send_flags ==
        (IBV_SEND_SIGNALED | IBV_SEND_FENCE));
  CHECK(bench.posted(send(bench.first).solicited().id(7).fenced().signaled()).wr.send_flags ==
        (IBV_SEND_SIGNALED | IBV_SEND_FENCE | IBV_SEND_SOLICITED));
}

TEST_CASE("Whether a request is signaled can be said by a value, the last time it is said counts") {
  posting_bench bench;
  const auto asked = send(bench.first).solicited().signaled(true);
  CHECK(asked.is_signaled());
  CHECK(bench.posted(asked).wr.send_flags == (IBV_SEND_SIGNALED | IBV_SEND_SOLICITED));
  CHECK_FALSE(asked.signaled(false).is_signaled());
  CHECK(bench.posted(asked.signaled(false)).wr.send_flags == IBV_SEND_SOLICITED);
}

TEST_CASE("An id is an integer or a pointer, and survives the modifiers") {
  posting_bench bench;
  CHECK(bench.posted(send(bench.first).id(0x1122334455667788).signaled()).wr.wr_id ==
        0x1122334455667788);
  CHECK(bench.posted(write(bench.remote).id(&bench).fenced()).wr.wr_id ==
        reinterpret_cast<std::uintptr_t>(&bench));
}

TEST_CASE("A request is a value: modifying a copy leaves it alone") {
  posting_bench bench;
  const auto plain = send(bench.first);
  (void)plain.signaled();
  (void)plain.id(5);
  check_plain(bench.posted(plain), IBV_WR_SEND);
}

TEST_CASE("Inline data is one element without a key, under the flag for it") {
  posting_bench bench;
  const std::array<std::uint32_t, 3> numbers{1, 2, 3};
  const auto request = bench.posted(send(inline_data{std::span{numbers}}).signaled());
  CHECK(request.wr.opcode == IBV_WR_SEND);
  CHECK(request.wr.send_flags == (IBV_SEND_INLINE | IBV_SEND_SIGNALED));
  REQUIRE(request.elements.size() == 1);
  CHECK(request.elements[0].addr == reinterpret_cast<std::uintptr_t>(numbers.data()));
  CHECK(request.elements[0].length == 12);

  const auto written =
      bench.posted(write(bench.remote, inline_data{std::as_bytes(std::span{numbers})}));
  CHECK(written.wr.send_flags == IBV_SEND_INLINE);
  CHECK(written.elements[0].length == 12);
}

TEST_CASE("A list of buffers is passed as it stands, whatever kind of list and buffer it is") {
  posting_bench bench;
  const std::array<mutable_buffer, 2> both{bench.first, bench.region.slice(32, 4)};
  const std::vector<const_buffer> three{bench.second, bench.first, bench.second};
  check_elements(bench.posted(send(std::span{both})).elements, {both[0], both[1]});
  check_elements(bench.posted(send(std::span{three})).elements, three);
  check_elements(bench.posted(send(std::span{three}.first(2))).elements, {three[0], three[1]});
  check_elements(bench.posted(read(bench.remote, std::span{both})).elements, {both[0], both[1]});
  check_elements(bench.posted(send(std::span<const const_buffer>{})).elements, {});
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
  const auto request = bench.machine.calls<post_send>().back().requests.at(0);
  CHECK(request.wr.opcode == IBV_WR_SEND);
  CHECK(request.wr.wr.ud.ah == way.native_handle());
  CHECK(request.wr.wr.ud.remote_qpn == 0x99);
  CHECK(request.wr.wr.ud.remote_qkey == 0x1234);
  CHECK(request.wr.wr_id == 3);
  CHECK(request.wr.send_flags == IBV_SEND_SIGNALED);
  check_elements(request.elements, {bench.first});
}

TEST_CASE("Requests of several kinds go down in one call, in their order", "[ibv_post_send]") {
  posting_bench bench;
  bench.machine.forget_calls();
  const post_result result =
      bench.pair.post(send(bench.first).id(1), write(bench.remote, bench.second, bench.first).id(2),
                      read(bench.remote, bench.first).id(3), send().id(4),
                      fetch_and_add(bench.remote, 1, bench.first).id(5).signaled());
  CHECK(result);
  CHECK(!result.code());
  CHECK(result.accepted() == 5U);
  const auto calls = bench.machine.calls<post_send>();
  REQUIRE(calls.size() == 1);
  REQUIRE(calls[0].requests.size() == 5);
  constexpr std::array opcodes{IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_SEND,
                               IBV_WR_ATOMIC_FETCH_AND_ADD};
  for (std::size_t index = 0; index < 5; ++index) {
    CHECK(calls[0].requests[index].wr.wr_id == index + 1);
    CHECK(calls[0].requests[index].wr.opcode == opcodes[index]);
    CHECK(calls[0].requests[index].wr.send_flags == (index == 4 ? IBV_SEND_SIGNALED : 0));
  }
  check_elements(calls[0].requests[0].elements, {bench.first});
  check_elements(calls[0].requests[1].elements, {bench.second, bench.first});
  check_elements(calls[0].requests[3].elements, {});
}

TEST_CASE("An id is any integer, zero too, or a pointer") {
  posting_bench bench;
  CHECK(bench.posted(send(bench.first).id(0)).wr.wr_id == 0);
  CHECK(bench.posted(send(bench.first).id(~std::uint64_t{0})).wr.wr_id == ~std::uint64_t{0});
  CHECK(bench.posted(send(bench.first).id(&bench)).wr.wr_id ==
        reinterpret_cast<std::uintptr_t>(&bench));
}

TEST_CASE("Receives have an id and elements", "[ibv_post_recv]") {
  posting_bench bench;
  const std::array<mutable_buffer, 2> both{bench.first, bench.region.slice(32, 4)};
  const auto waiting = bench.waiting<transport::rc>();
  const post_result result =
      waiting.post(receive(bench.first).id(std::uint64_t{7}), receive(),
                   receive(std::span{both}).id(&bench), receive(both[1], both[0]));
  CHECK(result.accepted() == 4U);
  const auto call = bench.machine.calls<post_recv>().back();
  CHECK(call.pair == waiting.native_handle());
  REQUIRE(call.requests.size() == 4);
  CHECK(call.requests[0].wr.wr_id == 7);
  check_elements(call.requests[0].elements, {bench.first});
  CHECK(call.requests[1].wr.wr_id == 0);
  CHECK(call.requests[1].wr.num_sge == 0);
  CHECK(call.requests[2].wr.wr_id == reinterpret_cast<std::uintptr_t>(&bench));
  check_elements(call.requests[2].elements, {both[0], both[1]});
  check_elements(call.requests[3].elements, {both[1], both[0]});
}

TEST_CASE("A reference to a pair posts like the pair") {
  posting_bench bench;
  const queue_pair_ref<transport::rc> reference = bench.pair;
  reference.post(send(bench.first).id(5)).check();
  CHECK(bench.machine.calls<post_send>().back().requests.at(0).wr.wr_id == 5);
}

TEST_CASE("A pair in ERR takes sends and receives, which will be flushed") {
  posting_bench bench;
  const auto failed = bench.pair.error();
  CHECK(failed.post(send(bench.first)));
  CHECK(failed.post(receive(bench.first)));
}
