// SPDX-License-Identifier: MIT
// What the real device tells without being asked. Soft-RoCE tells of its ports, of errors of queue
// pairs and completion queues, and of shared receive queues.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>

#include <poll.h>

#include "support.hpp"

using namespace adverb;
using namespace std::chrono_literals;

namespace {

/// The next event of a device; fails the test when none comes within ten seconds.
async_event next_event(context_ref device) {
  pollfd waited{device.async_file_descriptor(), POLLIN, 0};
  REQUIRE(::poll(&waited, 1, 10'000) == 1);
  CHECK(device.has_async_event());
  std::optional<async_event> event = device.next_async_event();
  REQUIRE(event);
  return std::move(*event);
}

/// The next one of a type, whatever comes before it.
async_event next_event(context_ref device, async_event_type type) {
  for (;;) {
    async_event event = next_event(device);
    INFO(to_string(event));
    if (event.type() == type) return event;
  }
}

/// Sets the network interface below the device up or down. False where that is not to be done: on
/// a host of somebody.
bool set_link(const char* state) {
  const char* const interface = std::getenv("SOFTRDMA_INTERFACE");
  const char* const topology = std::getenv("SOFTRDMA_TOPOLOGY");
  if (interface == nullptr || topology == nullptr || std::string{topology} == "host") return false;
  const std::string command = std::string{"/sbin/ip link set "} + interface + " " + state;
  return std::system(command.c_str()) == 0;
}

}  // namespace

TEST_CASE("Without an event a device that does not wait has nothing") {
  const context device = open_device();
  CHECK(!device.has_async_event());
  device.set_async_non_blocking(true);
  CHECK(!device.next_async_event());
}

TEST_CASE("A port that goes down and comes up is told",
          "[ibv_get_async_event][ibv_ack_async_event][optional]") {
  const context device = open_device();
  if (!set_link("down")) return tell_skip("port events", "no link that may be taken down");
  {
    const async_event event = next_event(device, async_event_type::port_error);
    CHECK(event.port() == first_port);
    CHECK(to_string(event) == "port error on " + std::string{device.device().name()} + ":1");
    CHECK(device.query_port(first_port).state() == port_state::down);
  }
  REQUIRE(set_link("up"));
  const async_event event = next_event(device, async_event_type::port_active);
  CHECK(event.port() == first_port);
}
