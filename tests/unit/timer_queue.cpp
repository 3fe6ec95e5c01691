// SPDX-License-Identifier: MIT
// The timers of a loop, against a sorted list.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include <adverb/async/detail/timer_queue.hpp>
#include <support/catch.hpp>

using adverb::detail::timer;
using adverb::detail::timer_queue;

namespace {

void ignore(timer&) {}

}  // namespace

TEST_CASE("Timers expire in the order of their times, and equal times in the order of set") {
  std::mt19937 random{7};
  for (int round = 0; round < 200; ++round) {
    timer_queue queue;
    std::vector<timer*> order;
    std::array<timer, 12> timers{timer{&ignore}, timer{&ignore}, timer{&ignore}, timer{&ignore},
                                 timer{&ignore}, timer{&ignore}, timer{&ignore}, timer{&ignore},
                                 timer{&ignore}, timer{&ignore}, timer{&ignore}, timer{&ignore}};
    for (int step = 0; step < 60; ++step) {
      timer& which = timers[random() % timers.size()];
      const bool was_set = which.is_set();
      REQUIRE(was_set == (std::find(order.begin(), order.end(), &which) != order.end()));
      if (random() % 3 == 0) {
        which.stop();
        REQUIRE(!which.is_set());
        std::erase(order, &which);
      } else if (random() % 5 == 0) {
        const std::int64_t now = static_cast<std::int64_t>(random() % 9);
        timer* const expired = queue.take_expired(now);
        REQUIRE(expired == (order.empty() || order[0]->time() > now ? nullptr : order[0]));
        if (expired != nullptr) order.erase(order.begin());
      } else {
        std::erase(order, &which);
        queue.set(which, static_cast<std::int64_t>(random() % 8));
        order.insert(std::upper_bound(order.begin(), order.end(), which.time(),
                                      [](std::int64_t time, const timer* other) {
                                        return time < other->time();
                                      }),
                     &which);
      }
      REQUIRE(queue.empty() == order.empty());
      if (!order.empty()) REQUIRE(queue.next_time() == order[0]->time());
    }
    while (!order.empty()) {
      REQUIRE(queue.take_expired(100) == order[0]);
      order.erase(order.begin());
    }
    REQUIRE(queue.empty());
  }
}

TEST_CASE(
    "Destroying a timer removes it from its queue, and destroying a queue unsets its timers") {
  timer left{&ignore};
  {
    timer_queue queue;
    {
      timer first{&ignore};
      queue.set(first, 1);
      queue.set(left, 2);
      CHECK(queue.next_time() == 1);
    }
    CHECK(queue.next_time() == 2);
  }
  CHECK(!left.is_set());
}
