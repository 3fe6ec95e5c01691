// SPDX-License-Identifier: MIT
// Steps that do not block: started, announced by a descriptor, and finished, on a channel of their
// own and on one that many share; and waits that a descriptor ends.
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <unistd.h>

#include <adverb/core/detail/deadline.hpp>
#include <support/catch.hpp>
#include <support/reported.hpp>

#include "cm_bench.hpp"

namespace {

namespace cm = adverb::cm;
using namespace std::chrono_literals;
using adverb::timeout;
using adverb::detail::is_readable;

struct split : cm_bench {
  ~split() { CHECK(manager.live_objects() == 0); }
};

/// A channel that every identifier here shares.
struct shared : split {
  cm::event_channel channel = cm::event_channel::create();

  shared() { channel.set_non_blocking(true); }
  [[nodiscard]] cm::event next() const {
    auto event = channel.next_event();
    REQUIRE(event);
    return std::move(*event);
  }
};

/// A descriptor that is readable.
struct wake_up {
  wake_up() {
    REQUIRE(::pipe(ends) == 0);
    REQUIRE(::write(ends[1], "x", 1) == 1);
  }
  ~wake_up() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  [[nodiscard]] timeout endless() const { return timeout::endless().woken_by(ends[0]); }
  int ends[2];
};

constexpr std::string_view is_empty =
    "the connection or other rdma_cm identifier is empty: moved from, closed, or never created";

}  // namespace

TEST_CASE_METHOD(split, "each step of a connector can be started and finished on its event",
                 "[rdma_resolve_addr][rdma_resolve_route][rdma_connect]") {
  auto start = connector::create();
  start.start_resolve_address(peer);
  CHECK(is_readable(start.file_descriptor()));
  auto near = start.finish();
  REQUIRE(near);
  CHECK_FALSE(start);
  near.start_resolve_route();
  auto far = near.finish();
  REQUIRE(far);
  auto ready = far.create_queue_pair();
  manager.answer<called::rdma_connect>({});
  ready.start_connect();
  CHECK_FALSE(is_readable(ready.file_descriptor()));
  std::error_code code = std::make_error_code(std::errc::io_error);
  CHECK_FALSE(ready.finish(code));
  CHECK_FALSE(code);
  manager.raise(ready.identifier().native_handle(), {RDMA_CM_EVENT_ADDR_CHANGE});
  CHECK_FALSE(ready.finish());
  manager.raise(ready.identifier().native_handle(), {RDMA_CM_EVENT_ESTABLISHED, 0, "welcome"});
  CHECK(is_readable(ready.file_descriptor()));
  const auto connection = ready.finish();
  REQUIRE(connection);
  CHECK(connection.private_data().size() == 7);
  CHECK_FALSE(ready);
  CHECK(ready.file_descriptor() == -1);
  const auto empty = [](const auto& step) {
    const adverb::failure why = reported(step);
    CHECK(why.code() == std::errc::invalid_argument);
    CHECK(why.explanation() == is_empty);
  };
  empty([&](auto&&... policy) { (void)ready.finish(policy...); });
  empty([&](auto&&... policy) { (void)ready.connect({}, 1s, policy...); });
  empty([&](auto&&... policy) { ready.start_connect({}, policy...); });
}

TEST_CASE_METHOD(split, "a step that is under way moves with its object") {
  auto moved = connector::create();
  moved.start_resolve_address(peer);
  auto start = std::move(moved);
  const adverb::failure why =
      reported([&](auto&&... policy) { moved.start_resolve_address(peer, {}, policy...); });
  CHECK(why.explanation() == is_empty);
  auto next = connector::create();
  next = std::move(start);
  CHECK(reported([&](auto&&... policy) {
          start.start_resolve_address(peer, {}, policy...);
        }).code() == std::errc::invalid_argument);
  const auto another = *cm::socket_address::parse("10.0.0.3", 7471);
  for (auto* const each : {&moved, &start})
    CHECK(reported([&](auto&&... policy) {
            (void)each->resolve_address(another, {}, policy...);
          }).explanation() == is_empty);
  CHECK(next.finish());
}

TEST_CASE_METHOD(split, "a started step is waited for and not started again",
                 "[rdma_connect][rdma_accept]") {
  auto going = ready();
  going.start_connect();
  const adverb::failure twice =
      reported([&](auto&&... policy) { going.start_connect({}, policy...); });
  CHECK(twice.code().value() == EALREADY);
  CHECK(twice.explanation() == "the step is under way: finish() returns its outcome");
  CHECK(going.connect());
  CHECK(machine.count<called::rdma_connect>() == 1);
}

