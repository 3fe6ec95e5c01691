// SPDX-License-Identifier: MIT
// Sending through the extended calls: what the provider is given, field by field.
#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <support/catch.hpp>

#include "test_bench.hpp"

using namespace adverb;

namespace {

constexpr send_operations everything = basic_operations(transport::rc) |
                                       send_operation::atomic_write |
                                       send_operation::tcp_segmentation;

/// A pair that is made for extended sending and ready.
template <transport Transport>
struct extended_bench : test_bench {
  queue_pair<Transport> pair = ready<Transport>({.send_operations = everything});
  std::array<std::uint64_t, 4> words{};
  memory_region region{domain, words,
                       access_right::local_write | access_right::remote_write |
                           access_right::remote_read | access_right::remote_atomic};
  remote_buffer<std::uint64_t, access_right::remote_write | access_right::remote_read |
                                   access_right::remote_atomic>
      remote{adopt, 0x7000, 8, rkey{0x99}};

  [[nodiscard]] std::vector<fake::extended_request> sent() const {
    return machine.calls<fake::called::wr_complete>().back().requests;
  }
};

}  // namespace

TEST_CASE("An extended sender builds sends, writes and reads between start and complete",
          "[ibv_qp_to_qp_ex][ibv_wr_start][ibv_wr_complete][ibv_wr_send][ibv_wr_send_imm]"
          "[ibv_wr_rdma_write][ibv_wr_rdma_write_imm][ibv_wr_rdma_read][ibv_wr_set_sge]") {
  extended_bench<transport::rc> bench;
  const auto sender = bench.pair.extended();
  const auto slice = bench.region.slice(8, 16);
  const post_result result = sender.post(
      send(slice).id(1).signaled(), send_with_immediate(immediate{0x01020304}, slice).solicited(),
      write(bench.remote, slice).id(3).fenced(),
      write_with_immediate(bench.remote, immediate{0x0a0b0c0d}, slice), read(bench.remote, slice));
  REQUIRE(result);
  CHECK(result.accepted() == 5);
  CHECK(bench.machine.calls<fake::called::wr_start>().at(0).pair == bench.pair.native_handle());
  CHECK(bench.machine.count<fake::called::wr_start>() == 1);

  const auto sent = bench.sent();
  REQUIRE(sent.size() == 5);
  CHECK(sent[0].opcode == IBV_WR_SEND);
  CHECK(sent[0].id == 1);
  CHECK(sent[0].flags == IBV_SEND_SIGNALED);
  CHECK(sent[1].opcode == IBV_WR_SEND_WITH_IMM);
  CHECK(sent[1].immediate == htobe32(0x01020304));
  CHECK(sent[1].flags == IBV_SEND_SOLICITED);
  CHECK(sent[2].opcode == IBV_WR_RDMA_WRITE);
  CHECK(sent[2].id == 3);
  CHECK(sent[2].flags == IBV_SEND_FENCE);
  CHECK(sent[3].opcode == IBV_WR_RDMA_WRITE_WITH_IMM);
  CHECK(sent[3].immediate == htobe32(0x0a0b0c0d));
  CHECK(sent[4].opcode == IBV_WR_RDMA_READ);
  for (std::size_t index = 2; index < 5; ++index) {
    CHECK(sent[index].remote_address == 0x7000);
    CHECK(sent[index].remote_key == 0x99);
  }
  for (const auto& request : sent) {
    CHECK(request.data_call == "sge");
    REQUIRE(request.elements.size() == 1);
    CHECK(request.elements[0].addr == slice.address());
    CHECK(request.elements[0].length == 16);
    CHECK(request.elements[0].lkey == static_cast<std::uint32_t>(bench.region.lkey()));
  }
}

TEST_CASE("An extended sender builds atomics and atomic writes",
          "[ibv_wr_atomic_cmp_swp][ibv_wr_atomic_fetch_add][ibv_wr_atomic_write]") {
  extended_bench<transport::rc> bench;
  const auto sender = bench.pair.extended<everything - send_operation::tcp_segmentation>();
  const auto result = bench.region.slice(0, 8);
  sender
      .post(compare_and_swap(bench.remote, {.expected = 5, .desired = 6}, result),
            fetch_and_add(bench.remote.slice(1, 1), 7, result),
            atomic_write(bench.remote.slice(2, 1), 0x0102030405060708).id(9))
      .check();
  const auto sent = bench.sent();
  REQUIRE(sent.size() == 3);
  CHECK(sent[0].opcode == IBV_WR_ATOMIC_CMP_AND_SWP);
  CHECK(sent[0].compare_or_add == 5);
  CHECK(sent[0].swap == 6);
  CHECK(sent[0].remote_address == 0x7000);
  CHECK(sent[1].opcode == IBV_WR_ATOMIC_FETCH_AND_ADD);
  CHECK(sent[1].compare_or_add == 7);
  CHECK(sent[1].remote_address == 0x7008);
  CHECK(sent[2].opcode == IBV_WR_ATOMIC_WRITE);
  CHECK(sent[2].written == 0x0102030405060708);
  CHECK(sent[2].remote_address == 0x7010);
  CHECK(sent[2].remote_key == 0x99);
  CHECK(sent[2].id == 9);
  CHECK(sent[2].data_call.empty());
}

