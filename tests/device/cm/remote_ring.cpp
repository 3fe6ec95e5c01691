// SPDX-License-Identifier: MIT
// Rings of entries in the memory of a peer.
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <adverb/adverb.hpp>
#include <adverb/async.hpp>
#include <adverb/remote.hpp>
#include <support/catch.hpp>
#include <support/skip.hpp>

#include "cm/async_side.hpp"
#include "cm/remote_ends.hpp"

using namespace async_test;

namespace {

/// Entries wait for room in the send queue.
constexpr async::connection_options with_few_sends = [] {
  async::connection_options few = for_rings;
  few.max_send_wr = 4;
  return few;
}();

/// Reads numbered records from a ring to its end, or until it fails.
async::task<> read_all(const async::connection& writer, std::uint32_t slots, std::uint64_t& read,
                       bool& are_right, on_failure policy = throwing{}) {
  const remote_ring<record>::reader in{writer, {.slots = slots}};
  co_await describe_to(writer, in.description());
  while (const auto each = co_await in.next().report_to(policy))
    are_right = is_numbered(*each, read++) && are_right;
}

/// A loop with a reader that accepts and a writer that connects.
struct both_sides : side {
  template <class Reader, class Writer>
  void run_both(const Reader& read, const Writer& write,
                const async::connection_options& options = for_rings) {
    loop.spawn([&, options]() -> async::task<> {
      async::connection client = co_await listener.accept(options);
      co_await read(client);
    });
    loop.spawn([&, options]() -> async::task<> {
      async::connection server = co_await async::connect(loop, address(), options);
      co_await write(server);
    });
    run();
  }
};

}  // namespace

TEST_CASE("A ring carries every entry once, in the order in which they were published",
          "[ibv_post_send][ibv_post_recv]") {
  both_sides both;
  constexpr std::uint64_t total = 500;
  std::uint64_t read = 0;
  bool are_right = true;
  both.run_both([&](async::connection& client) { return read_all(client, 16, read, are_right); },
                [&](async::connection& server) -> async::task<> {
                  const remote_ring<record>::writer out{server, co_await ask_for_ring(server)};
                  for (std::uint64_t each = 0; each < total; ++each) {
                    co_await out.room();
                    out.claim() = numbered(each);
                    if (each % 5 == 4) out.publish();
                  }
                  co_await out.drain();
                  CHECK(out.free() == 16);
                  CHECK(out.in_flight() == 0);
                  co_await out.close();
                  CHECK(out.try_claim() == nullptr);
                  co_await server.disconnect();
                });
  CHECK(are_right);
  CHECK(read == total);
}

