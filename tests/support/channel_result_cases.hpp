// SPDX-License-Identifier: MIT
// The cases of the results of channels that hold over every network: what messages carry, and how
// steps report. Included by one file of each suite, after the functions that channel_ends.hpp
// needs.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <adverb/adverb.hpp>
#include <adverb/messages.hpp>
#include <support/catch.hpp>
#include <support/channel_ends.hpp>

namespace channel_test {

TEST_CASE("A message carries its lane and its tag, whether it is sent or offered") {
  both_ends both;
  int checked = 0;
  both.run(
      [&](messages::channel& server) -> async::task<> {
        const async::loop_memory memory = server.memory(1000);
        co_await server.send(1).on_lane(5).tagged(77);
        co_await server.send(memory.buffer()).tagged(78).on_lane(6);
        co_await server.send(2);
        co_await server.close();
      },
      [&](messages::channel& client) -> async::task<> {
        const async::loop_memory target = client.memory(1000);
        messages::incoming got = co_await client.next();
        CHECK(got.lane() == 5);
        CHECK(got.tag() == 77);
        CHECK(got.as<int>() == 1);
        got = messages::incoming{};
        got = co_await client.next();
        CHECK(got.is_offer());
        CHECK(got.lane() == 6);
        CHECK(got.tag() == 78);
        co_await got.receive_into(target.buffer());
        got = messages::incoming{};
        got = co_await client.next();
        CHECK(got.lane() == 0);
        CHECK(got.tag() == 0);
        ++checked;
        got = messages::incoming{};
        got = co_await client.next();
        CHECK_FALSE(got);
      });
  CHECK(checked == 1);
}

TEST_CASE("Destroying a message resumes no other task before it returns") {
  both_ends both;
  int sent = 0;
  bool was_resumed = true;
  both.run(
      [&](messages::channel& server) -> async::task<> {
        for (; sent < 6; ++sent) co_await server.send(sent);
        for (int each = 0; each < 2; ++each)
          both.loop.spawn([&]() -> async::task<> {
            co_await server.send(sent);
            ++sent;
          });
        // A credit frame has room for one message, and this message for the other.
        messages::incoming got = co_await server.next();
        const int before = sent;
        got = messages::incoming{};
        was_resumed = sent != before;
        while (sent < 8) co_await async::sleep_for(both.loop, std::chrono::milliseconds{1});
        co_await server.close();
      },
      [&](messages::channel& client) -> async::task<> {
        std::vector<messages::incoming> held;
        for (int each = 0; each < 6; ++each) held.push_back(co_await client.next());
        held.clear();
        co_await client.send(1);
        int taken = 6;
        while (const messages::incoming got = co_await client.next()) ++taken;
        CHECK(taken == 8);
      });
  CHECK_FALSE(was_resumed);
}

TEST_CASE("Destroying a message of a channel that resumes resumes no other task either") {
  messages::channel_options resumed = few_receives();
  resumed.resume_within = std::chrono::seconds{10};
  both_ends both{resumed, resumed};
  bool is_sent = false;
  bool was_resumed = true;
  both.run(
      [&](messages::channel& server) -> async::task<> {
        const async::loop_memory memory = server.memory(10);
        both.loop.spawn([&]() -> async::task<> {
          co_await server.send(memory.buffer());
          is_sent = true;
        });
        // This message confirms the one that was sent.
        messages::incoming got = co_await server.next();
        const bool before = is_sent;
        got = messages::incoming{};
        was_resumed = is_sent != before;
        while (!is_sent) co_await async::sleep_for(both.loop, std::chrono::milliseconds{1});
        co_await server.close();
      },
      [&](messages::channel& client) -> async::task<> {
        messages::incoming got = co_await client.next();
        got = messages::incoming{};
        co_await client.send(1);
        got = co_await client.next();
        CHECK_FALSE(got);
      });
  CHECK(is_sent);
  CHECK_FALSE(was_resumed);
}

TEST_CASE("A message may be destroyed before the step that takes it has finished") {
  both_ends both;
  std::size_t size = 0;
  failure why;
  bool goes_on = false;
  both.run(
      [&](messages::channel& server) -> async::task<> {
        const async::loop_memory memory = server.memory(20'000);
        std::ranges::fill(memory.bytes(), std::byte{7});
        co_await server.send(memory.buffer());
        co_await server.send(1);
        co_await server.close();
      },
      [&](messages::channel& client) -> async::task<> {
        const async::loop_memory target = client.memory(20'000);
        messages::incoming got = co_await client.next();
        CHECK(got.is_offer());
        both.loop.spawn([&]() -> async::task<> {
          const auto bytes = co_await got.receive_into(target.buffer()).report_to(why);
          size = static_cast<std::size_t>(std::ranges::count(bytes, std::byte{7}));
        });
        got = messages::incoming{};
        got = co_await client.next();
        goes_on = got.as<int>() == 1;
        got = messages::incoming{};
        got = co_await client.next();
        CHECK_FALSE(got);
        while (size == 0 && !why)
          co_await async::sleep_for(both.loop, std::chrono::milliseconds{1});
      });
  CHECK_FALSE(why);
  CHECK(size == 20'000);
  CHECK(goes_on);
}

TEST_CASE("Registered memory of a message may be empty, whether it is sent or offered") {
  both_ends both;
  std::vector<std::size_t> sizes;
  both.run(
      [&](messages::channel& server) -> async::task<> {
        const async::loop_memory memory = server.memory(1000);
        co_await server.send(memory.slice(0, 0));
        co_await server.send(memory.slice(0, 10), memory.slice(10, 0), memory.slice(10, 20));
        co_await server.send(1, memory.slice(0, 0), memory.slice(0, 5));
        co_await server.send(memory.slice(0, 0), memory.slice(0, 900), memory.slice(900, 0));
        co_await server.close();
      },
      [&](messages::channel& client) -> async::task<> {
        const async::loop_memory target = client.memory(1000);
        while (messages::incoming got = co_await client.next()) {
          const std::span<std::byte> bytes = co_await got.receive_into(target.buffer());
          sizes.push_back(bytes.size());
        }
      });
  CHECK(sizes == std::vector<std::size_t>{0, 30, 9, 900});
}

TEST_CASE("A call that cannot be sent fails as a send does") {
  messages::channel_options brief = few_receives();
  brief.longest = 50'000;
  both_ends both{few_receives(), brief};
  failure too_long;
  failure not_registered;
  failure closed;
  both.run(
      [&](messages::channel& server) -> async::task<> {
        messages::caller call{server};
        const std::string text(5000, 'x');
        const async::loop_memory memory = server.memory(50'001);
        const messages::reply none = co_await call(memory.buffer()).report_to(too_long);
        CHECK_FALSE(none);
        const messages::reply no_reply = co_await call(text).report_to(not_registered);
        CHECK_FALSE(no_reply);
        CHECK(call.outstanding() == 0);
        co_await server.close();
        const messages::reply late = co_await call(1).report_to(closed);
        CHECK_FALSE(late);
      },
      [&](messages::channel& client) -> async::task<> {
        const messages::incoming end = co_await client.next();
        CHECK_FALSE(end);
      });
  CHECK(too_long.code() == std::errc::message_size);
  CHECK(not_registered.code() == std::errc::no_buffer_space);
  CHECK(closed.code() == std::errc::broken_pipe);
}

TEST_CASE("A step that succeeds clears the failure that an earlier one has reported") {
  both_ends both;
  const std::error_code stale = std::make_error_code(std::errc::timed_out);
  both.run(
      [&](messages::channel& server) -> async::task<> {
        const async::loop_memory memory = server.memory(1000);
        std::error_code why = stale;
        co_await server.send(1).report_to(why);
        CHECK_FALSE(why);
        why = stale;
        co_await server.send(memory.buffer()).report_to(why);
        CHECK_FALSE(why);
        {
          messages::caller call{server};
          why = stale;
          const messages::reply answer = co_await call(3).report_to(why);
          CHECK_FALSE(why);
        }
        why = stale;
        co_await server.close().report_to(why);
        CHECK_FALSE(why);
      },
      [&](messages::channel& client) -> async::task<> {
        const async::loop_memory target = client.memory(1000);
        std::error_code why = stale;
        messages::incoming got = co_await client.next().report_to(why);
        CHECK_FALSE(why);
        why = stale;
        co_await got.receive_into(target.buffer()).report_to(why);
        CHECK_FALSE(why);
        got = messages::incoming{};
        got = co_await client.next();
        why = stale;
        co_await got.receive_into(target.buffer()).report_to(why);
        CHECK_FALSE(why);
        got = messages::incoming{};
        got = co_await client.next();
        why = stale;
        co_await got.reply(3).report_to(why);
        CHECK_FALSE(why);
        got = messages::incoming{};
        why = stale;
        got = co_await client.next().report_to(why);
        CHECK_FALSE(got);
        CHECK_FALSE(why);
      });
}

TEST_CASE("An offer that the close of its channel has refused cannot be taken") {
  both_ends both;
  std::error_code of_sender;
  failure why;
  both.run(
      [&](messages::channel& server) -> async::task<> {
        const async::loop_memory memory = server.memory(5000);
        co_await server.send(memory.buffer()).report_to(of_sender);
        const messages::incoming end = co_await server.next();
        CHECK_FALSE(end);
        co_await server.close();
      },
      [&](messages::channel& client) -> async::task<> {
        const async::loop_memory target = client.memory(5000);
        messages::incoming offer = co_await client.next();
        CHECK(offer.is_offer());
        bool is_closed = false;
        both.loop.spawn([&]() -> async::task<> {
          co_await client.close();
          is_closed = true;
        });
        const auto bytes = co_await offer.receive_into(target.buffer()).report_to(why);
        CHECK(bytes.empty());
        offer = {};
        while (!is_closed) co_await async::sleep_for(both.loop, std::chrono::milliseconds{1});
      });
  CHECK(of_sender == std::errc::connection_refused);
  CHECK(why.code() == std::errc::broken_pipe);
  CHECK(why.explanation() == "the channel is closed or cancelled");
}

TEST_CASE("A message behind the end explains which side has closed the channel") {
  both_ends both;
  failure of_own_close;
  failure of_both;
  both.run(
      [&](messages::channel& server) -> async::task<> {
        bool is_closed = false;
        both.loop.spawn([&]() -> async::task<> {
          co_await server.close();
          is_closed = true;
        });
        co_await server.send(1).report_to(of_own_close);
        while (!is_closed) co_await async::sleep_for(both.loop, std::chrono::milliseconds{1});
        co_await server.send(1).report_to(of_both);
      },
      [&](messages::channel& client) -> async::task<> {
        const messages::incoming end = co_await client.next();
        CHECK_FALSE(end);
      });
  CHECK(of_own_close.code() == std::errc::broken_pipe);
  CHECK(of_own_close.explanation() == "one side has closed the channel");
  CHECK(of_both.code() == std::errc::broken_pipe);
  CHECK(of_both.explanation() == "both sides have closed the channel");
}

}  // namespace channel_test
