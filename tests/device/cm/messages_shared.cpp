// SPDX-License-Identifier: MIT
// Channels over RDMA that share the receives of their loop.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <adverb/adverb.hpp>
#include <adverb/messages.hpp>
#include <support/catch.hpp>
#include <support/skip.hpp>

#include "cm/channel_ends.hpp"

using namespace cm_test;
using namespace std::chrono_literals;
using namespace adverb;
using channel_test::both_ends;

namespace {

[[nodiscard]] async::device_loop_options with_receives(std::uint32_t count) {
  return {.completions = completions_for_many_pairs(),
          .shared_receives = count,
          .shared_block_size = 256};
}

[[nodiscard]] messages::channel_options sharing(std::uint32_t receives = 32) {
  messages::channel_options options = channel_test::few_receives();
  options.receives = receives;
  options.shared = true;
  options.dead_after = 60s;
  return options;
}

/// The times that Soft-RoCE has found no receive for a message, at either end.
[[nodiscard]] std::optional<std::uint64_t> times_not_ready(context_ref context) {
  return device_counters(context, {"rcvd_rnr_err", "send_rnr_err"});
}

/// Sends numbers as fast as it may, and counts those that come back in order.
async::task<> send_numbers(both_ends& here, std::uint32_t count, std::uint32_t& returned) {
  messages::channel server =
      co_await messages::connect(here.loop, here.address(), here.client_options);
  async::event is_sent{here.loop};
  here.loop.spawn([&]() -> async::task<> {
    for (std::uint32_t each = 0; each < count; ++each) co_await server.send(each);
    is_sent.set();
  });
  for (std::uint32_t each = 0; each < count; ++each) {
    const messages::incoming got = co_await server.next();
    if (got.as<std::uint32_t>() == each) ++returned;
  }
  co_await is_sent.wait();
  co_await server.close();
}

/// Returns every message, with some held for a while.
async::task<> serve(both_ends& here) {
  messages::channel client = co_await here.listener.accept();
  std::vector<messages::incoming> held;
  while (messages::incoming got = co_await client.next()) {
    co_await client.send(got.bytes());
    if (got.as<std::uint32_t>() % 7 == 0) held.push_back(std::move(got));
    if (held.size() == 2) held.clear();
  }
  held.clear();
  co_await client.close();
}

}  // namespace

TEST_CASE("Channels share fewer receives than each may have, and none is ever missing",
          "[ibv_create_srq][optional]") {
  constexpr std::uint32_t clients = 12;
  constexpr std::uint32_t count = 200;
  // Each may have 32, and has six in any case.
  both_ends here{channel_test::few_receives(), sharing(), with_receives(100)};
  const context device = open_device();
  const auto before = times_not_ready(device);
  std::uint32_t returned = 0;
  for (std::uint32_t each = 0; each < clients; ++each) {
    here.loop.spawn(serve(here));
    here.loop.spawn(send_numbers(here, count, returned));
  }
  here.loop.run();
  CHECK(returned == clients * count);
  const auto after = times_not_ready(device);
  if (!before) return tell_skip("receives that are missing", "the device counts none");
  CHECK(after == before);
}

