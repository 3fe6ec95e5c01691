// SPDX-License-Identifier: MIT
// Prepared requests, batches and lists as they reach the C API: only the changed fields differ.
#include <array>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include <support/catch.hpp>
#include <support/reported.hpp>

#include "test_bench.hpp"

using namespace adverb;
namespace called = fake::called;

namespace {

struct prepared_bench : test_bench {
  static constexpr access_rights every_remote_right =
      access_right::remote_write | access_right::remote_read | access_right::remote_atomic;
  using remote_words = remote_buffer<std::uint64_t, every_remote_right>;

  std::array<std::uint64_t, 8> memory{};
  memory_region region{domain, memory, access_right::local_write};
  queue_pair<transport::rc> pair = ready<transport::rc>();
  remote_words remote{adopt, 0x1000, 512, rkey{0xaa}};
  remote_words elsewhere{adopt, 0x2008, 512, rkey{0xbb}};
  mutable_buffer first = region.slice(0, 8);
  mutable_buffer second = region.slice(16, 24);
  mutable_buffer third = region.slice(40, 4);

  /// Posts to the pair, and returns the requests that arrived in that one call.
  template <class Prepared>
  [[nodiscard]] std::string sent(const Prepared& prepared) {
    return requests_of(machine.lines_of([&] { pair.post(prepared).check(); }), "post_send qp0");
  }
  /// Checks that what is prepared and a plain request look the same to the device.
  template <class Prepared, class Request>
  void check_same(const Prepared& prepared, const Request& request) {
    CHECK(sent(prepared) == sent(request));
  }

  /// The requests of the only call of a log.
  [[nodiscard]] static std::string requests_of(const fake::log_lines& log,
                                               const std::string& call) {
    REQUIRE(log.lines.size() == 1);
    const std::string start = "ibv_" + call + ": ";
    REQUIRE(log.lines[0].starts_with(start));
    return log.lines[0].substr(start.size());
  }
};

}  // namespace

TEST_CASE("A prepared request equals the original request in each post", "[ibv_post_send]") {
  prepared_bench bench;
  const auto plain = write(bench.remote, bench.first, bench.second).id(7).signaled().fenced();
  const prepared_request request{plain};
  bench.check_same(request, plain);
  bench.check_same(request, plain);
  CHECK(bench.pair.post(request).accepted() == 1U);
}

TEST_CASE("A setter of a prepared write changes only its field") {
  prepared_bench bench;
  prepared_request request{write(bench.remote, bench.first, bench.second).id(7).fenced()};
  bench.check_same(request.id(9), write(bench.remote, bench.first, bench.second).id(9).fenced());
  bench.check_same(request.signaled(),
                   write(bench.remote, bench.first, bench.second).id(9).fenced().signaled());
  bench.check_same(request.signaled(false),
                   write(bench.remote, bench.first, bench.second).id(9).fenced());
  bench.check_same(request.remote(bench.elsewhere),
                   write(bench.elsewhere, bench.first, bench.second).id(9).fenced());
  bench.check_same(request.payload<1>(bench.third),
                   write(bench.elsewhere, bench.first, bench.third).id(9).fenced());
  bench.check_same(request.payload(bench.region.const_slice(8, 3)),
                   write(bench.elsewhere, bench.region.slice(8, 3), bench.third).id(9).fenced());
  bench.check_same(
      request.id(&bench),
      write(bench.elsewhere, bench.region.slice(8, 3), bench.third).id(&bench).fenced());
}

TEST_CASE("move_remote and move_payload change the addresses of a prepared request") {
  prepared_bench bench;
  prepared_request request{write(bench.remote, bench.first, bench.second)};
  const auto there = bench.remote.slice(1, 8);
  const auto here = bench.region.slice(8, 3);
  bench.check_same(request.move_remote(there), write(there, bench.first, bench.second));
  bench.check_same(request.move_payload<1>(here), write(there, bench.first, here));
  prepared_request added{fetch_and_add(bench.remote, 1, bench.first)};
  bench.check_same(added.move_remote(there), fetch_and_add(there, 1, bench.first));
}

