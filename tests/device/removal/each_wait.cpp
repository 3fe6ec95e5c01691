// SPDX-License-Identifier: MIT
// The device is removed before the n-th wait of a connection, datagrams, a channel, a ring and a
// stream, for each n: nothing hangs, each failure is a typed one, everything can be destroyed, the
// kernel ends the removal, and once the device is back everything works again.
//
// Each run is a process of its own: librdmacm (rdma-core 44) keeps a device open until its process
// ends, and Soft-RoCE and soft-iWARP wait for that with their removal.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iostream>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

#include <unistd.h>

#include <adverb/adverb.hpp>
#include <adverb/messages.hpp>
#include <support/catch.hpp>

#include "allocations/whole_paths.hpp"
#include "cm/child_process.hpp"
#include "cm/removed_device.hpp"
#include "random_rounds.hpp"
#include "removal/replaced_waits.hpp"

using namespace whole_paths;

namespace {

enum class word_of_run : std::uint16_t { waits_for_removal, has_ended };

/// Waits until no new process can open the device. Connections have their removal events then.
void wait_for_removal() {
  while (::access("/sys/class/infiniband_verbs/uverbs0", F_OK) == 0)
    std::this_thread::sleep_for(1ms);
}

/// Runs a path in a role. The device is removed before the wait with the number that the role got.
template <class Path>
void run_and_lose_device(const char* name, const Path& path) {
  const std::size_t nth = child_process::port();
  deadline_of_runs limit{name};
  limit.begin(nth);
  // The contexts stay open, so that the objects on them can be counted.
  const cm::context_list contexts;
  replaced_waits::before(nth, [] {
    child_process::say(static_cast<std::uint16_t>(word_of_run::waits_for_removal));
    wait_for_removal();
  });
  outcome of{std::errc::no_such_device};
  of.run(path);
  if (!replaced_waits::has_come())
    child_process::say(static_cast<std::uint16_t>(word_of_run::has_ended));
  std::cout << (of.is_whole ? "whole" : "not whole") << ", " << of.failures << " failures"
            << (of.names_cause ? ", among them ENODEV" : "") << std::endl;
  CHECK(std::string_view{of.unexpected.data()} == "");
  CHECK((of.is_whole || of.is_reported()));
  CHECK((replaced_waits::has_come() || !of.is_reported()));
  CHECK(no_object_is_left(contexts));
}

}  // namespace

TEST_CASE("role: a connection in tasks loses its device", "[.]") {
  run_and_lose_device("connection in tasks", echo_one_message);
}

TEST_CASE("role: datagrams lose their device", "[.]") {
  run_and_lose_device("datagrams", exchange_datagrams);
}

TEST_CASE("role: a channel loses its device", "[.]") {
  run_and_lose_device("channel",
                      [](outcome& of) { exchange_messages(of, over(messages::network::rdma)); });
}

TEST_CASE("role: a channel that resumes loses its device", "[.]") {
  messages::channel_options options = resuming_over(messages::network::rdma);
  // Longer than a new link needs, and shorter than the limit of a run.
  options.resume_within = 5s;
  run_and_lose_device("channel that resumes", [&](outcome& of) { exchange_messages(of, options); });
}

TEST_CASE("role: a ring loses its device", "[.]") {
  run_and_lose_device("ring", pass_through_ring);
}

TEST_CASE("role: a stream loses its device", "[.]") {
  run_and_lose_device("stream", pass_through_stream);
}

TEST_CASE("role: calls that block lose their device", "[.]") {
  const blocking_server server;
  run_and_lose_device("calls that block",
                      [&](outcome& of) { echo_in_calls_that_block(of, server.address()); });
}

TEST_CASE("role: a connection on a device that is back", "[.]") {
  outcome of{std::errc::no_such_device};
  of.run(echo_one_message);
  CHECK(of.is_whole);
}

namespace {

/// Removes the device before the n-th wait of a role until its path waits less often: for each n if
/// ADVERB_RANDOM_SECONDS is set, and else for 1, 2, 4, 8, …
void remove_before_each_wait(const std::string& role) {
  if (!may_remove_device()) return;
  std::uint16_t nth = 1;
  int runs = 0;
  for (bool has_ended = false; !has_ended; nth = random_rounds::has_time() ? nth + 1 : 2 * nth) {
    INFO(role << ", before wait " << nth);
    child_process user{role, nth};
    has_ended = user.word() == static_cast<std::uint16_t>(word_of_run::has_ended);
    if (has_ended) {
      CHECK(user.wait() == 0);
    } else {
      remove_device_under(user);
      ++runs;
    }
  }
  child_process next{"role: a connection on a device that is back"};
  CHECK(next.wait() == 0);
  CHECK(runs > 1);
  std::cout << role << ": " << runs << " removals" << std::endl;
}

}  // namespace

TEST_CASE("A connection in tasks ends when its device is removed before any of its waits",
          "[rdma_get_cm_event][optional]") {
  remove_before_each_wait("role: a connection in tasks loses its device");
}

TEST_CASE("Datagrams end when their device is removed before any of their waits",
          "[rdma_get_cm_event][optional]") {
  need_datagrams();
  remove_before_each_wait("role: datagrams lose their device");
}

TEST_CASE("A channel ends when its device is removed before any of its waits",
          "[rdma_get_cm_event][optional]") {
  remove_before_each_wait("role: a channel loses its device");
}

TEST_CASE("A channel that resumes ends when its device is removed before any of its waits",
          "[rdma_get_cm_event][optional]") {
  remove_before_each_wait("role: a channel that resumes loses its device");
}

TEST_CASE("A ring ends when its device is removed before any of its waits",
          "[rdma_get_cm_event][optional]") {
  remove_before_each_wait("role: a ring loses its device");
}

TEST_CASE("A stream ends when its device is removed before any of its waits",
          "[rdma_get_cm_event][optional]") {
  remove_before_each_wait("role: a stream loses its device");
}

TEST_CASE("Calls that block end when their device is removed before any of their waits",
          "[rdma_get_cm_event][optional]") {
  remove_before_each_wait("role: calls that block lose their device");
}
