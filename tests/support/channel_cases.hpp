// SPDX-License-Identifier: MIT
// The cases of channels that hold over every network: sizes, order, credits, offers, requests,
// ends. Included by one file of each suite, after the functions that channel_ends.hpp needs.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <adverb/adverb.hpp>
#include <adverb/messages.hpp>
#include <support/catch.hpp>
#include <support/channel_ends.hpp>
#include <support/numbered_bytes.hpp>

namespace channel_test {

using namespace std::chrono_literals;

/// Replies to each request with its number, in the order of a stack.
inline async::task<> reply_in_reverse(messages::channel& client, std::size_t at_a_time) {
  std::vector<messages::incoming> held;
  while (messages::incoming got = co_await client.next()) {
    CHECK(got.is_request());
    held.push_back(std::move(got));
    if (held.size() != at_a_time) continue;
    for (; !held.empty(); held.pop_back())
      co_await held.back().reply(held.back().as<std::uint32_t>());
  }
}

TEST_CASE("Channels carry messages of every size, in order", "[rdma_connect][rdma_accept]") {
  both_ends both;
  const std::vector<std::size_t> sizes{0, 1, 239, 240, 241, 4096, 100'000, 5, 1 << 20, 240, 7};
  std::vector<std::size_t> arrived;
  bool is_intact = true;
  both.run(
      [&](messages::channel& server) -> async::task<> {
        const async::loop_memory memory = server.memory(1 << 20);
        for (std::size_t i = 0; i < sizes.size(); ++i) {
          fill(memory.bytes().first(sizes[i]), i);
          co_await server.send(memory.slice(0, sizes[i]));
        }
        co_await server.close();
        CHECK(server.unconfirmed() == 0);
        CHECK(server.statistics().messages_sent == sizes.size());
        CHECK(server.statistics().offers_sent == 4);
      },
      [&](messages::channel& client) -> async::task<> {
        const async::loop_memory target = client.memory(1 << 20);
        while (messages::incoming got = co_await client.next()) {
          is_intact = is_intact && got.is_offer() == (got.size() > client.longest_eager());
          if (got.is_offer()) {
            const std::span<std::byte> taken = co_await got.receive_into(target.buffer());
            is_intact = is_intact && taken.data() == target.bytes().data() &&
                        taken.size() == got.size() && is_filled(taken, arrived.size());
          } else {
            is_intact = is_intact && is_filled(got.bytes(), arrived.size());
            const std::span<std::byte> copied = co_await got.receive_into(target.buffer());
            is_intact = is_intact && std::ranges::equal(copied, got.bytes());
          }
          arrived.push_back(got.size());
        }
        co_await client.close();
      });
  CHECK(arrived == sizes);
  CHECK(is_intact);
}

TEST_CASE("A message has copied parts and registered memory behind them") {
  both_ends both;
  struct header {
    std::uint32_t key;
    std::uint32_t size;
  };
  int checked = 0;
  both.run(
      [&](messages::channel& server) -> async::task<> {
        const async::loop_memory memory = server.memory(10'000);
        fill(memory.bytes(), 3);
        co_await server.send(header{7, 100}, std::string_view{"name"}, memory.slice(0, 100));
        co_await server.send(header{8, 9000}, memory.slice(0, 4000), memory.slice(4000, 5000));
        co_await server.close();
      },
      [&](messages::channel& client) -> async::task<> {
        const messages::incoming first = co_await client.next();
        CHECK(first.as<header>().key == 7);
        CHECK(first.text().substr(sizeof(header), 4) == "name");
        CHECK(is_filled(first.bytes().subspan(sizeof(header) + 4), 3));
        ++checked;
        messages::incoming second = co_await client.next();
        const async::loop_memory target = client.memory(second.size());
        co_await second.receive_into(target.buffer());
        header read{};
        std::memcpy(&read, target.bytes().data(), sizeof read);
        CHECK(read.key == 8);
        CHECK(is_filled(target.bytes().subspan(sizeof(header)), 3));
        ++checked;
        const messages::incoming end = co_await client.next();
        CHECK_FALSE(end);
      });
  CHECK(checked == 2);
}

TEST_CASE("A part of a message may be empty") {
  both_ends both;
  int got = 0;
  both.run(
      [&](messages::channel& server) -> async::task<> {
        co_await server.send(std::string_view{}, 5);
        co_await server.close();
      },
      [&](messages::channel& client) -> async::task<> {
        const messages::incoming first = co_await client.next();
        got = first.as<int>();
        const messages::incoming end = co_await client.next();
        CHECK_FALSE(end);
      });
  CHECK(got == 5);
}

TEST_CASE("A sender waits while the program of the peer holds its messages") {
  both_ends both;
  std::uint32_t sent = 0;
  std::uint32_t sent_while_held = 0;
  std::string stall;
  both.run(
      [&](messages::channel& server) -> async::task<> {
        for (; sent < 40; ++sent) co_await server.send(sent);
        co_await server.close();
        const messages::channel_statistics& counts = server.statistics();
        CHECK(counts.messages_sent == 40);
        CHECK(counts.bytes_sent == 160);
        CHECK(counts.bytes_copied == 160);
        CHECK(counts.stalls_for_credit > 0);
        CHECK(counts.stalled_for_credit >= 30ms);
      },
      [&](messages::channel& client) -> async::task<> {
        std::vector<messages::incoming> held;
        for (int i = 0; i < 6; ++i) held.push_back(co_await client.next());
        co_await async::sleep_for(both.loop, 50ms);
        sent_while_held = sent;
        stall = client.why_stalled();
        held.clear();
        std::uint32_t expected = 6;
        while (const messages::incoming got = co_await client.next())
          if (got.as<std::uint32_t>() == expected) ++expected;
        CHECK(expected == 40);
      });
  CHECK(sent_while_held == 6);
  CHECK(sent == 40);
}

TEST_CASE("Messages of a higher lane overtake those that wait, and each lane keeps its order") {
  both_ends both;
  std::string arrived_lanes;
  std::uint32_t not_in_order = 0;
  int left = 0;
  both.run(
      [&](messages::channel& server) -> async::task<> {
        // These take every receive of the peer.
        for (int i = 0; i < 6; ++i) co_await server.send(std::uint32_t{0});
        async::event is_sent{both.loop};
        const auto send = [&](std::uint8_t lane, std::uint32_t number) -> async::task<> {
          co_await server.send(number).on_lane(lane);
          if (--left == 0) is_sent.set();
        };
        for (std::uint32_t number = 1; number < 4; ++number)
          for (const std::uint8_t lane : std::to_array<std::uint8_t>({1, 0, 9})) {
            ++left;
            both.loop.spawn(send(lane, number));
          }
        co_await is_sent.wait();
        co_await server.close();
      },
      [&](messages::channel& client) -> async::task<> {
        std::vector<messages::incoming> held;
        for (int i = 0; i < 6; ++i) held.push_back(co_await client.next());
        co_await async::sleep_for(both.loop, 50ms);
        held.clear();
        std::array<std::uint32_t, 10> last{};
        while (const messages::incoming got = co_await client.next()) {
          arrived_lanes += static_cast<char>('0' + got.lane());
          if (got.as<std::uint32_t>() != ++last[got.lane()]) ++not_in_order;
        }
      });
  CHECK(arrived_lanes == "999111000");
  CHECK(not_in_order == 0);
}

TEST_CASE("try_send sends a message if there is room, and keeps the order") {
  messages::channel_options more_frames = few_receives();
  more_frames.max_frames = 16;
  both_ends both{more_frames};
  std::uint32_t sent = 0;
  std::uint32_t sent_while_held = 0;
  std::uint32_t taken = 0;
  bool is_ordered = true;
  both.run(
      [&](messages::channel& server) -> async::task<> {
        CHECK_FALSE(server.try_send(std::string(server.longest_eager() + 1, 'x')));
        while (server.try_send(sent)) ++sent;
        sent_while_held = sent;
        CHECK(server.unconfirmed() == sent);
        while (sent < 40) {
          if (server.try_send(sent))
            ++sent;
          else
            co_await async::sleep_for(both.loop, 1ms);
        }
        co_await server.send(sent);
        ++sent;
        co_await server.close();
        CHECK_FALSE(server.try_send(sent));
      },
      [&](messages::channel& client) -> async::task<> {
        co_await async::sleep_for(both.loop, 50ms);
        while (const messages::incoming got = co_await client.next())
          is_ordered = got.as<std::uint32_t>() == taken++ && is_ordered;
      });
  CHECK(sent_while_held == 6);
  CHECK(is_ordered);
  CHECK(taken == 41);
}

TEST_CASE("try_send sends no message that is longer than agreed, and longest_eager is no longer") {
  messages::channel_options brief = few_receives();
  brief.longest = 100;
  both_ends both{brief};
  std::uint32_t longest = 0;
  std::size_t arrived = 0;
  both.run(
      [&](messages::channel& server) -> async::task<> {
        longest = server.longest_eager();
        CHECK_FALSE(server.try_send(std::string(101, 'x')));
        CHECK(server.try_send(std::string(100, 'x')));
        co_await server.close();
      },
      [&](messages::channel& client) -> async::task<> {
        while (const messages::incoming got = co_await client.next()) arrived += got.size();
      });
  CHECK(longest == 100);
  CHECK(arrived == 100);
}

TEST_CASE("A refused message fails at its sender, and the channel goes on") {
  both_ends both;
  failure refused;
  std::string last;
  both.run(
      [&](messages::channel& server) -> async::task<> {
        const async::loop_memory memory = server.memory(1000);
        co_await server.send(memory.buffer()).report_to(refused);
        co_await server.send(std::string_view{"after it"});
        co_await server.close();
      },
      [&](messages::channel& client) -> async::task<> {
        {
          const messages::incoming offer = co_await client.next();
          CHECK(offer.is_offer());
          CHECK(offer.bytes().empty());
        }
        while (const messages::incoming next = co_await client.next()) last = next.text();
      });
  CHECK(refused.code() == std::errc::connection_refused);
  CHECK(last == "after it");
}

TEST_CASE("Both ends offer messages at once, and take those of the other") {
  both_ends both;
  int taken = 0;
  const auto exchange = [&](messages::channel& self) -> async::task<> {
    constexpr std::size_t size = 50'000;
    constexpr std::size_t messages = 20;
    const async::loop_memory memory = self.memory(size);
    const async::loop_memory target = self.memory(size);
    fill(memory.bytes(), 1);
    async::event is_sent{both.loop};
    both.loop.spawn([&]() -> async::task<> {
      for (std::size_t i = 0; i < messages; ++i) co_await self.send(memory.buffer());
      is_sent.set();
    });
    for (std::size_t i = 0; i < messages; ++i) {
      messages::incoming got = co_await self.next();
      std::ranges::fill(target.bytes(), std::byte{});
      co_await got.receive_into(target.buffer());
      if (is_filled(target.bytes(), 1)) ++taken;
    }
    co_await is_sent.wait();
    co_await self.close();
  };
  both.run(exchange, exchange);
  CHECK(taken == 40);
}

TEST_CASE("A channel whose peer goes without closing it fails, and counts what may be lost") {
  both_ends both;
  failure why;
  std::uint32_t unconfirmed = 0;
  both.run(
      [&](messages::channel& server) -> async::task<> {
        co_await server.send(1);
        co_await server.send(2);
        const messages::incoming none = co_await server.next().report_to(why);
        CHECK_FALSE(none);
        unconfirmed = server.unconfirmed();
      },
      [&](messages::channel& client) -> async::task<> {
        const messages::incoming first = co_await client.next();
        CHECK(first.as<int>() == 1);
      });
  CHECK(why.code() == std::errc::connection_reset);
  CHECK(unconfirmed > 0);
}

TEST_CASE("A message fails if it is longer than agreed, or too long to be copied") {
  messages::channel_options brief = few_receives();
  brief.longest = 1000;
  both_ends both{few_receives(), brief};
  failure too_long;
  failure not_registered;
  failure too_small;
  both.run(
      [&](messages::channel& server) -> async::task<> {
        const std::vector<std::byte> bytes(2000);
        const async::loop_memory memory = server.memory(1000);
        co_await server.send(bytes).report_to(too_long);
        co_await server.send(std::span{bytes}.first(1000)).report_to(not_registered);
        co_await server.send(memory.buffer());
        co_await server.close();
      },
      [&](messages::channel& client) -> async::task<> {
        const async::loop_memory target = client.memory(1000);
        messages::incoming got = co_await client.next();
        co_await got.receive_into(target.slice(0, 999)).report_to(too_small);
        co_await got.receive_into(target.buffer());
        got = messages::incoming{};
        got = co_await client.next();
        CHECK_FALSE(got);
      });
  CHECK(too_long.code() == std::errc::message_size);
  CHECK(not_registered.code() == std::errc::no_buffer_space);
  CHECK(too_small.code() == std::errc::message_size);
}

TEST_CASE("One listener serves many channels, of which a slow one delays no other") {
  constexpr int clients = 16;
  both_ends here;
  int answers = 0;
  here.loop.spawn([&]() -> async::task<> {
    for (int i = 0; i < clients; ++i) {
      here.loop.spawn([](messages::channel client) -> async::task<> {
        while (const messages::incoming got = co_await client.next())
          co_await client.send(got.bytes());
      }(co_await here.listener.accept()));
    }
  });
  for (int i = 0; i < clients; ++i)
    here.loop.spawn([&, i]() -> async::task<> {
      messages::channel server =
          co_await messages::connect(here.loop, here.address(), few_receives());
      for (int round = 0; round < 10; ++round) {
        co_await server.send(i * 100 + round);
        if (i == 0) co_await async::sleep_for(here.loop, 20ms);
        const messages::incoming answer = co_await server.next();
        if (answer.as<int>() == i * 100 + round) ++answers;
      }
      co_await server.close();
    });
  here.loop.run();
  CHECK(answers == clients * 10);
}

TEST_CASE("Channels that end at random places lose nothing without notice") {
  constexpr int rounds = 60;
  std::uint32_t lost = 0;
  std::uint32_t unconfirmed = 0;
  for (int round = 0; round < rounds; ++round) {
    both_ends both;
    std::uint32_t sent = 0;
    std::uint32_t received = 0;
    std::uint32_t uncertain = 0;
    both.run(
        [&](messages::channel& server) -> async::task<> {
          const async::loop_memory memory = server.memory(2000);
          for (std::uint32_t i = 0; i < 30; ++i) {
            std::error_code why;
            if (i % 4 == 3)
              co_await server.send(memory.slice(0, 300 + 50 * i)).report_to(why);
            else
              co_await server.send(i).report_to(why);
            if (why) break;
            sent = i + 1;
          }
          uncertain = server.unconfirmed();
        },
        [&](messages::channel& client) -> async::task<> {
          const async::loop_memory target = client.memory(2000);
          while (received < static_cast<std::uint32_t>(round / 2)) {
            std::error_code why;
            messages::incoming got = co_await client.next().report_to(why);
            if (!got) break;
            if (got.is_offer()) co_await got.receive_into(target.buffer()).report_to(why);
            if (!why) ++received;
          }
          // The others have arrived, too.
          for (std::error_code late; !late;) {
            const messages::incoming rest = co_await client.next().within(0ms).report_to(late);
            if (rest) ++received;
          }
        });
    if (sent > received) lost += sent - received > uncertain ? 1U : 0U;
    unconfirmed += uncertain;
  }
  CHECK(lost == 0);
  CHECK(unconfirmed > 0);
}

TEST_CASE("Offers that the program holds take credits, so that the peer cannot send without end") {
  both_ends both;
  std::size_t arrived = 0;
  int ended_sends = 0;
  both.run(
      [&](messages::channel& server) -> async::task<> {
        const async::loop_memory memory = server.memory(1000);
        for (int i = 0; i < 12; ++i)
          both.loop.spawn([](const messages::channel& by, const async::loop_memory& of,
                             int& count) -> async::task<> {
            std::error_code ended;
            co_await by.send(of.buffer()).report_to(ended);
            ++count;
          }(server, memory, ended_sends));
        for (int turn = 0; turn < 10'000 && arrived < 6; ++turn)
          co_await async::sleep_for(both.loop, 1ms);
        // A seventh would come, too.
        co_await async::sleep_for(both.loop, 50ms);
        server.cancel();
        while (ended_sends < 12) co_await async::sleep_for(both.loop, 1ms);
      },
      [&](messages::channel& client) -> async::task<> {
        std::vector<messages::incoming> held;
        for (std::error_code why; !why;) {
          messages::incoming got = co_await client.next().report_to(why);
          if (got) held.push_back(std::move(got));
          arrived = held.size();
        }
      });
  CHECK(arrived == 6);
}

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
        bench.loop.spawn([&]() -> async::task<> {
          const messages::reply none = co_await (*ask)(1).report_to(canceled);
          CHECK_FALSE(none);
        });
        co_await async::sleep_for(bench.loop, 10ms);
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

TEST_CASE("A loop that is destroyed ends its channels, and what waits on them") {
  for (const bool has_tasks : {true, false}) {
    bool is_ended = false;
    struct at_end {
      bool& is_set;
      ~at_end() { is_set = true; }
    };
    {
      both_ends here;
      messages::channel kept;
      here.loop.spawn([&]() -> async::task<> {
        const at_end last{is_ended};
        const messages::channel accepted = co_await here.listener.accept();
        const messages::incoming got = co_await accepted.next();
      });
      here.loop.spawn([&]() -> async::task<> {
        messages::channel connected =
            co_await messages::connect(here.loop, here.address(), here.client_options);
        here.loop.stop();
        if (has_tasks) const messages::incoming got = co_await connected.next();
        kept = std::move(connected);
      });
      here.loop.run();
      CHECK_FALSE(is_ended);
    }
    CHECK(is_ended);
  }
}

}  // namespace channel_test