TEST_CASE_METHOD(split, "finish fails with EINVAL if no step was started") {
  auto start = connector::create();
  const auto refused = [](const auto& finish) {
    const adverb::failure why = reported(finish);
    CHECK(why.code() == std::errc::invalid_argument);
    CHECK(why.explanation() == "no step was started");
  };
  refused([&](auto&&... policy) { (void)start.finish(policy...); });
  auto asked = requested(listener::create(here)).create_queue_pair();
  refused([&](auto&&... policy) { (void)asked.finish(policy...); });
}

TEST_CASE_METHOD(split, "a step whose finish failed can be started again", "[rdma_resolve_addr]") {
  auto start = connector::create();
  manager.answer<called::rdma_resolve_addr>({{RDMA_CM_EVENT_ADDR_ERROR, -ENODEV}});
  start.start_resolve_address(peer);
  std::error_code code;
  CHECK_FALSE(start.finish(code));
  CHECK(code == std::errc::no_such_device);
  start.start_resolve_address(peer);
  CHECK(start.finish());
}

TEST_CASE_METHOD(split, "rejection is available after a failed finish", "[rdma_connect]") {
  auto going = ready();
  manager.answer<called::rdma_connect>({{RDMA_CM_EVENT_REJECTED, 28, "not you"}});
  going.start_connect();
  std::error_code code;
  CHECK_FALSE(going.finish(code));
  CHECK(code == std::errc::connection_refused);
  REQUIRE(going.rejection());
  CHECK(going.rejection()->private_data.size() == 7);
}

TEST_CASE_METHOD(split, "a listener takes and accepts requests without blocking", "[rdma_accept]") {
  const auto at = listener::create(here);
  CHECK_FALSE(at.try_next_request());
  CHECK_FALSE(is_readable(at.file_descriptor()));
  manager.request(at.identifier().native_handle(), "hello");
  CHECK(is_readable(at.file_descriptor()));
  auto request = at.try_next_request();
  REQUIRE(request);
  auto waiting = request.create_queue_pair();
  manager.answer<called::rdma_accept>({});
  waiting.start_accept();
  CHECK_FALSE(waiting.finish());
  manager.raise(waiting.identifier().native_handle(), {RDMA_CM_EVENT_ESTABLISHED});
  const auto connection = waiting.finish();
  REQUIRE(connection);
  CHECK(connection.private_data().size() == 5);
}

TEST_CASE_METHOD(split, "a listener reports an event that is not a request") {
  const auto at = listener::create(here);
  manager.raise(at.identifier().native_handle(), {RDMA_CM_EVENT_DEVICE_REMOVAL});
  std::error_code code;
  CHECK_FALSE(at.try_next_request(code));
  CHECK(code == std::errc::no_such_device);
}

TEST_CASE_METHOD(split, "a connection ends without blocking", "[rdma_disconnect]") {
  auto connection = connected();
  manager.answer<called::rdma_disconnect>({});
  connection.start_disconnect();
  CHECK_FALSE(connection.next_event());
  CHECK_FALSE(connection.has_ended());
  manager.raise(connection.identifier().native_handle(), {RDMA_CM_EVENT_DISCONNECTED});
  CHECK(connection.next_event());
  CHECK(connection.has_ended());
}

TEST_CASE_METHOD(split, "a drain can run without blocking and arms the queues between its steps",
                 "[ibv_poll_cq][ibv_req_notify_cq]") {
  auto connection = connected();
  connection.queue_pair().post(adverb::receive().id(7)).check();
  connection.disconnect();
  auto draining = connection.start_drain();
  std::vector<std::uint64_t> found;
  const auto note = [&](const adverb::completion& each) { found.push_back(each.id()); };
  // A full queue has no room for the request that marks its end.
  machine.answer_post({.result = ENOMEM, .bad_request = 0});
  CHECK_FALSE(draining.finish(note));
  CHECK_THAT(
      (machine.lines<called::req_notify_cq>()),
      is_log("ibv_req_notify_cq cq1 solicited_only=0\nibv_req_notify_cq cq0 solicited_only=0"));
  CHECK(draining.finish(note));
  CHECK(found == std::vector<std::uint64_t>{7});
  CHECK(draining.count() == 1);

  const adverb::failure why =
      reported([&](auto&&... policy) { (void)cm::queue_drain{}.finish(note, policy...); });
  CHECK(why.code() == std::errc::invalid_argument);
}

