// SPDX-License-Identifier: MIT
// Transitions after RTS, changes within a state, and what Soft-RoCE lacks.
#include <chrono>
#include <thread>

#include "support.hpp"

using namespace adverb;
using namespace std::chrono_literals;

TEST_CASE("Rights can be changed in RTS", "[ibv_modify_qp][ibv_query_qp]") {
  loopback<transport::rc> pair;
  pair.far_pair.change().allow(access_right::remote_read).apply();
  CHECK(pair.far_pair.query().allowed().contains(access_right::remote_read));
  CHECK(!pair.far_pair.query().allowed().contains(access_right::remote_write));
  // The withdrawn right is refused now.
  pair.near_pair
      .post(write(pair.far_end.remote().slice(0, 8), pair.near_end.region.slice(0, 8)).signaled())
      .check();
  CHECK(next_completion(pair.near_end.queue).status() ==
        completion_status::remote_invalid_request_error);
}

TEST_CASE("A drained send queue can be started again") {
  loopback<transport::rc> pair;
  auto drained = pair.near_pair.drain().apply();
  CHECK(drained.query().state() == qp_state::sqd);
  while (drained.query().is_draining()) std::this_thread::yield();  // Else it is refused.
  pair.near_pair = drained.rts().apply();
  CHECK(pair.near_pair.query().state() == qp_state::rts);
  pair.far_pair.post(receive(pair.far_end.region.slice(0, 64))).check();
  pair.near_pair.post(send(pair.near_end.region.slice(0, 64)).signaled()).check();
  next_success(pair.near_end.queue);
  next_success(pair.far_end.queue);
}

TEST_CASE("The queue key of a datagram pair can be changed in RTS") {
  loopback<transport::ud> pair;
  pair.far_pair.change().queue_key(queue_key{0x2222}).apply();
  CHECK(pair.far_pair.query().queue_key() == queue_key{0x2222});
  const address_handle way{pair.domain, pair.to_far};
  pair.far_pair.post(receive(pair.far_end.region.slice(0, 64))).check();
  // The old key no longer receives, the new one does.
  pair.near_pair
      .post(send(pair.near_end.region.slice(0, 4))
                .to({way, pair.far_endpoint.number, pair.far_endpoint.queue_key}),
            send(pair.near_end.region.slice(0, 8))
                .to({way, pair.far_endpoint.number, queue_key{0x2222}}))
      .check();
  CHECK(next_success(pair.far_end.queue).success().receive().length() == 48);
}

TEST_CASE("Soft-RoCE explains the queue pair features that it lacks", "[optional]") {
  loopback<transport::rc> pair;
  if (!is_soft_roce(pair.context)) {
    tell_skip("Soft-RoCE explains the queue pair features that it lacks",
              "the device is not Soft-RoCE");
    return;
  }
  failure why;
  pair.near_pair.limit_rate({.kilobits_per_second = 1000}, why);
  CHECK(why.code() == std::errc::operation_not_supported);
  CHECK(why.explanation() == "rxe0 has no rate limits of queue pairs");
  CHECK(pair.near_pair.query_ece(why) == ece{});
  CHECK(why.explanation() == "rxe0 has no enhanced connection establishment (ECE)");
  pair.near_pair.set_ece({}, why);
  CHECK(why.explanation() == "rxe0 has no enhanced connection establishment (ECE)");
  CHECK(!queue_pair<transport::raw_packet>::create(
      pair.domain, {.send_cq = pair.near_end.queue, .recv_cq = pair.near_end.queue}, why));
  CHECK(why.verb() == "ibv_create_qp");
  CHECK(why.explanation() == "rxe0 has no raw packet queue pairs");
  CHECK(
      !queue_pair<transport::xrc_send>::create(pair.domain, {.send_cq = pair.near_end.queue}, why));
  CHECK(why.explanation() == "rxe0 has no XRC initiator queue pairs");
  CHECK(why.verb() == "ibv_create_qp");
}

TEST_CASE("A queue pair reports whether data arrives in order", "[ibv_query_qp_data_in_order]") {
  loopback<transport::rc> pair;
  // Soft-RoCE guarantees nothing.
  if (is_soft_roce(pair.context))
    CHECK(!pair.near_pair.has_data_in_order(in_order_operation::write));
  CHECK(pair.near_pair.has_data_in_order(in_order_operation::send) ==
        (ibv_query_qp_data_in_order(pair.near_pair.native_handle(), IBV_WR_SEND, 0) != 0));
}
