// SPDX-License-Identifier: MIT
// The cases of channels that resume broken links, over every network. Included by one file of each
// suite, after the functions that channel_ends.hpp needs.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <future>
#include <iostream>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <adverb/adverb.hpp>
#include <adverb/messages.hpp>
#include <support/catch.hpp>
#include <support/channel_ends.hpp>
#include <support/numbered_bytes.hpp>
#include <support/sanitized.hpp>

namespace resume_test {

using namespace adverb;
using namespace std::chrono_literals;
using channel_test::both_ends;
using channel_test::break_link;
using channel_test::fill;
using channel_test::is_filled;

[[nodiscard]] inline messages::channel_options resuming(timeout within = 40s) {
  messages::channel_options options = channel_test::few_receives();
  options.resume_within = within;
  return options;
}

/// The handshake of a peer that resumes, and does not keep to the protocol.
[[nodiscard]] inline detail::handshake rude_handshake() {
  detail::handshake made = detail::handshake::of(resuming(), throwing{});
  made.session = 77;
  return made;
}

/// The receives that such a peer has.
inline constexpr std::uint32_t granted = 8;

/// Places at which a peer cannot resume that has got one message, and sent none.
inline constexpr std::array<detail::session_point, 4> wrong_places{{
    {.next = 2, .granted = granted},
    {.next = 0xffff'ffff, .granted = granted},
    {.ends = 1, .granted = granted},
    {.granted = granted, .has_close = true},
}};

/// Accepts a channel, sends a message, and waits for one. Stores why none comes.
inline async::task<> send_and_wait(both_ends& here, failure& why) {
  const messages::channel accepted = co_await here.listener.accept();
  co_await accepted.send(1);
  const messages::incoming none = co_await accepted.next().report_to(why);
}

/// A message has its number and its size, and then bytes that follow from them.
struct stamp {
  std::uint32_t number;
  std::uint32_t size;
};

/// The sizes of a stream of messages: copied, in registered memory, and offered ones.
[[nodiscard]] inline std::uint32_t size_of(std::uint32_t number) {
  constexpr std::array<std::uint32_t, 7> sizes{0, 100, 231, 5'000, 17, 60'000, 200};
  return sizes[number % sizes.size()];
}

/// Breaks links at random points of the exchange.
struct breaker {
  explicit breaker(std::uint32_t seed) : random{seed} {}
  void pass(const messages::channel& near) {
    if (random() % 16 == 0) break_link(near);
  }
  std::mt19937 random;
};

/// Sends messages in order, each of its own kind.
inline async::task<> send_stream(messages::channel& to, std::uint32_t count, breaker& breaks) {
  const async::loop_memory memory = to.memory(60'000);
  for (std::uint32_t number = 0; number < count; ++number) {
    const std::uint32_t size = size_of(number);
    fill(memory.bytes().first(size), number);
    const stamp first{number, size};
    breaks.pass(to);
    if (number % 3 == 0 && size <= 200)
      co_await to.send(first, memory.bytes().first(size));
    else
      co_await to.send(first, memory.slice(0, size));
  }
}

/// Receives them. Returns the number that came whole and in order.
inline async::task<std::uint32_t> take_stream(messages::channel& from, std::uint32_t count,
                                              breaker& breaks) {
  const async::loop_memory target = from.memory(70'000);
  std::uint32_t whole = 0;
  for (std::uint32_t number = 0; number < count; ++number) {
    messages::incoming got = co_await from.next();
    if (!got) break;
    breaks.pass(from);
    const std::span<std::byte> bytes = co_await got.receive_into(target.buffer());
    const std::uint32_t size = size_of(number);
    stamp first{};
    if (bytes.size() >= sizeof first) std::memcpy(&first, bytes.data(), sizeof first);
    if (first.number == number && bytes.size() == sizeof first + size &&
        is_filled(bytes.subspan(sizeof first), number))
      ++whole;
  }
  co_return whole;
}

/// Both streams at once, and then the end.
inline async::task<> exchange(both_ends& both, messages::channel& self, std::uint32_t count,
                              breaker& breaks, std::uint32_t& whole) {
  async::event is_sent{both.loop};
  both.loop.spawn([&]() -> async::task<> {
    co_await send_stream(self, count, breaks);
    is_sent.set();
  });
  whole += co_await take_stream(self, count, breaks);
  co_await is_sent.wait();
  co_await self.close();
}

TEST_CASE("Messages of every kind arrive once each over a link that breaks at random points") {
  constexpr std::uint32_t count = 60;
  constexpr std::uint32_t rounds = test_support::is_sanitized ? 3 : 8;
  std::uint64_t resumptions = 0;
  std::uint64_t replayed = 0;
  for (std::uint32_t seed = 1; seed <= rounds; ++seed) {
    INFO("seed " << seed);
    both_ends both{resuming(), resuming()};
    breaker breaks{seed};
    std::uint32_t whole = 0;
    const auto run_end = [&](messages::channel& self) -> async::task<> {
      co_await exchange(both, self, count, breaks, whole);
      resumptions += self.statistics().resumptions;
      replayed += self.statistics().messages_replayed;
      CHECK(self.unconfirmed() == 0);
    };
    both.run(run_end, run_end);
    REQUIRE(whole == 2 * count);
  }
  std::cout << resumptions << " links resumed, " << replayed << " messages sent again, seeds 1 to "
            << rounds << '\n';
  CHECK(resumptions > 4 * rounds);
  CHECK(replayed > rounds);
}

TEST_CASE("A message that the program holds stays readable when the link is replaced") {
  both_ends both{resuming(), resuming()};
  std::vector<std::string> texts;
  both.run(
      [&](messages::channel& server) -> async::task<> {
        for (int i = 0; i < 6; ++i)
          co_await server.send(std::string(100, static_cast<char>('a' + i)));
        const messages::incoming ready = co_await server.next();
        for (int round = 0; round < 3; ++round) {
          break_link(server);
          const auto resumed = static_cast<std::uint64_t>(round) + 1;
          while (server.statistics().resumptions < resumed && !server.has_ended())
            co_await async::sleep_for(both.loop, 1ms);
          co_await server.send(std::string(100, static_cast<char>('p' + round)));
        }
        co_await server.close();
        CHECK(server.statistics().resumptions == 3);
      },
      [&](messages::channel& client) -> async::task<> {
        std::vector<messages::incoming> held;
        for (int i = 0; i < 3; ++i) held.push_back(co_await client.next());
        co_await client.send(1);
        while (messages::incoming got = co_await client.next()) {
          if (held.size() < 4)
            held.push_back(std::move(got));
          else
            texts.emplace_back(got.text());
        }
        for (const messages::incoming& each : held) texts.emplace_back(each.text());
      });
  REQUIRE(texts.size() == 9);
  for (const std::string& each : texts) CHECK(each == std::string(100, each.front()));
  CHECK(texts.back().front() == 'd');
}

TEST_CASE("A send of registered memory finishes when the peer has confirmed the message") {
  messages::channel_options connecting = resuming();
  connecting.max_frames = 4;
  messages::channel_options accepting = resuming();
  accepting.receives = 64;
  both_ends both{connecting, accepting};
  std::uint32_t arrived = 0;
  both.run(
      [&](messages::channel& server) -> async::task<> {
        const async::loop_memory memory = server.memory(100);
        for (int i = 0; i < 100; ++i) {
          co_await server.send(memory.buffer());
          CHECK(server.unconfirmed() == 0);
          co_await server.send(i);
          co_await server.send(i);
          co_await server.send(i);
        }
        co_await server.close();
      },
      [&](messages::channel& client) -> async::task<> {
        while (const messages::incoming got = co_await client.next()) ++arrived;
      });
  CHECK(arrived == 400);
}

TEST_CASE("Steps that start while the link is broken finish on the next one") {
  both_ends both{resuming(), resuming()};
  std::string stall;
  bool was_sent_at_once = true;
  std::uint32_t answers = 0;
  both.run(
      [&](messages::channel& server) -> async::task<> {
        const async::loop_memory memory = server.memory(9'000);
        co_await server.send(memory.buffer());
        messages::incoming offer = co_await server.next();
        for (int round = 0; round < 3; ++round) {
          break_link(server);
          // A slow machine takes some turns of the loop to notice it.
          for (int turn = 0; turn < 10'000 && stall.empty(); ++turn) {
            co_await async::sleep_for(both.loop, 0ms);
            stall = server.why_stalled();
            if (!stall.empty()) was_sent_at_once = server.try_send(1);
          }
          if (round == 0) co_await offer.receive_into(memory.buffer());
          co_await server.send(memory.buffer());
          const messages::incoming answer = co_await server.next();
          if (answer.as<int>() == 7) ++answers;
        }
        break_link(server);
        co_await server.close();
      },
      [&](messages::channel& client) -> async::task<> {
        const async::loop_memory memory = client.memory(9'000);
        messages::incoming first = co_await client.next();
        co_await first.receive_into(memory.buffer());
        both.loop.spawn([&]() -> async::task<> { co_await client.send(memory.buffer()); });
        while (messages::incoming got = co_await client.next()) {
          co_await got.receive_into(memory.buffer());
          co_await client.send(7);
        }
        co_await client.close();
      });
  CHECK(stall == "the link is broken, and is being connected again");
  CHECK_FALSE(was_sent_at_once);
  CHECK(answers == 3);
}

TEST_CASE("Offers that are refused or withdrawn while the link breaks stay so") {
  for (const bool is_refused : {false, true}) {
    both_ends both{resuming(), resuming()};
    failure why;
    bool went_on = false;
    both.run(
        [&](messages::channel& server) -> async::task<> {
          const async::loop_memory memory = server.memory(9'000);
          if (is_refused) {
            co_await server.send(memory.buffer()).report_to(why);
          } else {
            messages::caller ask{server};
            const messages::reply none = co_await ask(memory.buffer()).within(50ms).report_to(why);
          }
          co_await server.send(1);
          co_await server.close();
        },
        [&](messages::channel& client) -> async::task<> {
          {
            const messages::incoming offer = co_await client.next();
            CHECK(offer.is_offer());
            if (!is_refused) co_await async::sleep_for(both.loop, 49ms);
            break_link(client);
          }
          while (const messages::incoming got = co_await client.next())
            went_on = got.as<int>() == 1;
          co_await client.close();
        });
    CHECK(why.code() == (is_refused ? std::errc::connection_refused : std::errc::timed_out));
    CHECK(went_on);
  }
}

TEST_CASE("Requests find their replies over a link that breaks") {
  both_ends both{resuming(), resuming()};
  std::uint32_t right = 0;
  both.run(
      [&](messages::channel& server) -> async::task<> {
        {
          messages::caller ask{server};
          for (std::uint32_t i = 0; i < 40; ++i) {
            if (i % 8 == 3) break_link(server);
            const messages::reply answer = co_await ask(i);
            if (answer.as<std::uint32_t>() == i) ++right;
          }
        }
        co_await server.close();
      },
      [&](messages::channel& client) -> async::task<> {
        while (const messages::incoming got = co_await client.next())
          co_await got.reply(got.as<std::uint32_t>());
      });
  CHECK(right == 40);
}

TEST_CASE("A close that a broken link interrupts finishes on the next one") {
  for (int delay = 0; delay < 6; ++delay) {
    both_ends both{resuming(), resuming()};
    std::uint32_t arrived = 0;
    failure of_server;
    failure of_client;
    both.run(
        [&](messages::channel& server) -> async::task<> {
          for (int i = 0; i < 20; ++i) co_await server.send(i);
          both.loop.spawn([&]() -> async::task<> {
            co_await async::sleep_for(both.loop, std::chrono::microseconds{delay * 50});
            break_link(server);
          });
          co_await server.close().report_to(of_server);
          co_await async::sleep_for(both.loop, 5ms);
        },
        [&](messages::channel& client) -> async::task<> {
          while (true) {
            const messages::incoming got = co_await client.next().report_to(of_client);
            if (!got) break;
            ++arrived;
          }
          co_await client.close().report_to(of_client);
        });
    CHECK(arrived == 20);
    CHECK(of_server.what() == std::string_view{});
    CHECK(of_client.what() == std::string_view{});
  }
}

TEST_CASE("A channel that its program ends is not resumed, and its peer learns that at once") {
  for (const bool is_cancelled : {false, true}) {
    both_ends both{resuming(), resuming()};
    failure why;
    failure own;
    const auto begun = std::chrono::steady_clock::now();
    both.run(
        [&](messages::channel& server) -> async::task<> {
          co_await server.send(1);
          const messages::incoming got = co_await server.next();
          if (!is_cancelled) co_return;
          both.loop.spawn([&]() -> async::task<> {
            co_await async::sleep_for(both.loop, 1ms);
            server.cancel();
          });
          const messages::incoming none = co_await server.next().report_to(own);
        },
        [&](messages::channel& client) -> async::task<> {
          const messages::incoming first = co_await client.next();
          co_await client.send(2);
          const messages::incoming none = co_await client.next().report_to(why);
          CHECK_FALSE(none);
        });
    CHECK(why.code() == std::errc::connection_reset);
    if (is_cancelled) CHECK(own.code() == std::errc::operation_canceled);
    CHECK(std::chrono::steady_clock::now() - begun < 20s);
  }
}

TEST_CASE("A link is not resumed unless both ends have set resume_within") {
  for (const bool is_client : {false, true}) {
    both_ends both{is_client ? resuming() : channel_test::few_receives(),
                   is_client ? channel_test::few_receives() : resuming()};
    failure of_server;
    failure of_client;
    both.run(
        [&](messages::channel& server) -> async::task<> {
          co_await server.send(1);
          const messages::incoming none = co_await server.next().report_to(of_server);
          CHECK(server.statistics().resumptions == 0);
        },
        [&](messages::channel& client) -> async::task<> {
          const messages::incoming first = co_await client.next();
          break_link(client);
          const messages::incoming none = co_await client.next().report_to(of_client);
        });
    CHECK(of_server.code());
    CHECK(of_client.code());
  }
}

TEST_CASE(
    "A channel fails at once if its session is unknown to a listener that was started again") {
  async::event_loop loop;
  auto listener =
      std::make_unique<messages::listener>(loop, channel_test::listening_address(), resuming());
  const std::uint16_t port = listener->port();
  failure of_server;
  failure of_client;
  const auto begun = std::chrono::steady_clock::now();
  loop.spawn([&]() -> async::task<> {
    messages::channel client = co_await listener->accept();
    const messages::incoming got = co_await client.next();
    listener.reset();
    listener = std::make_unique<messages::listener>(
        loop, channel_test::listening_address().with_port(port), resuming());
    break_link(client);
    const messages::incoming none = co_await client.next().report_to(of_client);
  });
  loop.spawn([&]() -> async::task<> {
    messages::channel server =
        co_await messages::connect(loop, channel_test::address_of(port), resuming());
    co_await server.send(1);
    const messages::incoming none = co_await server.next().report_to(of_server);
  });
  loop.run();
  CHECK(of_client.code());
  CHECK(of_server.code());
  CHECK(std::string_view{of_server.what()}.find("does not know the session") !=
        std::string_view::npos);
  CHECK(std::chrono::steady_clock::now() - begun < 20s);
}

TEST_CASE("A request outlives its listener before and after it is accepted, without resumption") {
  const bool is_accepted_first = GENERATE(false, true);
  async::event_loop loop;
  auto listener = std::make_unique<messages::listener>(loop, channel_test::listening_address(),
                                                       resuming(100ms));
  const cm::socket_address address = channel_test::address_of(listener->port());
  int got = 0;
  failure why;
  loop.spawn([&]() -> async::task<> {
    messages::channel_request request = co_await listener->next();
    if (is_accepted_first)
      loop.spawn([&]() -> async::task<> {
        co_await async::sleep_for(loop, 0ms);
        listener.reset();
      });
    else
      listener.reset();
    const messages::channel client = co_await request.accept();
    const messages::incoming first = co_await client.next();
    got = first.as<int>();
    CHECK(listener == nullptr);
    break_link(client);
    const messages::incoming none = co_await client.next().report_to(why);
    CHECK_FALSE(none);
  });
  loop.spawn([&]() -> async::task<> {
    const messages::channel server = co_await messages::connect(loop, address, resuming(100ms));
    failure ignored;
    co_await server.send(1).report_to(ignored);
    const messages::incoming none = co_await server.next().report_to(ignored);
    CHECK(ignored.code());
  });
  loop.run();
  CHECK(got == 1);
  INFO(why.what());
  CHECK(why.code());
}

TEST_CASE("A channel fails with the failure of its link if that is not connected again in time") {
  async::event_loop loop;
  std::optional<messages::listener> listener;
  listener.emplace(loop, channel_test::listening_address(), resuming(100ms));
  const cm::socket_address address = channel_test::address_of(listener->port());
  failure of_server;
  failure of_send;
  std::chrono::steady_clock::duration took{};
  loop.spawn([&]() -> async::task<> {
    messages::channel client = co_await listener->accept();
    const messages::incoming got = co_await client.next();
    listener.reset();
    break_link(client);
    failure ignored;
    const messages::incoming none = co_await client.next().report_to(ignored);
    CHECK(ignored.code());
  });
  loop.spawn([&]() -> async::task<> {
    messages::channel server = co_await messages::connect(loop, address, resuming());
    co_await server.send(1);
    const auto begun = std::chrono::steady_clock::now();
    const messages::incoming none = co_await server.next().report_to(of_server);
    took = std::chrono::steady_clock::now() - begun;
    co_await server.send(2).report_to(of_send);
  });
  loop.run();
  CHECK(of_server.code());
  CHECK(of_send.code() == of_server.code());
  CHECK(took >= 100ms);
  CHECK(took < 20s);
}

TEST_CASE("A channel that is cancelled or destroyed while its link is broken ends") {
  const bool is_noticed = GENERATE(false, true);
  for (const bool is_cancelled : {false, true}) {
    // So long that the channel is cancelled before it ends by itself, also on a slow machine.
    const timeout within = is_cancelled ? 3s : 300ms;
    both_ends both{resuming(within), resuming(within)};
    failure why;
    failure of_peer;
    both.run(
        [&](messages::channel& server) -> async::task<> {
          co_await server.send(1);
          const messages::incoming got = co_await server.next();
          break_link(server);
          if (is_noticed) co_await async::sleep_for(both.loop, 1ms);
          if (!is_cancelled) co_return;
          server.cancel();
          const messages::incoming none = co_await server.next().report_to(why);
        },
        [&](messages::channel& client) -> async::task<> {
          const messages::incoming first = co_await client.next();
          co_await client.send(2);
          const messages::incoming none = co_await client.next().report_to(of_peer);
        });
    if (is_cancelled) CHECK(why.code() == std::errc::operation_canceled);
    CHECK(of_peer.code());
  }
}

TEST_CASE("A peer that is silent for longer than dead_after is connected again") {
  messages::channel_options options = resuming();
  options.dead_after = 200ms;
  std::promise<std::uint16_t> port;
  std::uint32_t taken = 0;
  std::atomic<bool> is_taken_for_dead = false;
  std::jthread server{[&] {
    async::event_loop loop;
    messages::listener listener{loop, channel_test::listening_address(), options};
    port.set_value(listener.port());
    loop.spawn([&]() -> async::task<> {
      messages::channel client = co_await listener.accept();
      while (const messages::incoming got = co_await client.next()) {
        if (got.as<std::uint32_t>() == taken) ++taken;
        if (taken != 3) continue;
        // The loop does not run, so no probe is answered.
        const auto limit = std::chrono::steady_clock::now() + 20s;
        while (!is_taken_for_dead && std::chrono::steady_clock::now() < limit)
          std::this_thread::sleep_for(1ms);
      }
    });
    loop.run();
  }};
  async::event_loop loop;
  const cm::socket_address address = channel_test::address_of(port.get_future().get());
  std::uint64_t resumptions = 0;
  loop.spawn([&]() -> async::task<> {
    messages::channel client = co_await messages::connect(loop, address, options);
    loop.spawn([&]() -> async::task<> {
      while (!client.why_stalled().starts_with("the link is broken") && !client.has_ended())
        co_await async::sleep_for(loop, 1ms);
      is_taken_for_dead = true;
    });
    for (std::uint32_t i = 0; i < 30; ++i) {
      co_await client.send(i);
      co_await async::sleep_for(loop, 20ms);
    }
    while (!is_taken_for_dead) co_await async::sleep_for(loop, 1ms);
    resumptions = client.statistics().resumptions;
    co_await client.close();
  });
  loop.run();
  server.join();
  CHECK(taken == 30);
  CHECK(resumptions > 0);
}

TEST_CASE("A program that blocks goes on over a link that breaks between its waits") {
  std::promise<std::uint16_t> port;
  std::jthread server{[&] {
    async::event_loop loop;
    messages::listener listener{loop, channel_test::listening_address(), resuming()};
    port.set_value(listener.port());
    const messages::channel client = loop.wait(listener.accept());
    while (const messages::incoming got = client.next().wait()) client.send(got.bytes()).wait();
  }};
  const messages::channel client =
      messages::connect(channel_test::address_of(port.get_future().get()), resuming());
  const async::loop_memory memory = client.memory(100);
  std::uint32_t right = 0;
  for (std::uint32_t i = 0; i < 12; ++i) {
    if (i % 4 == 1) break_link(client);
    fill(memory.bytes(), i);
    client.send(memory.buffer()).wait();
    if (i % 4 == 2) break_link(client);
    const messages::incoming answer = client.next().within(40s).wait();
    if (is_filled(answer.bytes(), i)) ++right;
  }
  CHECK(right == 12);
  CHECK(client.statistics().resumptions > 3);
  client.close().wait();
}

TEST_CASE("A loop that ends while a link is broken ends its channels") {
  both_ends here{resuming(), resuming()};
  messages::channel kept;
  here.loop.spawn([&]() -> async::task<> {
    const messages::channel accepted = co_await here.listener.accept();
    const messages::incoming got = co_await accepted.next();
  });
  here.loop.spawn([&]() -> async::task<> {
    kept = co_await messages::connect(here.loop, here.address(), here.client_options);
    // A link that is connected again before the loop looks breaks once more.
    while (kept.why_stalled().empty()) {
      break_link(kept);
      co_await async::sleep_for(here.loop, 1ms);
    }
    here.loop.stop();
    const messages::incoming got = co_await kept.next();
  });
  here.loop.run();
  CHECK(kept.why_stalled() != "");
}

}  // namespace resume_test
