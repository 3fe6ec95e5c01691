// SPDX-License-Identifier: MIT
// What asynchronous connections post: chains, more than there is room for, and what fails.
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <system_error>
#include <vector>

#include <adverb/adverb.hpp>
#include <adverb/async.hpp>
#include <support/catch.hpp>

#include "cm/async_side.hpp"

using namespace async_test;

TEST_CASE("A chain has one completion, and its writes are there before the message",
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
    while (co_await server.next()) {
    }
  };
  here.loop.spawn(passive());
  here.loop.spawn(active());
  here.loop.run();
  CHECK(announced == 7);
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

TEST_CASE("A failing request ends the connection with its own status",
          "[ibv_post_send][ibv_poll_cq]") {
  side here;
  failure first;
  std::error_code later;
  const auto active = [&]() -> async::task<> {
    async::connection server = co_await async::connect(here.loop, here.address(), small);
    const text_memory memory{server, "lost"};
    const auto nowhere = remote_buffer<std::byte>{adopt, 0x1000, 64, rkey{0x77}};
    co_await server.write(nowhere, memory.region.buffer()).report_to(first);
    co_await server.perform(send()).report_to(later);
  };
  here.loop.spawn(serve(here, 1));
  here.loop.spawn(active());
  here.loop.run();
  CHECK(first.code() == completion_status::remote_access_error);
  CHECK(later == completion_status::remote_access_error);
}
