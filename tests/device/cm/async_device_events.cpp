// SPDX-License-Identifier: MIT
// The asynchronous events of devices, awaited in a loop.
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include <adverb/adverb.hpp>
#include <adverb/async.hpp>
#include <support/catch.hpp>

#include "cm/async_side.hpp"

using namespace async_test;

TEST_CASE("A shared receive queue below its limit raises a device event",
          "[ibv_get_async_event][ibv_ack_async_event][ibv_modify_srq]") {
  side here{{.shared_receives = 6, .shared_block_size = 64}};
  std::optional<async::device_events> events;
  std::optional<async_event> event;
  bool is_of_queue = false;
  std::error_code end;
  std::vector<async::message> kept;
  const auto wait = [&](context_ref device) -> async::task<> {
    events.emplace(here.loop, device);
    while (auto next = co_await events->next().report_to(end)) {
      if (next->type() != async_event_type::shared_receive_queue_limit_reached) continue;
      is_of_queue = next->native().element.srq == here.loop.shared_receives(device).native_handle();
      event.emplace(std::move(*next));
      kept.clear();
    }
  };
  const auto passive = [&]() -> async::task<> {
    async::connection_options sharing = small;
    sharing.shared = true;
    async::connection client = co_await here.listener.accept(sharing);
    static_cast<void>(co_await client.next());
    const context_ref device = client.queue_pair().context();
    here.loop.shared_receives(device).set_limit(4);
    here.loop.spawn(wait(device));
    // A limit that is set after the messages have come raises no event.
    co_await client.perform(send());
    while (async::message next = co_await client.next())
      if (!event) kept.push_back(std::move(next));
    events->cancel_waits();
  };
  const auto active = [&]() -> async::task<> {
    async::connection server = co_await async::connect(here.loop, here.address(), small);
    const text_memory memory{server, "hello"};
    co_await server.perform(send());  // Over iWARP, the client is the first to send.
    static_cast<void>(co_await server.next());
    for (int each = 0; each < 5; ++each) co_await server.send(memory.region.buffer().slice(0, 5));
    co_await server.disconnect();
  };
  here.loop.spawn(passive());
  here.loop.spawn(active());
  here.loop.run();
  kept.clear();
  REQUIRE(event);
  CHECK(is_of_queue);
  CHECK(end == std::errc::operation_canceled);
}

TEST_CASE("Each wait for device events can be cancelled", "[ibv_get_async_event]") {
  const context device = open_device();
  async::event_loop loop;
  const async::device_events events{loop, device};
  std::error_code first;
  std::error_code second;
  const auto wait = [&](std::error_code& code) -> async::task<> {
    const auto event = co_await events.next().report_to(code);
    CHECK(!event);
  };
  loop.spawn(wait(first));
  events.cancel_waits();
  loop.spawn(wait(second));
  events.cancel_waits();
  loop.run();
  CHECK(first == std::errc::operation_canceled);
  CHECK(second == std::errc::operation_canceled);
}
