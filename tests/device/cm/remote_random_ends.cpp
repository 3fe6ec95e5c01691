// SPDX-License-Identifier: MIT
// Rings and streams between two processes, of which one is killed at a random moment. The other one
// has what the killed one has written, in order and without a gap, and its end is not that of a
// whole ring or stream. random_rounds.hpp has the variables that choose the rounds.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <span>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <adverb/adverb.hpp>
#include <adverb/async.hpp>
#include <adverb/remote.hpp>
#include <support/catch.hpp>

#include "cm/async_side.hpp"
#include "cm/child_process.hpp"
#include "cm/remote_ends.hpp"
#include "random_rounds.hpp"

using namespace async_test;
using random_rounds::chance;

namespace {

enum class part : std::uint32_t { ring_reader, ring_writer, stream_reader, stream_writer };

/// The work of one process.
struct account {
  /// The entries, or bytes, that it is about to write, or has read.
  std::atomic<std::uint64_t> count = 0;
  std::atomic<bool> is_wrong = false;
  /// Entries that its peer has done with.
  std::uint64_t confirmed = 0;
  std::error_code why;
};

/// The memory that both processes have.
struct shared_round {
  std::uint32_t seed = 0;
  part of_killed{};
  account killed;
};

/// Reads numbered records until the ring ends, and holds some of them.
async::task<> read_ring(const async::connection& writer, chance& random, account& mine) {
  const std::uint32_t slots = 1 + random.below(20);
  const remote_ring<record>::reader in{writer, {.slots = slots}};
  co_await describe_to(writer, in.description());
  std::vector<remote_ring<record>::entry> held;
  while (auto each = co_await in.next().report_to(mine.why)) {
    if (!is_numbered(*each, mine.count++)) mine.is_wrong = true;
    held.push_back(std::move(each));
    if (held.size() == slots || random.one_in(3))
      held.erase(held.begin() + random.below(static_cast<std::uint32_t>(held.size())));
  }
}

/// Writes numbered records until the ring ends.
async::task<> write_ring(const async::connection& reader, chance& random, account& mine) {
  const ring_description description = co_await ask_for_ring(reader);
  const remote_ring<record>::writer out{reader, description};
  const std::uint32_t slots = out.free();
  while (true) {
    co_await out.room().report_to(mine.why);
    if (mine.why) break;
    out.claim() = numbered(mine.count++);
    if (random.one_in(3) || out.free() == 0) out.publish();
  }
  mine.confirmed = mine.count - (slots - out.free());
}

async::task<> read_stream(const remote_stream& from, chance& random, account& mine) {
  std::vector<std::byte> bytes(2000);
  while (true) {
    const auto room = std::span{bytes}.first(1 + random.below(2000));
    const std::size_t size = co_await from.read(room).report_to(mine.why);
    if (size == 0) break;
    for (std::size_t each = 0; each < size; ++each)
      if (bytes[each] != byte_at(mine.count++)) mine.is_wrong = true;
  }
}

async::task<> write_stream(const remote_stream& to, chance& random, account& mine) {
  std::vector<std::byte> bytes;
  while (!mine.why) {
    bytes.resize(1 + random.below(2000));
    const std::uint64_t begin = mine.count;
    for (std::size_t each = 0; each < bytes.size(); ++each) bytes[each] = byte_at(begin + each);
    mine.count += bytes.size();
    co_await to.write(bytes).report_to(mine.why);
  }
}

[[nodiscard]] bool is_of_ring(part which) {
  return which == part::ring_reader || which == part::ring_writer;
}
[[nodiscard]] part other_end(part which) {
  switch (which) {
    case part::ring_reader: return part::ring_writer;
    case part::ring_writer: return part::ring_reader;
    case part::stream_reader: return part::stream_writer;
    default: return part::stream_reader;
  }
}

async::task<> play_ring(const async::connection& with, part mine, chance& random, account& counts) {
  if (mine == part::ring_reader)
    co_await read_ring(with, random, counts);
  else
    co_await write_ring(with, random, counts);
}
async::task<> play_stream(const remote_stream& with, part mine, chance& random, account& counts) {
  if (mine == part::stream_reader)
    co_await read_stream(with, random, counts);
  else
    co_await write_stream(with, random, counts);
}

/// The process that stays.
async::task<> stay(side& here, part mine, chance& random, account& counts) {
  try {
    if (is_of_ring(mine)) {
      const async::connection with = co_await here.listener.accept(for_rings);
      static_cast<void>(co_await with.next());
      co_await play_ring(with, mine, random, counts);
    } else {
      const remote_stream with = co_await remote_stream::accept(here.listener, {});
      co_await play_stream(with, mine, random, counts);
    }
  } catch (const std::system_error& failed) {
    // The peer was killed while the ring was made.
    counts.why = failed.code();
  }
}

/// The process that is killed, within `most` after its first entry or byte, or after it has
/// connected: on a slow machine it would seldom have an entry by then.
async::task<> be_killed(async::event_loop& loop, shared_round& shared) {
  chance random{shared.seed};
  constexpr std::uint32_t most = 60'000;
  const std::chrono::microseconds after{random.below(most)};
  const bool has_begun = !random.one_in(4);
  const auto kill_later = [after, has_begun, &count = shared.killed.count] {
    std::thread{[after, has_begun, &count] {
      while (has_begun && count == 0) std::this_thread::sleep_for(std::chrono::microseconds{100});
      std::this_thread::sleep_for(after);
      ::kill(::getpid(), SIGKILL);
    }}.detach();
  };
  const cm::socket_address peer = device_address(child_process::port());
  if (is_of_ring(shared.of_killed)) {
    const async::connection with = co_await async::connect(loop, peer, for_rings);
    co_await with.perform(send());  // Over iWARP, the client is the first to send.
    kill_later();
    co_await play_ring(with, shared.of_killed, random, shared.killed);
  } else {
    const remote_stream with = co_await remote_stream::connect(loop, peer);
    kill_later();
    co_await play_stream(with, shared.of_killed, random, shared.killed);
  }
  // The other process has not ended it.
  shared.killed.is_wrong = true;
}

struct tally {
  int rounds = 0;
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
  /// Entries and bytes that were wrong, out of order, or more than were written or read.
  int wrong = 0;
  /// Ends that looked like those of whole rings and streams.
  int whole = 0;
  int not_killed = 0;