TEST_CASE("Rings of bytes in both directions of a connection carry entries of every size",
          "[ibv_post_send][ibv_post_recv]") {
  both_sides both;
  constexpr std::uint32_t total = 400;
  constexpr std::uint32_t slot_size = 700;
  int right = 0;
  // Each side reads what the other has written: sizes and bytes follow from a seed.
  const auto write = [&](const remote_ring<std::byte>::writer& out,
                         unsigned seed) -> async::task<> {
    std::mt19937 random{seed};
    for (std::uint32_t each = 0; each < total; ++each) {
      co_await out.room();
      const std::size_t size = random() % (slot_size + 1);
      std::ranges::fill(out.claim(size), static_cast<std::byte>(random()));
      if (random() % 3 == 0) out.publish();
    }
    co_await out.close();
  };
  const auto read = [&](const remote_ring<std::byte>::reader& in, unsigned seed) -> async::task<> {
    std::mt19937 random{seed};
    std::mt19937 order{seed + 100};
    std::vector<remote_ring<std::byte>::entry> held;
    bool are_right = true;
    for (std::uint32_t each = 0; each < total; ++each) {
      auto got = co_await in.next();
      const std::size_t size = random() % (slot_size + 1);
      const auto content = static_cast<std::byte>(random());
      random();
      are_right = got && got.bytes().size() == size && are_right;
      are_right = std::ranges::count(got.bytes(), content) == std::ssize(got.bytes()) && are_right;
      held.push_back(std::move(got));
      // Slots end in any order.
      std::ranges::shuffle(held, order);
      if (held.size() == 5) held.resize(1 + order() % 4);
    }
    held.clear();
    const auto none = co_await in.next();
    if (are_right && !none) ++right;
  };
  const ring_options sizes{.slots = 24, .slot_size = slot_size};
  both.run_both(
      [&](async::connection& client) -> async::task<> {
        const async::message question = co_await client.next();
        const remote_ring<std::byte>::writer out{
            client,
            ring_description::decode(question.bytes().first<ring_description::encoded_size>())};
        remote_ring<std::byte>::reader in{client, sizes};
        co_await send_bytes(client, in.description().encode());
        co_await async::when_all(read(in, 1), write(out, 2));
        co_await client.disconnect();
      },
      [&](async::connection& server) -> async::task<> {
        remote_ring<std::byte>::reader in{server, sizes};
        co_await send_bytes(server, in.description().encode());
        ring_description theirs;
        {
          const async::message answer = co_await server.next();
          theirs = ring_description::decode(answer.bytes().first<ring_description::encoded_size>());
        }
        const remote_ring<std::byte>::writer out{server, theirs};
        co_await async::when_all(read(in, 2), write(out, 1));
        co_await server.disconnect();
      });
  CHECK(right == 2);
}

TEST_CASE("A writer waits for the reader, and goes on when one slot is free",
          "[ibv_post_send][ibv_post_recv]") {
  both_sides both;
  std::uint32_t written = 0;
  std::uint32_t written_while_held = 0;
  std::vector<std::uint64_t> numbers;
  both.run_both(
      [&](async::connection& client) -> async::task<> {
        remote_ring<record>::reader in{client, {.slots = 8}};
        co_await describe_to(client, in.description());
        std::vector<remote_ring<record>::entry> held;
        for (int each = 0; each < 8; ++each) held.push_back(co_await in.next());
        CHECK(in.held() == 8);
        co_await async::sleep_for(both.loop, std::chrono::milliseconds{30});
        written_while_held = written;
        // The last first, and one at a time.
        while (!held.empty()) {
          numbers.push_back(held.back()->number);
          held.pop_back();
          const auto next = co_await in.next();
          numbers.push_back(next->number);
        }
        while (const auto each = co_await in.next()) numbers.push_back(each->number);
      },
      [&](async::connection& server) -> async::task<> {
        const remote_ring<record>::writer out{server, co_await ask_for_ring(server)};
        for (; written < 20; ++written) {
          co_await out.room();
          out.claim() = numbered(written);
          out.publish();
        }
        co_await out.close();
        co_await server.disconnect();
      });
  CHECK(written_while_held == 8);
  CHECK(numbers.size() == 20);
  std::ranges::sort(numbers);
  CHECK(std::ranges::adjacent_find(numbers) == numbers.end());
  CHECK(numbers.back() == 19);
}

TEST_CASE("A writer gets any number of slots that the reader has freed while it holds the others",
          "[ibv_post_send][ibv_post_recv]") {
  both_sides both;
  constexpr std::uint32_t slots = 20;
  std::uint32_t rounds = 0;
  both.run_both(
      [&](async::connection& client) -> async::task<> {
        remote_ring<record>::reader in{client, {.slots = slots}};
        co_await describe_to(client, in.description());
        for (std::uint32_t freed = 1; freed <= slots; ++freed) {
          std::vector<remote_ring<record>::entry> held;
          while (held.size() < slots) held.push_back(co_await in.next());
          held.resize(slots - freed);
          const auto next = co_await in.next();
          rounds += next->number == freed ? 1 : 0;
        }
        const auto none = co_await in.next();
        CHECK_FALSE(none);
      },
      [&](async::connection& server) -> async::task<> {
        const remote_ring<record>::writer out{server, co_await ask_for_ring(server)};
        for (std::uint32_t freed = 1; freed <= slots; ++freed) {
          co_await out.drain();
          for (std::uint32_t each = 0; each < slots; ++each) out.claim() = numbered(0);
          co_await out.room(freed);
          out.claim() = numbered(freed);
          out.publish();
        }
        co_await out.close();
        co_await server.disconnect();
      });
  CHECK(rounds == slots);
}

