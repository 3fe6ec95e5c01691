// SPDX-License-Identifier: MIT
// Completion queues that get more completions than they hold. An event reports it: see
// async_events.cpp.
#include <array>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include <poll.h>

#include "either_engine.hpp"

using namespace adverb;
using namespace std::chrono_literals;

namespace {

namespace completion_overflow {

/// Two pairs that each write to themselves, with one queue for the completions of both.
template <class Queue>
struct overrun {
  context device = open_device();
  protection_domain domain{device};
  std::vector<std::byte> bytes = std::vector<std::byte>(4096);
  memory_region region{domain, bytes, every_right};
  completion_channel channel{device};
  Queue queue{device, 3, {.channel = channel}};
  std::size_t capacity = queue.capacity();
  queue_pair<transport::rc> first = connect_to_itself(queue);
  queue_pair<transport::rc> second = connect_to_itself(queue);

  /// Posts the request, which completes with this id.
  template <class Request>
  static void post(const queue_pair<transport::rc>& pair, std::uint64_t id,
                   const Request& request) {
    pair.post(request.id(id).signaled()).check();
  }
  [[nodiscard]] auto write_of(std::uint64_t id) {
    bytes[2048 + id] = static_cast<std::byte>(id + 1);
    return write(region.remote<std::byte, access_right::remote_write>().slice(id, 1),
                 region.slice(2048 + id, 1));
  }
  /// Waits until the write with this id has arrived.
  void wait_for(std::uint64_t id) const {
    const auto deadline = std::chrono::steady_clock::now() + 10s;
    const volatile std::byte& target = bytes[id];
    while (target != static_cast<std::byte>(id + 1)) {
      if (std::chrono::steady_clock::now() > deadline) FAIL("no write within ten seconds");
      std::this_thread::yield();
    }
  }
  /// Waits for the event of the queue, which was armed. The completion stays in the queue.
  void wait_for_completion() const {
    pollfd waited{channel.file_descriptor(), POLLIN, 0};
    REQUIRE(::poll(&waited, 1, 10'000) == 1);
    REQUIRE(channel.next_event());
  }
  /// Waits for the event of a completion that the full queue has lost. A device that raises fewer
  /// events has two seconds to lose it.
  void wait_for_loss() const {
    pollfd waited{device.async_file_descriptor(), POLLIN, 0};
    while (::poll(&waited, 1, 2'000) == 1) {
      const auto event = device.next_async_event();
      REQUIRE(event);
      if (event->type() == async_event_type::completion_queue_error) return;
    }
  }
  /// The ids of all completions that the queue holds. Waits until there are `count`.
  [[nodiscard]] std::vector<std::uint64_t> ids(std::size_t count) const {
    std::vector<std::uint64_t> found;
    const auto look = [&](const auto& done) {
      done.check();
      found.push_back(done.id());
    };
    while (queue.busy_poll(up_to<1>, look, found.size() < count ? 10s : 0s) == 1) {
    }
    return found;
  }
  /// A pair that is connected to itself. Its sends complete in this queue.
  [[nodiscard]] queue_pair<transport::rc> connect_to_itself(completion_queue_ref of_sends) const {
    auto fresh = queue_pair<transport::rc>::create(
        domain, {.send_cq = of_sends, .recv_cq = queue, .max_send_wr = 32, .max_recv_wr = 32});
    auto waiting = initialised(fresh);
    const endpoint itself = waiting.endpoint();
    return waiting.connect(itself, unhurried());
  }
};

/// Numbers from 0.
[[nodiscard]] std::vector<std::uint64_t> first_ids(std::size_t count) {
  std::vector<std::uint64_t> ids(count);
  for (std::size_t each = 0; each < count; ++each) ids[each] = each;
  return ids;
}

/// An overrun queue keeps its first completions. The writes are carried out all the same.
template <class Queue>
void check_overflow_by_two_pairs() {
  overrun<Queue> test;
  const std::uint64_t count = test.capacity + 4;
  for (std::uint64_t id = 0; id < count; ++id) {
    if (id < test.capacity) test.queue.request_notification();
    test.post(id % 2 == 0 ? test.first : test.second, id, test.write_of(id));
    test.wait_for(id);
    if (id < test.capacity)
      test.wait_for_completion();
    else
      test.wait_for_loss();
  }
  CHECK(test.ids(test.capacity) == first_ids(test.capacity));
  if (holds(device_facts::overflowed_queue_goes_on, test.device)) {
    CHECK(test.first.query().state() == qp_state::rts);
    CHECK(test.second.query().state() == qp_state::rts);
    test.post(test.first, 77, test.write_of(77));
    test.wait_for(77);
    CHECK(test.ids(1) == std::vector<std::uint64_t>{77});
  }
  test.first.close();
  test.second.close();
  test.queue.close();
}

}  // namespace completion_overflow

}  // namespace

TEST_CASE("A queue of two pairs keeps its first completions if it overflows") {
  completion_overflow::check_overflow_by_two_pairs<completion_queue>();
}

TEST_CASE("An extended queue keeps its first completions if it overflows") {
  completion_overflow::check_overflow_by_two_pairs<extended_completion_queue<>>();
}

TEST_CASE("A pair moves to ERR if a message that it received overflows the queue") {
  using namespace completion_overflow;
  overrun<completion_queue> test;
  // The sends are unsignaled. The last one is flushed, and completes in another queue.
  const completion_queue of_sends{test.device, 64};
  test.first = test.connect_to_itself(of_sends);
  for (std::uint64_t id = 0; id <= test.capacity; ++id) {
    test.first.post(receive(test.region.slice(id, 1)).id(id)).check();
    test.bytes[2048 + id] = static_cast<std::byte>(id + 1);
    test.first.post(send(test.region.slice(2048 + id, 1))).check();
    test.wait_for(id);
  }
  const auto deadline = std::chrono::steady_clock::now() + 10s;
  while (test.first.query().state() != qp_state::error) {
    if (std::chrono::steady_clock::now() > deadline) FAIL("the pair does not move to ERR");
    std::this_thread::yield();
  }
  // The other pair of the queue is as it was.
  CHECK(test.second.query().state() == qp_state::rts);
  CHECK(test.ids(test.capacity) == first_ids(test.capacity));
  test.post(test.second, 9, test.write_of(9));
  test.wait_for(9);
  CHECK(test.ids(1) == std::vector<std::uint64_t>{9});
  test.first.close();
}

TEST_CASE("A queue overflows by flushed requests, and the pair can be reset") {
  using namespace completion_overflow;
  overrun<completion_queue> test;
  constexpr std::size_t lost = 5;
  for (std::uint64_t id = 0; id < test.capacity + lost; ++id)
    test.first.post(receive(test.region.slice(id, 1)).id(id)).check();
  auto failed = test.first.error();
  for (std::size_t each = 0; each < lost; ++each) test.wait_for_loss();
  std::vector<std::uint64_t> found;
  std::array<completion, 1> next;
  while (!test.queue.poll(next).empty()) {
    CHECK(next[0].status() == completion_status::flushed);
    found.push_back(next[0].id());
  }
  CHECK(found == first_ids(test.capacity));
  auto fresh = failed.reset();
  auto waiting = initialised(fresh);
  const endpoint itself = waiting.endpoint();
  test.first = waiting.connect(itself, unhurried());
  test.post(test.first, 5, test.write_of(5));
  test.wait_for(5);
  CHECK(test.ids(1) == std::vector<std::uint64_t>{5});
}
