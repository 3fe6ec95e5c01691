// SPDX-License-Identifier: MIT
// Misuse that ends the program with a sentence, instead of an invalid read.
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <adverb/adverb.hpp>
#include <support/catch.hpp>
#include <support/ended_program.hpp>

#include "fake.hpp"
#include "test_bench.hpp"

using namespace adverb;

#if ADVERB_HARDENING >= ADVERB_HARDENING_FAST

namespace {

constexpr std::string_view empty_queue_pair =
    ": EINVAL (Invalid argument); the queue pair is empty: moved from, closed, or never created";

ibv_wc too_long() {
  ibv_wc native{};
  native.wr_id = 42;
  native.status = IBV_WC_LOC_LEN_ERR;
  native.qp_num = 0x11;
  return native;
}

ibv_wc sent() {
  ibv_wc native{};
  native.wr_id = 42;
  native.status = IBV_WC_SUCCESS;
  native.opcode = IBV_WC_SEND;
  native.qp_num = 0x11;
  return native;
}

constexpr std::string_view failed_request =
    "completion::success() on qp 0x11 id 42: EINVAL (Invalid argument); the work request failed "
    "(local length error): check() it first";
constexpr std::string_view no_receive =
    "completion::success().receive() on qp 0x11 id 42: EINVAL (Invalid argument); it is not the "
    "completion of a receive: test the view before reading it";

}  // namespace

TEST_CASE("reading a field of a failed completion ends the program") {
  const completion failed{too_long()};
  CHECK(words_at_the_end([&] { (void)failed.success().length(); }) == failed_request);
  CHECK(words_at_the_end([&] { (void)failed.success().opcode(); }) == failed_request);
  CHECK(words_at_the_end([&] { (void)failed.success().tag_synchronization_requested(); }) ==
        failed_request);
}

TEST_CASE("a failed completion has no message") {
  const completion failed{too_long()};
  CHECK_FALSE(failed.success().receive());
  CHECK_FALSE(failed.success().receive_tagged());
  CHECK(words_at_the_end([&] { (void)failed.success().receive().length(); }) ==
        "completion::success().receive() on qp 0x11 id 42: EINVAL (Invalid argument); the work "
        "request failed (local length error): check() it first");
}

TEST_CASE("reading a field of a missing message ends the program") {
  const completion done{sent()};
  REQUIRE_FALSE(done.success().receive());
  const received_message none = done.success().receive();
  CHECK(words_at_the_end([&] { (void)none.length(); }) == no_receive);
  CHECK(words_at_the_end([&] { (void)none.immediate(); }) == no_receive);
  CHECK(words_at_the_end([&] { (void)none.has_grh(); }) == no_receive);
  CHECK(words_at_the_end([&] { (void)none.source_queue_pair(); }) == no_receive);
  CHECK(words_at_the_end([&] { (void)done.success().receive_tagged().tag_matched(); }) ==
        no_receive);
}

TEST_CASE("reading a field of a failed extended completion ends the program") {
  const auto at = [](const ibv_wc& native, const auto& look) {
    test_bench bench;
    const extended_completion_queue<> queue{bench.context, 16};
    bench.machine.complete(queue.native_handle(), native, {});
    return words_at_the_end([&] {
      for (const auto& done : queue.poll(1)) look(done);
    });
  };
  constexpr std::string_view reason = "the work request failed (local length error)";
  CHECK(at(too_long(), [](const auto& done) {
          (void)done.success().length();
        }).starts_with("completion::success() on id 42: "));
  CHECK(at(too_long(), [](const auto& done) {
          (void)done.success().receive().length();
        }).find(reason) != std::string::npos);
  CHECK(at(sent(), [](const auto& done) {
          (void)done.success().receive().length();
        }).ends_with("it is not the completion of a receive: test the view before reading it"));
}

TEST_CASE("a post through a moved-from pair ends the program") {
  test_bench bench;
  auto pair = bench.ready<transport::rc>();
  const auto moved = std::move(pair);
  const std::vector<std::byte> bytes(8);
  CHECK(words_at_the_end([&] { (void)pair.post(send(inline_data{bytes})); }) ==
        "ibv_post_send" + std::string{empty_queue_pair});
  CHECK(words_at_the_end([&] { (void)pair.post(receive()); }) ==
        "ibv_post_recv" + std::string{empty_queue_pair});
  CHECK(words_at_the_end([&] { (void)queue_pair_ref<transport::rc>{}.post(receive()); }) ==
        "ibv_post_recv" + std::string{empty_queue_pair});
}