TEST_CASE("An extended sender gives lists and nothing at all as lists", "[ibv_wr_set_sge_list]") {
  extended_bench<transport::rc> bench;
  const auto sender = bench.pair.extended();
  const std::array list{bench.region.slice(0, 8), bench.region.slice(16, 4)};
  sender
      .post(send(list[0], list[1]), write(bench.remote, std::span{list}), send(),
            send(std::span{list}.first(0)))
      .check();
  const auto sent = bench.sent();
  REQUIRE(sent.size() == 4);
  for (const auto& request : sent) CHECK(request.data_call == "sge_list");
  for (std::size_t index = 0; index < 2; ++index) {
    REQUIRE(sent[index].elements.size() == 2);
    CHECK(sent[index].elements[0].addr == list[0].address());
    CHECK(sent[index].elements[1].addr == list[1].address());
    CHECK(sent[index].elements[1].length == 4);
  }
  CHECK(sent[2].elements.empty());
  CHECK(sent[3].elements.empty());
}

TEST_CASE("An extended sender copies inline data, one piece or several",
          "[ibv_wr_set_inline_data][ibv_wr_set_inline_data_list]") {
  extended_bench<transport::rc> bench;
  const auto sender = bench.pair.extended();
  const std::string head{"head"};
  const std::string body{"and body"};
  const inline_data first{std::span{head}};
  const inline_data second{std::span{body}};
  sender.post(send(first), write(bench.remote, first, second).signaled()).check();
  const auto sent = bench.sent();
  REQUIRE(sent.size() == 2);
  CHECK(sent[0].data_call == "inline");
  CHECK(sent[0].inline_bytes == "head");
  CHECK(sent[1].data_call == "inline_list");
  CHECK(sent[1].inline_bytes == "headand body");
  CHECK(sent[0].flags == IBV_SEND_INLINE);
  CHECK(sent[1].flags == (IBV_SEND_INLINE | IBV_SEND_SIGNALED));
}

TEST_CASE("An extended sender addresses datagrams and segments them",
          "[ibv_wr_set_ud_addr][ibv_wr_send_tso]") {
  extended_bench<transport::ud> bench;
  const auto sender =
      bench.pair.extended<basic_operations(transport::ud) | send_operation::tcp_segmentation>();
  const address_handle handle{bench.domain, bench.pair.address_of(test_bench::peer)};
  const datagram_destination there{handle, qp_number{0x55}, queue_key{0x66}};
  const std::string header(20, 'h');
  const auto slice = bench.region.slice(0, 32);
  sender
      .post(send(slice).to(there).ip_checksum(),
            send_segmented(std::as_bytes(std::span{header}), 8, slice).to(there))
      .check();
  const auto sent = bench.sent();
  REQUIRE(sent.size() == 2);
  for (const auto& request : sent) {
    CHECK(request.address == handle.native_handle());
    CHECK(request.remote_queue_pair == 0x55);
    CHECK(request.remote_queue_key == 0x66);
  }
  CHECK(sent[0].flags == IBV_SEND_IP_CSUM);
  CHECK(sent[1].opcode == IBV_WR_TSO);
  CHECK(sent[1].header == header);
  CHECK(sent[1].segment_size == 8);
  CHECK(sent[1].data_call == "sge");
}