  [[nodiscard]] bool is_right() const { return wrong + whole + not_killed == 0; }
  tally& operator+=(const tally& other) {
    entries += other.entries;
    bytes += other.bytes;
    wrong += other.wrong;
    whole += other.whole;
    not_killed += other.not_killed;
    return *this;
  }
};

[[nodiscard]] tally play(std::uint32_t seed) {
  chance random{seed};
  const shared_with_role<shared_round> memory;
  shared_round& shared = *memory;
  shared.seed = random.seed();
  shared.of_killed = static_cast<part>(seed % 4);
  account mine;
  tally all;
  {
    side here;
    child_process other{"role: an end of a ring or stream that is killed at random", here.port()};
    here.loop.spawn(stay(here, other_end(shared.of_killed), random, mine));
    here.run();
    const int status = other.wait();
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) ++all.not_killed;
  }
  const bool has_read =
      shared.of_killed == part::ring_writer || shared.of_killed == part::stream_writer;
  const std::uint64_t read = has_read ? mine.count : shared.killed.count;
  const std::uint64_t written = has_read ? shared.killed.count : mine.count;
  if (mine.is_wrong || shared.killed.is_wrong || read > written) ++all.wrong;
  // An entry that is free again was read.
  if (!has_read && mine.confirmed > read) ++all.wrong;
  if (!mine.why) ++all.whole;
  (is_of_ring(shared.of_killed) ? all.entries : all.bytes) = read;
  return all;
}

}  // namespace

TEST_CASE("role: an end of a ring or stream that is killed at random", "[.]") {
  async::event_loop loop;
  loop.spawn(be_killed(loop, shared_with_role<shared_round>::of_role()));
  loop.run();
}

TEST_CASE("A ring and a stream whose reader or writer is killed at random lose nothing unnoticed",
          "[ibv_post_send][rdma_destroy_id]") {
  const tally all = random_rounds::play_rounds(play, 1, 16);
  std::cout << all.rounds << " rounds, " << all.entries << " entries and " << all.bytes
            << " bytes were read\n";
  CHECK(all.wrong == 0);
  CHECK(all.whole == 0);
  CHECK(all.not_killed == 0);
  // Four rounds in a row have each part once. Only a round that was chosen is alone.
  if (all.rounds >= 4) {
    CHECK(all.entries != 0);
    CHECK(all.bytes != 0);
  }
}
