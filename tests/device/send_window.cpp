// SPDX-License-Identifier: MIT
// Send windows on a device: long streams through small windows that share one completion queue, and
// connections that break.
#include <array>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "support.hpp"

using namespace adverb;

namespace {

constexpr std::size_t pairs = 3;

/// Several connected pairs, whose sends all complete on one queue with just enough room for them.
struct shared_queue {
  explicit shared_queue(std::size_t entries) : near_queue{device, entries} {
    for (std::size_t index = 0; index < pairs; ++index) {
      auto near_waiting = made(near_queue);
      auto far_waiting = made(far_queue);
      const endpoint near_endpoint = near_waiting.endpoint();
      near.push_back(near_waiting.connect(far_waiting.endpoint(), unhurried()));
      far.push_back(far_waiting.connect(near_endpoint, unhurried()));
    }
  }

  [[nodiscard]] queue_pair<transport::rc, qp_state::init> made(completion_queue_ref queue) const {
    auto fresh = queue_pair<transport::rc>::create(
        domain, {.send_cq = queue,
                 .recv_cq = far_queue,
                 .max_send_wr = 32,
                 .max_recv_wr = 64,
                 .send_operations = basic_operations(transport::rc)});
    return initialised(fresh);
  }

  context device = open_device();
  protection_domain domain{device};
  std::vector<std::byte> bytes = std::vector<std::byte>(4096);
  memory_region region{domain, bytes, every_right};
  completion_queue near_queue;
  completion_queue far_queue{device, 1024};
  std::vector<queue_pair<transport::rc>> near;
  std::vector<queue_pair<transport::rc>> far;
};

/// Hands what has completed to the window.
template <class Engine>
void take_back(const completion_queue& queue, send_window<Engine>& window) {
  std::array<completion, 16> batch;
  for (const completion& each : queue.poll(batch)) {
    each.check();
    window.completed(each);
  }
}
/// The same, to the window of its pair.
template <class Window>
void take_back(const completion_queue& queue, std::vector<std::pair<qp_number, Window>>& windows) {
  std::array<completion, 16> batch;
  for (const completion& each : queue.poll(batch)) {
    each.check();
    for (auto& [number, window] : windows)
      if (number == each.queue_pair()) window.completed(each);
  }
}

/// Thousands of writes through each window, the last of which brings other bytes than those before
/// it; at the end these are there. A queue that held more than it has room for would lose some.
template <class MakeWindow>
void check_streams(shared_queue& bench, const MakeWindow& make) {
  constexpr std::uint64_t count = 10'000;
  using window_type = decltype(make(bench.near[0]));
  std::vector<std::pair<qp_number, window_type>> windows;
  for (const auto& pair : bench.near) windows.emplace_back(pair.number(), make(pair));
  CHECK(bench.near_queue.reserved() == pairs * windows[0].second.size());

  const auto target = bench.region.remote<std::byte, access_right::remote_write>();
  const auto zeros = bench.region.slice(1024, 8);
  for (std::size_t index = 0; index < pairs * 8; ++index)
    bench.bytes[2048 + index] = static_cast<std::byte>(index + 1);
  std::array<std::uint64_t, pairs> posted{};
  std::uint64_t full = 0;
  for (std::uint64_t left = pairs * count; left != 0;) {
    for (std::size_t index = 0; index < pairs; ++index) {
      const auto there = target.slice(index * 8, 8);
      const auto last = bench.region.slice(2048 + index * 8, 8);
      while (posted[index] != count) {
        const bool is_last = posted[index] + 1 == count;
        const auto result =
            windows[index].second.post(write(there, is_last ? last : zeros).signaled(is_last));
        if (result.full()) {
          ++full;
          break;
        }
        result.check();
        ++posted[index];
        --left;
      }
    }
    take_back(bench.near_queue, windows);
  }
  CHECK(full != 0);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{10};
  for (auto& [number, window] : windows)
    while (window.outstanding() != 0) {
      REQUIRE(std::chrono::steady_clock::now() < deadline);
      take_back(bench.near_queue, windows);
    }
  CHECK(std::memcmp(bench.bytes.data(), bench.bytes.data() + 2048, pairs * 8) == 0);
}

}  // namespace

TEST_CASE("Windows of several pairs stream over one completion queue of exactly their size") {
  shared_queue bench{3 * 8};
  check_streams(bench, [](const queue_pair<transport::rc>& pair) {
    return send_window{pair, {.size = 8, .signal_every = 3}};
  });
  CHECK(bench.near_queue.reserved() == 0);
}

TEST_CASE("Windows over extended senders stream over one completion queue") {
  shared_queue bench{3 * 5};
  check_streams(bench, [](const queue_pair<transport::rc>& pair) {
    return send_window{pair.extended(), {.size = 5}};
  });
}

TEST_CASE("A window has the actual size of the send queue by default") {
  const shared_queue bench{256};
  send_window window{bench.near[0]};
  CHECK(window.size() == bench.near[0].query().max_send_wr());
  CHECK(window.size() >= 32);
  const auto nothing = write(bench.region.remote<std::byte, access_right::remote_write>());
  std::uint32_t posted = 0;
  auto result = window.post(nothing);
  for (; result; result = window.post(nothing)) ++posted;
  // It is full before the device is.
  CHECK(result.full());
  CHECK(posted == window.size());
}

