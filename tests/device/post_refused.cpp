// SPDX-License-Identifier: MIT
// Requests that a queue pair refuses, and the number of requests of a chain that it accepted
// before.
#include <string>

#include "support.hpp"

using namespace adverb;

namespace {

using rc_loopback = loopback<transport::rc>;

struct lone_bench {
  context device = open_device();
  protection_domain domain{device};
  completion_queue queue{device, 64};

  template <transport Transport>
  [[nodiscard]] queue_pair<Transport, qp_state::any> fresh() const {
    return queue_pair<Transport>::create(
        domain, {.send_cq = queue, .recv_cq = queue, .max_send_wr = 16, .max_recv_wr = 16});
  }
};

/// The types forbid what is tried here. A program with a wrong state in the type gets the refusal
/// of the device.
template <transport Transport, class Request>
void check_refused(const queue_pair<Transport, qp_state::any>& pair, const Request& request) {
  const post_result result = pair.template as<qp_state::rts>().post(request);
  CHECK(!result);
  // Soft-RoCE refuses with the doorbell, and so does not report the number of accepted requests.
  CHECK(result.accepted().value_or(0) == 0);
  failure why;
  result.check(why);
  CHECK(why.code() == std::errc::invalid_argument);
  if (!result.accepted())
    CHECK(why.explanation().starts_with("the number of accepted requests is unknown"));
}

/// Tries a send in each state before RTS, and returns the pair in RTR.
template <transport Transport, class Request>
queue_pair<Transport, qp_state::rtr> check_sends_before_ready(const lone_bench& bench,
                                                              const Request& request) {
  auto pair = bench.fresh<Transport>();
  check_refused(pair, request);
  auto fresh = pair.template assume<qp_state::reset>();
  pair = initialised(fresh);
  check_refused(pair, request);
  auto waiting = pair.template assume<qp_state::init>();
  if constexpr (Transport == transport::ud)
    pair = waiting.rtr().apply();
  else
    pair = waiting.rtr().remote(waiting.endpoint()).apply();
  check_refused(pair, request);
  return pair.template assume<qp_state::rtr>();
}

/// Posts until it is refused, and returns how many were taken.
template <class Pair, class Request>
std::uint32_t fill(const Pair& pair, const Request& request, std::uint32_t room) {
  std::uint32_t taken = 0;
  post_result result = pair.post(request);
  for (; result && taken <= 2 * room; ++taken) result = pair.post(request);
  CHECK(!result);
  CHECK(result.accepted() == 0U);
  failure why;
  result.check(why);
  CHECK(why.explanation().starts_with("0 requests were accepted; "));
  CHECK(why.explanation().find("the queue is full (max_") != std::string_view::npos);
  return taken;
}

}  // namespace

TEST_CASE("RC sends before the pair is ready are refused", "[ibv_post_send]") {
  const lone_bench bench;
  const auto bogus = remote_buffer<std::byte, access_right::remote_write>{adopt, 0, 0, rkey{0}};
  auto receiving = check_sends_before_ready<transport::rc>(bench, write(bogus).signaled().id(1));
  const auto ready = receiving.rts().apply();
  ready.post(write(bogus).signaled().id(2)).check();
  // The count was unknown, and this is why.
  if (holds(device_facts::refused_post_stays_queued, bench.device))
    for (int refused = 0; refused < 3; ++refused) CHECK(next_completion(bench.queue).id() == 1);
  CHECK(next_completion(bench.queue).id() == 2);
}

TEST_CASE("UC sends before the pair is ready are refused", "[ibv_post_send]") {
  (void)check_sends_before_ready<transport::uc>(lone_bench{}, send().signaled());
}

TEST_CASE("UD sends before the pair is ready are refused", "[ibv_post_send]") {
  const loopback<transport::ud> link;
  const address_handle way{link.domain, link.to_far};
  (void)check_sends_before_ready<transport::ud>(
      lone_bench{},
      send().to({way, link.far_endpoint.number, link.far_endpoint.queue_key}).signaled());
}