TEST_CASE("A batch that is longer than the send queue is written in order",
          "[ibv_post_send][ibv_post_recv]") {
  both_sides both;
  std::uint64_t read = 0;
  bool are_right = true;
  both.run_both([&](async::connection& client) { return read_all(client, 60, read, are_right); },
                [&](async::connection& server) -> async::task<> {
                  const remote_ring<record>::writer out{server, co_await ask_for_ring(server)};
                  std::uint64_t each = 0;
                  while (each < 300) {
                    record* const claimed = out.try_claim();
                    if (claimed != nullptr)
                      *claimed = numbered(each++);
                    else
                      co_await out.room();
                  }
                  co_await out.close();
                  co_await server.disconnect();
                },
                with_few_sends);
  CHECK(are_right);
  CHECK(read == 300);
}

TEST_CASE("Published entries are written although their writer is destroyed at once",
          "[ibv_post_send][ibv_post_recv]") {
  both_sides both;
  std::uint64_t read = 0;
  both.run_both(
      [&](async::connection& client) -> async::task<> {
        remote_ring<record>::reader in{client, {.slots = 20}};
        co_await describe_to(client, in.description());
        while (read < 6) read += (co_await in.next())->number == read ? 1 : 0;
        co_await client.disconnect();
      },
      [&](async::connection& server) -> async::task<> {
        const ring_description ring = co_await ask_for_ring(server);
        {
          const remote_ring<record>::writer out{server, ring};
          for (std::uint64_t each = 0; each < 6; ++each) {
            record* claimed = out.try_claim();
            if (claimed == nullptr) {
              co_await out.room();
              claimed = &out.claim();
            }
            *claimed = numbered(each);
            out.publish();
          }
          // Lost, because it is not published.
          if (record* const lost = out.try_claim(); lost != nullptr) *lost = numbered(77);
        }
        const async::message none = co_await server.next();
        CHECK_FALSE(none);
      },
      with_few_sends);
  CHECK(read == 6);
}

TEST_CASE("The ends of a ring report why they cannot be made, or used") {
  both_sides both;
  failure why;
  both.run_both(
      [&](async::connection& client) -> async::task<> {
        CHECK_FALSE(remote_ring<record>::reader{client, {.slots = 80}, why});
        CHECK(why.code() == std::errc::invalid_argument);
        CHECK(std::string_view{why.what()}.find("88 receives, and it has 80") !=
              std::string_view::npos);
        CHECK_FALSE(remote_ring<record>::reader{client, {.slots = 0}, why});
        CHECK(why.code() == std::errc::invalid_argument);
        CHECK_FALSE(remote_ring<std::byte>::reader{client, {.slot_size = 0}, why});
        CHECK(why.code() == std::errc::invalid_argument);
        remote_ring<record>::reader in{client, {.slots = 4}};
        CHECK_FALSE(remote_ring<record>::reader{client, {.slots = 4}, why});
        CHECK(std::string_view{why.what()}.find("has a ring in this direction") !=
              std::string_view::npos);
        co_await describe_to(client, in.description());
        while (co_await in.next()) {
        }
      },
      [&](async::connection& server) -> async::task<> {
        const ring_description ring = co_await ask_for_ring(server);
        CHECK_FALSE(remote_ring<std::uint64_t>::writer{server, ring, why});
        CHECK(why.code() == std::errc::protocol_error);
        CHECK(std::string_view{why.what()}.find("have 40 bytes, and those of this program 8") !=
              std::string_view::npos);
        ring_description askew = ring;
        askew.distance += 1;
        CHECK_FALSE(remote_ring<record>::writer{server, askew, why});
        CHECK(why.code() == std::errc::protocol_error);
        CHECK(std::string_view{why.what()}.find(
                  "41 bytes apart, and entries of this program are aligned to 8") !=
              std::string_view::npos);
        const remote_ring<std::byte>::writer out{server, ring};
        CHECK(out.claim(sizeof(record) + 1, why).empty());
        CHECK(why.code() == std::errc::message_size);
        for (int each = 0; each < 4; ++each)
          CHECK(out.claim(sizeof(record), why).data() != nullptr);
        CHECK(out.claim(sizeof(record), why).data() == nullptr);
        CHECK(why.code() == std::errc::no_buffer_space);
        CHECK(std::string_view{why.what()}.find("4 are claimed") != std::string_view::npos);
        co_await out.room(5).report_to(why);
        CHECK(why.code() == std::errc::invalid_argument);
        CHECK(std::string_view{why.what()}.find("has 4 slots, and these are 5") !=
              std::string_view::npos);
        co_await out.close();
        CHECK(out.claim(0, why).data() == nullptr);
        CHECK(why.code() == std::errc::broken_pipe);
        co_await server.disconnect();
      });
}

