// SPDX-License-Identifier: MIT
// Heartbeats: peers that are stopped are noticed, and peers that are only slow are not.
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <adverb/adverb.hpp>
#include <adverb/async.hpp>
#include <support/catch.hpp>

#include "cm/async_side.hpp"
#include "cm/child_process.hpp"

using namespace async_test;
using namespace std::chrono_literals;

namespace {

/// Longer than a busy machine keeps a live process or a worker of the kernel waiting.
constexpr auto dead_after = 3s;

/// Options with heartbeats.
constexpr async::connection_options beating{.max_send_wr = 4,
                                            .receives = 4,
                                            .block_size = 64,
                                            .connect_timeout = 30s,
                                            .end_timeout = 1min,
                                            .dead_after = dead_after};

/// Accepts one client, and takes its messages.
async::task<> accept_and_take(async::listener& listener) {
  async::connection client = co_await listener.accept(small);
  child_process::say();
  while (const async::message message = co_await client.next()) child_process::say();
}

}  // namespace

TEST_CASE("role: a server with heartbeats", "[.]") {
  side here;
  child_process::say(here.port());
  here.loop.spawn(accept_and_take(here.listener));
  here.loop.run();
}

TEST_CASE("A peer whose process is stopped ends the connection after dead_after",
          "[rdma_connect]") {
  child_process server{"role: a server with heartbeats"};
  const cm::socket_address address = device_address(server.word());
  async::event_loop loop;
  failure why;
  std::chrono::steady_clock::duration noticed{};
  loop.spawn([&]() -> async::task<> {
    async::connection_options options = beating;
    options.end_timeout = 1s;
    async::connection client = co_await async::connect(loop, address, options);
    static_cast<void>(server.word());
    co_await async::sleep_for(loop, dead_after + 1s);
    const text_memory memory{client, "hello"};
    co_await client.send(memory.region.buffer().slice(0, 5));
    static_cast<void>(server.word());
    const auto stopped = std::chrono::steady_clock::now();
    server.stop();
    static_cast<void>(co_await client.next().report_to(why));
    noticed = std::chrono::steady_clock::now() - stopped;
    std::error_code ignored;
    co_await client.disconnect().report_to(ignored);
  });
  loop.run();
  CHECK(why.code() == std::errc::timed_out);
  CHECK(std::string_view{why.what()}.find("no heartbeat of the peer came within") !=
        std::string_view::npos);
  // The last heartbeat may be some time old. The rest is room for a busy machine.
  CHECK(noticed >= dead_after / 2);
  CHECK(noticed < dead_after + 10s);
}

TEST_CASE("Silent peers, and peers that leave messages unread, are not reported as dead",
          "[rdma_connect][optional]") {
  if (on_iwarp())
    return tell_skip("messages without a receive", "iWARP ends the connection of such a message");
  const bool are_shared = GENERATE(false, true);
  constexpr auto brief = 2s;
  side here{{.shared_receives = 8, .shared_block_size = 64}};
  async::connection_options options = beating;
  options.dead_after = brief;
  options.shared = are_shared;
  int taken = 0;
  std::error_code active_end;
  std::error_code passive_end;
  here.loop.spawn([&]() -> async::task<> {
    async::connection client = co_await here.listener.accept(options);
    std::vector<async::message> held;
    while (async::message message = co_await client.next().report_to(passive_end)) {
      held.push_back(std::move(message));
      // Holds every block, once.
      const int blocks = are_shared ? 8 : 4;
      if (++taken == blocks) {
        co_await async::sleep_for(here.loop, brief + 1s);
        CHECK_FALSE(client.why_stalled().empty());
      }
      if (taken >= blocks) held.clear();
    }
    co_await client.disconnect();
  });
  here.loop.spawn([&]() -> async::task<> {
    async::connection server = co_await async::connect(here.loop, here.address(), options);
    co_await async::sleep_for(here.loop, brief + 1s);
    const text_memory memory{server, "hello"};
    // Twice what the blocks and the send queue hold.
    for (int each = 0; each < 24 && !active_end; ++each)
      co_await server.send(memory.region.buffer().slice(0, 5)).report_to(active_end);
    co_await server.disconnect();
  });
  here.loop.run();
  CHECK(taken == 24);
  CHECK_FALSE(active_end);
  CHECK_FALSE(passive_end);
}

TEST_CASE("Accepting with heartbeats fails with EPROTO if the peer has none",
          "[rdma_connect][rdma_accept]") {
  side here;
  failure accepted;
  std::error_code rejected;
  here.loop.spawn([&]() -> async::task<> {
    async::connection_request request = co_await here.listener.next();
    const async::connection none = co_await request.accept(beating).report_to(accepted);
    CHECK_FALSE(none);
  });
  here.loop.spawn([&]() -> async::task<> {
    const async::connection none =
        co_await async::connect(here.loop, here.address(), small).report_to(rejected);
    CHECK_FALSE(none);
  });
  here.loop.run();
  CHECK(accepted.code() == std::errc::protocol_error);
  CHECK(std::string_view{accepted.what()}.find("has sent no place for heartbeats") !=
        std::string_view::npos);
  CHECK(rejected == rejected_by_program());
}

TEST_CASE("Connecting with heartbeats to a plain librdmacm listener fails with EPROTO",
          "[rdma_connect]") {
  side here;
  auto plain = cm::listener<transport::rc>::create(every_address());
  const cm::socket_address address = device_address(plain.port());
  std::thread other{[&] {
    std::error_code ignored;
    auto request = plain.next_request();
    auto ready = request.create_queue_pair({.max_recv_wr = 4});
    cm::connection<> accepted = ready.accept({}, 10s, ignored);
    if (accepted) accepted.wait_disconnected(10s, ignored);
  }};
  failure why;
  here.loop.spawn([&]() -> async::task<> {
    const async::connection none =
        co_await async::connect(here.loop, address, beating).report_to(why);
    CHECK_FALSE(none);
  });
  here.loop.run();
  other.join();
  CHECK(why.code() == std::errc::protocol_error);
}

TEST_CASE("Private data of the program arrives beside heartbeats", "[rdma_connect][rdma_accept]") {
  side here;
  std::optional<std::string> question;
  std::optional<std::string> answer;
  async::connection_options asks = beating;
  asks.connection.private_data = cm::private_data::of("how many?");
  async::connection_options answers = beating;
  answers.connection.private_data = cm::private_data::of("seven");
  here.loop.spawn([&]() -> async::task<> {
    async::connection_request request = co_await here.listener.next();
    question = request.private_data().text();
    co_await echo(co_await request.accept(answers));
  });
  here.loop.spawn([&]() -> async::task<> {
    async::connection server = co_await async::connect(here.loop, here.address(), asks);
    answer = server.established()->private_data().text();
    co_await server.disconnect();
  });
  here.loop.run();
  CHECK(question == "how many?");
  CHECK(answer == "seven");
}

TEST_CASE("A dead_after below 20 ms is refused", "[rdma_connect]") {
  side here;
  async::connection_options hasty = beating;
  hasty.dead_after = 19ms;
  failure short_time;
  here.loop.spawn([&]() -> async::task<> {
    static_cast<void>(
        co_await async::connect(here.loop, here.address(), hasty).report_to(short_time));
  });
  here.loop.run();
  CHECK(short_time.code() == std::errc::invalid_argument);
  CHECK(std::string_view{short_time.what()}.find("dead_after is 19 ms, less than 20 ms") !=
        std::string_view::npos);
}
