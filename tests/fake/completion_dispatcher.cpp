// SPDX-License-Identifier: MIT
// The dispatcher: no completion is lost, whenever it arrives and whatever an operation does.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include <poll.h>

#include <adverb/adverb.hpp>
#include <adverb/async/completion_dispatcher.hpp>
#include <support/catch.hpp>

#include "arrivals.hpp"
#include "fake.hpp"

namespace {

namespace called = fake::called;
using adverb::async::completion_dispatcher;
using adverb::async::operation;

/// An operation that counts its completions.
struct counted : operation {
  counted() : operation{&count} {}
  static void count(operation& which, const adverb::completion&) {
    ++static_cast<counted&>(which).completions;
  }
  int completions = 0;
};

[[nodiscard]] ibv_wc completion_of(operation& which) {
  ibv_wc done{};
  done.wr_id = reinterpret_cast<std::uintptr_t>(&which);
  return done;
}

struct dispatcher_bench {
  dispatcher_bench() { channel.set_non_blocking(true); }

  fake::machine machine;
  adverb::context context = adverb::open_device();
  adverb::completion_channel channel{context};
  adverb::completion_queue queue{context, 512, {.channel = channel}};

  void complete(operation& which) { machine.complete(queue.native_handle(), completion_of(which)); }
  [[nodiscard]] bool readable() const {
    pollfd waited{channel.file_descriptor(), POLLIN, 0};
    return ::poll(&waited, 1, 0) == 1;
  }
};

}  // namespace

TEST_CASE("the dispatcher never sleeps while a completion is unpolled",
          "[ibv_req_notify_cq][ibv_get_cq_event][ibv_poll_cq]") {
  std::size_t schedules = 0;
  std::size_t lost = 0;
  each_schedule(4, [&](const std::vector<std::size_t>& calls) {
    dispatcher_bench bench;
    counted done;
    arrivals device{bench.machine, calls, [&](std::size_t) { bench.complete(done); }};
    completion_dispatcher dispatcher{bench.queue};
    static_cast<void>(dispatcher.poll_and_arm());
    while (bench.readable() || device.arrive_asleep())
      if (bench.readable()) static_cast<void>(dispatcher.ready());
    ++schedules;
    if (done.completions != static_cast<int>(calls.size())) ++lost;
  });
  CHECK(schedules == 12 + 78 + 364 + 1365);
  CHECK(lost == 0);
}

TEST_CASE("an operation that throws does not lose other completions", "[ibv_poll_cq]") {
  dispatcher_bench bench;
  completion_dispatcher dispatcher{bench.queue};
  counted before, after;
  operation thrower{
      [](operation&, const adverb::completion&) { throw std::runtime_error{"told"}; }};
  bench.complete(before);
  bench.complete(thrower);
  bench.complete(after);
  CHECK_THROWS_WITH(dispatcher.poll(), "told");
  CHECK(before.completions == 1);
  CHECK(after.completions == 0);
  CHECK(dispatcher.poll() == completion_dispatcher::batch_size);
  CHECK(after.completions == 1);
  CHECK(dispatcher.poll() == 0);
}

TEST_CASE("an operation may poll again", "[ibv_poll_cq]") {
  dispatcher_bench bench;
  static completion_dispatcher* current = nullptr;
  completion_dispatcher dispatcher{bench.queue};
  current = &dispatcher;
  counted last;
  operation polling{[](operation&, const adverb::completion&) { current->poll(); }};
  bench.complete(polling);
  bench.complete(last);
  dispatcher.poll();
  CHECK(last.completions == 1);
}

TEST_CASE("an operation learns whether more completions of its poll follow", "[ibv_poll_cq]") {
  dispatcher_bench bench;
  static completion_dispatcher* current = nullptr;
  static std::vector<bool> had_more;
  had_more.clear();
  completion_dispatcher dispatcher{bench.queue};
  current = &dispatcher;
  operation asking{
      [](operation&, const adverb::completion&) { had_more.push_back(current->has_more()); }};
  for (int each = 0; each < 3; ++each) bench.complete(asking);
  dispatcher.poll();
  CHECK(had_more == std::vector{true, true, false});
  CHECK_FALSE(dispatcher.has_more());
}

TEST_CASE("poll_and_arm returns after the given number of completions", "[ibv_poll_cq]") {
  dispatcher_bench bench;
  completion_dispatcher dispatcher{bench.queue};
  counted done;
  for (int each = 0; each < 100; ++each) bench.complete(done);
  CHECK_FALSE(dispatcher.poll_and_arm(64));
  CHECK(done.completions == 64);
  CHECK(dispatcher.poll_and_arm(64));
  CHECK(done.completions == 100);
}

TEST_CASE("events are acknowledged in batches, and the rest by the destructor",
          "[ibv_ack_cq_events][ibv_get_cq_event]") {
  dispatcher_bench bench;
  counted done;
  {
    completion_dispatcher dispatcher{bench.queue};
    static_cast<void>(dispatcher.poll_and_arm());
    std::size_t most = 0;
    for (int each = 0; each < 200; ++each) {
      bench.complete(done);
      REQUIRE(bench.readable());
      static_cast<void>(dispatcher.ready());
      most = std::max(most, bench.machine.unacknowledged(bench.queue.native_handle()));
    }
    CHECK(most == 63);
    CHECK(bench.machine.count<called::ack_cq_events>() == 3);
  }
  CHECK(bench.machine.unacknowledged(bench.queue.native_handle()) == 0);
  CHECK(done.completions == 200);
}
