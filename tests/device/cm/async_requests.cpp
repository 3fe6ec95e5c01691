// SPDX-License-Identifier: MIT
// Requests of asynchronous connections: chains, more requests than there is room for, and failures.
#include <array>
#include <chrono>
#include <coroutine>
#include <cstdint>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include <adverb/adverb.hpp>
#include <adverb/async.hpp>
#include <support/catch.hpp>

#include "cm/async_side.hpp"

using namespace async_test;

namespace {

using counter = remote_buffer<std::uint64_t, access_right::remote_atomic>;
using granted_text = remote_buffer<char, access_right::remote_write>;

/// Sends the peer a remote buffer, and waits until it has arrived.
template <class Remote>
async::task<> announce(const async::connection& client, Remote remote) {
  const auto bytes = remote.encode();
  const memory_region place{client.protection_domain(), bytes};
  co_await client.send(place.const_buffer());
}

/// Waits for a remote buffer of the peer.
template <class Remote>
async::task<Remote> announced(const async::connection& server) {
  const async::message place = co_await server.next();
  co_return Remote::decode(place.bytes().template first<Remote::encoded_size>());
}

}  // namespace

TEST_CASE("A chain has one completion, and its writes arrive before its message",
          "[ibv_post_send][ibv_poll_cq]") {
  side here;
  std::array<std::uint64_t, 2> written{};
  std::uint64_t announced = 0;
  const auto passive = [&]() -> async::task<> {
    async::connection client = co_await here.listener.accept(small);
    const memory_region region{client.protection_domain(), written,
                               access_right::local_write | access_right::remote_write};
    const std::array<std::uint64_t, 2> where{reinterpret_cast<std::uintptr_t>(written.data()),
                                             static_cast<std::uint64_t>(region.rkey())};
    const memory_region place{client.protection_domain(), where};
    co_await client.send(place.const_buffer());
    const async::message note = co_await client.next();
    announced = written[0] + written[1];
    // The end of this side would flush the request of the peer if it is not acknowledged.
    const async::message none = co_await client.next();
    CHECK_FALSE(none);
    co_await client.disconnect();
  };
  const auto active = [&]() -> async::task<> {
    async::connection server = co_await async::connect(here.loop, here.address(), small);
    std::array<std::uint64_t, 2> where{};
    {
      const async::message place = co_await server.next();
      std::memcpy(where.data(), place.bytes().data(), sizeof where);
    }
    const std::array<std::uint64_t, 2> values{3, 4};
    const memory_region region{server.protection_domain(), values};
    const auto first =
        remote_buffer<std::uint64_t>{adopt, where[0], sizeof written, static_cast<rkey>(where[1])};
    co_await server.perform(write(first, region.const_buffer()), send());
    co_await server.disconnect();
  };
  here.loop.spawn(passive());
  here.loop.spawn(active());
  here.loop.run();
  CHECK(announced == 7);
}

TEST_CASE("A read fetches the memory of the peer", "[ibv_post_send]") {
  side here;
  const std::array<std::uint64_t, 2> there{5, 6};
  std::array<std::uint64_t, 2> fetched{};
  const auto passive = [&]() -> async::task<> {
    async::connection client = co_await here.listener.accept(small);
    const memory_region region{client.protection_domain(), there, access_right::remote_read};
    const auto remote = region.remote<std::uint64_t, access_right::remote_read>().encode();
    const memory_region place{client.protection_domain(), remote};
    co_await client.send(place.const_buffer());
    while (co_await client.next()) {
    }
  };
  const auto active = [&]() -> async::task<> {
    async::connection server = co_await async::connect(here.loop, here.address(), small);
    const memory_region region{server.protection_domain(), fetched, every_right};
    std::array<std::byte, 24> place{};
    {
      const async::message told = co_await server.next();
      std::memcpy(place.data(), told.bytes().data(), sizeof place);
    }
    const auto remote = remote_buffer<std::uint64_t, access_right::remote_read>::decode(place);
    co_await server.read(remote, region.buffer());
    co_await server.disconnect();
  };
  here.loop.spawn(passive());
  here.loop.spawn(active());
  here.loop.run();
  CHECK(fetched == there);
}