TEST_CASE("A client for whom no shared receives are left is refused, and served when one has gone",
          "[ibv_create_srq]") {
  both_ends here{channel_test::few_receives(), sharing(), with_receives(12)};
  std::string refusal;
  std::error_code of_client;
  bool is_served = false;
  here.loop.spawn([&]() -> async::task<> {
    std::vector<messages::channel> all;
    for (int each = 0; each < 2; ++each) all.push_back(co_await here.listener.accept());
    try {
      const messages::channel none = co_await here.listener.accept();
    } catch (const error& why) {
      CHECK(why.code() == std::errc::not_enough_memory);
      refusal = why.what();
    }
    all.pop_back();
    // Until the device has let go of the receives of the one that has gone.
    while (all.size() < 2) {
      try {
        all.push_back(co_await here.listener.accept());
      } catch (const error& why) {
        CHECK(why.code() == std::errc::not_enough_memory);
      }
    }
    const messages::incoming got = co_await all.back().next();
    is_served = got.as<int>() == 5;
  });
  here.loop.spawn([&]() -> async::task<> {
    std::vector<messages::channel> all;
    const auto connect = [&] {
      return messages::connect(here.loop, here.address(), here.client_options);
    };
    for (int each = 0; each < 2; ++each) all.push_back(co_await connect());
    try {
      const messages::channel none = co_await connect();
    } catch (const std::system_error& why) {
      of_client = why.code();
    }
    for (int tries = 0; tries < 200 && all.size() < 3; ++tries) {
      co_await async::sleep_for(here.loop, 100ms);
      try {
        all.push_back(co_await connect());
      } catch (const std::system_error& why) {
        CHECK(why.code() == rejected_by_program());
      }
    }
    REQUIRE(all.size() == 3);
    co_await all.back().send(5);
  });
  here.loop.run();
  CHECK(of_client == rejected_by_program());
  CHECK(refusal.find("2 channels share the 12 receives of the loop") != std::string::npos);
  CHECK(is_served);
}

TEST_CASE("A program that holds its shared receives learns why no message comes") {
  // A channel is guaranteed six, and no more are left to lend.
  both_ends here{channel_test::few_receives(), sharing(), with_receives(6)};
  std::string of_client;
  std::string of_server;
  std::uint32_t taken = 0;
  here.run(
      [&](messages::channel& server) -> async::task<> {
        here.loop.spawn([&]() -> async::task<> {
          co_await async::sleep_for(here.loop, 100ms);
          of_client = server.why_stalled();
        });
        for (std::uint32_t each = 0; each < 40; ++each) co_await server.send(each);
        co_await server.close();
      },
      [&](messages::channel& client) -> async::task<> {
        std::vector<messages::incoming> held;
        for (int i = 0; i < 2; ++i) held.push_back(co_await client.next());
        co_await async::sleep_for(here.loop, 200ms);
        of_server = client.why_stalled();
        held.clear();
        taken = 2;
        while (const messages::incoming got = co_await client.next()) ++taken;
      });
  CHECK(taken == 40);
  CHECK(of_server ==
        "no receives of the loop are left, and the program holds those of the channel");
  CHECK(of_client ==
        "the peer grants no more receives; possible causes: it shares them, or its program holds "
        "them");
}

TEST_CASE("A client whose program holds its receives goes on when another client has gone",
          "[ibv_create_srq]") {
  // Both are guaranteed six, and no more are left to lend.
  both_ends here{channel_test::few_receives(), sharing(), with_receives(12)};
  async::event is_stalled{here.loop};
  std::string why_stalled;
  std::uint32_t taken = 0;
  std::uint32_t taken_while_held = 0;
  here.loop.spawn([&]() -> async::task<> {
    messages::channel other = co_await here.listener.accept();
    messages::channel client = co_await here.listener.accept();
    const auto count = [&](const messages::incoming& got) {
      if (got.as<std::uint32_t>() == taken) ++taken;
    };
    std::vector<messages::incoming> held;
    for (int i = 0; i < 2; ++i) {
      held.push_back(co_await client.next());
      count(held.back());
    }
    co_await async::sleep_for(here.loop, 200ms);
    why_stalled = client.why_stalled();
    is_stalled.set();
    // The wait for the next message begins before the other client goes.
    here.loop.spawn([&]() -> async::task<> {
      const messages::incoming none = co_await other.next();
      CHECK_FALSE(none);
      other = {};
    });
    held.push_back(co_await client.next());
    count(held.back());
    taken_while_held = taken;
    held.clear();
    while (const messages::incoming got = co_await client.next()) count(got);
  });
  here.loop.spawn([&]() -> async::task<> {
    const auto connect = [&] {
      return messages::connect(here.loop, here.address(), here.client_options);
    };
    messages::channel other = co_await connect();
    messages::channel server = co_await connect();
    here.loop.spawn([&]() -> async::task<> {
      co_await is_stalled.wait();
      co_await other.close();
    });
    for (std::uint32_t each = 0; each < 10; ++each) co_await server.send(each);
    co_await server.close();
  });
  here.loop.run();
  CHECK(why_stalled ==
        "no receives of the loop are left, and the program holds those of the channel");
  CHECK(taken_while_held == 3);
  CHECK(taken == 10);
}

