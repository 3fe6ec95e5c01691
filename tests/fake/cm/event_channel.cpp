// SPDX-License-Identifier: MIT
// Event channels: waiting for events, or not.
#include <cerrno>
#include <chrono>
#include <string>
#include <system_error>

#include <support/catch.hpp>
#include <support/reported.hpp>
#include <support/told_failures.hpp>

#include "cm_bench.hpp"
#include "fake/state.hpp"

namespace {

namespace cm = adverb::cm;
using namespace std::chrono_literals;

struct fixture : identifier_bench {
  void raise(rdma_cm_event_type type) { manager.raise(id.native_handle(), {type}); }
};

std::string named(const cm::event_channel& channel) {
  return "rdma_cm event channel " + std::to_string(channel.file_descriptor());
}

}  // namespace

TEST_CASE("an event channel is created and destroyed",
          "[rdma_create_event_channel][rdma_destroy_event_channel]") {
  cm_bench bench;
  {
    const cm::event_channel channel = cm::event_channel::create();
    CHECK(channel);
    CHECK(bench.manager.live_objects() == 1);
  }
  CHECK(bench.manager.live_objects() == 0);
  CHECK(bench.machine.count<called::rdma_destroy_event_channel>() == 1);
}

TEST_CASE("a failed channel explains what this machine lacks", "[rdma_create_event_channel]") {
  cm_bench bench;
  const adverb::failure why = bench.failing<called::rdma_create_event_channel>(
      ENODEV, [](auto&&... policy) { (void)cm::event_channel::create(policy...); });
  CHECK(
      std::string{why.what()}.starts_with("rdma_create_event_channel: ENODEV (No such device); "));
}

TEST_CASE("a failed list of contexts explains what this machine lacks", "[rdma_get_devices]") {
  cm_bench bench;
  const adverb::failure why = bench.failing<called::rdma_get_devices>(
      ENODEV, [](auto&&... policy) { const cm::context_list contexts{policy...}; });
  CHECK(std::string{why.what()}.starts_with("rdma_get_devices: ENODEV (No such device); "));
}

TEST_CASE("the iterator of a list of contexts visits each once", "[rdma_get_devices]") {
  cm_bench bench;
  const cm::context_list contexts;
  REQUIRE(contexts.size() == 1);
  auto at = contexts.begin();
  CHECK((*at).native_handle() == bench.manager.context());
  CHECK(at++ == contexts.begin());
  CHECK(at == contexts.end());
  at = contexts.begin();
  CHECK(++at == contexts.end());
}

TEST_CASE("a list of contexts stays if it is the last that keeps one open for its objects",
          "[rdma_get_devices][rdma_free_devices]") {
  cm_bench bench;
  {
    const cm::context_list contexts;
  }
  CHECK(bench.machine.count<called::rdma_free_devices>() == 1);
  adverb::protection_domain domain;
  {
    const cm::context_list contexts;
    domain = adverb::protection_domain{contexts[0]};
  }
  CHECK(bench.machine.count<called::rdma_free_devices>() == 1);
  {
    const cm::context_list contexts;
  }
  CHECK(bench.machine.count<called::rdma_free_devices>() == 2);
}

TEST_CASE("a list of contexts is freed if any list before it keeps the same context open",
          "[rdma_free_devices]") {
  cm_bench bench;
  const auto another = adverb::open_device();
  ibv_context*& listed = fake::managed().context;
  ibv_context* const first = listed;
  const adverb::protection_domain domain{adverb::context_ref{first}};
  {
    const cm::context_list contexts;
  }
  const adverb::protection_domain of_another{another};
  listed = another.native_handle();
  {
    const cm::context_list contexts;
  }
  listed = first;
  const std::size_t before = bench.machine.count<called::rdma_free_devices>();
  {
    const cm::context_list contexts;
  }
  CHECK(bench.machine.count<called::rdma_free_devices>() == before + 1);
}