TEST_CASE("Sends beyond the window wait for room in order", "[ibv_post_send]") {
  side here;
  std::vector<std::uint32_t> arrived;
  constexpr std::uint32_t count = 40;
  const auto passive = [&]() -> async::task<> {
    async::connection client = co_await here.listener.accept(small);
    while (const async::message message = co_await client.next())
      arrived.push_back(static_cast<std::uint32_t>(*message.fields().immediate()));
  };
  int left = count;
  std::optional<async::connection> server;
  const auto send_number = [&](std::uint32_t number) -> async::task<> {
    co_await server->perform(send_with_immediate(immediate{number}));
    if (--left == 0) co_await server->disconnect();
  };
  const auto active = [&]() -> async::task<> {
    server.emplace(co_await async::connect(here.loop, here.address(), small));
    for (std::uint32_t each = 0; each < count; ++each) here.loop.spawn(send_number(each));
  };
  here.loop.spawn(passive());
  here.loop.spawn(active());
  here.loop.run();
  REQUIRE(arrived.size() == count);
  for (std::uint32_t each = 0; each < count; ++each) CHECK(arrived[each] == each);
}

TEST_CASE("A post does not overtake a request that waits for room", "[ibv_post_send]") {
  side here;
  std::optional<async::connection> server;
  std::vector<bool> refused;
  std::uint32_t left = small.max_send_wr + 1;
  const auto passive = [&]() -> async::task<> {
    async::connection client = co_await here.listener.accept(small);
    while (co_await client.next()) {
    }
  };
  const auto send_one = [&](bool posts) -> async::task<> {
    co_await server->perform(send());
    if (posts) refused.push_back(server->post(send()).full());
    if (--left == 0) co_await server->disconnect();
  };
  const auto active = [&]() -> async::task<> {
    server.emplace(co_await async::connect(here.loop, here.address(), small));
    for (std::uint32_t each = 0; each <= small.max_send_wr; ++each)
      here.loop.spawn(send_one(each == 0));
  };
  here.loop.spawn(passive());
  here.loop.spawn(active());
  here.loop.run();
  CHECK(refused == std::vector{true});
}

TEST_CASE("Destroying a task with a request in progress ends its connection", "[ibv_post_send]") {
  side here;
  std::optional<async::connection> server;
  std::optional<async::connection> client;
  std::error_code why;
  const auto passive = [&]() -> async::task<> {
    client.emplace(co_await here.listener.accept(small));
  };
  const auto send_one = [&]() -> async::task<> { co_await server->perform(send()); };
  const auto active = [&]() -> async::task<> {
    server.emplace(co_await async::connect(here.loop, here.address(), small));
    // The peer takes no message, so it has no block for one more.
    for (std::uint32_t each = 0; each < small.receives; ++each) co_await send_one();
    {
      async::task<> stuck = send_one();
      static_cast<void>(std::move(stuck).operator co_await().await_suspend(std::noop_coroutine()));
    }
    server->expires_after(std::chrono::seconds{2});
    static_cast<void>(co_await server->next().report_to(why));
    server.reset();
    client.reset();
  };
  here.loop.spawn(passive());
  here.loop.spawn(active());
  here.loop.run();
  CHECK(why == std::errc::operation_canceled);
}

TEST_CASE("Both sides have an RNR timer of 0.64 ms", "[ibv_modify_qp]") {
  side here;
  std::vector<rnr_timer> timers;
  const auto note_timer_of = [&](const async::connection& of) {
    timers.push_back(of.queue_pair().query().rnr_timer());
  };
  const auto passive = [&]() -> async::task<> {
    const async::connection client = co_await here.listener.accept(small);
    note_timer_of(client);
  };
  const auto active = [&]() -> async::task<> {
    const async::connection server = co_await async::connect(here.loop, here.address(), small);
    note_timer_of(server);
  };
  here.loop.spawn(passive());
  here.loop.spawn(active());
  here.loop.run();
  CHECK(timers == std::vector(2, rnr_timer{std::chrono::microseconds{640}}));
}

TEST_CASE("A failing request ends the connection with its own status",
          "[ibv_post_send][ibv_poll_cq]") {
  side here;
  failure first;
  std::error_code later;
  failure of_peer;
  const auto passive = [&]() -> async::task<> {
    const async::connection client = co_await here.listener.accept(small);
    const async::message none = co_await client.next().report_to(of_peer);
  };
  const auto active = [&]() -> async::task<> {
    async::connection server = co_await async::connect(here.loop, here.address(), small);
    const text_memory memory{server, "lost"};
    const auto nowhere = remote_buffer<std::byte>{adopt, 0x1000, 64, rkey{0x77}};
    co_await server.write(nowhere, memory.region.buffer()).report_to(first);
    co_await server.perform(send()).report_to(later);
  };
  here.loop.spawn(passive());
  here.loop.spawn(active());
  here.loop.run();
  CHECK(first.code() == completion_status::remote_access_error);
  CHECK(later == completion_status::remote_access_error);
  CHECK(of_peer.code() == std::errc::connection_reset);
  CHECK(of_peer.explanation().starts_with(
      "the queue pair went to ERR before the connection ended; possible causes: the peer accessed "
      "memory without the right"));
}

