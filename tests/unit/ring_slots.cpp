// SPDX-License-Identifier: MIT
// The slots of a ring: both sides against each other in every order of events, and in random ones.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include <adverb/remote/detail/ring_slots.hpp>
#include <adverb/remote/ring_description.hpp>
#include <support/catch.hpp>
#include <support/sanitized.hpp>

#include "every_state.hpp"

using adverb::detail::ring_arrival;
using adverb::detail::ring_place;
using adverb::detail::ring_reader_slots;
using adverb::detail::ring_sizes;
using adverb::detail::ring_violation;
using adverb::detail::ring_writer_slots;

namespace {

/// Both sides, and the network between them, which keeps the order in each direction.
struct two_sides {
  two_sides(std::uint32_t slots, std::uint32_t at_once) : writer{slots}, reader{slots, at_once} {}

  void claim() { claims.push_back(writer.claim()); }
  void publish() {
    for (const ring_place each : claims) {
      writer.publish(each);
      writes.push_back(each);
      lengths.push_back(published++);
    }
    claims.clear();
  }
  [[nodiscard]] ring_violation write_arrives() {
    const ring_place first = writes.front();
    writes.pop_front();
    const std::uint32_t length = lengths.front();
    lengths.pop_front();
    return reader.arrive(first, length);
  }
  /// Returns true if the entry is the next one.
  [[nodiscard]] bool take() {
    const ring_arrival first = reader.take();
    held.push_back(first.slot);
    return first.length == taken++;
  }
  void free(std::size_t which) {
    reader.free(held[which]);
    held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
  }
  void acknowledge() {
    std::vector<ring_place> named(reader.due());
    for (ring_place& each : named) each = reader.acknowledge();
    acknowledgements.push_back(named);
  }
  [[nodiscard]] ring_violation acknowledgement_arrives() {
    for (const ring_place each : acknowledgements.front())
      if (const auto violated = writer.take_back(each); violated != ring_violation::none)
        return violated;
    acknowledgements.pop_front();
    return ring_violation::none;
  }

  /// Returns true if no slot is lost, and none is in two places.
  [[nodiscard]] bool has_every_slot() const {
    std::size_t acknowledged = 0;
    for (const auto& each : acknowledgements) acknowledged += each.size();
    const std::size_t with_reader = std::size_t{reader.arrived()} + reader.held() + reader.freed();
    return writer.free() + writer.claimed() + writer.in_flight() == writer.size() &&
           reader.with_writer() + with_reader == reader.size() &&
           writer.in_flight() == writes.size() + with_reader + acknowledged &&
           reader.held() == held.size() && writer.claimed() == claims.size();
  }
  /// Returns true if the writer can go on without the program of the reader.
  [[nodiscard]] bool is_stuck() const {
    return writer.free() == 0 && claims.empty() && writes.empty() && acknowledgements.empty() &&
           reader.arrived() == 0 && !reader.owes_acknowledgement() && reader.freed() != 0;
  }

  ring_writer_slots writer;
  ring_reader_slots reader;
  std::vector<ring_place> claims;
  std::deque<ring_place> writes;
  /// The number of each entry stands for its length.
  std::deque<std::uint32_t> lengths;
  std::vector<std::uint32_t> held;
  std::deque<std::vector<ring_place>> acknowledgements;
  std::uint32_t published = 0;
  std::uint32_t taken = 0;
};

/// Names a state by what happened to each slot.
[[nodiscard]] std::string name_of(const two_sides& at) {
  std::string name;
  const auto add = [&](std::uint32_t number) { name += std::to_string(number) + ' '; };
  for (const ring_place each : at.claims) add(each.encode());
  name += '|';
  for (const ring_place each : at.writes) add(each.encode());
  name += '|';
  for (const std::uint32_t each : at.held) add(each);
  name += '|';
  for (const auto& list : at.acknowledgements) {
    for (const ring_place each : list) add(each.encode());
    name += ',';
  }
  for (const std::uint32_t each : {at.published, at.taken, at.reader.freed(), at.writer.free()})
    add(each);
  // The content of the queues is seen when they are emptied.
  two_sides rest = at;
  while (rest.writer.free() != 0) add(rest.writer.claim().encode());
  name += '|';
  while (rest.reader.arrived() != 0) add(rest.reader.take().slot);
  name += '|';
  while (rest.reader.freed() != 0) add(rest.reader.acknowledge().encode());
  return name;
}

struct exploration {
  std::size_t states = 0;
  std::uint32_t most_entries = 0;
  std::size_t wrong = 0;
  std::size_t stuck = 0;

  void explore(const two_sides& start) {
    states = models::visit_every_state(
        start, name_of, [this](const two_sides& at, const auto& add) { go_on_from(at, add); });
  }

 private:
  /// An earlier use of a slot is refused.
  void repeat(const two_sides& at, ring_place place) {
    const ring_place before{.slot = place.slot,
                            .generation = static_cast<std::uint8_t>(place.generation - 1)};
    two_sides hostile = at;
    if (hostile.reader.arrive(before, 0) == ring_violation::none) ++wrong;
    if (hostile.writer.take_back(before) == ring_violation::none) ++wrong;
    if (hostile.reader.arrive({.slot = at.reader.size()}, 0) != ring_violation::unknown_slot)
      ++wrong;
    if (hostile.writer.take_back({.slot = at.writer.size()}) != ring_violation::unknown_slot)
      ++wrong;
  }