TEST_CASE("Each prepared operation has setters for its fields") {
  prepared_bench bench;
  prepared_request noted{send_with_immediate(immediate{1}, bench.first)};
  bench.check_same(noted.immediate(immediate{0x11223344}),
                   send_with_immediate(immediate{0x11223344}, bench.first));
  CHECK(bench.sent(noted) == "SEND_WITH_IMM imm_data=0x11223344 [mr0+0 8]");

  prepared_request told{write_with_immediate(bench.remote, immediate{1}, bench.first)};
  bench.check_same(told.immediate(immediate{5}).remote(bench.elsewhere),
                   write_with_immediate(bench.elsewhere, immediate{5}, bench.first));

  prepared_request got{read(bench.remote, bench.first)};
  bench.check_same(got.remote(bench.elsewhere).payload(bench.second),
                   read(bench.elsewhere, bench.second));

  prepared_request swap{compare_and_swap(bench.remote, {.expected = 1, .desired = 2}, bench.first)};
  bench.check_same(swap.values({.expected = 3, .desired = 4}),
                   compare_and_swap(bench.remote, {.expected = 3, .desired = 4}, bench.first));
  bench.check_same(swap.remote(bench.elsewhere),
                   compare_and_swap(bench.elsewhere, {.expected = 3, .desired = 4}, bench.first));

  prepared_request add{fetch_and_add(bench.remote, 1, bench.first)};
  bench.check_same(add.addend(40), fetch_and_add(bench.remote, 40, bench.first));
  bench.check_same(add.remote(bench.elsewhere).payload(bench.region.slice(8, 8)),
                   fetch_and_add(bench.elsewhere, 40, bench.region.slice(8, 8)));

  prepared_request ends{send_with_invalidate(rkey{1}, bench.first)};
  bench.check_same(ends.invalidated_key(rkey{2}), send_with_invalidate(rkey{2}, bench.first));
  prepared_request own{local_invalidate(rkey{1})};
  bench.check_same(own.invalidated_key(rkey{3}), local_invalidate(rkey{3}));
}

TEST_CASE("A setter replaces the memory of prepared inline data and lists") {
  prepared_bench bench;
  const std::array<std::uint32_t, 2> one{1, 2};
  const std::array<std::uint32_t, 3> other{3, 4, 5};
  prepared_request short_one{send(inline_data{std::span{one}}, inline_data{std::span{one}})};
  bench.check_same(short_one.payload<1>(inline_data{std::span{other}}),
                   send(inline_data{std::span{one}}, inline_data{std::span{other}}));

  const std::array<mutable_buffer, 2> two{bench.first, bench.second};
  const std::array<mutable_buffer, 3> three{bench.third, bench.first, bench.second};
  prepared_request listed{send(std::span{two})};
  bench.check_same(listed, send(std::span{two}));
  bench.check_same(listed.payload(std::span{three}), send(std::span{three}));
  const prepared_request copy{listed};
  CHECK(copy.native().sg_list == listed.native().sg_list);

  const std::array pieces{inline_data{one}, inline_data{other}};
  prepared_request several{send(std::span{pieces}.first(1))};
  bench.check_same(several.payload(std::span{pieces}), send(std::span{pieces}));
}