TEST_CASE_METHOD(shared, "several connectors share a channel, and each accepts only its own events",
                 "[rdma_migrate_id]") {
  const auto at = cm::listener<>::create(channel, here);
  auto one = connector::create(channel);
  auto other = connector::create(channel);
  CHECK(machine.count<called::rdma_create_event_channel>() == 1);
  one.start_resolve_address(peer);
  other.start_resolve_address(peer);
  auto of_one = next();
  const adverb::failure why =
      reported([&](auto&&... policy) { (void)other.finish(of_one, policy...); });
  CHECK(why.code() == std::errc::invalid_argument);
  CHECK(why.explanation() == "the event belongs to another identifier");
  CHECK(one.finish(of_one));
  CHECK_FALSE(of_one.identifier());
  auto of_other = next();
  CHECK(other.finish(of_other));

  manager.request(at.identifier().native_handle(), "hello");
  auto asked = next();
  auto waiting = at.take_request(asked).create_queue_pair();
  CHECK(waiting.identifier().channel() == channel);
  waiting.start_accept();
  auto confirmed = next();
  auto connection = waiting.finish(confirmed);
  REQUIRE(connection);
  CHECK(machine.count<called::rdma_migrate_id>() == 0);
  CHECK(machine.count<called::rdma_create_event_channel>() == 1);

  manager.raise(connection.identifier().native_handle(), {RDMA_CM_EVENT_DISCONNECTED});
  {
    const auto ended = next();
    connection.note(ended);
  }
  CHECK(connection.has_ended());
}

TEST_CASE_METHOD(shared, "a request goes to its listener alone if several share a channel",
                 "[rdma_listen]") {
  const auto first = cm::listener<>::create(channel, here);
  const auto second = cm::listener<>::create(channel, here.with_port(7472));
  const auto is_refused = [&](cm::event& happened) {
    const adverb::failure why =
        reported([&](auto&&... policy) { (void)second.take_request(happened, policy...); });
    CHECK(why.code() == std::errc::invalid_argument);
    CHECK(why.explanation() == "the event belongs to another identifier");
  };
  manager.request(first.identifier().native_handle(), "hello");
  auto asked = next();
  CHECK(first.is_about(asked));
  CHECK_FALSE(second.is_about(asked));
  is_refused(asked);
  const auto request = first.take_request(asked);
  REQUIRE(request);
  manager.raise(request.identifier().native_handle(), {RDMA_CM_EVENT_REJECTED, 28});
  auto rejected = next();
  CHECK_FALSE(first.is_about(rejected));
  is_refused(rejected);
}

TEST_CASE_METHOD(shared, "events that do not end a listener are acknowledged and ignored") {
  const auto at = cm::listener<>::create(channel, here);
  manager.raise(at.identifier().native_handle(), {RDMA_CM_EVENT_ADDR_CHANGE});
  auto moved = next();
  CHECK(at.is_about(moved));
  CHECK_FALSE(at.take_request(moved));
  CHECK_FALSE(moved.identifier());
  manager.raise(at.identifier().native_handle(), {RDMA_CM_EVENT_DEVICE_REMOVAL});
  auto removed = next();
  adverb::failure why;
  CHECK_FALSE(at.take_request(removed, why));
  CHECK(why.code() == std::errc::no_such_device);
}

TEST_CASE_METHOD(shared, "a change of the neighbour fails no step that awaits no answer of it",
                 "[rdma_get_cm_event]") {
  auto start = connector::create(channel);
  const auto of_neighbour = [&](const auto& id) {
    manager.raise(id.identifier().native_handle(), {RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT});
    return next();
  };
  {
    auto changed = of_neighbour(start);
    CHECK_FALSE(start.finish(changed));
  }
  start.start_resolve_address(peer);
  auto resolved_address = next();
  auto changed = of_neighbour(start);
  CHECK_FALSE(start.finish(changed));
  auto with_address = start.finish(resolved_address);
  REQUIRE(with_address);
  with_address.start_resolve_route();
  auto resolved_route = next();
  auto again = of_neighbour(with_address);
  CHECK_FALSE(with_address.finish(again));
  CHECK(with_address.finish(resolved_route));
}