  template <class Add>
  void go_on_from(const two_sides& at, const Add& add) {
    if (!at.has_every_slot()) ++wrong;
    if (at.is_stuck()) ++stuck;
    const auto then = [&](const auto& action) {
      two_sides next = at;
      if (!action(next)) ++wrong;
      add(next);
    };
    if (at.writer.free() != 0 && at.published + at.claims.size() < most_entries)
      then([](two_sides& next) {
        next.claim();
        return true;
      });
    if (!at.claims.empty()) {
      // The reader frees no slot that is only claimed.
      two_sides hostile = at;
      if (hostile.writer.take_back(at.claims.back()) != ring_violation::foreign_slot) ++wrong;
      then([](two_sides& next) {
        next.publish();
        return true;
      });
    }
    if (!at.writes.empty())
      then([this](two_sides& next) {
        const ring_place first = next.writes.front();
        const bool is_right = next.write_arrives() == ring_violation::none;
        two_sides again = next;
        if (again.reader.arrive(first, 0) != ring_violation::foreign_slot) ++wrong;
        repeat(next, first);
        return is_right;
      });
    if (at.reader.arrived() != 0) then([](two_sides& next) { return next.take(); });
    for (std::size_t which = 0; which < at.held.size(); ++which)
      then([which](two_sides& next) {
        next.free(which);
        return true;
      });
    if (at.reader.owes_acknowledgement())
      then([](two_sides& next) {
        next.acknowledge();
        return true;
      });
    if (!at.acknowledgements.empty())
      then([this](two_sides& next) {
        const ring_place first = next.acknowledgements.front().front();
        const bool is_right = next.acknowledgement_arrives() == ring_violation::none;
        two_sides again = next;
        if (again.writer.take_back(first) != ring_violation::foreign_slot) ++wrong;
        return is_right;
      });
  }
};

}  // namespace

TEST_CASE(
    "No slot is lost or used twice in any order of claims, writes, ends and acknowledgements") {
  struct size {
    std::uint32_t slots;
    std::uint32_t at_once;
    std::uint32_t entries;
    std::size_t states;
  };
  for (const size each : {size{1, 1, 6, 43}, size{2, 1, 8, 737}, size{3, 1, 8, 9'476},
                          size{4, 1, 7, 44'788}, size{8, 2, 5, 3'420}}) {
    CAPTURE(each.slots, each.at_once, each.entries);
    // The sanitizers find nothing in the largest one that they do not find in the others.
    if (test_support::is_sanitized && each.states > 20'000) continue;
    exploration every;
    every.most_entries = each.entries;
    every.explore({each.slots, each.at_once});
    CHECK(every.wrong == 0);
    CHECK(every.stuck == 0);
    CHECK(every.states >= each.states);
  }
}

TEST_CASE("Rings of random sizes keep every slot for long") {
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    CAPTURE(seed);
    std::mt19937 random{seed};
    const auto below = [&](std::size_t limit) { return random() % limit; };
    const auto slots = 1 + static_cast<std::uint32_t>(below(40));
    const auto most_at_once = 1 + static_cast<std::uint32_t>(below(20));
    two_sides both{slots, std::min(ring_sizes::freed_at_once(slots), most_at_once)};
    bool is_right = true;
    std::uint32_t stuck = 0;
    for (int step = 0; step < 20'000; ++step) {
      switch (below(7)) {
        case 0:
          if (both.writer.free() != 0) both.claim();
          break;
        case 1: both.publish(); break;
        case 2:
          if (!both.writes.empty())
            is_right = both.write_arrives() == ring_violation::none && is_right;
          break;
        case 3:
          if (both.reader.arrived() != 0) is_right = both.take() && is_right;
          break;
        case 4:
          if (!both.held.empty()) both.free(below(both.held.size()));
          break;
        case 5:
          if (both.reader.owes_acknowledgement()) both.acknowledge();
          break;
        default:
          if (!both.acknowledgements.empty())
            is_right = both.acknowledgement_arrives() == ring_violation::none && is_right;
      }
      is_right = both.has_every_slot() && is_right;
      if (both.is_stuck()) ++stuck;
    }
    CHECK(is_right);
    CHECK(stuck == 0);
    CHECK(both.taken > 200);
  }
}

TEST_CASE("A place of a ring has 8 bits of generation above 24 bits of slot") {
  constexpr ring_place last{.slot = 0xabcdef, .generation = 0x12};
  STATIC_REQUIRE(last.encode() == 0x12abcdef);
  STATIC_REQUIRE(ring_place::decode(0x12abcdef) == last);
}

TEST_CASE("A slot goes through all generations") {
  ring_writer_slots writer{1};
  ring_reader_slots reader{1, 1};
  for (int use = 0; use < 600; ++use) {
    const ring_place place = writer.claim();
    REQUIRE(place.generation == use % 256);
    writer.publish(place);
    REQUIRE(reader.arrive(place, 0) == ring_violation::none);
    reader.free(reader.take().slot);
    REQUIRE(reader.owes_acknowledgement());
    REQUIRE(writer.take_back(reader.acknowledge()) == ring_violation::none);
  }
}

TEST_CASE("Acknowledgements wait for a quarter of the slots, unless the writer has none") {
  ring_writer_slots writer{8};
  ring_reader_slots reader{8, ring_sizes::freed_at_once(8)};
  const auto write = [&] {
    const ring_place place = writer.claim();
    writer.publish(place);
    REQUIRE(reader.arrive(place, 0) == ring_violation::none);
  };
  write();
  reader.free(reader.take().slot);
  CHECK_FALSE(reader.owes_acknowledgement());
  for (int each = 0; each < 7; ++each) write();
  CHECK(reader.with_writer() == 0);
  // The program still has entries to take.
  CHECK_FALSE(reader.owes_acknowledgement());
  while (reader.arrived() != 0) static_cast<void>(reader.take());
  CHECK(reader.owes_acknowledgement());
  CHECK(reader.due() == 1);
}
