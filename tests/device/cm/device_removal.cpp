// SPDX-License-Identifier: MIT
// The device is removed while it is used: each object reports that, everything is closed, and once
// the device is back everything works again.
//
// Each program that uses the device is a process of its own. Soft-RoCE (Linux 6.1) reports its
// removal at once, and then waits until it is closed everywhere; librdmacm (rdma-core 44) keeps a
// device open until its process ends.
#include <algorithm>
#include <chrono>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <poll.h>

#include <adverb/adverb.hpp>
#include <adverb/async.hpp>
#include <adverb/cm.hpp>
#include <support/catch.hpp>

#include "cm/async_side.hpp"
#include "cm/child_process.hpp"
#include "cm/removed_device.hpp"
#include "cm/support.hpp"

using namespace adverb;
using namespace cm_test;

TEST_CASE("role: a listener on the address of the device", "[.]") {
  auto listener = rc_listener::create(device_address());
  child_process::say();
  failure why;
  CHECK(!listener.next_request(std::chrono::seconds{10}, why));
  CHECK(why.code() == std::errc::no_such_device);
  CHECK(why.explanation() == "the device was removed");
}

TEST_CASE("role: a side that requests a connection", "[.]") {
  const auto listener = rc_listener::create(every_address());
  auto ready = ready_for(device_address(listener.port()));
  child_process::say();
  failure why;
  CHECK(!ready.connect({}, std::chrono::seconds{10}, why));
  INFO(why.what());
  CHECK(why.code() == std::errc::no_such_device);
}

namespace {

[[nodiscard]] cm::event_type next_event_type(rc_connection& side) {
  pollfd watched{side.file_descriptor(), POLLIN, 0};
  REQUIRE(::poll(&watched, 1, 10'000) == 1);
  const auto event = side.next_event();
  REQUIRE(event);
  return event->type();
}

}  // namespace

TEST_CASE("role: both sides of a connection", "[.]") {
  const auto listener = rc_listener::create(every_address());
  auto accepted = accept_meanwhile(listener);
  auto near = ready_for(device_address(listener.port())).connect();
  auto far = accepted.get();
  child_process::say();
  for (rc_connection* const side : {&near, &far}) {
    auto told = next_event_type(*side);
    // The kernel disconnects each end after its removal event, so the second end may get the
    // disconnection first.
    if (told == cm::event_type::disconnected) told = next_event_type(*side);
    CHECK(told == cm::event_type::device_removal);
    CHECK(side->has_ended());
  }
  near.close();
  far.close();
}

TEST_CASE("role: both sides of an asynchronous connection", "[.]") {
  async_test::side here;
  std::vector<std::error_code> ends;
  const auto wait_for_the_end = [&](async::connection side) -> async::task<> {
    std::error_code ignored;
    while (co_await side.next().report_to(ignored)) {
    }
    co_await side.disconnect().report_to(ends.emplace_back());
  };
  const auto active = [&]() -> async::task<> {
    async::connection server =
        co_await async::connect(here.loop, here.address(), async_test::small);
    child_process::say();
    co_await wait_for_the_end(std::move(server));
  };
  const auto passive = [&]() -> async::task<> {
    co_await wait_for_the_end(co_await here.listener.accept(async_test::small));
  };
  ends.reserve(2);
  here.loop.spawn(passive());
  here.loop.spawn(active());
  here.loop.run();
  // The kernel disconnects each end after its removal event, so the second end may get the
  // disconnection first.
  CHECK(std::ranges::count(ends, std::make_error_code(std::errc::no_such_device)) != 0);
}

TEST_CASE("role: one that finds everything as before", "[.]") {
  const auto listener = rc_listener::create(device_address());
  auto accepted = accept_meanwhile(listener);
  CHECK(ready_for(device_address(listener.port())).connect());
  CHECK(accepted.get());
}

namespace {

void remove_device_from(const std::string& role) {
  if (!may_remove_device()) return;
  child_process user{role};
  static_cast<void>(user.word());
  remove_device_under(user);
  child_process next{"role: one that finds everything as before"};
  CHECK(next.wait() == 0);
}

}  // namespace

TEST_CASE("A listener reports the removal of the device", "[rdma_get_cm_event][optional]") {
  remove_device_from("role: a listener on the address of the device");
}

TEST_CASE("A connect reports the removal of the device", "[rdma_get_cm_event][optional]") {
  remove_device_from("role: a side that requests a connection");
}

TEST_CASE("A connection reports the removal of the device", "[rdma_get_cm_event][optional]") {
  remove_device_from("role: both sides of a connection");
}

TEST_CASE("The disconnect of an asynchronous connection reports the removal of the device",
          "[rdma_get_cm_event][optional]") {
  remove_device_from("role: both sides of an asynchronous connection");
}