TEST_CASE("Receives that were lent to a client come back while it is idle", "[ibv_create_srq]") {
  messages::channel_options options = sharing();
  options.dead_after = 2s;
  both_ends here{channel_test::few_receives(), options, with_receives(38)};
  std::uint32_t returned = 0;
  std::error_code at_once;
  bool is_served = false;
  here.loop.spawn([&]() -> async::task<> {
    here.loop.spawn(serve(here));
    // It has 32 in the end, two are reserved, and four are left: too few for another client.
    messages::channel first =
        co_await messages::connect(here.loop, here.address(), here.client_options);
    for (std::uint32_t each = 0; each < 100; ++each) {
      co_await first.send(each);
      const messages::incoming got = co_await first.next();
      if (got.as<std::uint32_t>() == each) ++returned;
    }
    const auto connect = [&]() -> async::task<bool> {
      here.loop.spawn([&]() -> async::task<> {
        try {
          const messages::channel accepted = co_await here.listener.accept();
          while (const messages::incoming got = co_await accepted.next()) is_served = true;
        } catch (const std::system_error& why) {
          at_once = why.code();
        }
      });
      try {
        messages::channel second =
            co_await messages::connect(here.loop, here.address(), here.client_options);
        co_await second.send(1);
        co_await second.close();
      } catch (const std::system_error&) {
        co_return false;
      }
      co_return true;
    };
    const bool is_refused = !co_await connect();
    CHECK(is_refused);
    bool is_taken = false;
    for (int tries = 0; tries < 80 && !is_taken; ++tries) {
      co_await async::sleep_for(here.loop, 250ms);
      is_taken = co_await connect();
    }
    CHECK(is_taken);
    co_await first.close();
  });
  here.loop.run();
  CHECK(returned == 100);
  CHECK(at_once == std::errc::not_enough_memory);
  CHECK(is_served);
}

TEST_CASE("A channel with shared receives resumes a broken link", "[ibv_create_srq]") {
  messages::channel_options options = sharing();
  options.resume_within = 30s;
  both_ends here{options, options, with_receives(64)};
  std::uint32_t taken = 0;
  std::uint64_t resumptions = 0;
  here.run(
      [&](messages::channel& server) -> async::task<> {
        for (std::uint32_t each = 0; each < 90; ++each) {
          if (each % 30 == 20) channel_test::break_link(server);
          co_await server.send(each);
        }
        co_await server.close();
        resumptions = server.statistics().resumptions;
      },
      [&](messages::channel& client) -> async::task<> {
        std::vector<messages::incoming> held;
        while (messages::incoming got = co_await client.next()) {
          if (got.as<std::uint32_t>() == taken) ++taken;
          held.push_back(std::move(got));
          if (held.size() == 3) held.clear();
        }
      });
  CHECK(taken == 90);
  CHECK(resumptions == 3);
}

TEST_CASE("Shared receives that the loop does not have are refused with the reason",
          "[ibv_create_srq]") {
  async::event_loop none;
  failure why;
  const messages::listener first{none, channel_test::listening_address(), sharing(), why};
  CHECK(why.code() == std::errc::invalid_argument);
  CHECK(std::string{why.what()}.find("the loop have no shared receives") != std::string::npos);

  async::event_loop small{{.shared_receives = 12, .shared_block_size = 100}};
  const messages::listener second{small, channel_test::listening_address(), sharing(), why};
  CHECK(why.code() == std::errc::invalid_argument);
  CHECK(std::string{why.what()}.find("block_size is 256, and shared_block_size of the loop 100") !=
        std::string::npos);
}