TEST_CASE("a post to another kind of empty queue ends the program") {
  CHECK(words_at_the_end([] { (void)shared_receive_queue_ref{}.post(receive()); }) ==
        "ibv_post_srq_recv: EINVAL (Invalid argument); the shared receive queue is empty: moved "
        "from, closed, or never created");
  CHECK(words_at_the_end([] { (void)work_queue_ref<>{}.post(receive()); }) ==
        "ibv_post_wq_recv: EINVAL (Invalid argument); the work queue is empty: moved from, closed, "
        "or never created");
  CHECK(words_at_the_end([] { (void)tag_matching_queue_ref{}.post_operations(delete_tag({})); }) ==
        "ibv_post_srq_ops: EINVAL (Invalid argument); the shared receive queue is empty: moved "
        "from, closed, or never created");
  CHECK(words_at_the_end([] { (void)extended_sender<transport::rc>{}.start(); }) ==
        "ibv_wr_start" + std::string{empty_queue_pair});
}

TEST_CASE("a poll of an empty queue ends the program") {
  std::array<completion, 4> batch;
  CHECK(words_at_the_end([&] { (void)completion_queue_ref{}.poll(batch); }) ==
        "ibv_poll_cq: EINVAL (Invalid argument); the completion queue is empty: moved from, "
        "closed, or never created");
  CHECK(words_at_the_end([] { (void)extended_completion_queue_ref<>{}.poll(); }) ==
        "ibv_start_poll: EINVAL (Invalid argument); the completion queue is empty: moved from, "
        "closed, or never created");
}

TEST_CASE("a block number out of range ends the program") {
  test_bench bench;
  std::vector<std::byte> bytes(64);
  const memory_region region{bench.domain, bytes};
  const auto blocks = region.blocks(24);
  REQUIRE(blocks.size() == 2);
  CHECK(words_at_the_end([&] { (void)blocks[2]; }) ==
        "buffer_blocks::operator[]: EINVAL (Invalid argument); block 2 is out of range: the count "
        "is 2");
}

TEST_CASE("adding a buffer to a full list ends the program") {
  buffer_list<2> list;
  list.push_back({});
  list.push_back({});
  CHECK(words_at_the_end([&] { list.push_back({}); }) ==
        "buffer_list::push_back: EINVAL (Invalid argument); the list is full: its capacity is 2");
}

#endif

#if ADVERB_HARDENING >= ADVERB_HARDENING_DEBUG

TEST_CASE("a payload larger than the remote buffer ends the program") {
  test_bench bench;
  std::vector<std::byte> bytes(64);
  const memory_region region{bench.domain, bytes};
  const remote_buffer<std::byte, access_right::remote_read | access_right::remote_write> there{
      adopt, 0x1000, 48, rkey{7}};
  const auto larger = [](std::string_view call, int bytes_of_it) {
    return std::string{call} + ": EINVAL (Invalid argument); " + std::to_string(bytes_of_it) +
           " bytes exceed the 48 of the remote buffer";
  };
  CHECK(words_at_the_end([&] { (void)write(there, region.slice(0, 49)); }) == larger("write", 49));
  CHECK(words_at_the_end([&] {
          (void)write_with_immediate(there, immediate{1}, region.slice(0, 40), region.slice(0, 9));
        }) == larger("write_with_immediate", 49));
  CHECK(words_at_the_end([&] { (void)read(there, region.buffer()); }) == larger("read", 64));
  const std::array<const_buffer, 2> list{region.slice(0, 32), region.slice(0, 32)};
  CHECK(words_at_the_end([&] { (void)write(there, std::span{list}); }) == larger("write", 64));
  CHECK(words_at_the_end([&] { (void)write(there, inline_data{bytes}); }) == larger("write", 64));
  CHECK(words_at_the_end([&] { (void)write(there, region.slice(0, 48)); }) == "it went on");
}

TEST_CASE("moving a prepared request to memory of another key ends the program") {
  constexpr std::string_view other_key =
      ": EINVAL (Invalid argument); the buffer has another key than the request: set it by ";
  using bytes = remote_buffer<std::byte, access_right::remote_write>;
  const mutable_buffer here{adopt, ibv_sge{0x1000, 8, 1}};
  const mutable_buffer elsewhere{adopt, ibv_sge{0x1000, 8, 2}};
  prepared_request request{write(bytes{adopt, 0x2000, 8, rkey{3}}, here)};
  CHECK(words_at_the_end([&] { request.move_remote(bytes{adopt, 0x2000, 8, rkey{4}}); }) ==
        "prepared_request::move_remote" + std::string{other_key} + "remote()");
  CHECK(words_at_the_end([&] { request.move_payload(elsewhere); }) ==
        "prepared_request::move_payload" + std::string{other_key} + "payload()");
}

