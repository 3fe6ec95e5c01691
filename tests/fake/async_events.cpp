// SPDX-License-Identifier: MIT
// Asynchronous events: taken, read, acknowledged once, or not there.
#include <array>
#include <cerrno>
#include <optional>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

#include <support/catch.hpp>
#include <support/reported.hpp>

#include "test_bench.hpp"

namespace {

namespace called = fake::called;
using adverb::async_event;
using adverb::async_event_subject;
using adverb::async_event_type;

ibv_async_event of_type(ibv_event_type type) {
  ibv_async_event event{};
  event.event_type = type;
  return event;
}

ibv_async_event of_port(ibv_event_type type, int port) {
  ibv_async_event event = of_type(type);
  event.element.port_num = port;
  return event;
}

struct fixture : test_bench {
  [[nodiscard]] std::size_t acknowledged() const {
    return machine.count<called::ack_async_event>();
  }
  async_event next(const ibv_async_event& event) {
    machine.raise(context.native_handle(), event);
    std::optional<async_event> taken = context.next_async_event();
    REQUIRE(taken);
    return std::move(*taken);
  }
};

/// The number of elements that an event names.
std::size_t named(const async_event& event) {
  std::size_t count = 0;
  count += event.queue_pair() ? 1 : 0;
  count += event.completion_queue() ? 1 : 0;
  count += event.srq() ? 1 : 0;
  count += event.work_queue() ? 1 : 0;
  count += event.port() ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE_METHOD(fixture, "next_async_event returns an event, which its destructor acknowledges",
                 "[ibv_get_async_event][ibv_ack_async_event]") {
  const auto pair = fresh<adverb::transport::rc>();
  ibv_async_event native = of_type(IBV_EVENT_QP_FATAL);
  native.element.qp = pair.native_handle();
  machine.raise(context.native_handle(), native);
  CHECK(context.has_async_event());
  {
    const std::optional<async_event> event = context.next_async_event();
    REQUIRE(event);
    CHECK(event->type() == async_event_type::queue_pair_fatal_error);
    CHECK(event->queue_pair() == pair);
    CHECK(event->native().element.qp == pair.native_handle());
    CHECK_FALSE(context.has_async_event());
    CHECK(acknowledged() == 0);
  }
  CHECK_THAT((machine.lines<called::get_async_event, called::ack_async_event>()), is_log(R"(
    ibv_get_async_event ctx0
    ibv_ack_async_event QP_FATAL qp0)"));
}

TEST_CASE_METHOD(fixture, "an event is acknowledged once, and then no longer names its object") {
  async_event event = next(of_type(IBV_EVENT_COMM_EST));
  event.acknowledge();
  event.acknowledge();
  CHECK(acknowledged() == 1);
  CHECK(event.type() == async_event_type::communication_established);
  CHECK_FALSE(event.queue_pair());
}

TEST_CASE_METHOD(fixture, "a moved event is acknowledged once by its new owner") {
  static_assert(!std::is_copy_constructible_v<async_event>);
  ibv_async_event native = of_type(IBV_EVENT_CQ_ERR);
  native.element.cq = queue.native_handle();
  {
    async_event first = next(native);
    async_event second = std::move(first);
    CHECK_FALSE(first.completion_queue());  // NOLINT(bugprone-use-after-move)
    CHECK(second.completion_queue() == queue);
    CHECK(acknowledged() == 0);
    async_event third = next(of_port(IBV_EVENT_PORT_ACTIVE, 1));
    third = std::move(second);
    CHECK(acknowledged() == 1);
    CHECK(third.completion_queue() == queue);
    async_event& itself = third;
    third = std::move(itself);
    CHECK(acknowledged() == 1);
    CHECK(third.completion_queue() == queue);
  }
  CHECK(acknowledged() == 2);
}

TEST_CASE_METHOD(fixture, "a released event is not acknowledged") {
  ibv_async_event native{};
  {
    async_event event = next(of_port(IBV_EVENT_PORT_ERR, 1));
    native = event.release();
  }
  CHECK(acknowledged() == 0);
  CHECK(native.event_type == IBV_EVENT_PORT_ERR);
  {
    const async_event adopted{adverb::adopt, context.native_handle(), native};
  }
  CHECK(acknowledged() == 1);
}

TEST_CASE_METHOD(fixture, "an event names its own object only") {
  const auto pair = fresh<adverb::transport::rc>();
  ibv_srq shared{};
  shared.handle = 7;
  ibv_wq work{};
  work.wq_num = 0x21;
  const auto pair_number = to_string(adverb::qp_number{pair.native_handle()->qp_num});

  ibv_async_event native = of_type(IBV_EVENT_QP_LAST_WQE_REACHED);
  native.element.qp = pair.native_handle();
  {
    const async_event event = next(native);
    CHECK(event.queue_pair() == pair);
    CHECK(named(event) == 1);
    CHECK(to_string(event) == "last work request reached on fake0 qp " + pair_number);
  }
  native = of_type(IBV_EVENT_CQ_ERR);
  native.element.cq = queue.native_handle();
  {
    const async_event event = next(native);
    CHECK(event.completion_queue() == queue);
    CHECK(named(event) == 1);
    CHECK(to_string(event) ==
          "completion queue error on fake0 cq " + std::to_string(queue.native_handle()->handle));
  }
  native = of_type(IBV_EVENT_SRQ_LIMIT_REACHED);
  native.element.srq = &shared;
  {
    const async_event event = next(native);
    CHECK(event.srq().native_handle() == &shared);
    CHECK(named(event) == 1);
    CHECK(to_string(event) == "shared receive queue limit reached on fake0 srq 7");
  }
  native = of_type(IBV_EVENT_WQ_FATAL);
  native.element.wq = &work;
  {
    const async_event event = next(native);
    CHECK(event.work_queue().native_handle() == &work);
    CHECK(named(event) == 1);
    CHECK(to_string(event) == "work queue fatal error on fake0 wq 0x21");
  }
}

TEST_CASE_METHOD(fixture,
                 "an event of a port has a port number, and an event of the device has no object") {
  async_event port = next(of_port(IBV_EVENT_PORT_ERR, 2));
  CHECK(port.subject() == async_event_subject::port);
  CHECK(port.severity() == adverb::async_event_severity::error);
  CHECK(port.port() == adverb::port_number{2});
  CHECK(named(port) == 1);
  CHECK(to_string(port) == "port error on fake0:2");
  port.acknowledge();
  CHECK(port.port() == adverb::port_number{2});

  const async_event device = next(of_port(IBV_EVENT_DEVICE_FATAL, 1));
  CHECK(device.subject() == async_event_subject::device);
  CHECK(named(device) == 0);
  CHECK(to_string(device) == "device fatal error on fake0");
}

TEST_CASE_METHOD(fixture, "an event of an unknown type names no object") {
  const async_event event = next(of_port(static_cast<ibv_event_type>(25), 1));
  CHECK(named(event) == 0);
  CHECK(to_string(event) == "unknown (25) on fake0");
}

TEST_CASE_METHOD(fixture,
                 "next_async_event of a non-blocking device returns none without an error") {
  context.set_async_non_blocking(true);
  std::error_code code = std::make_error_code(std::errc::io_error);
  CHECK_FALSE(context.next_async_event(code));
  CHECK_FALSE(code);
  CHECK_FALSE(context.next_async_event());
  CHECK_FALSE(context.has_async_event());
  context.set_async_non_blocking(false);
  CHECK(next(of_port(IBV_EVENT_GID_CHANGE, 1)).type() == async_event_type::gid_change);
}

TEST_CASE_METHOD(fixture, "an interrupted next_async_event returns none without an error") {
  machine.fail<called::get_async_event>(EINTR);
  std::error_code code = std::make_error_code(std::errc::io_error);
  CHECK_FALSE(context.next_async_event(code));
  CHECK_FALSE(code);
  CHECK(acknowledged() == 0);
}

TEST_CASE_METHOD(fixture, "next_async_event reports a failed wait") {
  const adverb::failure why =
      reported([&] { machine.fail<called::get_async_event>(EIO); },
               [&](auto&&... policy) { (void)context.next_async_event(policy...); });
  CHECK(std::string{why.what()} == "ibv_get_async_event on fake0: EIO (Input/output error)");
  CHECK(acknowledged() == 0);
}

TEST_CASE_METHOD(fixture, "next_async_event of an empty context fails with a reason") {
  const adverb::context_ref none;
  CHECK(reported([&](auto&&... policy) { (void)none.next_async_event(policy...); }).explanation() ==
        "the context is empty: moved from, closed, or never created");
  CHECK(reported([&](auto&&... policy) { none.set_async_non_blocking(true, policy...); }).verb() ==
        "fcntl");
}