TEST_CASE("A ring works with one request in progress, and over iWARP needs two") {
  both_sides both;
  async::connection_options one_request = for_rings;
  one_request.max_send_wr = 1;
  std::uint64_t read = 0;
  bool are_right = true;
  failure refused;
  std::error_code why;
  both.run_both(
      [&](async::connection& client) { return read_all(client, 4, read, are_right, why); },
      [&](async::connection& server) -> async::task<> {
        const ring_description ring = co_await ask_for_ring(server);
        const remote_ring<record>::writer out{server, ring, refused};
        if (out) {
          for (std::uint64_t each = 0; each < 9; ++each) {
            co_await out.room();
            out.claim() = numbered(each);
            out.publish();
          }
          co_await out.close();
        }
        co_await server.disconnect();
      },
      one_request);
  CHECK(are_right);
  CHECK(read == (on_iwarp() ? 0 : 9));
  CHECK(static_cast<bool>(refused) == on_iwarp());
  if (on_iwarp())
    CHECK(std::string_view{refused.what()}.find("max_send_wr is 1") != std::string_view::npos);
}

TEST_CASE("Entries of a ring are as aligned as their type", "[optional]") {
  struct alignas(64) line {
    std::array<std::uint64_t, 8> words;
  };
  both_sides both;
  std::uint64_t read = 0;
  const auto is_aligned = [](const line& each) {
    return reinterpret_cast<std::uintptr_t>(&each) % alignof(line) == 0;
  };
  // Large memory comes from the kernel, behind a head of 16 bytes.
  constexpr std::uint32_t slots = 4096;
  if (on_iwarp()) return tell_skip("a ring of 4,096 slots", "siw resizes no completion queue");
  async::connection_options options = for_rings;
  options.receives = 3 * slots;
  both.run_both(
      [&](async::connection& client) -> async::task<> {
        const remote_ring<line>::reader in{client, {.slots = slots}};
        co_await describe_to(client, in.description());
        while (const auto each = co_await in.next())
          read += is_aligned(*each) && each->words[7] == read ? 1 : 0;
      },
      [&](async::connection& server) -> async::task<> {
        const remote_ring<line>::writer out{server, co_await ask_for_ring(server)};
        for (std::uint64_t number = 0; number < 4; ++number) {
          line& claimed = out.claim();
          CHECK(is_aligned(claimed));
          claimed.words.fill(number);
        }
        co_await out.close();
        co_await server.disconnect();
      },
      options);
  CHECK(read == 4);
}