TEST_CASE("A batch is carried out by commit, and aborted without one", "[ibv_wr_abort]") {
  extended_bench<transport::rc> bench;
  const auto sender = bench.pair.extended();
  {
    auto batch = sender.start();
    batch.add(send(bench.region.buffer()).id(1)).add(send(bench.region.buffer()).id(2));
    CHECK(bench.machine.count<fake::called::wr_complete>() == 0);
    const post_result result = batch.commit();
    CHECK(result);
    CHECK(result.accepted() == 2);
  }
  CHECK(bench.machine.count<fake::called::wr_abort>() == 0);
  {
    auto batch = sender.start();
    batch.add(send(bench.region.buffer()).id(3));
    // Moving takes the duty along.
    const auto moved = std::move(batch);
  }
  const auto aborted = bench.machine.calls<fake::called::wr_abort>();
  REQUIRE(aborted.size() == 1);
  REQUIRE(aborted[0].requests.size() == 1);
  CHECK(aborted[0].requests[0].id == 3);
  CHECK(bench.machine.count<fake::called::wr_complete>() == 1);
}

TEST_CASE("A batch is aborted once, however it is dropped", "[ibv_wr_abort]") {
  extended_bench<transport::rc> bench;
  const auto sender = bench.pair.extended();
  const auto aborted = [&] {
    std::vector<std::uint64_t> first_ids;
    for (const auto& call : bench.machine.calls<fake::called::wr_abort>())
      first_ids.push_back(call.requests.empty() ? 0 : call.requests[0].id);
    bench.machine.forget_calls();
    return first_ids;
  };
  using ids = std::vector<std::uint64_t>;

  try {
    auto batch = sender.start();
    batch.add(send(bench.region.buffer()).id(1));
    throw std::runtime_error{"in the middle"};
  } catch (const std::runtime_error&) {
  }
  CHECK(aborted() == ids{1});

  const auto leave_early = [&](bool early) {
    auto batch = sender.start();
    batch.add(send(bench.region.buffer()).id(2));
    if (early) return false;
    batch.commit().check();
    return true;
  };
  CHECK(!leave_early(true));
  CHECK(aborted() == ids{2});
  CHECK(leave_early(false));
  CHECK(aborted().empty());

  {
    auto batch = sender.start();
    batch.add(send(bench.region.buffer()).id(3));
    auto taken = std::move(batch);
    const auto taken_again = std::move(taken);
  }
  CHECK(aborted() == ids{3});
  {
    auto batch = sender.start();
    batch.add(send(bench.region.buffer()).id(4));
    auto taken = std::move(batch);
    CHECK(taken.add(send(bench.region.buffer()).id(5)).commit().accepted() == 2);
  }
  CHECK(aborted().empty());

  // One that was refused is over: there is nothing left to abort.
  bench.machine.fail<fake::called::wr_complete>(ENOMEM);
  {
    auto batch = sender.start();
    CHECK(!batch.add(send(bench.region.buffer()).id(6)).commit());
  }
  CHECK(aborted().empty());
  {
    auto empty = sender.start();
  }
  CHECK(aborted() == ids{0});
}

TEST_CASE("A batch that is refused was refused whole") {
  extended_bench<transport::rc> bench;
  const auto sender = bench.pair.extended();
  for (const int error : {ENOMEM, -ENOMEM}) {
    bench.machine.fail<fake::called::wr_complete>(error);
    const post_result result =
        sender.post(send(bench.region.buffer()), send(bench.region.buffer()));
    CHECK(!result);
    CHECK(result.accepted() == 0);
    failure why;
    result.check(why);
    CHECK(why.verb() == "ibv_wr_complete");
    CHECK(why.code() == std::errc::not_enough_memory);
    CHECK(why.object().starts_with("fake0 qp 0x"));
  }
}

TEST_CASE("A pair that was not made for extended sending says so") {
  test_bench bench;
  const auto pair = bench.ready<transport::rc>();
  failure why;
  const auto sender = pair.extended(why);
  CHECK(!sender);
  CHECK(why.code() == std::errc::operation_not_supported);
  CHECK(why.verb() == "ibv_qp_to_qp_ex");
  CHECK(why.explanation().starts_with("the queue pair was not made for "));
  CHECK(
      why.explanation().ends_with("by extended calls: name them in "
                                  "queue_pair_options::send_operations, or use post(...) of the "
                                  "pair itself"));
}

TEST_CASE("An operation that the pair was not made for is named") {
  test_bench bench;
  const auto pair = bench.ready<transport::rc>({.send_operations = send_operation::send});
  CHECK(pair.extended<send_operation::send>());
  failure why;
  CHECK(!pair.extended < send_operation::send | send_operation::read |
        send_operation::flush > (why));
  CHECK(why.explanation() ==
        "the queue pair was not made for read|flush by extended calls: name them in "
        "queue_pair_options::send_operations, or use post(...) of the pair itself");
  const queue_pair<transport::rc> empty;
  CHECK(!empty.extended(why));
  CHECK(why.code() == std::errc::invalid_argument);
}