TEST_CASE_METHOD(shared, "a shared channel refuses each call that waits for events") {
  const auto refused = [](const auto& wait) {
    const adverb::failure why = reported(wait);
    CHECK(why.code() == std::errc::invalid_argument);
    CHECK(why.explanation() ==
          "its events arrive on a shared channel: take them there and pass them on");
  };
  auto start = connector::create(channel);
  refused([&](auto&&... policy) { (void)start.resolve_address(peer, {}, policy...); });
  CHECK(machine.count<called::rdma_resolve_addr>() == 0);
  const auto at = cm::listener<>::create(channel, here);
  refused([&](auto&&... policy) { (void)at.next_request(1s, policy...); });
  refused([&](auto&&... policy) { (void)at.try_next_request(policy...); });
  auto connection = connected();
  connection.migrate(channel);
  adverb::completion one[1];
  refused(
      [&](auto&&... policy) { (void)connection.wait(connection.recv_cq(), one, 1s, policy...); });
  refused([&](auto&&... policy) { (void)connection.next_event(policy...); });
  refused([&](auto&&... policy) { connection.wait_disconnected(1s, policy...); });
  refused([&](auto&&... policy) { connection.disconnect(1s, policy...); });
  CHECK(machine.count<called::rdma_disconnect>() == 0);
  const auto endpoint = cm::datagram_endpoint::create(channel, here);
  refused([&](auto&&... policy) { (void)endpoint.next_event(policy...); });
  refused([&](auto&&... policy) {
    (void)endpoint.join(*cm::socket_address::parse("239.7.7.1", 0), {}, policy...);
  });
}

TEST_CASE_METHOD(shared, "operations with an empty shared channel fail with EINVAL") {
  const cm::event_channel none;
  const auto refused = [](const auto& operation) {
    CHECK(reported(operation).code() == std::errc::invalid_argument);
  };
  refused([&](auto&&... policy) { (void)connector::create(none, policy...); });
  refused([&](auto&&... policy) { (void)cm::listener<>::create(none, here, {}, policy...); });
  refused([&](auto&&... policy) {
    (void)cm::datagram_endpoint::create(none, here, {}, {}, policy...);
  });
  auto connection = connected();
  refused([&](auto&&... policy) { connection.migrate(none, policy...); });
  CHECK(connection.next_event() == std::nullopt);
  const auto at = cm::listener<>::create(channel, here);
  manager.request(at.identifier().native_handle(), "hello");
  auto asked = next();
  refused([&](auto&&... policy) { (void)cm::connection_request<>::take(asked, none, policy...); });
  CHECK(at.take_request(asked));
}

TEST_CASE_METHOD(shared, "a connection moves to a shared channel with its pending events",
                 "[rdma_migrate_id]") {
  auto connection = ready().connect({}, 1s);
  manager.raise(connection.identifier().native_handle(), {RDMA_CM_EVENT_DISCONNECTED});
  connection.migrate(channel);
  CHECK(connection.file_descriptor() == channel.file_descriptor());
  {
    const auto ended = next();
    CHECK(ended.identifier() == connection.identifier());
    connection.note(ended);
  }
  CHECK(connection.has_ended());
  connection.drain([](const auto&) {});
}

TEST_CASE_METHOD(split, "a wake descriptor ends every wait for an event", "[rdma_connect]") {
  const wake_up awake;
  const auto cancelled = [](const auto& wait) {
    const adverb::failure why = reported(wait);
    CHECK(why.code() == std::errc::operation_canceled);
    CHECK(why.explanation() == "the descriptor of its time limit became readable");
  };
  auto going = ready();
  manager.answer<called::rdma_connect>({});
  cancelled([&](auto&&... policy) { (void)going.connect({}, awake.endless(), policy...); });
  const auto at = listener::create(here);
  cancelled([&](auto&&... policy) { (void)at.next_request(awake.endless(), policy...); });
  auto connection = connected();
  cancelled([&](auto&&... policy) { connection.wait_disconnected(awake.endless(), policy...); });
}

TEST_CASE_METHOD(split, "a wake descriptor ends the wait for completions", "[ibv_get_cq_event]") {
  const wake_up awake;
  auto connection = connected();
  adverb::completion batch[4];
  std::error_code code = std::make_error_code(std::errc::io_error);
  CHECK(connection.wait(connection.recv_cq(), batch, awake.endless(), code).empty());
  CHECK_FALSE(code);
  CHECK(connection.recv_cq().wait(batch, awake.endless(), code).empty());
  CHECK_FALSE(code);
}