TEST_CASE("posting a buffer of a destroyed region ends the program") {
  test_bench bench;
  std::vector<std::byte> bytes(64);
  auto pair = bench.ready<transport::rc>({.send_operations = basic_operations(transport::rc)});
  memory_region region{bench.domain, bytes};
  const std::string key = to_string(region.lkey());
  const mutable_buffer buffer = region.buffer();
  const auto gone = [&](std::string_view call, int index) {
    return std::string{call} + " on fake0 pd 1: EINVAL (Invalid argument); the region of buffer " +
           std::to_string(index) + " (lkey " + key + ") is gone: it was closed or destroyed";
  };
  // Not yet.
  pair.post(send(buffer)).check();
  region.close();
  CHECK(words_at_the_end([&] { (void)pair.post(send(buffer)); }) == gone("ibv_post_send", 0));
  CHECK(words_at_the_end([&] { (void)pair.post(receive(buffer)); }) == gone("ibv_post_recv", 0));
  CHECK(words_at_the_end([&] { (void)pair.extended().post(send(buffer)); }) ==
        gone("ibv_wr_set_sge", 0));
  const std::array<const_buffer, 1> list{buffer};
  CHECK(words_at_the_end([&] { (void)pair.extended().post(send(std::span{list})); }) ==
        gone("ibv_wr_set_sge_list", 0));
  const memory_region other{bench.domain, bytes};
  CHECK(words_at_the_end([&] { (void)pair.post(send(), send(other.buffer(), buffer)); }) ==
        gone("ibv_post_send", 1));
  const shared_receive_queue shared{bench.domain, {}};
  CHECK(words_at_the_end([&] { (void)shared.post(receive(buffer)); }) ==
        gone("ibv_post_srq_recv", 0));
}

TEST_CASE("posting a buffer of another protection domain ends the program") {
  test_bench bench;
  std::vector<std::byte> bytes(64);
  auto pair = bench.ready<transport::rc>();
  const protection_domain elsewhere{bench.context};
  memory_region region{elsewhere, bytes};
  CHECK(words_at_the_end([&] {
          (void)pair.post(send(region.buffer()));
        }).ends_with("belongs to another protection domain than the queue"));

  // A parent domain is not another one.
  const parent_domain extending{elsewhere, {}};
  const memory_region inside{extending, bytes};
  const auto of_extended =
      queue_pair<transport::rc>::create(elsewhere, {.send_cq = bench.queue, .recv_cq = bench.queue})
          .init()
          .port(port_number{1})
          .apply();
  of_extended.post(receive(inside.buffer())).check();
  // Nor is the domain that a region has moved to.
  region.reregister({.domain = bench.domain});
  pair.post(send(region.buffer())).check();
}

TEST_CASE("a post while the table of regions is locked succeeds") {
  struct table : detail::known_regions {
    static void post_locked(const queue_pair<transport::rc>& pair, const const_buffer& bytes) {
      const lock guard{instance()};
      pair.post(send(bytes)).check();
    }
  };
  test_bench bench;
  std::vector<std::byte> bytes(64);
  const memory_region region{bench.domain, bytes};
  auto pair = bench.ready<transport::rc>();
  table::post_locked(pair, region.buffer());
  CHECK(bench.machine.count<fake::called::post_send>() == 1);
}

TEST_CASE("buffers of regions that were released to C can be posted") {
  test_bench bench;
  std::vector<std::byte> bytes(64);
  auto pair = bench.ready<transport::rc>();
  memory_region region{bench.domain, bytes};
  const mutable_buffer buffer = region.buffer();
  ibv_mr* const native = region.release();
  CHECK(ibv_dereg_mr(native) == 0);
  CHECK(words_at_the_end([&] { (void)pair.post(send(buffer)); }) == "it went on");
}

TEST_CASE("a post through an empty extended sender ends the program") {
  CHECK(words_at_the_end([] {
          (void)extended_sender<transport::rc>{}.post(send());
        }).starts_with("ibv_wr_start: EINVAL"));
}

#endif
