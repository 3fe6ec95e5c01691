// SPDX-License-Identifier: MIT
// Other threads post to many queues while this one arms them, sleeps and polls: no wake-up is lost.
//
//   ADVERB_HAMMER_SECONDS=N   goes on for this long, instead of one second
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <poll.h>

#include <adverb/async/completion_dispatcher.hpp>
#include <support/catch.hpp>

#include "cm/support.hpp"
#include "support.hpp"

using namespace adverb;

namespace {

constexpr std::size_t lane_count = 12;
constexpr std::size_t poster_count = 3;

/// A queue, and a queue pair that writes to its own memory and completes there.
class lane : public async::operation {
 public:
  lane(context_ref context, protection_domain_ref domain, completion_channel_ref channel)
      : operation{[](operation& which, const completion& each) {
          static_cast<lane&>(which).note(each);
        }},
        queue{context, 16, {.channel = channel}},
        region_{domain, bytes_, every_right} {
    auto fresh = queue_pair<transport::rc>::create(
        domain, {.send_cq = queue, .recv_cq = queue, .max_send_wr = 4, .max_recv_wr = 1});
    auto waiting = initialised(fresh);
    const endpoint itself = waiting.endpoint();
    pair_ = waiting.connect(itself, unhurried());
  }
  lane(const lane&) = delete;
  lane& operator=(const lane&) = delete;

  // For its poster.
  [[nodiscard]] bool is_idle() const { return done_ == posted_; }
  void count() { ++posted_; }
  /// Posts a request that was counted.
  void post() {
    pair_
        .post(write(region_.remote(), region_.slice(0, 8))
                  .signaled()
                  .id(static_cast<operation*>(this)))
        .check();
  }

  // For the thread that sleeps.
  [[nodiscard]] std::uint64_t posted() const { return posted_; }
  void note(const completion& each) {
    each.check();
    ++done_;
  }

  completion_queue queue;

 private:
  std::vector<std::byte> bytes_ = std::vector<std::byte>(8);
  memory_region region_;
  queue_pair<transport::rc> pair_;
  std::atomic<std::uint64_t> posted_ = 0;
  std::atomic<std::uint64_t> done_ = 0;
};

[[nodiscard]] std::chrono::seconds duration() {
  const std::string seconds = cm_test::environment("ADVERB_HAMMER_SECONDS");
  return std::chrono::seconds{seconds.empty() ? 1 : std::stoi(seconds)};
}

/// Has threads post, and `sleep_and_take` take the completions: it returns false if nothing wakes
/// it.
template <class SleepAndTake>
void hammer(const std::vector<std::unique_ptr<lane>>& lanes, const SleepAndTake& sleep_and_take) {
  const auto end = std::chrono::steady_clock::now() + duration();
  std::atomic<std::size_t> posting = poster_count;
  std::atomic<bool> is_awake = true;
  std::atomic<std::uint64_t> wakes = 0;
  // On a busy machine it takes longer until the other thread has slept often enough.
  const auto must_go_on = [&] {
    return std::chrono::steady_clock::now() < end || (is_awake && wakes <= lanes.size());
  };
  const auto post_until_end = [&](std::size_t poster) {
    while (must_go_on()) {
      for (std::size_t each = poster; each < lanes.size(); each += poster_count) {
        if (!lanes[each]->is_idle()) continue;
        lanes[each]->count();
        lanes[each]->post();
      }
      std::this_thread::yield();
    }
    // The completion of the last request comes when the other thread can see that it is the last.
    while (!lanes[poster]->is_idle()) {
      if (!is_awake) return;
      std::this_thread::yield();
    }
    lanes[poster]->count();
    --posting;
    lanes[poster]->post();
  };
  const auto is_busy = [&] {
    return posting != 0 ||
           !std::ranges::all_of(lanes, [](const auto& each) { return each->is_idle(); });
  };
  {
    std::vector<std::jthread> posters;
    for (std::size_t each = 0; each < poster_count; ++each)
      posters.emplace_back(post_until_end, each);
    for (; is_awake && is_busy(); ++wakes) is_awake = sleep_and_take();
  }
  CHECK(is_awake);
  CHECK(wakes > lanes.size());
  std::uint64_t posted = 0;
  for (const auto& each : lanes) posted += each->posted();
  std::cout << posted << " completions, " << wakes << " wake-ups" << std::endl;
}

/// Waits until a descriptor is readable. Returns false if none is within ten seconds.
[[nodiscard]] bool sleep_on(std::vector<pollfd>& watched) {
  return ::poll(watched.data(), watched.size(), 10'000) > 0;
}

}  // namespace

TEST_CASE("No wake-up of many queues on one channel is lost",
          "[ibv_req_notify_cq][ibv_get_cq_event][ibv_ack_cq_events][optional]") {
  if (cm_test::on_iwarp())
    return tell_skip("the hammer on a channel", "soft-iWARP connects through librdmacm only");
  const context device = open_device();
  const protection_domain domain{device};
  const completion_channel channel{device};
  std::vector<std::unique_ptr<lane>> lanes;
  for (std::size_t each = 0; each < lane_count; ++each)
    lanes.push_back(std::make_unique<lane>(device, domain, channel));
  std::array<completion, 4> batch;
  const auto take = [&](completion_queue_ref queue) {
    queue.arm_and_poll(batch,
                       [](const completion& each) { async::operation::of(each).complete(each); });
  };
  for (const auto& each : lanes) take(each->queue);
  std::vector<pollfd> watched{{channel.file_descriptor(), POLLIN, 0}};
  hammer(lanes, [&] {
    if (!sleep_on(watched)) return false;
    take(channel.next_event().value());
    return true;
  });
}

TEST_CASE("No wake-up of many dispatchers is lost",
          "[ibv_req_notify_cq][ibv_get_cq_event][ibv_ack_cq_events][optional]") {
  if (cm_test::on_iwarp())
    return tell_skip("the hammer on dispatchers", "soft-iWARP connects through librdmacm only");
  const context device = open_device();
  const protection_domain domain{device};
  std::vector<completion_channel> channels;
  std::vector<std::unique_ptr<lane>> lanes;
  std::vector<std::unique_ptr<async::completion_dispatcher>> dispatchers;
  std::vector<pollfd> watched;
  for (std::size_t each = 0; each < lane_count; ++each) {
    channels.emplace_back(device).set_non_blocking(true);
    lanes.push_back(std::make_unique<lane>(device, domain, channels.back()));
    dispatchers.push_back(std::make_unique<async::completion_dispatcher>(lanes.back()->queue));
    while (!dispatchers.back()->poll_and_arm()) {
    }
    watched.push_back({channels.back().file_descriptor(), POLLIN, 0});
  }
  hammer(lanes, [&] {
    if (!sleep_on(watched)) return false;
    for (std::size_t each = 0; each < watched.size(); ++each)
      if (watched[each].revents != 0)
        while (!dispatchers[each]->ready()) {
        }
    return true;
  });
}
