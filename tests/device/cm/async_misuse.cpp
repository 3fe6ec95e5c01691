// SPDX-License-Identifier: MIT
// Programming errors with asynchronous connections end the program with a sentence.
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <sys/resource.h>

#include <adverb/adverb.hpp>
#include <adverb/async.hpp>
#include <support/catch.hpp>
#include <support/ended_program.hpp>

#include "cm/async_side.hpp"

using namespace async_test;
using namespace std::chrono_literals;

namespace {

const std::string empty_connection =
    "async::connection: EINVAL (Invalid argument); the connection is empty: moved from, or the "
    "result of a step that failed";

async::task<> nothing() { co_return; }

}  // namespace

TEST_CASE("Every function of an empty connection ends the program with a sentence",
          "[rdma_create_event_channel]") {
  const async::connection empty;
  std::array<char, 4> bytes{};
  const std::function<void()> uses[] = {
      [&] { static_cast<void>(empty.next()); },
      [&] { static_cast<void>(empty.send(inline_data{bytes})); },
      [&] { static_cast<void>(empty.perform(send())); },
      [&] { static_cast<void>(empty.post(send())); },
      [&] { static_cast<void>(empty.try_send()); },
      [&] { static_cast<void>(empty.disconnect()); },
      [&] { empty.expires_after(1s); },
      [&] { empty.cancel(); },
      [&] { empty.cancel_waits(); },
      [&] { static_cast<void>(empty.queue_pair()); },
      [&] { static_cast<void>(empty.established()); },
      [&] { static_cast<void>(empty.protection_domain()); },
      [&] { static_cast<void>(empty.memory(64)); },
      [&] { static_cast<void>(empty.why_stalled()); },
  };
  for (const auto& use : uses) CHECK(words_at_the_end(use) == empty_connection);
}

TEST_CASE("Empty endpoints, requests, listeners, memory and events end the program with a sentence",
          "[rdma_create_event_channel]") {
  const async::datagram_endpoint endpoint;
  CHECK(
      words_at_the_end([&] { static_cast<void>(endpoint.next()); }) ==
      "async::datagram_endpoint: EINVAL (Invalid argument); the endpoint is empty: moved from, or "
      "its constructor failed");
  const async::datagram datagram;
  CHECK(words_at_the_end([&] { static_cast<void>(datagram.header()); }) ==
        "async::datagram::header: EINVAL (Invalid argument); the datagram is empty: moved from, or "
        "the result of a step that failed");
  async::connection_request request;
  CHECK(words_at_the_end([&] { static_cast<void>(request.accept()); }) ==
        "async::connection_request: EINVAL (Invalid argument); the request is empty: moved from, "
        "answered, or the result of a failed step");
  CHECK(words_at_the_end([&] { static_cast<void>(request.context()); })
            .starts_with("context: EINVAL (Invalid argument); the connection or other rdma_cm "
                         "identifier is empty"));
  async::event_loop loop;
  std::error_code why;
  const async::listener failed{loop, *cm::socket_address::parse("203.0.113.1", 1), {}, why};
  CHECK(why);
  CHECK(words_at_the_end([&] { static_cast<void>(failed.port()); }).starts_with("local_address: "));
  const async::loop_memory memory;
  CHECK(words_at_the_end([&] { static_cast<void>(memory.bytes()); }) ==
        "async::loop_memory: EINVAL (Invalid argument); the memory is empty: moved from, or its "
        "constructor failed");
}

TEST_CASE("Events of a device that could not be watched end the program with a sentence",
          "[rdma_create_event_channel]") {
  const context device = open_device();
  async::event_loop loop;
  rlimit old{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &old) == 0);
  const rlimit none{0, old.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  std::error_code why;
  const async::device_events failed{loop, device, why};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &old) == 0);
  CHECK(why == std::errc::too_many_files_open);
  CHECK_FALSE(failed);
  const std::string_view empty =
      "async::device_events: EINVAL (Invalid argument); the object is empty: its constructor "
      "failed";
  CHECK(words_at_the_end([&] { static_cast<void>(failed.next()); }) == empty);
  CHECK(words_at_the_end([&] { failed.cancel_waits(); }) == empty);
}

TEST_CASE("Using a task that was moved from ends the program", "[rdma_create_event_channel]") {
  async::event_loop loop;
  async::task<> task = nothing();
  const async::task<> taken = std::move(task);
  const auto words = [](const char* call) {
    return std::string{call} + ": EINVAL (Invalid argument); the task is empty: moved from";
  };
  CHECK(words_at_the_end([&] { loop.spawn(std::move(task)); }) == words("device_loop::spawn"));
  CHECK(words_at_the_end([&] {
          loop.spawn([&]() -> async::task<> { co_await std::move(task); });
        }) == words("co_await"));
  CHECK(words_at_the_end([&] {
          loop.spawn(
              [&]() -> async::task<> { co_await async::when_all(nothing(), std::move(task)); });
        }) == words("async::when_all"));
}

