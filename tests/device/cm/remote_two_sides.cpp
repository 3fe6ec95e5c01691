// SPDX-License-Identifier: MIT
// Rings and streams between two loops, each on a thread or a machine of its own, over links that
// lose, repeat, reorder and delay packets, and over links that are cut.
#include <chrono>
#include <cstdint>
#include <functional>
#include <system_error>
#include <utility>

#include <adverb/adverb.hpp>
#include <adverb/remote.hpp>
#include <support/catch.hpp>

#include "cm/async_side.hpp"
#include "cm/bad_link.hpp"
#include "cm/remote_ends.hpp"

using namespace async_test;
using namespace std::chrono_literals;

namespace {

constexpr ring_options slots{.slots = 32};

[[nodiscard]] async::connection_options options_of(timeout dead_after = timeout::endless()) {
  return {.max_send_wr = 16,
          .receives = slots.receives(),
          .block_size = 256,
          .connect_timeout = 30s,
          .end_timeout = 50s,
          .dead_after = dead_after};
}

/// The entries of a ring, by its writer or its reader.
struct shipped {
  std::uint64_t entries = 0;
  bool are_right = true;
  std::error_code why;
  std::chrono::steady_clock::time_point ended;
};

async::task<> end(const async::connection& peer, shipped& counts) {
  counts.ended = std::chrono::steady_clock::now();
  if (!counts.why) co_await peer.disconnect().report_to(counts.why);
}

/// Reads to the end. Calls `on_entry`, unless it is empty.
shipped collect(side& here, async::connection_options options,
                const std::function<void()>& on_entry = {}) {
  shipped counts;
  here.loop.spawn([&]() -> async::task<> {
    const async::connection writer = co_await here.listener.accept(options);
    const remote_ring<record>::reader in{writer, slots};
    co_await describe_to(writer, in.description());
    while (true) {
      const auto each = co_await in.next().report_to(counts.why);
      if (!each) break;
      counts.are_right = is_numbered(*each, counts.entries++) && counts.are_right;
      if (on_entry) on_entry();
    }
    co_await end(writer, counts);
  });
  here.run();
  return counts;
}

/// Returns true if the entry with this number is to be written.
using go_on = std::function<bool(std::uint64_t)>;

shipped ship(const cm::socket_address& address, async::connection_options options,
             const go_on& goes_on) {
  shipped counts;
  async::event_loop loop;
  loop.spawn([&]() -> async::task<> {
    const async::connection reader = co_await async::connect(loop, address, options);
    const remote_ring<record>::writer out{reader, co_await ask_for_ring(reader)};
    while (goes_on(counts.entries)) {
      co_await out.room().report_to(counts.why);
      if (counts.why) break;
      out.claim() = numbered(counts.entries++);
      if (counts.entries % 4 == 0) out.publish();
    }
    if (!counts.why) co_await out.close().report_to(counts.why);
    co_await end(reader, counts);
  });
  loop.run();
  return counts;
}

[[nodiscard]] side listening(const cm::socket_address& address) { return side{{}, address}; }

/// Checks that every entry arrives while the machine of the reader does something to its link.
template <class Spoil>
void check_ring(std::uint64_t count, const Spoil& spoil) {
  two_sides_of(
      listening,
      [&](side& here) {
        [[maybe_unused]] const auto spoiled = spoil();
        const shipped read = collect(here, options_of());
        expect(!read.why, "a ring ends well, but for: " + read.why.message());
        expect(read.entries == count && read.are_right, "every entry arrives");
      },
      [&](const cm::socket_address& address) {
        const shipped written =
            ship(address, options_of(), [count](std::uint64_t each) { return each < count; });
        INFO(written.why.message());
        CHECK_FALSE(written.why);
        CHECK(written.entries == count);
      });
}

/// Checks that every byte of a stream arrives, in both directions at once.
template <class Spoil>
void check_stream(std::uint64_t count, const Spoil& spoil) {
  constexpr stream_options options{.connect_timeout = 30s, .end_timeout = 50s};
  const auto exchange = [count](remote_stream peer, std::uint64_t& read) -> async::task<> {
    co_await async::when_all(
        [](const remote_stream& to, std::uint64_t total) -> async::task<> {
          co_await write_numbered(to, total, 5000, 1);
          co_await to.shutdown();
        }(peer, count),
        [](const remote_stream& from, std::uint64_t& total) -> async::task<> {
          total = co_await read_numbered(from, 3000, 2);
        }(peer, read));
    co_await peer.close();
  };
  two_sides_of(
      listening,
      [&](side& here) {
        [[maybe_unused]] const auto spoiled = spoil();
        std::uint64_t read = 0;
        here.loop.spawn([&]() -> async::task<> {
          co_await exchange(co_await remote_stream::accept(here.listener, options), read);
        });
        here.run();
        expect(read == count, "every byte arrives");
      },
      [&](const cm::socket_address& address) {
        std::uint64_t read = 0;
        async::event_loop loop;
        loop.spawn([&]() -> async::task<> {
          co_await exchange(co_await remote_stream::connect(loop, address, options), read);
        });
        loop.run();
        CHECK(read == count);
      });
}

}  // namespace