TEST_CASE("An extended sender binds windows and invalidates keys",
          "[ibv_wr_bind_mw][ibv_wr_local_inv][ibv_wr_send_inv]") {
  extended_bench<transport::rc> bench;
  constexpr send_operations operations = send_operation::bind_window |
                                         send_operation::local_invalidate |
                                         send_operation::send_with_invalidate;
  const auto pair = bench.ready<transport::rc>({.send_operations = operations});
  const memory_region region{bench.domain, bench.words,
                             access_right::local_write | access_right::window_bind};
  const memory_window<window_type::two> window{bench.domain};
  const rkey before = window.key();
  const auto binding = window.prepare<std::byte, access_right::remote_write>(region, 8, 16);
  pair.extended<operations>()
      .post(local_invalidate(before).id(1), bind_window(binding).id(2).fenced(),
            send_with_invalidate(rkey{0x77}, bench.region.slice(0, 8)).id(3).signaled())
      .check();
  const auto sent = bench.sent();
  REQUIRE(sent.size() == 3);
  CHECK(sent[0].opcode == IBV_WR_LOCAL_INV);
  CHECK(sent[0].invalidated_key == static_cast<std::uint32_t>(before));
  CHECK(sent[0].data_call.empty());
  CHECK(sent[1].opcode == IBV_WR_BIND_MW);
  CHECK(sent[1].flags == IBV_SEND_FENCE);
  CHECK(sent[1].window == window.native_handle());
  CHECK(sent[1].remote_key == static_cast<std::uint32_t>(binding.key()));
  CHECK(sent[1].binding.mr == region.native_handle());
  CHECK(sent[1].binding.addr == region.device_address() + 8);
  CHECK(sent[1].binding.length == 16);
  CHECK(sent[1].binding.mw_access_flags == IBV_ACCESS_REMOTE_WRITE);
  CHECK(sent[1].data_call.empty());
  CHECK(window.key() == binding.key());
  CHECK(sent[2].opcode == IBV_WR_SEND_WITH_INV);
  CHECK(sent[2].invalidated_key == 0x77);
  CHECK(sent[2].data_call == "sge");
}

TEST_CASE("A batch that is dropped leaves the key of its window to be restored") {
  extended_bench<transport::rc> bench;
  const auto pair = bench.ready<transport::rc>({.send_operations = send_operation::bind_window});
  const memory_region region{bench.domain, bench.words,
                             access_right::local_write | access_right::window_bind};
  const memory_window<window_type::two> window{bench.domain};
  const auto binding = window.prepare<std::byte, access_right::remote_write>(region, 0, 8);
  {
    auto batch = pair.extended<send_operation::bind_window>().start();
    batch.add(bind_window(binding));
  }
  CHECK(window.key() == binding.key());
  window.restore_key(binding.previous_key());
  CHECK(window.prepare<std::byte, access_right::remote_write>(region, 0, 8).key() == binding.key());
}

TEST_CASE("A bind that is refused through the extended calls leaves its window as it was") {
  extended_bench<transport::rc> bench;
  const auto pair = bench.ready<transport::rc>({.send_operations = send_operation::bind_window});
  const memory_region region{bench.domain, bench.words,
                             access_right::local_write | access_right::window_bind};
  const memory_window<window_type::two> window{bench.domain};
  const rkey before = window.key();
  const auto binding = window.prepare<std::byte, access_right::remote_write>(region, 0, 8);
  const auto sender = pair.extended<send_operation::bind_window>();
  bench.machine.fail<fake::called::wr_complete>(ENOMEM);
  CHECK(!sender.post(bind_window(binding)));
  CHECK(window.key() == before);
  sender.post(bind_window(binding)).check();
  CHECK(window.key() == binding.key());
}

TEST_CASE("An extended sender names the shared receive queue of an XRC request",
          "[ibv_wr_set_xrc_srqn]") {
  test_bench bench;
  auto fresh = queue_pair<transport::xrc_send>::create(
      bench.domain,
      {.send_cq = bench.queue, .send_operations = basic_operations(transport::xrc_send)});
  const auto pair = fresh.init().port(port_number{1}).apply().connect(test_bench::peer);
  pair.extended().post(send().to(shared_receive_queue_number{0x321})).check();
  const auto sent = bench.machine.calls<fake::called::wr_complete>().back().requests.at(0);
  CHECK(sent.opcode == IBV_WR_SEND);
  CHECK(sent.shared_receive_queue == 0x321);
}
