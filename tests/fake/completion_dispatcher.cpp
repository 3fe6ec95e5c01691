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

/// Completions that arrive at the start of chosen calls of the library.
class arrivals {
 public:
  arrivals(dispatcher_bench& on, operation& which, std::vector<std::size_t> calls)
      : bench_{&on}, operation_{&which}, calls_{std::move(calls)} {}

  /// A call of the library starts.
  void advance() {
    ++call_;
    while (next_ < calls_.size() && calls_[next_] <= call_) arrive();
  }
  /// Nothing is called any more: the next completion arrives now. Returns false if there is none.
  bool arrive_asleep() {
    if (next_ == calls_.size()) return false;
    arrive();
    return true;
  }

 private:
  void arrive() {
    ++next_;
    bench_->complete(*operation_);
  }

  dispatcher_bench* bench_;
  operation* operation_;
  std::vector<std::size_t> calls_;
  std::size_t call_ = 0;
  std::size_t next_ = 0;
};

/// Calls `visit` with each ascending list of `count` numbers from 1 to `last`.
template <class Visit>
void each_schedule(std::vector<std::size_t>& chosen, std::size_t count, std::size_t last,
                   const Visit& visit) {
  if (count == 0) return visit(chosen);
  for (std::size_t next = chosen.empty() ? 1 : chosen.back(); next <= last; ++next) {
    chosen.push_back(next);
    each_schedule(chosen, count - 1, last, visit);
    chosen.pop_back();
  }
}

}  // namespace

TEST_CASE("the dispatcher never sleeps while a completion waits, whenever it arrives",
          "[ibv_req_notify_cq][ibv_get_cq_event][ibv_poll_cq]") {
  // The device acts between the calls of the library only, so this covers every interleaving.
  constexpr std::size_t most_calls = 12;
  std::size_t schedules = 0;
  std::size_t lost = 0;
  for (std::size_t count = 1; count <= 4; ++count) {
    std::vector<std::size_t> chosen;
    each_schedule(chosen, count, most_calls, [&](const std::vector<std::size_t>& calls) {
      dispatcher_bench bench;
      counted done;
      arrivals device{bench, done, calls};
      const auto advance = [&] { device.advance(); };
      bench.machine.before<called::poll_cq>(advance);
      bench.machine.before<called::req_notify_cq>(advance);
      bench.machine.before<called::get_cq_event>(advance);
      completion_dispatcher dispatcher{bench.queue};
      static_cast<void>(dispatcher.poll_and_arm());
      while (bench.readable() || device.arrive_asleep())
        if (bench.readable()) static_cast<void>(dispatcher.ready());
      ++schedules;
      if (done.completions != static_cast<int>(count)) ++lost;
    });
  }
  CHECK(schedules == 12 + 78 + 364 + 1365);
  CHECK(lost == 0);
}

TEST_CASE("an operation that throws loses no other completion", "[ibv_poll_cq]") {
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

TEST_CASE("a busy queue leaves others their turn", "[ibv_poll_cq]") {
  dispatcher_bench bench;
  completion_dispatcher dispatcher{bench.queue};
  counted done;
  for (int each = 0; each < 100; ++each) bench.complete(done);
  CHECK_FALSE(dispatcher.poll_and_arm(64));
  CHECK(done.completions == 64);
  CHECK(dispatcher.poll_and_arm(64));
  CHECK(done.completions == 100);
}

TEST_CASE("events are acknowledged in batches, and all of them at the end",
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