TEST_CASE("A ring between two machines carries every entry", "[ibv_post_send][rdma_accept]") {
  check_ring(2000, [] { return nothing{}; });
}

TEST_CASE("A stream between two machines carries every byte", "[ibv_post_send][rdma_accept]") {
  check_stream(300'000, [] { return nothing{}; });
}

TEST_CASE("A link that loses, repeats, reorders and delays packets costs a ring no entry",
          "[ibv_post_send][optional]") {
  if (!on_two_hosts()) return tell_skip("a bad link", "there is one machine");
  check_ring(400, [] { return bad_link{bad_in_every_way}; });
}

TEST_CASE("A link that loses, repeats, reorders and delays packets costs a stream no byte",
          "[ibv_post_send][optional]") {
  if (!on_two_hosts()) return tell_skip("a bad link", "there is one machine");
  check_stream(60'000, [] { return bad_link{bad_in_every_way}; });
}

TEST_CASE("A link that is cut for less than its retries costs a ring no entry",
          "[ibv_post_send][optional]") {
  if (!on_two_hosts()) return tell_skip("a link that is cut", "there is one machine");
  check_ring(8000, [] { return short_cut{}; });
}

TEST_CASE("A link that is cut for less than its retries costs a stream no byte",
          "[ibv_post_send][optional]") {
  if (!on_two_hosts()) return tell_skip("a link that is cut", "there is one machine");
  check_stream(3'000'000, [] { return short_cut{}; });
}

TEST_CASE("A ring whose link is cut for good ends within dead_after on both machines",
          "[ibv_post_send][optional]") {
  if (!on_two_hosts()) return tell_skip("a link that is cut", "there is one machine");
  constexpr auto dead_after = 3s;
  std::chrono::steady_clock::time_point begin;
  async::connection_options options = options_of(dead_after);
  options.end_timeout = 5s;
  // Each machine loses the packets that it sends, until both rings have ended.
  two_sides_of(
      listening,
      [&](side& here) {
        cut link{300ms};
        const shipped read = collect(here, options, [&] { link.begin(); });
        meet("ended");
        expect(is_end_by_time(read.why), "a ring ends with a timeout: " + read.why.message());
        expect(read.are_right && read.entries != 0, "entries arrive before");
      },
      [&](const cm::socket_address& address) {
        cut link{300ms};
        const shipped written = ship(address, options, [&](std::uint64_t each) {
          // The reader has freed a slot.
          if (each == slots.slots + 1) {
            begin = std::chrono::steady_clock::now();
            link.begin();
          }
          return true;
        });
        meet("ended");
        INFO(written.why.message());
        CHECK(is_end_by_time(written.why));
        CHECK(written.entries > slots.slots);
        // The rest is room for a busy machine.
        CHECK(written.ended - begin < 300ms + 2 * dead_after + 12s);
      });
}