TEST_CASE("A failing request that has waited for room reports its own status",
          "[ibv_post_send][ibv_poll_cq]") {
  side here;
  std::error_code why;
  std::optional<async::connection> server;
  const auto passive = [&]() -> async::task<> {
    async::connection client = co_await here.listener.accept(small);
    std::error_code ignored;
    while (co_await client.next().report_to(ignored)) {
    }
  };
  const auto send_one = [&]() -> async::task<> { co_await server->perform(send()); };
  const auto active = [&]() -> async::task<> {
    server.emplace(co_await async::connect(here.loop, here.address(), small));
    const text_memory memory{*server, "lost"};
    const auto nowhere = remote_buffer<std::byte>{adopt, 0x1000, 64, rkey{0x77}};
    for (std::uint32_t each = 0; each < small.max_send_wr; ++each) here.loop.spawn(send_one());
    CHECK(server->post(send()).full());
    co_await server->write(nowhere, memory.region.buffer()).report_to(why);
    server.reset();
  };
  here.loop.spawn(passive());
  here.loop.spawn(active());
  here.loop.run();
  CHECK(why == completion_status::remote_access_error);
}

TEST_CASE("Atomics are performed in the order in which they were started",
          "[ibv_post_send][ibv_poll_cq]") {
  side here;
  std::uint64_t shared_number = 40;
  std::array<std::uint64_t, 2> before{};
  const auto passive = [&]() -> async::task<> {
    async::connection client = co_await here.listener.accept(small);
    const memory_region region{client.protection_domain(), std::span{&shared_number, 1},
                               access_right::local_write | access_right::remote_atomic};
    co_await announce(client, region.remote<std::uint64_t, access_right::remote_atomic>());
    while (co_await client.next()) {
    }
  };
  const auto active = [&]() -> async::task<> {
    async::connection server = co_await async::connect(here.loop, here.address(), small);
    const auto remote = co_await announced<counter>(server);
    const memory_region results{server.protection_domain(), before};
    co_await server.perform(fetch_and_add(remote, 2, results.slice(0, 8)));
    co_await server.perform(
        compare_and_swap(remote, {.expected = 42, .desired = 7}, results.slice(8, 8)));
    co_await server.disconnect();
  };
  here.loop.spawn(passive());
  here.loop.spawn(active());
  here.loop.run();
  CHECK(before == std::array<std::uint64_t, 2>{40, 42});
  CHECK(shared_number == 7);
}

TEST_CASE("A memory window is bound and sent in one step, and invalidated by its owner or the peer",
          "[ibv_post_send][ibv_poll_cq]") {
  side here;
  std::array<char, 64> text{};
  bool peer_closes = false;
  std::error_code refused;
  const auto passive = [&]() -> async::task<> {
    async::connection client = co_await here.listener.accept(small);
    const memory_region region{client.protection_domain(), text,
                               access_right::local_write | access_right::window_bind};
    const memory_window<window_type::two> window{client.protection_domain()};
    const auto grant = window.prepare<char, access_right::remote_write>(region, 8, 5);
    const auto bytes = grant.remote().encode();
    const memory_region place{client.protection_domain(), bytes};
    co_await client.perform(bind_window(grant), send(place.const_buffer()));
    static_cast<void>(co_await client.next());
    if (!peer_closes) {
      co_await client.perform(local_invalidate(grant));
      // The refused write of the peer may flush this send before it is acknowledged.
      client.post(send()).check();
    }
    std::error_code end;
    while (co_await client.next().report_to(end)) {
    }
  };
  const auto active = [&]() -> async::task<> {
    async::connection server = co_await async::connect(here.loop, here.address(), small);
    const auto remote = co_await announced<granted_text>(server);
    const text_memory words{server, "hello"};
    const auto five = words.region.buffer().slice(0, 5);
    if (peer_closes) {
      co_await server.perform(write(remote, five), send_with_invalidate(remote));
    } else {
      co_await server.perform(write(remote, five), send());
      static_cast<void>(co_await server.next());
    }
    co_await server.write(remote, five).report_to(refused);
  };
  for (const bool each : {false, true}) {
    text = {};
    peer_closes = each;
    refused.clear();
    here.loop.spawn(passive());
    here.loop.spawn(active());
    here.loop.run();
    CHECK(std::string_view{text.data() + 8, 6} == std::string_view{"hello\0", 6});
    CHECK(refused == completion_status::remote_access_error);
  }
}