TEST_CASE_METHOD(fixture, "closing a channel with identifiers fails",
                 "[rdma_destroy_event_channel]") {
  const adverb::failure why = reported([&](auto&&... policy) { channel.close(policy...); });
  CHECK(std::string{why.what()} == "rdma_destroy_event_channel on " + named(channel) +
                                       ": EBUSY (Device or resource busy); still in use by 1 "
                                       "connection or other rdma_cm identifier; destroy these "
                                       "first");
  cm::identifier another = cm::identifier::create(channel, cm::port_space::tcp);
  CHECK(reported([&](auto&&... policy) { channel.close(policy...); }).explanation() ==
        "still in use by 2 connections or other rdma_cm identifiers; destroy these first");
  another.close();
  id.close();
  channel.close();
  CHECK(manager.live_objects() == 0);
}

TEST_CASE_METHOD(fixture, "the descriptor of a channel is readable while an event is pending") {
  CHECK_FALSE(channel.has_event());
  raise(RDMA_CM_EVENT_ADDR_CHANGE);
  raise(RDMA_CM_EVENT_DISCONNECTED);
  CHECK(channel.has_event());
  CHECK(channel.next_event()->type() == cm::event_type::address_change);
  CHECK(channel.has_event());
  CHECK(channel.next_event()->type() == cm::event_type::disconnected);
  CHECK_FALSE(channel.has_event());
}

TEST_CASE_METHOD(fixture,
                 "next_event of a non-blocking event channel returns none without an error",
                 "[rdma_get_cm_event]") {
  channel.set_non_blocking(true);
  std::error_code code = std::make_error_code(std::errc::io_error);
  CHECK_FALSE(channel.next_event(code));
  CHECK_FALSE(code);
  CHECK_FALSE(channel.next_event());
  raise(RDMA_CM_EVENT_DISCONNECTED);
  CHECK(channel.next_event());
}

TEST_CASE_METHOD(fixture,
                 "an interrupted next_event of an event channel returns none without an error",
                 "[rdma_get_cm_event]") {
  machine.fail<called::rdma_get_cm_event>(EINTR);
  std::error_code code = std::make_error_code(std::errc::io_error);
  CHECK_FALSE(channel.next_event(code));
  CHECK_FALSE(code);
}

TEST_CASE_METHOD(fixture, "a wait that fails is reported", "[rdma_get_cm_event]") {
  const adverb::failure why = failing<called::rdma_get_cm_event>(
      ENODEV, [&](auto&&... policy) { (void)channel.next_event(policy...); });
  CHECK(std::string{why.what()} ==
        "rdma_get_cm_event on " + named(channel) + ": ENODEV (No such device)");
}

TEST_CASE_METHOD(fixture, "a wait ends at its timeout without an error", "[rdma_get_cm_event]") {
  std::error_code code = std::make_error_code(std::errc::io_error);
  CHECK_FALSE(channel.next_event(1ms, code));
  CHECK_FALSE(code);
  CHECK(machine.count<called::rdma_get_cm_event>() == 0);
  raise(RDMA_CM_EVENT_DISCONNECTED);
  CHECK(channel.next_event(0ms));
}

TEST_CASE("an empty event channel is reported") {
  cm_bench bench;
  const cm::event_channel empty;
  const std::string explanation =
      "the event channel is empty: moved from, closed, or never created";
  CHECK(reported([&](auto&&... policy) { (void)empty.next_event(policy...); }).explanation() ==
        explanation);
  CHECK(reported([&](auto&&... policy) { (void)empty.next_event(1ms, policy...); }).explanation() ==
        explanation);
  CHECK(reported([&](auto&&... policy) {
          empty.set_non_blocking(true, policy...);
        }).explanation() == explanation);
  CHECK(bench.machine.log().empty());
}

TEST_CASE_METHOD(fixture, "set_non_blocking fails with EBADF on an event channel without a file") {
  rdma_event_channel broken{-1};
  const cm::event_channel_ref reference = &broken;
  const adverb::failure why =
      reported([&](auto&&... policy) { reference.set_non_blocking(true, policy...); });
  CHECK(why.code() == std::errc::bad_file_descriptor);
  CHECK(why.verb() == "fcntl");
}