TEST_CASE("A receive in RESET is refused", "[ibv_post_recv]") {
  const lone_bench bench;
  check_refused(bench.fresh<transport::rc>(), receive());
  check_refused(bench.fresh<transport::uc>(), receive());
  check_refused(bench.fresh<transport::ud>(), receive());
}

TEST_CASE("A receive is posted in every state from INIT on", "[ibv_post_recv]") {
  const lone_bench bench;
  auto fresh = queue_pair<transport::rc>::create(
      bench.domain, {.send_cq = bench.queue, .recv_cq = bench.queue, .max_recv_wr = 16});
  auto waiting = initialised(fresh);
  CHECK(waiting.post(receive()));
  auto receiving = waiting.rtr().remote(waiting.endpoint()).apply();
  CHECK(receiving.post(receive()));
  auto ready = receiving.rts().apply();
  CHECK(ready.post(receive()));
  auto drained = ready.drain().apply();
  CHECK(drained.post(receive()));
  const auto failed = drained.error();
  CHECK(failed.post(receive()));
}

TEST_CASE("A full send queue refuses a request and has room again once it is empty",
          "[ibv_post_send]") {
  rc_loopback link;
  const std::uint32_t room = link.near_pair.query().max_send_wr();
  // Without a receive there nothing leaves the queue.
  const std::uint32_t taken = fill(link.near_pair, send().signaled(), room);
  CHECK(taken >= room);
  CHECK(taken <= 2 * room);
  for (std::uint32_t count = 0; count < taken; ++count) {
    link.far_pair.post(receive()).check();
    next_success(link.far_end.queue);
    next_success(link.near_end.queue);
  }
  CHECK(link.near_pair.post(send()));
}

TEST_CASE("A signaled send frees the queue entries of earlier unsignaled sends",
          "[ibv_post_send][ibv_poll_cq]") {
  rc_loopback link;
  const auto remote = link.far_end.remote();
  for (int round = 0; round < 20; ++round) {
    for (int count = 0; count < 15; ++count) link.near_pair.post(write(remote)).check();
    link.near_pair.post(write(remote).signaled().id(round)).check();
    CHECK(next_success(link.near_end.queue).id() == static_cast<std::uint64_t>(round));
  }
}

TEST_CASE("A full receive queue has room again after a message was received", "[ibv_post_recv]") {
  rc_loopback link;
  const std::uint32_t room = link.far_pair.query().max_recv_wr();
  CHECK(fill(link.far_pair, receive(), room) >= room);
  link.near_pair.post(send()).check();
  next_success(link.far_end.queue);
  CHECK(link.far_pair.post(receive()));
  CHECK(!link.far_pair.post(receive()));
}

TEST_CASE("A chain ends at an invalid send, and the sends before it are executed",
          "[ibv_post_send]") {
  rc_loopback link;
  const std::vector<const_buffer> list(link.near_pair.query().max_send_sge() + 1,
                                       link.near_end.region.const_slice(0, 1));
  link.far_pair.post(receive().id(1), receive().id(2)).check();
  const post_result result = link.near_pair.post(
      send().id(1).signaled(), send(std::span{list}).id(2).signaled(), send().id(3).signaled());
  CHECK(result.code() == std::errc::invalid_argument);
  CHECK(result.accepted() == 1U);
  CHECK(next_success(link.near_end.queue).id() == 1);
  CHECK(next_success(link.far_end.queue).id() == 1);
  // The pair is none the worse for it.
  link.near_pair.post(send().id(4).signaled()).check();
  CHECK(next_success(link.near_end.queue).id() == 4);
}

TEST_CASE("A chain ends at an invalid receive, and the receives before it are posted",
          "[ibv_post_recv]") {
  rc_loopback link;
  const std::vector<mutable_buffer> list(link.far_pair.query().max_recv_sge() + 1,
                                         link.far_end.region.slice(0, 1));
  const post_result result =
      link.far_pair.post(receive().id(1), receive(std::span{list}).id(2), receive().id(3));
  CHECK(!result);
  CHECK(result.code() == std::errc::invalid_argument);
  CHECK(result.accepted() == 1U);
  link.near_pair.post(send()).check();
  CHECK(next_success(link.far_end.queue).id() == 1);
}
