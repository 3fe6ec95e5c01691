// SPDX-License-Identifier: MIT
// Several threads that post to and poll the same objects.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include <poll.h>

#include "in_threads.hpp"
#include "random_rounds.hpp"
#include "shared_receive_queue.hpp"

using namespace adverb;
using namespace std::chrono_literals;

namespace {

namespace traffic_threads {

constexpr int threads = 3;
constexpr std::size_t block = 128;

/// The start of the payload of a received message.
template <transport Transport>
constexpr std::size_t header = Transport == transport::ud ? grh_size : 0;

[[nodiscard]] std::uint64_t in_all(int number, std::uint64_t each, std::uint64_t of_each) {
  return static_cast<std::uint64_t>(number) * of_each + each;
}

/// A request for the pair at the far end, with a destination if its transport needs one.
template <transport Transport, class Request>
[[nodiscard]] auto to(const Request& request, const address_handle& way, const endpoint& far) {
  if constexpr (Transport == transport::ud)
    return request.to({.address = way, .queue_pair = far.number, .queue_key = far.queue_key});
  else
    return request;
}

/// Each number from 0 on, once.
[[nodiscard]] bool is_each_once(std::vector<std::uint64_t> numbers, std::uint64_t count) {
  std::ranges::sort(numbers);
  if (numbers.size() != count) return false;
  for (std::uint64_t each = 0; each < count; ++each)
    if (numbers[each] != each) return false;
  return true;
}

/// Threads post receives to one shared queue while each sends over its own pair, and all take
/// completions of both ends.
template <transport Transport>
void check_shared_receives() {
  constexpr std::uint64_t receives = 16;
  constexpr std::uint64_t messages = 64;
  shared_loopback<Transport> link{threads, {.max_wr = 128, .max_sge = 1}};
  const address_handle way{link.domain, link.to_far()};
  for (std::uint64_t number = 0; number < threads * messages; ++number)
    link.near_end.bytes[number * block] = static_cast<std::byte>(number);

  const auto slot = [&](std::uint64_t id) { return link.far_end.region.slice(id * block, block); };
  in_threads(threads, [&](int number) {
    for (std::uint64_t each = 0; each < receives; ++each) {
      const std::uint64_t id = in_all(number, each, receives);
      link.shared.post(receive(slot(id)).id(id)).check();
    }
  });

  std::array<std::vector<std::uint64_t>, threads> arrived;
  std::atomic<int> wrong = 0;
  in_threads(threads, [&](int own) {
    const auto number = static_cast<std::size_t>(own);
    for (std::uint64_t each = 0; each < messages; ++each) {
      const std::uint64_t message = in_all(own, each, messages);
      link.near_pairs[number]
          .post(to<Transport>(send_with_immediate(immediate{static_cast<std::uint32_t>(message)},
                                                  link.near_end.region.slice(message * block, 1))
                                  .signaled(),
                              way, link.endpoints[number]))
          .check();
      next_success(link.near_end.queue);
      // The completion may be that of a message of another thread.
      const completion done = next_success(link.far_end.queue);
      const auto received = done.success().receive();
      const auto sent = static_cast<std::uint32_t>(received.immediate().value());
      if (link.far_end.bytes[done.id() * block + header<Transport>] != static_cast<std::byte>(sent))
        ++wrong;
      if (received.length() != header<Transport> + 1) ++wrong;
      arrived[number].push_back(sent);
      link.shared.post(receive(slot(done.id())).id(done.id())).check();
    }
  });
  CHECK(wrong == 0);
  std::vector<std::uint64_t> all;
  for (const auto& each : arrived) all.insert(all.end(), each.begin(), each.end());
  CHECK(is_each_once(all, threads * messages));
}

/// Threads post chains of three to one pair. Each request completes once, the requests of a chain
/// one after the other.
template <transport Transport, bool Extended>
void check_posts_to_one_pair() {
  constexpr std::uint64_t chains = 3;
  constexpr std::uint64_t of_each = 3 * chains;
  loopback_options<Transport> options;
  if (Extended) options.pair.send_operations = basic_operations(Transport);
  loopback<Transport> link{options};
  const address_handle way{link.domain, link.to_far};
  for (std::uint64_t id = 0; id < threads * of_each; ++id) {
    link.near_end.bytes[id * block] = static_cast<std::byte>(id + 1);
    link.far_pair.post(receive(link.far_end.region.slice(id * block, block)).id(id)).check();
  }
  in_threads(threads, [&](int number) {
    const auto request = [&](std::uint64_t each) {
      const std::uint64_t id = in_all(number, each, of_each);
      return to<Transport>(send(link.near_end.region.slice(id * block, 1)).id(id).signaled(), way,
                           link.far_endpoint);
    };
    for (std::uint64_t each = 0; each < of_each; each += 3) {
      if constexpr (Extended)
        link.near_pair.extended().post(request(each), request(each + 1), request(each + 2)).check();
      else
        link.near_pair.post(request(each), request(each + 1), request(each + 2)).check();
      std::this_thread::yield();
    }
  });
  std::vector<std::uint64_t> sent;
  for (std::uint64_t each = 0; each < threads * of_each; ++each) {
    sent.push_back(next_success(link.near_end.queue).id());
    const std::uint64_t slot = next_success(link.far_end.queue).id();
    CHECK(slot == each);
    CHECK(link.far_end.bytes[slot * block + header<Transport>] ==
          static_cast<std::byte>(sent.back() + 1));
  }
  CHECK(is_each_once(sent, threads * of_each));
  std::array<std::uint64_t, threads> next_of{};
  for (std::size_t each = 0; each < sent.size(); ++each) {
    if (each % 3 != 0) CHECK(sent[each] == sent[each - 1] + 1);
    CHECK(sent[each] % of_each == next_of[sent[each] / of_each]++);
  }
}

/// Threads post receives to one pair: each is used once, those of a thread in order.
template <transport Transport>
void check_receives_of_one_pair() {
  constexpr std::uint64_t of_each = 10;
  loopback<Transport> link;
  const address_handle way{link.domain, link.to_far};
  in_threads(threads, [&](int number) {
    for (std::uint64_t each = 0; each < of_each; ++each) {
      const std::uint64_t id = in_all(number, each, of_each);
      link.far_pair.post(receive(link.far_end.region.slice(id * block, block)).id(id)).check();
      std::this_thread::yield();
    }
  });
  std::vector<std::uint64_t> used;
  std::array<std::uint64_t, threads> next_of{};
  for (std::uint64_t each = 0; each < threads * of_each; ++each) {
    link.near_end.bytes[0] = static_cast<std::byte>(each);
    link.near_pair
        .post(to<Transport>(send(link.near_end.region.slice(0, 1)).signaled(), way,
                            link.far_endpoint))
        .check();
    next_success(link.near_end.queue);
    used.push_back(next_success(link.far_end.queue).id());
    CHECK(link.far_end.bytes[used.back() * block + header<Transport>] ==
          static_cast<std::byte>(each));
    CHECK(used.back() % of_each == next_of[used.back() / of_each]++);
  }
  CHECK(is_each_once(used, threads * of_each));
}

/// A pair moves to ERR while one thread posts and another polls. Each accepted request completes
/// once: with success until the first flush, and flushed from there on.
template <transport Transport>
void check_error_while_posting() {
  loopback<Transport> link;
  const address_handle way{link.domain, link.to_far};
  const queue_pair_ref<Transport> posting = link.near_pair;
  std::atomic<bool> stopped = false;
  std::atomic<bool> is_last_posted = false;
  std::atomic<std::uint64_t> posted = 0;
  std::atomic<std::uint64_t> completed = 0;
  std::uint64_t succeeded = 0;
  int wrong = 0;
  queue_pair<Transport, qp_state::error> failed;
  in_threads(threads, [&](int number) {
    if (number == 0) {
      while (!stopped) {
        // It needs no receive: RC and UC write, and a datagram may be lost.
        const auto request = [&] {
          const auto from = link.near_end.region.slice(0, 8);
          if constexpr (Transport == transport::ud)
            return to<Transport>(send(from), way, link.far_endpoint).signaled().id(posted.load());
          else
            return write(link.far_end.remote().slice(0, 8), from).signaled().id(posted.load());
        }();
        // The completion queue holds 64.
        if (posted < completed + 32 && posting.post(request))
          ++posted;
        else
          std::this_thread::yield();
      }
      is_last_posted = true;
    } else if (number == 1) {
      const auto deadline = std::chrono::steady_clock::now() + 10s;
      std::array<completion, 1> found;
      while (!is_last_posted || completed != posted) {
        if (std::chrono::steady_clock::now() > deadline) throw std::runtime_error{"a lost request"};
        if (link.near_end.queue.poll(found).empty()) continue;
        const completion& done = found[0];
        if (done.id() != completed) ++wrong;
        ++completed;
        if (done.status() == completion_status::success) {
          if (succeeded != completed - 1) ++wrong;
          ++succeeded;
        } else if (done.status() != completion_status::flushed) {
          ++wrong;
        }
      }
    } else {
      while (posted < 50) std::this_thread::yield();
      failed = link.near_pair.error();
      const std::uint64_t at_error = posted;
      while (posted < at_error + 50) std::this_thread::yield();
      stopped = true;
    }
  });
  CHECK(wrong == 0);
  CHECK(completed == posted);
  CHECK(succeeded > 0);
  CHECK(succeeded < completed);
  CHECK(failed.query().state() == qp_state::error);
  std::array<completion, 1> more;
  CHECK(link.near_end.queue.poll(more).empty());
  // The pair is usable again.
  auto fresh = failed.reset();
  const auto waiting = initialised(fresh);
  CHECK(waiting.query().state() == qp_state::init);
}

}  // namespace traffic_threads

}  // namespace

