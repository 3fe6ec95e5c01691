// SPDX-License-Identifier: MIT
// Mixed work for a given time, after which memory, files and objects of the kernel are as they were
// in the middle of it. `tests/device/soak/run` runs it, compiled as programs are shipped: the level
// DEBUG keeps a table of regions.
//
//   ADVERB_SOAK_SECONDS=N   the duration
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <span>
#include <string>
#include <system_error>

#include <adverb/adverb.hpp>
#include <adverb/async.hpp>
#include <adverb/messages.hpp>
#include <adverb/remote.hpp>
#include <support/catch.hpp>
#include <support/numbered_bytes.hpp>

#include "cm/async_side.hpp"
#include "cm/channel_ends.hpp"
#include "cm/remote_ends.hpp"
#include "cm/resources.hpp"
#include "rc_link.hpp"

namespace {

using namespace async_test;
using namespace std::chrono_literals;
using channel_test::fill;
using channel_test::is_filled;

using steady = std::chrono::steady_clock;

/// Counts of each kind of work.
struct work_done {
  std::uint64_t requests = 0;
  std::uint64_t refusals = 0;
  std::uint64_t answers = 0;
  std::uint64_t messages = 0;
  std::uint64_t stream_bytes = 0;
  std::uint64_t ring_entries = 0;
  std::uint64_t wrong = 0;

  void check(bool is_right, const char* work) {
    if (is_right) return;
    ++wrong;
    std::cout << "wrong: " << work << std::endl;
  }
};

/// Writes, reads and messages of one size over a connection that is made and ended.
template <class Queue>
void transfer(std::uint64_t round, work_done& done) {
  cm_loopback<Queue> link{{.max_send_wr = 32, .max_recv_wr = 32, .max_inline_data = 64}};
  const std::size_t size = 100 + round * 997 % 8000;
  const auto seed = static_cast<unsigned>(round);
  link.near_end.fill(0, size, seed);
  const auto from = link.near_end.region.slice(0, size);
  link.near_pair.post(write(link.far_end.remote().slice(8192, size), from).signaled()).check();
  next_success(link.near_end.queue);
  link.near_pair
      .post(read(link.far_end.remote().slice(8192, size), link.near_end.region.slice(16384, size))
                .signaled())
      .check();
  next_success(link.near_end.queue);
  done.check(link.near_end.holds(16384, size, seed), "a read");
  // Over iWARP, a write completes when TCP has taken it, and before a read behind it.
  done.check(link.far_end.holds(8192, size, seed), "a write");
  link.far_pair.post(receive(link.far_end.region.slice(0, 8192))).check();
  link.near_pair.post(send(from).signaled()).check();
  next_success(link.near_end.queue);
  next_success(link.far_end.queue);
  done.check(link.far_end.holds(0, size, seed), "a message");
  done.requests += 4;
}

/// Calls that fail, and whose explanations are made.
void be_refused(work_done& done) {
  const auto refuse = [&](const auto& call) {
    try {
      call();
      done.check(false, "a call that must be refused");
    } catch (const std::system_error& why) {
      done.refusals += std::string{why.what()}.empty() ? 0 : 1;
    }
  };
  const context device = open_device();
  const protection_domain domain{device};
  refuse([&] { const completion_queue too_long{device, 1U << 30U}; });
  refuse([&] {
    // Nothing is mapped there.
    auto* const nowhere = reinterpret_cast<std::byte*>(std::uintptr_t{4096});
    const memory_region none{domain, std::span{nowhere, 4096}};
  });
  refuse([&] { const auto never = ready_for(device_address(1)).connect(); });
}

/// Two clients of an echo server.
void echo_messages(work_done& done) {
  side here;
  int answers = 0;
  here.loop.spawn(serve(here, 2));
  for (int client = 0; client < 2; ++client) here.loop.spawn(ask(here, 20, answers));
  here.run();
  done.answers += static_cast<std::uint64_t>(answers);
  done.check(answers == 40, "answers in tasks");
}

/// Whole messages: copied ones, and offers that are taken.
void exchange_messages(work_done& done) {
  channel_test::both_ends both;
  constexpr std::size_t longest = 20'000;
  std::uint64_t arrived = 0;
  both.run(
      [&](messages::channel& server) -> async::task<> {
        const async::loop_memory memory = server.memory(longest);
        for (std::size_t each = 0; each < 30; ++each) {
          const std::size_t size = each % 6 == 5 ? longest : 40 + each;
          fill(memory.bytes().first(size), each);
          co_await server.send(memory.slice(0, size));
        }
        co_await server.close();
      },
      [&](messages::channel& client) -> async::task<> {
        const async::loop_memory target = client.memory(longest);
        while (messages::incoming got = co_await client.next()) {
          const std::span<std::byte> bytes = co_await got.receive_into(target.buffer());
          done.check(is_filled(bytes, arrived++), "a message of a channel");
        }
        co_await client.close();
      });
  done.messages += arrived;
  done.check(arrived == 30, "messages of a channel");
}

/// A stream from one end to the other.
void stream_bytes(work_done& done) {
  constexpr std::uint64_t total = 50'000;
  constexpr stream_options options{
      .send_buffer = 8192, .receive_buffer = 8192, .connect_timeout = 30s, .end_timeout = 1min};
  side here;
  std::uint64_t read = 0;
  here.loop.spawn([&]() -> async::task<> {
    const remote_stream from = co_await remote_stream::accept(here.listener, options);
    read = co_await read_numbered(from, 3000, 1);
    co_await from.close();
  });
  here.loop.spawn([&]() -> async::task<> {
    const remote_stream to = co_await remote_stream::connect(here.loop, here.address(), options);
    co_await write_numbered(to, total, total, 2);
    co_await to.close();
  });
  here.run();
  done.stream_bytes += read;
  done.check(read == total, "a stream");
}

/// Entries of a ring, whose description crosses the same connection.
void fill_ring(work_done& done) {
  using entry = std::array<std::uint64_t, 8>;
  constexpr std::uint64_t total = 100;
  constexpr async::connection_options options{.max_send_wr = 16,
                                              .receives = 80,
                                              .block_size = 256,
                                              .connect_timeout = 30s,
                                              .end_timeout = 1min};
  side here;
  std::uint64_t read = 0;
  here.loop.spawn([&]() -> async::task<> {
    const async::connection writer = co_await here.listener.accept(options);
    const remote_ring<entry>::reader in{writer, {.slots = 16}};
    co_await describe_to(writer, in.description());
    while (const auto each = co_await in.next())
      done.check((*each)[0] == read++, "an entry of a ring");
  });
  here.loop.spawn([&]() -> async::task<> {
    const async::connection reader = co_await async::connect(here.loop, here.address(), options);
    const remote_ring<entry>::writer out{reader, co_await ask_for_ring(reader)};
    for (std::uint64_t each = 0; each < total; ++each) {
      co_await out.room();
      out.claim() = {each};
      out.publish();
    }
    co_await out.drain();
    co_await out.close();
    co_await reader.disconnect();
  });
  here.run();
  done.ring_entries += read;
  done.check(read == total, "entries of a ring");
}

void do_round(std::uint64_t round, work_done& done) {
  transfer<completion_queue>(round, done);
  // Siw has only one engine.
  if (!on_iwarp()) transfer<extended_completion_queue<>>(round, done);
  be_refused(done);
  echo_messages(done);
  exchange_messages(done);
  stream_bytes(done);
  // See docs/decisions.md: rings on soft-iWARP.
  if (!on_iwarp()) fill_ring(done);
}

/// The memory of the process that is in the machine, in KiB.
[[nodiscard]] std::size_t resident_kibibytes() {
  std::ifstream status{"/proc/self/status"};
  for (std::string word; status >> word;)
    if (word == "VmRSS:") {
      std::size_t size = 0;
      status >> size;
      return size;
    }
  return 0;
}

}  // namespace