TEST_CASE("Writes to a ring fail when its reader has gone", "[rdma_disconnect]") {
  both_sides both;
  std::error_code why;
  both.run_both(
      [&](async::connection& client) -> async::task<> {
        remote_ring<record>::reader in{client, {.slots = 4}};
        co_await describe_to(client, in.description());
        const auto first = co_await in.next();
        in = {};
        // The entry stays.
        CHECK(is_numbered(*first, 0));
        co_await client.disconnect();
      },
      [&](async::connection& server) -> async::task<> {
        const remote_ring<record>::writer out{server, co_await ask_for_ring(server)};
        for (std::uint64_t each = 0; !why; ++each) {
          out.claim() = numbered(each);
          out.publish();
          co_await out.room().report_to(why);
        }
      });
  CHECK(why);
}

TEST_CASE("A wait at a ring ends with ECANCELED if the waits of its connection are cancelled") {
  both_sides both;
  bool is_cancelled = false;
  both.run_both(
      [&](async::connection& client) -> async::task<> {
        remote_ring<record>::reader in{client, {.slots = 4}};
        co_await describe_to(client, in.description());
        std::error_code why;
        both.loop.spawn([&]() -> async::task<> {
          co_await async::sleep_for(both.loop, std::chrono::milliseconds{10});
          client.cancel_waits();
        });
        const auto none = co_await in.next().report_to(why);
        CHECK_FALSE(none);
        CHECK(why == std::errc::operation_canceled);
        // The ring goes on.
        is_cancelled = true;
        const auto next = co_await in.next();
        CHECK(is_numbered(*next, 7));
        co_await client.disconnect();
      },
      [&](async::connection& server) -> async::task<> {
        const remote_ring<record>::writer out{server, co_await ask_for_ring(server)};
        while (!is_cancelled) co_await async::sleep_for(both.loop, std::chrono::milliseconds{1});
        out.claim() = numbered(7);
        out.publish();
        std::error_code why;
        co_await out.drain().report_to(why);
      });
}

TEST_CASE("A wait at a ring ends with ECANCELED if the program destroys that end of it") {
  both_sides both;
  for (const bool has_cancelled : {false, true}) {
    std::error_code why_no_entry;
    std::error_code why_no_room;
    bool is_read = false;
    both.run_both(
        [&](async::connection& client) -> async::task<> {
          remote_ring<record>::reader in{client, {.slots = 4}};
          co_await describe_to(client, in.description());
          // The entry fills one slot of the writer, which waits for all.
          const auto first = co_await in.next();
          CHECK(is_numbered(*first, 0));
          is_read = true;
          both.loop.post([&] {
            if (has_cancelled) client.cancel_waits();
            in = {};
          });
          const auto none = co_await in.next().report_to(why_no_entry);
          CHECK_FALSE(none);
        },
        [&](async::connection& server) -> async::task<> {
          remote_ring<record>::writer out{server, co_await ask_for_ring(server)};
          out.claim() = numbered(0);
          out.publish();
          both.loop.post([&] {
            if (has_cancelled) server.cancel_waits();
            out = {};
          });
          co_await out.room(4).report_to(why_no_room);
          // The end of the connection may lose the entry.
          while (!is_read) co_await async::sleep_for(both.loop, std::chrono::milliseconds{1});
        });
    CHECK(why_no_entry == std::errc::operation_canceled);
    CHECK(why_no_room == std::errc::operation_canceled);
  }
}

TEST_CASE("Published entries that wait for the send queue outlast the cancellation of waits") {
  both_sides both;
  std::uint64_t read = 0;
  both.run_both(
      [&](async::connection& client) -> async::task<> {
        remote_ring<record>::reader in{client, {.slots = 32}};
        co_await describe_to(client, in.description());
        while (const auto each = co_await in.next()) read += is_numbered(*each, read) ? 1 : 0;
        co_await client.disconnect();
      },
      [&](async::connection& server) -> async::task<> {
        const remote_ring<record>::writer out{server, co_await ask_for_ring(server)};
        for (std::uint64_t each = 0; each < 8; ++each) {
          record* claimed = out.try_claim();
          // The send queue is full.
          if (claimed == nullptr) {
            server.cancel_waits();
            std::error_code why;
            co_await out.room().report_to(why);
            claimed = &out.claim();
          }
          *claimed = numbered(each);
          out.publish();
        }
        server.cancel_waits();
        co_await out.drain();
        co_await out.close();
        co_await server.disconnect();
      },
      with_few_sends);
  CHECK(read == 8);
}