TEST_CASE("Threads post to, send through and poll one shared receive queue without a loss",
          "[ibv_post_srq_recv]") {
  using namespace traffic_threads;
  SECTION("RC") { check_shared_receives<transport::rc>(); }
  SECTION("UC") { check_shared_receives<transport::uc>(); }
  SECTION("UD") { check_shared_receives<transport::ud>(); }
}

TEST_CASE("Several threads post to one pair, and each chain completes once and together",
          "[ibv_post_send]") {
  using namespace traffic_threads;
  SECTION("RC, classic") { check_posts_to_one_pair<transport::rc, false>(); }
  SECTION("RC, extended") { check_posts_to_one_pair<transport::rc, true>(); }
  SECTION("UC, classic") { check_posts_to_one_pair<transport::uc, false>(); }
  SECTION("UD, classic") { check_posts_to_one_pair<transport::ud, false>(); }
}

TEST_CASE("Several threads post receives to one pair, and each is used once and in order",
          "[ibv_post_recv]") {
  using namespace traffic_threads;
  SECTION("RC") { check_receives_of_one_pair<transport::rc>(); }
  SECTION("UC") { check_receives_of_one_pair<transport::uc>(); }
  SECTION("UD") { check_receives_of_one_pair<transport::ud>(); }
}

TEST_CASE("Each request completes once if a pair moves to ERR while other threads post and poll",
          "[ibv_modify_qp][ibv_post_send][ibv_poll_cq]") {
  using namespace traffic_threads;
  check_error_while_posting<transport::rc>();
}

