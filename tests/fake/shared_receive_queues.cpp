// SPDX-License-Identifier: MIT
// Shared receive queues: exact arguments, and failures that explain themselves.
#include <array>
#include <cerrno>
#include <string>

#include <support/catch.hpp>
#include <support/reported.hpp>
#include <support/told_failures.hpp>

#include "test_bench.hpp"

using namespace adverb;
namespace called = fake::called;

namespace {

struct queue_bench : test_bench {
  std::array<std::byte, 64> memory{};
  memory_region region{domain, memory, access_right::local_write};
  adverb::shared_receive_queue shared{domain, {.max_wr = 16, .max_sge = 2}};
};

/// The text of the failure of making one.
std::string refusal(test_bench& bench, const shared_receive_queue_options& options) {
  failure why;
  const adverb::shared_receive_queue queue{bench.domain, options, why};
  CHECK(!queue);
  return why.what();
}

}  // namespace

TEST_CASE("A shared receive queue is created with exactly its options",
          "[ibv_create_srq][ibv_destroy_srq]") {
  test_bench bench;
  int user = 0;
  bench.machine.name("user", user);
  {
    const adverb::shared_receive_queue shared{bench.domain,
                                              {.max_wr = 16, .max_sge = 2, .user_context = &user}};
    CHECK(shared.user_context() == &user);
    CHECK(shared.context().native_handle() == bench.context.native_handle());
    CHECK(shared.protection_domain().native_handle() == bench.domain.native_handle());
  }
  CHECK_THAT((bench.machine.lines<called::create_srq, called::destroy_srq>()), is_log(R"(
    ibv_create_srq pd0 srq_context=user attr={max_wr=16 max_sge=2}
    ibv_destroy_srq srq0)"));
}

TEST_CASE("A query of a shared receive queue returns its size and limit", "[ibv_query_srq]") {
  queue_bench bench;
  bench.shared.set_limit(3);
  const shared_receive_queue_attributes found = bench.shared.query();
  CHECK(bench.machine.line() == "ibv_query_srq srq0");
  CHECK(found.max_wr() == 16);
  CHECK(found.max_sge() == 2);
  CHECK(found.limit() == 3);
  CHECK(found.native().max_wr == 16);

  bench.machine.fail<called::query_srq>(EIO);
  failure why;
  (void)bench.shared.query(why);
  CHECK(std::string{why.what()} == "ibv_query_srq on fake0 srq " +
                                       std::to_string(bench.shared.native_handle()->handle) +
                                       ": EIO (Input/output error)");
}

TEST_CASE("resize and set_limit change only their attribute", "[ibv_modify_srq]") {
  queue_bench bench;
  bench.machine.forget_calls();
  bench.shared.resize(32);
  bench.shared.set_limit(5);
  CHECK_THAT(bench.machine.lines(), is_log(R"(
    ibv_modify_srq srq0 max_wr=32
    ibv_modify_srq srq0 srq_limit=5)"));
  CHECK(bench.shared.query().max_wr() == 32);
}

TEST_CASE("A shared receive queue accepts single receives and chains", "[ibv_post_srq_recv]") {
  queue_bench bench;
  const mutable_buffer first = bench.region.slice(0, 8);
  const std::array<mutable_buffer, 2> list{first, bench.region.slice(8, 16)};
  int user = 0;
  bench.machine.name("user", user);
  bench.machine.forget_calls();
  const post_result result =
      bench.shared.post(receive(first).id(7), receive(std::span{list}).id(&user), receive());
  CHECK(result);
  CHECK(result.accepted() == 3U);
  const shared_receive_queue_ref reference = bench.shared;
  reference.post(receive(first)).check();
  CHECK_THAT(bench.machine.lines(), is_log(R"(
    ibv_post_srq_recv srq0: RECV wr_id=7 [mr0+0 8]; RECV wr_id=user [mr0+0 8][mr0+8 16]; RECV
    ibv_post_srq_recv srq0: RECV [mr0+0 8])"));
}

TEST_CASE("A failed post names the shared receive queue and the accepted requests") {
  queue_bench bench;
  bench.machine.answer_post({.result = -ENOMEM, .bad_request = 1});
  const post_result result = bench.shared.post(receive(), receive());
  CHECK(result.accepted() == 1U);
  const failure why = reported([&](auto&&... policy) { result.check(policy...); });
  CHECK(std::string{why.what()} ==
        "ibv_post_srq_recv on fake0 srq " + std::to_string(bench.shared.native_handle()->handle) +
            ": ENOMEM (Cannot allocate memory); 1 request was accepted; possible causes: the "
            "receive has no "
            "elements, which soft-iWARP refuses, or the queue is full (max_wr is 16)");
}

TEST_CASE("A shared receive queue with a live queue pair fails to close") {
  const told_failures told;
  queue_bench bench;
  auto pair = queue_pair<transport::rc>::create(
      bench.domain, {.send_cq = bench.queue, .recv_cq = bench.queue, .srq = bench.shared});
  CHECK(bench.machine.line() ==
        "ibv_create_qp pd0 qp_type=RC send_cq=cq0 recv_cq=cq0 srq=srq0 "
        "cap={max_send_wr=1 max_recv_wr=1 max_send_sge=1 max_recv_sge=1}");

  failure why;
  bench.shared.close(why);
  CHECK(why.code() == std::errc::device_or_resource_busy);
  CHECK(why.explanation() == "still in use by 1 queue pair; destroy these first");
  CHECK(bench.machine.count<called::destroy_srq>() == 0);
  pair.close();
  bench.shared.close();
  CHECK(bench.machine.count<called::destroy_srq>() == 1);
  CHECK(told.messages().empty());
}

TEST_CASE("Receives posted to a pair with a shared receive queue fail with a hint") {
  queue_bench bench;
  auto fresh = queue_pair<transport::rc>::create(
      bench.domain, {.send_cq = bench.queue, .recv_cq = bench.queue, .srq = bench.shared});
  const auto pair = fresh.init().port(port_number{1}).apply();
  bench.machine.answer_post({.result = EINVAL});
  const post_result result = pair.post(receive());
  CHECK(reported([&](auto&&... policy) { result.check(policy...); }).explanation() ==
        "the number of accepted requests is unknown; the pair has no receive queue: post to its "
        "shared receive queue");
}

TEST_CASE("A failed creation names sizes beyond the device") {
  test_bench bench;
  CHECK(refusal(bench, {.max_wr = 2049, .max_sge = 9}) ==
        "ibv_create_srq on fake0: EINVAL (Invalid argument); max_wr is 2049, the device allows "
        "2048; max_sge is 9, the device allows 8");
  CHECK(refusal(bench, {.max_wr = 0}) ==
        "ibv_create_srq on fake0: EINVAL (Invalid argument); max_wr is 0: the queue has no room "
        "for a receive");
  bench.limits().max_srq = 0;
  bench.machine.fail<called::create_srq>(EOPNOTSUPP);
  CHECK(refusal(bench, {}) ==
        "ibv_create_srq on fake0: EOPNOTSUPP (Operation not supported); fake0 has no shared "
        "receive queues");
}

TEST_CASE("A refused change of a shared receive queue is explained") {
  queue_bench bench;
  const auto explained = [&](const auto& change) {
    return std::string{reported([&](auto&&... policy) { change(policy...); }).explanation()};
  };
  const auto resize = [&](std::uint32_t size) {
    return explained([&, size](auto&&... policy) { bench.shared.resize(size, policy...); });
  };
  const auto set_limit = [&](std::uint32_t limit) {
    return explained([&, limit](auto&&... policy) { bench.shared.set_limit(limit, policy...); });
  };
  CHECK(set_limit(17) == "the limit is 17, the queue holds 16");
  bench.shared.set_limit(8);
  CHECK(resize(7) == "max_wr is 7, below the limit of 8");
  CHECK(resize(4096) == "max_wr is 4096, the device allows 2048");
  CHECK(resize(0) ==
        "max_wr is 0: the queue has no room for a receive; max_wr is 0, below the "
        "limit of 8");
  adverb::failure why;
  bench.machine.fail<called::modify_srq>(EOPNOTSUPP);
  bench.shared.set_limit(1, why);
  CHECK(why.explanation() == "fake0 has no shared receive queues that can be modified");
  bench.limits().device_cap_flags = 0;
  CHECK(resize(20) == "fake0 cannot resize shared receive queues");
}

TEST_CASE("Operations on an empty shared receive queue fail with EINVAL") {
  test_bench bench;
  const adverb::shared_receive_queue none;
  std::error_code code;
  (void)none.query(code);
  CHECK(code == std::errc::invalid_argument);
  none.resize(1, code);
  CHECK(code == std::errc::invalid_argument);
  none.set_limit(1, code);
  CHECK(code == std::errc::invalid_argument);
  failure why;
  const adverb::shared_receive_queue homeless{protection_domain_ref{}, {}, why};
  CHECK(why.explanation() ==
        "the protection domain is empty: moved from, closed, or never created");
}

TEST_CASE("A failed creation of a shared receive queue leaks nothing") {
  fake::machine machine;
  const context opened = open_device();
  const protection_domain domain{opened};
  const std::size_t before = machine.live_objects();
  machine.fail<called::create_srq>(ENOMEM);
  std::error_code code;
  const adverb::shared_receive_queue queue{domain, {}, code};
  CHECK(code == std::errc::not_enough_memory);
  CHECK(!queue);
  CHECK(machine.live_objects() == before);
}