TEST_CASE("A ring that is closed is whole at its reader although the connection ends at once") {
  // Nothing but the end is left to send. It and the disconnect go different ways.
  for (int round = 0; round < 10; ++round) {
    both_sides both;
    std::error_code why;
    std::uint64_t read = 0;
    bool are_right = true;
    both.run_both(
        [&](async::connection& client) { return read_all(client, 4, read, are_right, why); },
        [&](async::connection& server) -> async::task<> {
          const remote_ring<record>::writer out{server, co_await ask_for_ring(server)};
          out.claim() = numbered(0);
          co_await out.drain();
          co_await out.close();
          co_await server.disconnect();
        });
    CHECK(are_right);
    CHECK(read == 1);
    CHECK_FALSE(why);
  }
}

TEST_CASE("A ring whose connection ends before it is closed fails at its reader") {
  both_sides both;
  std::error_code why;
  std::uint64_t read = 0;
  bool are_right = true;
  both.run_both(
      [&](async::connection& client) { return read_all(client, 4, read, are_right, why); },
      [&](async::connection& server) -> async::task<> {
        const remote_ring<record>::writer out{server, co_await ask_for_ring(server)};
        out.claim() = numbered(0);
        co_await out.drain();
        co_await server.disconnect();
      });
  CHECK(are_right);
  CHECK(read == 1);
  CHECK(why == std::errc::connection_reset);
}

TEST_CASE("A ring outlives its connection, and reports that") {
  both_sides both;
  std::error_code why;
  both.run_both(
      [&](async::connection& client) -> async::task<> {
        remote_ring<record>::reader in{client, {.slots = 4}};
        client = {};
        const auto first = co_await in.next().report_to(why);
        CHECK_FALSE(first);
        co_await async::sleep_for(both.loop, std::chrono::milliseconds{200});
        failure later;
        const auto none = co_await in.next().report_to(later);
        CHECK_FALSE(none);
        CHECK(later);
      },
      [&](async::connection& server) -> async::task<> {
        static_cast<void>(co_await server.next().report_to(why));
      });
}

namespace {

/// A frame of a ring: a type, and places; filled up to 40 bytes.
[[nodiscard]] std::vector<std::byte> frame(int type, const std::vector<std::uint32_t>& numbers,
                                           std::size_t each = 1) {
  std::vector<std::byte> bytes(std::max<std::size_t>(4 + numbers.size() * 4, 40));
  bytes[0] = static_cast<std::byte>(type);
  bytes[1] = static_cast<std::byte>(numbers.size() / each);
  std::ranges::copy(std::as_bytes(std::span{numbers}), bytes.begin() + 4);
  return bytes;
}

}  // namespace