TEST_CASE(
    "Each request of a UC or UD pair completes once if it moves to ERR during posts and polls",
    "[optional][ibv_modify_qp][ibv_post_send][ibv_poll_cq]") {
  using namespace traffic_threads;
  if (!random_rounds::has_time())
    return tell_skip("a UC or UD pair that moves to ERR during posts and polls",
                     "a completion sometimes does not come, and the cause is not known");
  SECTION("UC") { check_error_while_posting<transport::uc>(); }
  SECTION("UD") { check_error_while_posting<transport::ud>(); }
}

TEST_CASE("Several threads create address handles, send through them and destroy them",
          "[ibv_create_ah][ibv_destroy_ah]") {
  using namespace traffic_threads;
  constexpr std::uint64_t of_each = 20;
  loopback<transport::ud> link;
  for (std::uint64_t id = 0; id < 32; ++id)
    link.far_pair.post(receive(link.far_end.region.slice(0, 1024)).id(id)).check();
  std::array<std::vector<std::uint64_t>, threads> arrived;
  std::array<std::atomic<std::uint64_t>, threads> sent_by{};
  in_threads(threads, [&](int number) {
    const auto own = static_cast<std::size_t>(number);
    for (std::uint64_t each = 0; each < of_each; ++each) {
      address_handle way{link.domain, link.to_far};
      const auto message = static_cast<std::uint32_t>(in_all(number, each, of_each));
      link.near_pair
          .post(to<transport::ud>(send_with_immediate(immediate{message}).id(own).signaled(), way,
                                  link.far_endpoint))
          .check();
      ++sent_by[next_success(link.near_end.queue).id()];
      const completion done = next_success(link.far_end.queue);
      arrived[own].push_back(
          static_cast<std::uint32_t>(done.success().receive().immediate().value()));
      link.far_pair.post(receive(link.far_end.region.slice(0, 1024)).id(done.id())).check();
      // The completion may have been that of another thread, whose handle is not this one.
      while (sent_by[own] <= each) std::this_thread::yield();
    }
  });
  std::vector<std::uint64_t> all;
  for (const auto& each : arrived) all.insert(all.end(), each.begin(), each.end());
  CHECK(is_each_once(all, threads * of_each));
}

