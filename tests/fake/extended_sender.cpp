// SPDX-License-Identifier: MIT
// Sending through the extended calls: what the provider is given, field by field.
#include <array>
#include <cerrno>
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

  /// Posts to the sender, and returns what that called.
  template <class Sender, class... Requests>
  [[nodiscard]] fake::log_lines posted(const Sender& sender, const Requests&... requests) {
    return machine.lines_of([&] {
      const post_result result = sender.post(requests...);
      CHECK(result);
      CHECK(result.accepted() == sizeof...(Requests));
    });
  }
};

}  // namespace

TEST_CASE("An extended sender builds sends, writes and reads between start and complete",
          "[ibv_qp_to_qp_ex][ibv_wr_start][ibv_wr_complete][ibv_wr_send][ibv_wr_send_imm]"
          "[ibv_wr_rdma_write][ibv_wr_rdma_write_imm][ibv_wr_rdma_read][ibv_wr_set_sge]") {
  extended_bench<transport::rc> bench;
  const auto slice = bench.region.slice(8, 16);
  CHECK_THAT(bench.posted(bench.pair.extended(), send(slice).id(1).signaled(),
                          send_with_immediate(immediate{0x01020304}, slice).solicited(),
                          write(bench.remote, slice).id(3).fenced(),
                          write_with_immediate(bench.remote, immediate{0x0a0b0c0d}, slice),
                          read(bench.remote, slice)),
             is_log(R"(
    ibv_wr_start qp0
    ibv_wr_complete qp0: SEND wr_id=1 flags=SIGNALED sge [mr0+8 16];
      SEND_WITH_IMM flags=SOLICITED imm_data=0x1020304 sge [mr0+8 16];
      RDMA_WRITE wr_id=3 flags=FENCE remote_addr=0x7000 rkey=0x99 sge [mr0+8 16];
      RDMA_WRITE_WITH_IMM imm_data=0xa0b0c0d remote_addr=0x7000 rkey=0x99 sge [mr0+8 16];
      RDMA_READ remote_addr=0x7000 rkey=0x99 sge [mr0+8 16])"));
}

TEST_CASE("An extended sender builds atomics and atomic writes",
          "[ibv_wr_atomic_cmp_swp][ibv_wr_atomic_fetch_add][ibv_wr_atomic_write]") {
  extended_bench<transport::rc> bench;
  const auto result = bench.region.slice(0, 8);
  CHECK_THAT(bench.posted(bench.pair.extended<everything - send_operation::tcp_segmentation>(),
                          compare_and_swap(bench.remote, {.expected = 5, .desired = 6}, result),
                          fetch_and_add(bench.remote.slice(1, 1), 7, result),
                          atomic_write(bench.remote.slice(2, 1), 0x0102030405060708).id(9)),
             is_log(R"(
    ibv_wr_start qp0
    ibv_wr_complete qp0:
      ATOMIC_CMP_AND_SWP remote_addr=0x7000 rkey=0x99 compare=0x5 swap=0x6 sge [mr0+0 8];
      ATOMIC_FETCH_AND_ADD remote_addr=0x7008 rkey=0x99 add=0x7 sge [mr0+0 8];
      ATOMIC_WRITE wr_id=9 remote_addr=0x7010 rkey=0x99 value=0x102030405060708)"));
}

TEST_CASE("An extended sender passes lists and empty payloads as lists", "[ibv_wr_set_sge_list]") {
  extended_bench<transport::rc> bench;
  const std::array list{bench.region.slice(0, 8), bench.region.slice(16, 4)};
  CHECK_THAT(
      bench.posted(bench.pair.extended(), send(list[0], list[1]),
                   write(bench.remote, std::span{list}), send(), send(std::span{list}.first(0))),
      is_log(R"(
    ibv_wr_start qp0
    ibv_wr_complete qp0: SEND sge_list [mr0+0 8][mr0+16 4];
      RDMA_WRITE remote_addr=0x7000 rkey=0x99 sge_list [mr0+0 8][mr0+16 4];
      SEND sge_list; SEND sge_list)"));
}

TEST_CASE("An extended sender passes inline data of one or several pieces",
          "[ibv_wr_set_inline_data][ibv_wr_set_inline_data_list]") {
  extended_bench<transport::rc> bench;
  const std::string head{"head"};
  const std::string body{"and body"};
  const inline_data first{std::span{head}};
  const inline_data second{std::span{body}};
  CHECK_THAT(bench.posted(bench.pair.extended(), send(first),
                          write(bench.remote, first, second).signaled()),
             is_log(R"(
    ibv_wr_start qp0
    ibv_wr_complete qp0: SEND flags=INLINE inline "head";
      RDMA_WRITE flags=SIGNALED|INLINE remote_addr=0x7000 rkey=0x99 inline_list "headand body")"));
}

TEST_CASE("An extended sender addresses datagrams and segments them",
          "[ibv_wr_set_ud_addr][ibv_wr_send_tso]") {
  extended_bench<transport::ud> bench;
  const address_handle handle{bench.domain, bench.pair.address_of(test_bench::peer)};
  const datagram_destination there{handle, qp_number{0x55}, queue_key{0x66}};
  const std::string header(20, 'h');
  const auto slice = bench.region.slice(0, 32);
  CHECK_THAT(
      bench.posted(
          bench.pair.extended<basic_operations(transport::ud) | send_operation::tcp_segmentation>(),
          send(slice).to(there).ip_checksum(),
          send_segmented(std::as_bytes(std::span{header}), 8, slice).to(there)),
      is_log(R"(
    ibv_wr_start qp0
    ibv_wr_complete qp0:
      SEND flags=IP_CSUM ah0 remote_qpn=0x55 remote_qkey=0x66 sge [mr0+0 32];
      TSO hdr="hhhhhhhhhhhhhhhhhhhh" mss=8 ah0 remote_qpn=0x55 remote_qkey=0x66
        sge [mr0+0 32])"));
}

TEST_CASE("A batch is posted by commit and aborted otherwise", "[ibv_wr_abort]") {
  extended_bench<transport::rc> bench;
  const auto sender = bench.pair.extended();
  bench.machine.forget_calls();
  {
    auto batch = sender.start();
    batch.add(send(bench.region.buffer()).id(1)).add(send(bench.region.buffer()).id(2));
    CHECK(bench.machine.count<fake::called::wr_complete>() == 0);
    const post_result result = batch.commit();
    CHECK(result);
    CHECK(result.accepted() == 2);
  }
  {
    auto batch = sender.start();
    batch.add(send(bench.region.buffer()).id(3));
    // Moving takes the duty along.
    const auto moved = std::move(batch);
  }
  CHECK_THAT(bench.machine.lines(), is_log(R"(
    ibv_wr_start qp0
    ibv_wr_complete qp0: SEND wr_id=1 sge [mr0+0 32]; SEND wr_id=2 sge [mr0+0 32]
    ibv_wr_start qp0
    ibv_wr_abort qp0: SEND wr_id=3 sge [mr0+0 32])"));
}

TEST_CASE("A batch that is dropped is aborted exactly once", "[ibv_wr_abort]") {
  extended_bench<transport::rc> bench;
  const auto sender = bench.pair.extended();
  const auto one = [&](std::uint64_t id) {
    auto batch = sender.start();
    batch.add(send(bench.region.slice(0, 8)).id(id));
    return batch;
  };
  using fake::called::wr_abort;
  using fake::called::wr_complete;
  const auto ends = [&](const auto& action) {
    return bench.machine.lines_of<wr_abort, wr_complete>(action);
  };

  CHECK_THAT(ends([&] {
               try {
                 const auto batch = one(1);
                 throw std::runtime_error{"in the middle"};
               } catch (const std::runtime_error&) {
               }
             }),
             is_log("ibv_wr_abort qp0: SEND wr_id=1 sge [mr0+0 8]"));
  const auto leave_early = [&](bool early) {
    auto batch = one(2);
    if (!early) batch.commit().check();
  };
  CHECK_THAT(ends([&] { leave_early(true); }),
             is_log("ibv_wr_abort qp0: SEND wr_id=2 sge [mr0+0 8]"));
  CHECK_THAT(ends([&] { leave_early(false); }),
             is_log("ibv_wr_complete qp0: SEND wr_id=2 sge [mr0+0 8]"));
  CHECK_THAT(ends([&] {
               auto batch = one(3);
               auto taken = std::move(batch);
               const auto taken_again = std::move(taken);
             }),
             is_log("ibv_wr_abort qp0: SEND wr_id=3 sge [mr0+0 8]"));
  CHECK_THAT(ends([&] {
               auto batch = one(4);
               auto taken = std::move(batch);
               CHECK(taken.add(send().id(5)).commit().accepted() == 2);
             }),
             is_log("ibv_wr_complete qp0: SEND wr_id=4 sge [mr0+0 8]; SEND wr_id=5 sge_list"));
  // A refused batch has ended: there is nothing left to abort.
  bench.machine.fail<wr_complete>(ENOMEM);
  CHECK_THAT(ends([&] { CHECK(!one(6).commit()); }),
             is_log("ibv_wr_complete qp0: SEND wr_id=6 sge [mr0+0 8]"));
  CHECK_THAT(ends([&] { const auto empty = sender.start(); }), is_log("ibv_wr_abort qp0"));
}

TEST_CASE("A refused batch reports that no request was accepted") {
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

TEST_CASE("An extended sender fails with a reason on a pair made without send_operations") {
  test_bench bench;
  const auto pair = bench.ready<transport::rc>();
  failure why;
  const auto sender = pair.extended(why);
  CHECK(!sender);
  CHECK(why.code() == std::errc::operation_not_supported);
  CHECK(why.verb() == "ibv_qp_to_qp_ex");
  CHECK(why.explanation().starts_with("the queue pair was not created with extended calls for "));
  CHECK(why.explanation().ends_with(
      ": add them to queue_pair_options::send_operations, or use post(...) of the pair"));
}

TEST_CASE("extended names the operations that the pair was created without") {
  test_bench bench;
  const auto pair = bench.ready<transport::rc>({.send_operations = send_operation::send});
  CHECK(pair.extended<send_operation::send>());
  failure why;
  CHECK(!pair.extended < send_operation::send | send_operation::read |
        send_operation::flush > (why));
  CHECK(why.explanation() ==
        "the queue pair was not created with extended calls for read|flush: add them to "
        "queue_pair_options::send_operations, or use post(...) of the pair");
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
  const auto binding = window.prepare<std::byte, access_right::remote_write>(region, 8, 16);
  CHECK_THAT(
      bench.posted(pair.extended<operations>(), local_invalidate(window.key()).id(1),
                   bind_window(binding).id(2).fenced(),
                   send_with_invalidate(rkey{0x77}, bench.region.slice(0, 8)).id(3).signaled()),
      is_log(R"(
    ibv_wr_start qp1
    ibv_wr_complete qp1: LOCAL_INV wr_id=1 invalidate_rkey=0x3007fe;
      BIND_MW wr_id=2 flags=FENCE mw0 rkey=0x3007ff
        bind_info={mr1+8 length=16 mw_access_flags=REMOTE_WRITE};
      SEND_WITH_INV wr_id=3 flags=SIGNALED invalidate_rkey=0x77 sge [mr0+0 8])"));
  CHECK(window.key() == binding.key());
}

TEST_CASE("A dropped batch leaves restoring the key of its window to the caller") {
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
  CHECK(bench.machine.line() == "ibv_wr_complete qp0: SEND remote_srqn=0x321 sge_list");
}