TEST_CASE("A prepared datagram changes its destination") {
  prepared_bench bench;
  const auto pair = bench.ready<transport::ud>();
  const address_handle way{bench.domain,
                           {.route = global_route{.destination = test_bench::peer.gid}}};
  prepared_request request{send(bench.first).to({way, qp_number{1}, queue_key{2}})};
  bench.machine.forget_calls();
  pair.post(request).check();
  request.to({address_handle_ref{}, qp_number{3}, queue_key{4}});
  pair.post(request).check();
  CHECK_THAT(bench.machine.lines(), is_log(R"(
    ibv_post_send qp1: SEND ah0 remote_qpn=0x1 remote_qkey=0x2 [mr0+0 8]
    ibv_post_send qp1: SEND null remote_qpn=0x3 remote_qkey=0x4 [mr0+0 8])"));

  prepared_request of_xrc{send(bench.first).to(shared_receive_queue_number{5})};
  CHECK(of_xrc.native().qp_type.xrc.remote_srqn == 5);
  of_xrc.to(shared_receive_queue_number{6});
  CHECK(of_xrc.native().qp_type.xrc.remote_srqn == 6);
}

TEST_CASE("A copy of a prepared request has its own elements") {
  prepared_bench bench;
  prepared_request request{write(bench.remote, bench.first, bench.second).id(1)};
  prepared_request copy{request};
  copy.id(2).payload(bench.third);
  bench.check_same(request, write(bench.remote, bench.first, bench.second).id(1));
  bench.check_same(copy, write(bench.remote, bench.third, bench.second).id(2));
  request = copy;
  copy.payload(bench.first);
  bench.check_same(request, write(bench.remote, bench.third, bench.second).id(2));
  const auto& itself = request;
  request = itself;
  bench.check_same(request, write(bench.remote, bench.third, bench.second).id(2));

  std::vector many(3, request);
  many.insert(many.begin(), copy);
  for (std::size_t index = 1; index < many.size(); ++index)
    bench.check_same(many[index], write(bench.remote, bench.third, bench.second).id(2));
}

TEST_CASE("A prepared batch is posted by one call each time and keeps its links",
          "[ibv_post_send]") {
  prepared_bench bench;
  prepared_batch batch{write(bench.remote, bench.first, bench.second).id(1),
                       read(bench.remote, bench.third).id(2),
                       send_with_immediate(immediate{5}, bench.first).id(3).signaled()};
  for (std::uint64_t round = 1; round <= 3; ++round) {
    batch.request<0>().id(round * 10).remote(bench.elsewhere);
    batch.request<2>().immediate(adverb::immediate{static_cast<std::uint32_t>(round)});
    CHECK(bench.sent(batch) == "RDMA_WRITE wr_id=" + std::to_string(round * 10) +
                                   " remote_addr=0x2008 rkey=0xbb [mr0+0 8][mr0+16 24]; "
                                   "RDMA_READ wr_id=2 remote_addr=0x1000 rkey=0xaa [mr0+40 4]; "
                                   "SEND_WITH_IMM wr_id=3 flags=SIGNALED imm_data=0x" +
                                   std::to_string(round) + " [mr0+0 8]");
  }
  CHECK(bench.pair.post(batch).accepted() == 3U);
}

TEST_CASE("A copy of a prepared batch links to its own requests") {
  prepared_bench bench;
  prepared_batch batch{send(bench.first).id(1), send(bench.second).id(2), send().id(3)};
  {
    prepared_batch copy{batch};
    copy.request<1>().id(7).payload(bench.third);
    CHECK(bench.sent(copy) == "SEND wr_id=1 [mr0+0 8]; SEND wr_id=7 [mr0+40 4]; SEND wr_id=3");
    CHECK(bench.sent(batch) == "SEND wr_id=1 [mr0+0 8]; SEND wr_id=2 [mr0+16 24]; SEND wr_id=3");
    batch = copy;
    copy.request<1>().id(8).payload(bench.first);
  }
  CHECK(bench.sent(batch) == "SEND wr_id=1 [mr0+0 8]; SEND wr_id=7 [mr0+40 4]; SEND wr_id=3");

  batch.request<0>() = prepared_batch{send(bench.first).id(9)}.request<0>();
  CHECK(bench.sent(batch) == "SEND wr_id=9 [mr0+0 8]; SEND wr_id=7 [mr0+40 4]; SEND wr_id=3");
  const prepared_batch alone{send(bench.first).id(4)};
  CHECK(bench.sent(alone) == "SEND wr_id=4 [mr0+0 8]");
}

TEST_CASE("A failed batch or single request reports the number of accepted requests") {
  prepared_bench bench;
  const prepared_batch batch{send(), send(), send()};
  bench.machine.answer_post({.result = ENOMEM, .bad_request = 2});
  post_result result = bench.pair.post(batch);
  CHECK(result.code() == std::errc::not_enough_memory);
  CHECK(result.accepted() == 2U);
  bench.machine.answer_post({.result = 0, .bad_request = 1});
  result = bench.pair.post(batch);
  CHECK(!result);
  CHECK(result.accepted() == 1U);
  const prepared_request request{send()};
  bench.machine.answer_post({.result = -EINVAL, .bad_request = 0});
  result = bench.pair.post(request);
  CHECK(result.code() == std::errc::invalid_argument);
  CHECK(result.accepted() == 0U);
}

TEST_CASE("A prepared list is posted completely or in part, and stays linked", "[ibv_post_recv]") {
  prepared_bench bench;
  const auto waiting = bench.waiting<transport::rc>();
  prepared_list list{receive(bench.first, bench.second), 5};
  CHECK(list.size() == 5);
  for (std::size_t index = 0; index < list.size(); ++index)
    list[index].id(index).payload<1>(bench.region.slice(index * 8, 8));
  const std::array<std::string, 5> requests{
      "RECV [mr0+0 8][mr0+0 8]", "RECV wr_id=1 [mr0+0 8][mr0+8 8]",
      "RECV wr_id=2 [mr0+0 8][mr0+16 8]", "RECV wr_id=3 [mr0+0 8][mr0+24 8]",
      "RECV wr_id=4 [mr0+0 8][mr0+32 8]"};
  const auto check = [&](const auto& what, std::size_t count) {
    std::string expected = requests[0];
    for (std::size_t index = 1; index < count; ++index) expected += "; " + requests[index];
    const auto log = bench.machine.lines_of([&] {
      const post_result result = waiting.post(what);
      result.check();
      CHECK(result.accepted() == count);
    });
    CHECK(prepared_bench::requests_of(log, "post_recv qp1") == expected);
  };
  check(list, 5);
  check(list.first(2), 2);
  check(list.first(5), 5);
  check(list.first(1), 1);
  check(list, 5);

  bench.machine.forget_calls();
  const post_result nothing = waiting.post(list.first(0));
  CHECK(nothing);
  CHECK(nothing.accepted() == 0U);
  CHECK(bench.machine.log().empty());
  bench.machine.answer_post({.result = ENOMEM, .bad_request = 1});
  CHECK(waiting.post(list.first(3)).accepted() == 1U);
  check(list, 5);
}

TEST_CASE("A copy of a prepared list has its own requests, and a moved-from list is empty") {
  prepared_bench bench;
  const auto sends = [](std::uint64_t first, std::uint64_t second, std::uint64_t third) {
    std::string text;
    for (const std::uint64_t id : {first, second, third})
      text += (text.empty() ? "" : "; ") + ("SEND wr_id=" + std::to_string(id)) + " [mr0+0 8]";
    return text;
  };
  prepared_list list{send(bench.first).id(1), 3};
  prepared_list copy{list};
  copy[1].id(2);
  CHECK(bench.sent(list) == sends(1, 1, 1));
  CHECK(bench.sent(copy) == sends(1, 2, 1));
  prepared_list moved{std::move(copy)};
  CHECK(bench.sent(moved) == sends(1, 2, 1));
  list = prepared_list{send(bench.second).id(5), 2};
  CHECK(bench.sent(list) == "SEND wr_id=5 [mr0+16 24]; SEND wr_id=5 [mr0+16 24]");
  list = moved;
  moved[0].id(9);
  CHECK(bench.sent(list) == sends(1, 2, 1));
  for (auto& each : list) each.id(4);
  CHECK(bench.sent(list) == sends(4, 4, 4));

  prepared_list none{send(), 0};
  bench.machine.forget_calls();
  CHECK(bench.pair.post(none));
  CHECK(bench.machine.count<called::post_send>() == 0);
  try {
    (void)none.first(1);
    FAIL("more requests than there are");
  } catch (const error& why) {
    CHECK(why.code() == std::errc::result_out_of_range);
    CHECK(std::string{why.what()}.ends_with("the count 1 exceeds the size 0 of the list"));
  }
}

TEST_CASE("Prepared receives are posted to shared receive queues and work queues too",
          "[ibv_post_srq_recv][ibv_post_wq_recv]") {
  prepared_bench bench;
  const adverb::shared_receive_queue shared{bench.domain, {.max_wr = 16, .max_sge = 2}};
  auto fresh = work_queue<>::create(bench.domain, {.completion_queue = bench.queue, .max_wr = 8});
  const auto ready = fresh.ready();
  bench.machine.forget_calls();
  prepared_request request{receive(bench.first).id(1)};
  shared.post(request.id(2)).check();
  const prepared_batch batch{receive(bench.first).id(3), receive(bench.second).id(4)};
  shared.post(batch).check();
  prepared_list list{receive(bench.first).id(5), 3};
  ready.post(list.first(2)).check();
  CHECK_THAT(bench.machine.lines(), is_log(R"(
    ibv_post_srq_recv srq0: RECV wr_id=2 [mr0+0 8]
    ibv_post_srq_recv srq0: RECV wr_id=3 [mr0+0 8]; RECV wr_id=4 [mr0+16 24]
    ibv_post_wq_recv wq0: RECV wr_id=5 [mr0+0 8]; RECV wr_id=5 [mr0+0 8])"));
}