TEST_CASE("Sends through a window arrive in their order") {
  shared_queue bench{64};
  send_window window{bench.near[0], {.size = 6}};
  std::array<completion, 16> batch;
  std::uint64_t received = 0;
  constexpr std::uint32_t count = 5000;
  for (int index = 0; index < 32; ++index) bench.far[0].post(receive()).check();
  const auto receive_all = [&] {
    for (const completion& each : bench.far_queue.poll(batch)) {
      CHECK(each.success().receive().immediate() ==
            immediate{static_cast<std::uint32_t>(received)});
      ++received;
      bench.far[0].post(receive()).check();
    }
  };
  for (std::uint32_t sent = 0; sent < count;) {
    const auto posted =
        window.post(send_with_immediate(immediate{sent}), send_with_immediate(immediate{sent + 1}));
    if (posted.full()) {
      take_back(bench.near_queue, window);
    } else {
      posted.check();
      sent += 2;
    }
    receive_all();
  }
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{10};
  while (received != count && std::chrono::steady_clock::now() < deadline) receive_all();
  CHECK(received == count);
}

TEST_CASE("A window posts prepared lists repeatedly, completely and in part") {
  shared_queue bench{64};
  send_window window{bench.near[0], {.size = 7, .signal_every = 3}};
  const auto remote = bench.region.remote<std::byte, access_right::remote_write>();
  const auto source = bench.region.slice(2048, 8);
  prepared_list list{write(remote.slice(0, 8), source), 4};
  prepared_request last{write(remote.slice(64, 8), source).signaled()};
  std::uint32_t posted = 0;
  const auto post = [&](auto&& what) {
    const auto result = window.post(what);
    if (result.full())
      take_back(bench.near_queue, window);
    else
      result.check();
    return static_cast<bool>(result);
  };
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{20};
  while (posted < 2000 && std::chrono::steady_clock::now() < deadline)
    posted += post(list) + post(list.first(2)) + post(last);
  CHECK(posted >= 2000);
  while (!post(last)) REQUIRE(std::chrono::steady_clock::now() < deadline);
  while (window.outstanding() != 0) {
    REQUIRE(std::chrono::steady_clock::now() < deadline);
    take_back(bench.near_queue, window);
  }
}

TEST_CASE("A window detects a broken connection and restarts after a reset") {
  loopback<transport::rc> link;
  send_window window{link.near_pair, {.size = 8, .signal_every = 4}};
  const auto good = write(link.far_end.remote());
  const remote_buffer<std::byte, access_right::remote_write> bad{
      adopt, link.far_end.region.device_address(), 8, rkey{0x7fffff01}};
  const auto broken = write(bad, link.near_end.region.slice(0, 8));
  for (std::uint64_t id = 1; id <= 5; ++id) window.post(good.id(id)).check();
  window.post(broken.id(6)).check();
  window.post(good.id(7)).check();
  window.post(good.id(8)).check();

  std::vector<std::uint64_t> ids;
  while (ids.empty() || ids.back() != 8) {
    const completion each = next_completion(link.near_end.queue);
    ids.push_back(each.id());
    CHECK(window.broken() == (ids.size() > 2));
    window.completed(each);
  }
  // The fourth was signaled; the sixth failed; those behind it were flushed, signaled or not.
  CHECK(ids == std::vector<std::uint64_t>{4, 6, 7, 8});
  CHECK(window.broken());
  CHECK(window.outstanding() == 1);  // An upper bound: the fifth is done, but no completion proves
                                     // that.

  auto near_fresh = link.near_pair.reset();
  auto far_fresh = link.far_pair.reset();
  std::array<completion, 16> rest;
  CHECK(link.near_end.queue.poll(rest).empty());
  auto near_waiting = initialised(near_fresh);
  auto far_waiting = initialised(far_fresh);
  const endpoint near_endpoint = near_waiting.endpoint();
  link.near_pair = near_waiting.connect(far_waiting.endpoint(), unhurried());
  link.far_pair = far_waiting.connect(near_endpoint, unhurried());
  window.restart();
  CHECK(!window.broken());
  for (std::uint64_t id = 1; id <= 8; ++id) window.post(good.id(id)).check();
  for (const std::uint64_t id : {4U, 8U}) {
    const completion each = next_success(link.near_end.queue);
    CHECK(each.id() == id);
    window.completed(each);
  }
  CHECK(window.outstanding() == 0);
}

TEST_CASE("On a pair that signals every send, the window counts each completion on the device") {
  loopback_options<transport::rc> options;
  options.pair.signal_all_sends = true;
  loopback<transport::rc> link{options};
  send_window window{link.near_pair, {.size = 4}};
  CHECK(window.signal_every() == 1);
  const auto nothing = write(link.far_end.remote());
  for (int round = 0; round < 100; ++round) {
    window.post(nothing, nothing, nothing).check();
    for (std::uint32_t left = 3; left != 0; --left) {
      CHECK(window.outstanding() == left);
      window.completed(next_success(link.near_end.queue));
    }
  }
}
