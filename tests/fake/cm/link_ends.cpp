// SPDX-License-Identifier: MIT
// The ends of asynchronous connections: what has come, what is refused, and a peer that is silent.
#include <array>
#include <cerrno>
#include <chrono>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include <adverb/async.hpp>
#include <support/catch.hpp>

#include "loop_connection.hpp"

using namespace adverb;
using namespace std::chrono_literals;

namespace called = fake::called;

namespace {

struct ended_connection : loop_connection {
  /// Has a message arrive in each receive of the link.
  void fill_receives() {
    for (const called::post_recv& each : machine.calls<called::post_recv>())
      for (const auto& request : each.requests) {
        ibv_wc done{};
        done.wr_id = request.wr.wr_id;
        done.opcode = IBV_WC_RECV;
        done.byte_len = 8;
        done.qp_num = link->queue_pair().native_handle()->qp_num;
        machine.complete(loop.queue(context).native_handle(), done);
      }
  }
  [[nodiscard]] async::task<async::connection> connect(async::connection_options options) {
    options.receives = 4;
    options.block_size = 64;
    co_return co_await async::connect(loop, *cm::socket_address::parse("10.0.0.2", 7471), options);
  }
};

}  // namespace

TEST_CASE_METHOD(ended_connection,
                 "A disconnect ends although all receives have messages that were not passed on",
                 "[ibv_modify_qp]") {
  failure why;
  int messages = 0;
  loop.spawn([&]() -> async::task<> {
    fill_receives();
    co_await link->disconnect().report_to(why);
    while (true) {
      failure none;
      const async::message each = co_await link->next().report_to(none);
      if (none || !each) break;
      ++messages;
    }
    link.reset();
  });
  loop.run();
  CHECK(!why);
  CHECK(messages == 4);
  CHECK(loop.connections() == 0);
}

TEST_CASE_METHOD(ended_connection,
                 "A step of which some requests are refused ends after the others",
                 "[ibv_post_send]") {
  failure why;
  loop.spawn([&]() -> async::task<> {
    const std::array<char, 100> long_text{};
    co_await link->perform(send(), send(inline_data{long_text})).report_to(why);
    link.reset();
  });
  loop.run();
  CHECK(why.code() == std::errc::invalid_argument);
  CHECK(loop.connections() == 0);
}

TEST_CASE_METHOD(ended_connection, "A queue pair that is too small is refused and left alone",
                 "[ibv_modify_qp]") {
  auto pair = connected_pair();
  const std::size_t changes = machine.count<called::modify_qp>();
  async::connection_options many = small;
  many.max_send_wr = 64;
  failure why;
  CHECK(!async::connection{loop, std::move(pair), many, why});
  CHECK(why.code() == std::errc::invalid_argument);
  loop.spawn([&]() -> async::task<> { co_await async::sleep_for(loop, 1ms); });
  loop.run();
  CHECK(machine.count<called::modify_qp>() == changes);
  CHECK(loop.connections() == 1);
}

TEST_CASE_METHOD(ended_connection,
                 "A peer that does not answer the disconnect request has not ended the stream",
                 "[rdma_disconnect]") {
  failure ended;
  failure read;
  loop.spawn([&]() -> async::task<> {
    async::connection client = co_await connect(small);
    manager.answer<called::rdma_disconnect>({{RDMA_CM_EVENT_DISCONNECTED, -ETIMEDOUT}});
    co_await client.disconnect().report_to(ended);
    static_cast<void>(co_await client.next().report_to(read));
  });
  loop.run();
  CHECK(ended.code() == std::errc::timed_out);
  CHECK(read);
}

TEST_CASE_METHOD(ended_connection,
                 "A loop that pauses does not take the time for the end from the peer",
                 "[rdma_disconnect]") {
  async::connection_options hasty = small;
  hasty.end_timeout = 300ms;
  failure why;
  std::optional<async::connection> client;
  loop.spawn([&]() -> async::task<> { client = co_await connect(hasty); });
  loop.run();
  REQUIRE(client);
  SECTION("before the disconnect request") {
    CHECK(loop.connections() == 2);
    client->cancel();
    std::this_thread::sleep_for(400ms);
  }
  SECTION("before the disconnect request, whose answer is on its way in the next turns") {
    CHECK(loop.connections() == 2);
    manager.answer<called::rdma_disconnect>({});
    client->cancel();
    std::this_thread::sleep_for(400ms);
    loop.spawn([&]() -> async::task<> {
      co_await async::sleep_for(loop, 50ms);
      manager.raise(client->established()->identifier().native_handle(),
                    {RDMA_CM_EVENT_DISCONNECTED});
    });
  }
  SECTION("before it takes the answer") {
    CHECK(loop.connections() == 2);
    manager.answer<called::rdma_disconnect>({});
    loop.spawn([&]() -> async::task<> {
      co_await async::sleep_for(loop, 1ms);
      manager.raise(client->established()->identifier().native_handle(),
                    {RDMA_CM_EVENT_DISCONNECTED});
      std::this_thread::sleep_for(400ms);
    });
  }
  SECTION("while the answer is on its way") {
    CHECK(loop.connections() == 2);
    manager.answer<called::rdma_disconnect>({});
    client->cancel();
    loop.spawn([&]() -> async::task<> { co_await async::sleep_for(loop, 1ms); });
    loop.run();
    manager.raise(client->established()->identifier().native_handle(),
                  {RDMA_CM_EVENT_DISCONNECTED});
    std::this_thread::sleep_for(400ms);
  }
  loop.spawn([&]() -> async::task<> {
    co_await client->disconnect().report_to(why);
    client.reset();
  });
  loop.run();
  CHECK(!why);
}