TEST_CASE("Frames of a hostile writer are refused with a sentence", "[ibv_post_recv]") {
  struct attack {
    std::string_view sentence;
    std::vector<std::byte> sent;
  };
  constexpr std::uint32_t length = sizeof(record);
  const std::array attacks{
      attack{"a slot that the ring does not have", frame(2, {4, length}, 2)},
      attack{"a slot that the ring does not have", frame(2, {0xffffff, length}, 2)},
      attack{"a slot that it does not have", frame(2, {1, length, 1, length}, 2)},
      attack{"an earlier use of a slot", frame(2, {0x01000000, length}, 2)},
      attack{"another length", frame(2, {0, length + 1}, 2)},
      attack{"another length", frame(2, {0, length - 1}, 2)},
      attack{"no frame of a ring", frame(2, std::vector<std::uint32_t>(10), 1)},
      attack{"no frame of a ring", frame(5, {0, length}, 2)},
      attack{"no frame of a ring", frame(2, {})},
      attack{"no frame of a ring", frame(3, {0})},
      attack{"no frame of a ring", std::vector<std::byte>(3)},
      attack{"no frame of a ring", std::vector<std::byte>(256)},
      attack{"no frame of a ring", {std::byte{3}, std::byte{}, std::byte{}, std::byte{}}},
  };
  for (const attack& each : attacks) {
    CAPTURE(each.sentence);
    both_sides both;
    failure why;
    both.run_both(
        [&](async::connection& client) -> async::task<> {
          remote_ring<record>::reader in{client, {.slots = 4}};
          co_await describe_to(client, in.description());
          while (co_await in.next().report_to(why)) {
          }
        },
        [&](async::connection& server) -> async::task<> {
          static_cast<void>(co_await ask_for_ring(server));
          std::error_code ended;
          const async::loop_memory memory = server.memory(each.sent.size());
          std::ranges::copy(each.sent, memory.bytes().begin());
          co_await server.send(memory.buffer()).report_to(ended);
          static_cast<void>(co_await server.next().report_to(ended));
        });
    CHECK(why.code() == std::errc::protocol_error);
    CHECK(std::string_view{why.what()}.find(each.sentence) != std::string_view::npos);
  }
}

TEST_CASE("Writes of a hostile writer are refused with a sentence", "[optional][ibv_post_recv]") {
  struct attack {
    std::string_view sentence;
    std::uint32_t number;
    std::uint32_t length;
  };
  for (const attack each : {attack{"a slot that the ring does not have", 4, sizeof(record)},
                            attack{"a slot that it does not have", 1, sizeof(record)},
                            attack{"an earlier use of a slot", 0x01000000, sizeof(record)},
                            attack{"another length", 0, 64}, attack{"another length", 0, 8}}) {
    CAPTURE(each.sentence);
    both_sides both;
    failure why;
    bool has_immediates = true;
    both.run_both(
        [&](async::connection& client) -> async::task<> {
          remote_ring<record>::reader in{client, {.slots = 4}};
          has_immediates = !adverb::detail::is_iwarp(client.protection_domain().context());
          co_await describe_to(client, in.description());
          std::vector<remote_ring<record>::entry> held;
          do held.push_back(co_await in.next().report_to(why));
          while (held.back());
        },
        [&](async::connection& server) -> async::task<> {
          const ring_description ring = co_await ask_for_ring(server);
          if (!has_immediates) co_return;
          std::error_code ended;
          const async::loop_memory memory = server.memory(64);
          // A slot is written for the second time.
          for (int write = 0; write < 2; ++write)
            co_await server
                .perform(write_with_immediate(ring.memory, static_cast<immediate>(each.number),
                                              memory.slice(0, each.length)))
                .report_to(ended);
          static_cast<void>(co_await server.next().report_to(ended));
        });
    if (!has_immediates) skip("remote_ring", "the device has no writes with immediate data");
    CHECK(why.code() == std::errc::protocol_error);
    CHECK(std::string_view{why.what()}.find(each.sentence) != std::string_view::npos);
  }
}

TEST_CASE("A hostile reader is refused with a sentence", "[ibv_post_recv]") {
  struct attack {
    std::string_view sentence;
    std::vector<std::byte> sent;
  };
  const std::array attacks{
      attack{"a slot that the ring does not have", frame(1, {4})},
      attack{"a slot that it does not have", frame(1, {3})},
      attack{"a slot that it does not have", frame(1, {0, 0})},
      attack{"an earlier use of a slot", frame(1, {0x01000000})},
      attack{"no frame of a ring", frame(1, {0}, 2)},
      attack{"a ring that this side does not have", frame(2, {0, 8}, 2)},
      attack{"a ring that this side does not have", frame(3, {})},
  };
  for (const attack& each : attacks) {
    CAPTURE(each.sentence);
    both_sides both;
    failure why;
    both.run_both(
        [&](async::connection& client) -> async::task<> {
          const async::loop_memory slots = client.memory(
              4 * sizeof(record), access_right::local_write | access_right::remote_write);
          co_await describe_to(client, {.slots = 4,
                                        .slot_size = sizeof(record),
                                        .distance = sizeof(record),
                                        .memory = slots.region().remote_writable()});
          std::error_code ended;
          const async::loop_memory memory = client.memory(each.sent.size());
          std::ranges::copy(each.sent, memory.bytes().begin());
          static_cast<void>(co_await client.next().report_to(ended));
          co_await client.send(memory.buffer()).report_to(ended);
          while (co_await client.next().report_to(ended)) {
          }
        },
        [&](async::connection& server) -> async::task<> {
          const remote_ring<record>::writer out{server, co_await ask_for_ring(server)};
          for (std::uint64_t number = 0; number < 2; ++number) out.claim() = numbered(number);
          out.publish();
          co_await out.room(4).report_to(why);
        });
    CHECK(why.code() == std::errc::protocol_error);
    CHECK(std::string_view{why.what()}.find(each.sentence) != std::string_view::npos);
  }
}

