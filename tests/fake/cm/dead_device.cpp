// SPDX-License-Identifier: MIT
// An asynchronous connection whose device the kernel has taken from the process: every call fails
// with EIO, and nothing is flushed. Linux 7.3 does that, and adapters do.
#include <chrono>
#include <string_view>
#include <system_error>

#include <adverb/async.hpp>
#include <support/catch.hpp>

#include "loop_connection.hpp"

using namespace adverb;

TEST_CASE_METHOD(loop_connection, "A connection ends at once when its device is removed",
                 "[ibv_req_notify_cq][ibv_modify_qp]") {
  failure waiting;
  failure ended;
  loop.spawn([&]() -> async::task<> {
    static_cast<void>(co_await link->next().report_to(waiting));
    co_await link->disconnect().report_to(ended);
    link.reset();
  });
  loop.spawn([&]() -> async::task<> {
    co_await async::sleep_for(loop, std::chrono::milliseconds{1});
    take_device();
    raise_event();
  });
  loop.run();
  CHECK(std::string_view{waiting.what()} ==
        "async::connection::next: ENODEV (No such device); the device was removed");
  CHECK(ended.code() == std::errc::no_such_device);
  CHECK(loop.connections() == 0);
}

TEST_CASE_METHOD(loop_connection, "A disconnect from a removed device fails with ENODEV at once",
                 "[ibv_modify_qp]") {
  failure why;
  loop.spawn([&]() -> async::task<> {
    take_device();
    co_await link->disconnect().report_to(why);
    link.reset();
  });
  loop.run();
  CHECK(std::string_view{why.what()} ==
        "rdma_disconnect: ENODEV (No such device); the device was removed");
  CHECK(loop.connections() == 0);
}

TEST_CASE("A connection of a loop that polls ends when its device is removed",
          "[ibv_get_cq_event]") {
  loop_connection bench{async::waiting::busy};
  failure why;
  bench.loop.spawn([&]() -> async::task<> {
    static_cast<void>(co_await bench.link->next().report_to(why));
    bench.link.reset();
  });
  bench.loop.spawn([&]() -> async::task<> {
    co_await async::sleep_for(bench.loop, std::chrono::milliseconds{1});
    // The descriptor of a removed device is readable without an event.
    bench.loop.queue(bench.context).request_notification(false);
    bench.raise_event();
    bench.take_device();
  });
  bench.loop.run();
  CHECK(why.code() == std::errc::no_such_device);
  CHECK(bench.loop.connections() == 0);
}
