// SPDX-License-Identifier: MIT
// Events: taken, acknowledged, or not there.
#include <array>
#include <cerrno>
#include <cstddef>
#include <string>
#include <system_error>
#include <vector>

#include <poll.h>

#include <adverb/completion/completion_queue.hpp>
#include <support/catch.hpp>
#include <support/reported.hpp>

#include "arrivals.hpp"
#include "fake.hpp"
#include "log.hpp"

namespace {

namespace called = fake::called;

struct fixture {
  fake::machine machine;
  adverb::context context = adverb::open_device();
  adverb::completion_channel channel{context};
  adverb::completion_queue queue{context, 16, {.channel = channel}};

  [[nodiscard]] bool readable() const {
    pollfd waited{channel.file_descriptor(), POLLIN, 0};
    return ::poll(&waited, 1, 0) == 1;
  }
};

}  // namespace

TEST_CASE_METHOD(fixture, "an event names its queue and is acknowledged once immediately",
                 "[ibv_get_cq_event][ibv_ack_cq_events]") {
  machine.announce(queue.native_handle());
  CHECK(readable());
  const auto named = channel.next_event();
  REQUIRE(named);
  CHECK(named->native_handle() == queue.native_handle());
  CHECK_THAT((machine.lines<called::get_cq_event, called::ack_cq_events>()), is_log(R"(
    ibv_get_cq_event channel0
    ibv_ack_cq_events cq0 nevents=1)"));
  CHECK(machine.unacknowledged(queue.native_handle()) == 0);
  CHECK_FALSE(readable());
}

TEST_CASE_METHOD(fixture, "one channel serves several queues, in the order of their events",
                 "[ibv_create_comp_channel][ibv_get_cq_event]") {
  const adverb::completion_queue other{context, 16, {.channel = channel}};
  machine.announce(other.native_handle());
  machine.announce(queue.native_handle());
  CHECK(channel.next_event()->native_handle() == other.native_handle());
  CHECK(channel.next_event()->native_handle() == queue.native_handle());
}

TEST_CASE_METHOD(fixture, "next_event of a non-blocking channel returns none without an error") {
  channel.set_non_blocking(true);
  std::error_code code = std::make_error_code(std::errc::io_error);
  CHECK_FALSE(channel.next_event(code));
  CHECK_FALSE(code);
  CHECK_FALSE(channel.next_event());
  CHECK(machine.count<called::ack_cq_events>() == 0);
  machine.announce(queue.native_handle());
  CHECK(channel.next_event());
}

TEST_CASE_METHOD(fixture, "a channel can be set to blocking again") {
  channel.set_non_blocking(true);
  channel.set_non_blocking(false);
  machine.announce(queue.native_handle());
  CHECK(channel.next_event());
  machine.fail<called::get_cq_event>(EAGAIN);
  CHECK_FALSE(channel.next_event());
}

TEST_CASE_METHOD(fixture, "an interrupted next_event returns none without an error") {
  machine.fail<called::get_cq_event>(EINTR);
  std::error_code code = std::make_error_code(std::errc::io_error);
  CHECK_FALSE(channel.next_event(code));
  CHECK_FALSE(code);
  CHECK(machine.count<called::ack_cq_events>() == 0);
}

TEST_CASE_METHOD(fixture, "a wait that fails is reported, and nothing is acknowledged") {
  const adverb::failure why =
      reported([&] { machine.fail<called::get_cq_event>(EIO); },
               [&](auto&&... policy) { (void)channel.next_event(policy...); });
  CHECK(std::string{why.what()} == "ibv_get_cq_event on fake0: EIO (Input/output error)");
  CHECK(machine.count<called::ack_cq_events>() == 0);
}

TEST_CASE_METHOD(fixture, "set_non_blocking fails with EBADF on a channel without a file") {
  ibv_comp_channel broken{context.native_handle(), -1, 0};
  const adverb::completion_channel_ref reference = &broken;
  const adverb::failure why =
      reported([&](auto&&... policy) { reference.set_non_blocking(true, policy...); });
  CHECK(std::string{why.what()} == "fcntl on fake0: EBADF (Bad file descriptor)");
}

TEST_CASE_METHOD(fixture, "a completion channel reference waits like its owner") {
  machine.announce(queue.native_handle());
  const adverb::completion_channel_ref reference = channel;
  CHECK(reference.context().native_handle() == context.native_handle());
  CHECK(reference.file_descriptor() == channel.file_descriptor());
  CHECK(reference.next_event());
}

TEST_CASE("a channel of two queues never sleeps while a completion is unpolled",
          "[ibv_req_notify_cq][ibv_get_cq_event][ibv_poll_cq]") {
  std::size_t schedules = 0;
  std::size_t lost = 0;
  each_schedule(3, [&](const std::vector<std::size_t>& calls) {
    for (std::size_t choice = 0; choice < std::size_t{1} << calls.size(); ++choice) {
      fixture bench;
      const adverb::completion_queue other{bench.context, 16, {.channel = bench.channel}};
      arrivals device{bench.machine, calls, [&](std::size_t which) {
                        const auto& queue = (choice >> which) % 2 == 0 ? bench.queue : other;
                        bench.machine.complete(queue.native_handle(), ibv_wc{});
                      }};
      std::size_t taken = 0;
      const auto take = [&](adverb::completion_queue_ref queue) {
        std::array<adverb::completion, 2> batch;
        queue.arm_and_poll(batch, [&](const adverb::completion&) { ++taken; });
      };
      take(bench.queue);
      take(other);
      while (bench.readable() || device.arrive_asleep())
        if (bench.readable()) take(bench.channel.next_event().value());
      ++schedules;
      if (taken != calls.size()) ++lost;
    }
  });
  CHECK(schedules == 2 * 12 + 4 * 78 + 8 * 364);
  CHECK(lost == 0);
}
