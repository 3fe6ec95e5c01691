// SPDX-License-Identifier: MIT
// The asynchronous events of shared receive queues.
#include <optional>

#include <poll.h>

#include "shared_receive_queue.hpp"

using namespace adverb;

namespace {

/// The next event of the device within so many milliseconds.
std::optional<async_event> next_event(context_ref context, int milliseconds) {
  pollfd descriptor{context.async_file_descriptor(), POLLIN, 0};
  if (::poll(&descriptor, 1, milliseconds) != 1) return std::nullopt;
  return context.next_async_event();
}

}  // namespace

TEST_CASE("A queue below its limit raises one event until the limit is set again",
          "[ibv_modify_srq]") {
  shared_loopback<transport::rc> link{2};
  const auto post_one = receive(link.far_end.region.slice(0, 8));
  const auto take_one = [&](std::size_t pair) {
    link.near_pairs[pair].post(send(link.near_end.region.const_slice(0, 8)).signaled()).check();
    next_success(link.near_end.queue);
    next_success(link.far_end.queue);
  };
  for (int count = 0; count < 6; ++count) link.shared.post(post_one).check();
  link.shared.set_limit(4);

  take_one(0);
  take_one(1);
  CHECK(!next_event(link.context, 20));
  take_one(0);  // Three are left.
  {
    const auto event = next_event(link.context, 5000);
    REQUIRE(event);
    CHECK(event->type() == async_event_type::shared_receive_queue_limit_reached);
    CHECK(event->srq().native_handle() == link.shared.native_handle());
  }
  CHECK(link.shared.query().limit() == 0);

  take_one(1);
  CHECK(!next_event(link.context, 20));

  for (int count = 0; count < 3; ++count) link.shared.post(post_one).check();
  link.shared.set_limit(5);
  take_one(0);
  const auto again = next_event(link.context, 5000);
  REQUIRE(again);
  CHECK(again->type() == async_event_type::shared_receive_queue_limit_reached);
}

TEST_CASE("A failed queue pair raises the event of its last work request", "[optional]") {
  shared_loopback<transport::rc> link{1};
  link.shared.post(receive(link.far_end.region.slice(0, 8)).id(1)).check();
  const auto failed = link.far_pairs[0].error();
  const auto event = next_event(link.context, 2000);
  if (!event) {
    tell_skip("IBV_EVENT_QP_LAST_WQE_REACHED", "the device does not give it");
    return;
  }
  CHECK(event->type() == async_event_type::last_work_request_reached);
  CHECK(event->queue_pair().native_handle() == failed.native_handle());
}