TEST_CASE("Several threads poll the queues of one channel, and each completion comes once",
          "[ibv_get_cq_event][ibv_req_notify_cq]") {
  using namespace traffic_threads;
  constexpr std::size_t queues = 4;
  constexpr std::uint64_t writes = 60;
  const context device = open_device();
  const protection_domain domain{device};
  std::vector<std::byte> bytes(64);
  const memory_region region{domain, bytes, every_right};
  const completion_channel channel{device};
  channel.set_non_blocking(true);
  struct queue_in_use {
    completion_queue queue;
    queue_pair<transport::rc> pair;
    std::mutex arming;
    std::vector<std::uint64_t> done;
  };
  std::array<queue_in_use, queues> all;
  for (queue_in_use& each : all) {
    each.queue = completion_queue{device, 64, {.channel = channel, .user_context = &each}};
    auto fresh = queue_pair<transport::rc>::create(domain, {.cq = each.queue, .max_send_wr = 64});
    auto waiting = initialised(fresh);
    const endpoint itself = waiting.endpoint();
    each.pair = waiting.connect(itself, unhurried());
    each.queue.request_notification();
  }
  std::atomic<std::uint64_t> taken = 0;
  const auto deadline = std::chrono::steady_clock::now() + 10s;
  in_threads(threads + 1, [&](int number) {
    if (number == threads) {
      for (std::uint64_t id = 0; id < writes; ++id)
        for (queue_in_use& each : all)
          each.pair
              .post(write(region.remote<std::byte, access_right::remote_write>().slice(0, 8),
                          region.slice(8, 8))
                        .id(id)
                        .signaled())
              .check();
      return;
    }
    while (taken != queues * writes) {
      if (std::chrono::steady_clock::now() > deadline) throw std::runtime_error{"a lost event"};
      pollfd waited{channel.file_descriptor(), POLLIN, 0};
      if (::poll(&waited, 1, 10) != 1) continue;
      const std::optional<completion_queue_ref> ready = channel.next_event();
      if (!ready) continue;  // Another thread was faster.
      auto& each = *static_cast<queue_in_use*>(ready->user_context());
      const std::lock_guard alone{each.arming};
      each.queue.arm_and_poll(up_to<4>, [&](const completion& done) {
        done.check();
        each.done.push_back(done.id());
        ++taken;
      });
    }
  });
  for (queue_in_use& each : all) {
    CHECK(std::ranges::is_sorted(each.done));
    CHECK(is_each_once(each.done, writes));
  }
}

TEST_CASE("Several threads list the devices, open the same one and query it",
          "[ibv_get_device_list][ibv_open_device][ibv_query_device_ex]") {
  std::atomic<int> wrong = 0;
  const context first = open_device();
  const device_attributes expected = first.query_device();
  const gid expected_gid = first.gid(first_port, gid_index{0});
  in_threads(8, [&](int) {
    for (int turn = 0; turn < 4; ++turn) {
      const device_list devices;
      const context device{*devices.begin()};
      if (device.native_handle() == first.native_handle()) ++wrong;
      if (device.device().name() != first.device().name()) ++wrong;
      if (device.query_device().max_queue_pairs() != expected.max_queue_pairs()) ++wrong;
      if (device.gid(first_port, gid_index{0}) != expected_gid) ++wrong;
      if (device.query_port(first_port).state() != port_state::active) ++wrong;
    }
  });
  CHECK(wrong == 0);
}

TEST_CASE("Several threads open the device and carry messages over every transport at once") {
  using namespace traffic_threads;
  std::atomic<int> exchanged = 0;
  in_threads(threads, [&](int number) {
    const auto exchange = [&]<transport Transport>(std::integral_constant<transport, Transport>) {
      loopback<Transport> link;
      const address_handle way{link.domain, link.to_far};
      for (unsigned turn = 0; turn < 30; ++turn) {
        link.near_end.fill(0, 600, turn);
        link.far_pair.post(receive(link.far_end.region.slice(0, 1024))).check();
        link.near_pair
            .post(to<Transport>(send(link.near_end.region.slice(0, 600)).signaled(), way,
                                link.far_endpoint))
            .check();
        next_success(link.near_end.queue);
        next_success(link.far_end.queue);
        if (!link.far_end.holds(header<Transport>, 600, turn)) throw std::runtime_error{"bytes"};
        ++exchanged;
      }
    };
    if (number == 0) exchange(std::integral_constant<transport, transport::rc>{});
    if (number == 1) exchange(std::integral_constant<transport, transport::uc>{});
    if (number == 2) exchange(std::integral_constant<transport, transport::ud>{});
  });
  CHECK(exchanged == 30 * threads);
}
