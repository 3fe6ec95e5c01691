// SPDX-License-Identifier: MIT
// Requests and replies over channels of messages.
#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <adverb/adverb.hpp>
#include <adverb/messages.hpp>
#include <support/catch.hpp>

#include "cm/async_side.hpp"
#include "cm/channel_ends.hpp"

using namespace async_test;
using namespace std::chrono_literals;

namespace {

/// Replies to each request with its number, in the order of a stack.
async::task<> reply_in_reverse(messages::channel& client, std::size_t at_a_time) {
  std::vector<messages::incoming> held;
  while (messages::incoming got = co_await client.next()) {
    CHECK(got.is_request());
    held.push_back(std::move(got));
    if (held.size() != at_a_time) continue;
    for (; !held.empty(); held.pop_back())
      co_await held.back().reply(held.back().as<std::uint32_t>());
  }
}

}  // namespace

TEST_CASE("Replies find their requests in any order") {
  both_ends bench;
  constexpr std::uint32_t calls = 40;
  constexpr std::uint32_t at_a_time = 5;
  std::uint32_t right = 0;
  bench.run(
      [&](messages::channel& server) -> async::task<> {
        {
          messages::caller ask{server};
          std::vector<async::task<>> all;
          for (std::uint32_t i = 0; i < calls; ++i)
            all.push_back([](messages::caller& by, std::uint32_t number,
                             std::uint32_t& found) -> async::task<> {
              const messages::reply answer = co_await by(number);
              if (answer.as<std::uint32_t>() == number) ++found;
            }(ask, i, right));
          co_await async::when_all(std::move(all));
          CHECK(ask.outstanding() == 0);
        }
        co_await server.close();
      },
      [&](messages::channel& client) { return reply_in_reverse(client, at_a_time); });
  CHECK(right == calls);
}

TEST_CASE("A reply that is late is dropped, and the next request gets its own") {
  both_ends bench;
  failure late;
  std::uint32_t answered = 0;
  bench.run(
      [&](messages::channel& server) -> async::task<> {
        {
          messages::caller ask{server};
          const messages::reply none = co_await ask(std::uint32_t{1}).within(20ms).report_to(late);
          CHECK_FALSE(none);
          const messages::reply answer = co_await ask(std::uint32_t{2}).within(40s);
          answered = answer.as<std::uint32_t>();
        }
        co_await server.close();
      },
      [&](messages::channel& client) { return reply_in_reverse(client, 2); });
  CHECK(late.code() == std::errc::timed_out);
  CHECK(answered == 2);
}

TEST_CASE("Requests and replies of any size are offered and taken") {
  both_ends bench;
  std::size_t size = 0;
  bench.run(
      [&](messages::channel& server) -> async::task<> {
        {
          const async::loop_memory memory = server.memory(100'000);
          messages::caller ask{server};
          messages::reply answer = co_await ask(std::uint64_t{5}, memory.slice(0, 60'000));
          size = answer.size();
          CHECK(answer.is_offer());
          co_await answer.receive_into(memory.buffer());
        }
        co_await server.close();
      },
      [&](messages::channel& client) -> async::task<> {
        const async::loop_memory memory = client.memory(100'000);
        while (messages::incoming got = co_await client.next()) {
          co_await got.receive_into(memory.buffer());
          co_await got.reply(memory.slice(0, got.size()));
        }
      });
  CHECK(size == 60'008);
}

TEST_CASE("Calls end with EPIPE if the peer closes, and with ECANCELED if the caller goes") {
  both_ends bench;
  failure closed;
  failure canceled;
  bench.run(
      [&](messages::channel& server) -> async::task<> {
        auto ask = std::make_unique<messages::caller>(server);
        bench.here.loop.spawn([&]() -> async::task<> {
          const messages::reply none = co_await (*ask)(1).report_to(canceled);
          CHECK_FALSE(none);
        });
        co_await async::sleep_for(bench.here.loop, 10ms);
        ask = std::make_unique<messages::caller>(server);
        const messages::reply none = co_await (*ask)(2).report_to(closed);
        CHECK_FALSE(none);
      },
      [&](messages::channel& client) -> async::task<> {
        const messages::incoming first = co_await client.next();
        const messages::incoming second = co_await client.next();
        CHECK(second.as<int>() == 2);
        co_await client.close();
      });
  CHECK(closed.code() == std::errc::broken_pipe);
  CHECK(canceled.code() == std::errc::operation_canceled);
}

TEST_CASE("A wait for a message ends after its time, and the channel goes on") {
  both_ends bench;
  failure late;
  bool came = false;
  bench.run(
      [&](messages::channel& server) -> async::task<> {
        const messages::incoming none = co_await server.next().within(20ms).report_to(late);
        CHECK_FALSE(none);
        co_await server.send(std::string_view{"go on"});
        const messages::incoming got = co_await server.next().within(40s);
        came = got.text() == "here";
        co_await server.close();
      },
      [&](messages::channel& client) -> async::task<> {
        const messages::incoming got = co_await client.next();
        co_await client.send(std::string_view{"here"});
        const messages::incoming end = co_await client.next();
        CHECK_FALSE(end);
      });
  CHECK(late.code() == std::errc::timed_out);
  CHECK(came);
}