TEST_CASE("A connection that is destroyed twice ends the program", "[rdma_connect]") {
  CHECK(words_at_the_end([&] {
          auto here = std::make_unique<side>();
          // GCC 12 does not align what is in the frame of a coroutine.
          alignas(async::connection) std::byte place[sizeof(async::connection)];
          const auto active = [&]() -> async::task<> {
            auto* const server = new (place)
                async::connection{co_await async::connect(here->loop, here->address(), small)};
            std::byte copy[sizeof place];
            std::memcpy(copy, place, sizeof place);
            server->~connection();
            std::memcpy(place, copy, sizeof place);
            server->~connection();
          };
          here->loop.spawn(serve(*here, 1));
          here->loop.spawn(active());
          here->loop.run();
        }) ==
        "async::connection: EINVAL (Invalid argument); the connection is destroyed a second time: "
        "GCC 11 and 12 do that to the result of a co_await that initialises a member of an "
        "aggregate");
}

TEST_CASE("A connection, a message or memory that outlives its loop ends the program",
          "[rdma_create_event_channel]") {
  std::optional<async::connection> kept;
  CHECK(words_at_the_end([&] {
          auto here = std::make_unique<side>();
          const auto active = [&]() -> async::task<> {
            kept = co_await async::connect(here->loop, here->address(), small);
            here->loop.stop();
          };
          here->loop.spawn(serve(*here, 1));
          here->loop.spawn(active());
          here->loop.run();
          here.reset();
        }) ==
        "async::device_loop: EINVAL (Invalid argument); a connection or an endpoint outlives its "
        "loop: declare it after the loop");
  async::loop_memory memory;
  CHECK(words_at_the_end([&] {
          auto loop = std::make_unique<async::event_loop>();
          const context device = open_device();
          memory = loop->memory(device, 64);
          loop.reset();
        }) ==
        "async::device_loop: EINVAL (Invalid argument); memory of the loop outlives it: declare "
        "async::loop_memory after the loop");
}

TEST_CASE("A request that outlives its loop is reported, and can still be destroyed",
          "[rdma_destroy_event_channel]") {
  const ended_program found{[] {
    std::optional<async::connection_request> kept;
    auto here = std::make_unique<side>();
    here->loop.spawn([&]() -> async::task<> {
      kept = co_await here->listener.next();
      here->loop.stop();
    });
    here->loop.spawn([&]() -> async::task<> {
      static_cast<void>(co_await async::connect(here->loop, here->address(), small));
    });
    here->loop.run();
    here.reset();
    kept.reset();
  }};
  INFO(found.words);
  CHECK(WIFEXITED(found.status));
  CHECK(found.words.starts_with("rdma_destroy_event_channel on rdma_cm event channel "));
  CHECK(
      found.words.ends_with("EBUSY (Device or resource busy); still in use by 1 connection or "
                            "other rdma_cm identifier; destroy these first"));
}

#if ADVERB_HARDENING == ADVERB_HARDENING_DEBUG
TEST_CASE("A task that awaits a step of another loop ends the program",
          "[rdma_create_event_channel]") {
  async::event_loop first;
  async::event_loop second;
  CHECK(words_at_the_end([&] {
          first.spawn([&]() -> async::task<> { co_await async::sleep_for(second, 1s); });
          first.run();
        }) ==
        "co_await: EINVAL (Invalid argument); a task of one loop awaits a step of another: spawn a "
        "task on that loop instead");
  // A task of one loop may spawn a task on another.
  bool has_run = false;
  first.spawn([&]() -> async::task<> {
    second.spawn([&]() -> async::task<> {
      co_await async::sleep_for(second, 1ms);
      has_run = true;
    });
    co_await async::sleep_for(first, 1ms);
  });
  first.run();
  second.run();
  CHECK(has_run);
}
#endif

TEST_CASE("A loop that its own task destroys or runs ends the program",
          "[rdma_create_event_channel]") {
  CHECK(words_at_the_end([] {
          auto loop = std::make_unique<async::event_loop>();
          loop->spawn([&]() -> async::task<> {
            co_await async::sleep_for(*loop, 0s);
            loop.reset();
          });
          loop->run();
        }) == "async::event_loop: EINVAL (Invalid argument); a task of the loop destroyed it");
  CHECK(words_at_the_end([] {
          async::event_loop loop;
          loop.spawn([&]() -> async::task<> {
            co_await async::sleep_for(loop, 0s);
            loop.run();
          });
          loop.run();
        }) == "event_loop::run: EINVAL (Invalid argument); a task of the loop called it");
}