TEST_CASE("A description of a ring that is none is refused") {
  const ring_description right{.slots = 4,
                               .slot_size = 30,
                               .distance = 32,
                               .memory = {adopt, 0x1000, 128, static_cast<rkey>(7)}};
  CHECK(ring_description::decode(right.encode()) == right);
  const auto is_refused = [](const ring_description& wrong) {
    std::error_code why;
    static_cast<void>(ring_description::decode(wrong.encode(), why));
    return why == std::errc::protocol_error;
  };
  const auto with = [&](const auto& change) {
    ring_description wrong = right;
    change(wrong);
    return wrong;
  };
  CHECK(is_refused(with([](ring_description& wrong) { wrong.slots = 0; })));
  CHECK(is_refused(with([](ring_description& wrong) { wrong.slots = 5; })));
  CHECK(is_refused(with([](ring_description& wrong) { wrong.slot_size = 0; })));
  CHECK(is_refused(with([](ring_description& wrong) { wrong.slot_size = 33; })));
  CHECK(is_refused(with([](ring_description& wrong) {
    wrong.slots = (1U << 24U) + 1;
    wrong.slot_size = wrong.distance = 1;
    wrong.memory = {adopt, 0x1000, (std::size_t{1} << 24U) + 1, static_cast<rkey>(7)};
  })));
  auto bytes = right.encode();
  bytes[0] ^= std::byte{1};
  std::error_code why;
  static_cast<void>(ring_description::decode(bytes, why));
  CHECK(why == std::errc::protocol_error);
}

TEST_CASE("A description of a ring that needs more memory than allowed is refused") {
  const ring_description large{
      .slots = 1U << 12U,
      .slot_size = 1U << 14U,
      .distance = 1U << 14U,
      .memory = {adopt, 0x1000, std::size_t{64} << 20U, static_cast<rkey>(7)}};
  failure why;
  static_cast<void>(ring_description::decode(large.encode(), why));
  CHECK(why.code() == std::errc::message_size);
  const std::string text{why.what()};
  CHECK(text.find("needs 67133440 bytes here, the limit is 67108864") != std::string::npos);
  CHECK(ring_description::decode(large.encode(), std::uint64_t{65} << 20U) == large);
  CHECK(ring_description::decode(large.encode(), std::uint64_t{67'133'440}) == large);
  std::error_code code;
  static_cast<void>(ring_description::decode(large.encode(), std::uint64_t{67'133'439}, code));
  CHECK(code == std::errc::message_size);
  // The queue of slots has room for a power of two.
  ring_description many = large;
  many.slots = (1U << 22U) + 1;
  many.slot_size = many.distance = 1;
  many.memory = {adopt, 0x1000, many.slots, static_cast<rkey>(7)};
  constexpr std::uint64_t needed = 3 * ((1U << 22U) + 1) + (4U << 23U);
  CHECK(ring_description::decode(many.encode(), needed) == many);
  static_cast<void>(ring_description::decode(many.encode(), needed - 1, code));
  CHECK(code == std::errc::message_size);
}