TEST_CASE("Mixed work leaves memory, files and objects of the kernel as they were") {
  const char* const chosen = std::getenv("ADVERB_SOAK_SECONDS");
  const std::chrono::seconds duration{chosen != nullptr ? std::atoi(chosen) : 10};
  const auto begin = steady::now();
  std::uint64_t rounds = 0;
  work_done done;
  auto next_line = begin;
  const auto work_until = [&](steady::time_point end) {
    while (steady::now() < end) {
      do_round(rounds++, done);
      if (steady::now() < next_line) continue;
      std::cout << std::chrono::duration_cast<std::chrono::seconds>(steady::now() - begin).count()
                << " s: " << rounds << " rounds, " << allocated_bytes() << " bytes allocated, "
                << resident_kibibytes() << " KiB resident, " << open_files() << " files\n"
                << std::flush;
      next_line += duration / 20;
    }
  };
  work_until(begin + duration / 2);
  const held middle;
  const std::size_t resident = resident_kibibytes();
  const std::uint64_t first_half = rounds;
  work_until(begin + duration);
  std::cout << rounds << " rounds: " << done.requests << " requests, " << done.refusals
            << " refusals, " << done.answers << " answers, " << done.messages << " messages, "
            << done.stream_bytes << " bytes of streams, " << done.ring_entries
            << " entries of rings, " << done.wrong << " wrong\n"
            << "the second half grew memory by "
            << static_cast<std::int64_t>(allocated_bytes() - middle.bytes)
            << " bytes allocated and " << static_cast<std::int64_t>(resident_kibibytes() - resident)
            << " KiB resident\n"
            << middle.objects;
  CHECK(done.wrong == 0);
  CHECK(done.refusals == rounds * 3);
  CHECK(rounds > first_half);
  CHECK(rdma_objects_settled_to(middle.objects) == middle.objects);
  CHECK(open_files() == middle.files);
  // The smallest piece that malloc hands out has 32 bytes with what it needs itself. The tables of
  // the C libraries grow and shrink by a few hundred.
  CHECK(allocated_bytes() < middle.bytes + 4096 + 8 * (rounds - first_half));
}
