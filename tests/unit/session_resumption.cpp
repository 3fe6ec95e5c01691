// SPDX-License-Identifier: MIT
// Two sessions of a channel whose link breaks: at every step of small scenarios, and in random
// orders.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include <adverb/messages/detail/message_session.hpp>
#include <support/catch.hpp>
#include <support/sanitized.hpp>

#include "two_sessions.hpp"

using namespace session_test;
using adverb::detail::session_point;

namespace {

/// One step of a program, which returns false if it cannot be done yet.
using program_step = std::function<bool(channel&)>;

/// Takes the first message of an end, or the offer, or refuses it.
[[nodiscard]] program_step consumes(bool is_near, bool takes) {
  return [=](channel& both) { return (is_near ? both.near : both.far).consume(takes); };
}
[[nodiscard]] program_step sends(bool is_near) {
  return [=](channel& both) { return (is_near ? both.near : both.far).send(7); };
}
/// The same, unless a side has closed.
[[nodiscard]] program_step tries_to_send(bool is_near) {
  return [=](channel& both) {
    static_cast<void>((is_near ? both.near : both.far).send(7));
    return true;
  };
}
[[nodiscard]] program_step offers(bool is_near) {
  return [=](channel& both) { return (is_near ? both.near : both.far).offer(1000); };
}
[[nodiscard]] program_step withdraws(bool is_near) {
  return [=](channel& both) {
    static_cast<void>((is_near ? both.near : both.far).withdraw());
    return true;
  };
}
[[nodiscard]] program_step closes(bool is_near) {
  return [=](channel& both) {
    (is_near ? both.near : both.far).close();
    return true;
  };
}

struct scenario {
  const char* name;
  std::vector<program_step> steps;
};

[[nodiscard]] std::vector<scenario> scenarios() {
  return {
      {"messages one way", {sends(true), sends(true), consumes(false, true), sends(true)}},
      {"messages both ways",
       {sends(true), sends(false), sends(true), consumes(true, true), consumes(false, true)}},
      {"an offer that is taken", {offers(true), consumes(false, true), sends(true)}},
      {"an offer that is refused", {offers(true), consumes(false, false), sends(false)}},
      {"offers both ways",
       {offers(true), offers(false), consumes(false, true), consumes(true, true)}},
      {"an offer that is withdrawn", {offers(true), withdraws(true), sends(true)}},
      {"an offer that is withdrawn when it is taken",
       {offers(true), consumes(false, true), withdraws(true), offers(true), consumes(false, true)}},
      {"offers and messages that are refused by the end",
       {offers(true), sends(true), offers(true), closes(false)}},
      {"an end while the other sends",
       {sends(true), closes(true), tries_to_send(false), closes(false)}},
  };
}

/// Does one of the things that can be done on the link, in an order of preference.
[[nodiscard]] bool step_link(channel& both, const std::array<int, 4>& order) {
  for (const int each : order) {
    switch (each) {
      case 0:
        if (both.near.act()) return true;
        break;
      case 1:
        if (both.far.act()) return true;
        break;
      case 2:
        if (both.near.receive()) return true;
        break;
      default:
        if (both.far.receive()) return true;
        break;
    }
  }
  return false;
}

/// Returns what is wrong at the end of a channel; an empty text if nothing is.
[[nodiscard]] std::string problem_of(const channel& both) {
  for (const end* const each : {&both.near, &both.far}) {
    if (each->violated != session_violation::none)
      return std::string{"violation: "} + std::string{describe(each->violated)};
    if (each->was_not_ready) return "a receive was missing";
    if (each->was_out_of_order) return "a message came twice, or out of order";
    if (!each->is_finished) return "an end has not finished";
    if (each->state.unconfirmed() != 0) return "a message is not confirmed";
    if (!each->kept.empty()) return "a message is kept";
    if (each->messages_received != each->peer->messages_sent) return "a message is lost";
    const auto written = std::ranges::count(each->peer->wishes, wish::fate::written, &wish::is);
    if (each->completed < written) return "an offer is written, and not complete";
    if (each->completed > each->peer->written) return "an offer is complete, and not written";
    if (std::ranges::count(each->wishes, wish::fate::open, &wish::is) != 0)
      return "an offer is open";
  }
  return {};
}

/// Runs a scenario to its end, and breaks the link before these steps. Returns the number of steps.
std::size_t run(channel& both, const std::vector<program_step>& steps,
                const std::array<int, 4>& order, std::array<std::size_t, 2> breaks, bool is_twice) {
  constexpr std::size_t most = 2000;
  std::size_t done = 0;
  std::size_t next = 0;
  bool is_program_next = true;
  for (std::size_t idle = 0; done < most; ++done) {
    if (std::ranges::find(breaks, done) != breaks.end()) {
      if (is_twice)
        both.break_link_twice();
      else
        both.break_link();
    }
    // The program and the link take turns.
    bool moved = false;
    if (is_program_next && next < steps.size() && steps[next](both)) {
      ++next;
      moved = true;
    }
    is_program_next = !is_program_next;
    moved = step_link(both, order) || moved;
    idle = moved ? 0 : idle + 1;
    if (idle < 4) continue;
    if (next < steps.size()) return most;
    if (both.near.is_finished && both.far.is_finished) return done;
    both.near.close();
    both.far.close();
    while (both.near.consume(true) || both.far.consume(true)) {
    }
    if (idle > 8) return most;
  }
  return most;
}

}  // namespace

TEST_CASE("A link that breaks at any step of a scenario loses nothing and repeats nothing") {
  std::size_t runs = 0;
  std::uint64_t replayed = 0;
  for (const scenario& each : scenarios()) {
    INFO(each.name);
    std::array<int, 4> order{0, 1, 2, 3};
    do {
      INFO("order " << order[0] << order[1] << order[2] << order[3]);
      constexpr std::size_t never = ~std::size_t{0};
      channel whole{4, 5, true};
      const std::size_t length = run(whole, each.steps, order, {never, never}, false);
      REQUIRE(problem_of(whole) == "");
      REQUIRE(length < 200);
      const auto stride = [](std::size_t first) {
        return first % 3 + (test_support::is_sanitized ? 5 : 1);
      };
      for (std::size_t first = 0; first <= length; ++first)
        for (std::size_t second = first; second <= length + 8; second += stride(first))
          for (const bool is_twice : {false, true}) {
            channel both{4, 5, true};
            static_cast<void>(run(both, each.steps, order, {first, second}, is_twice));
            const std::string problem = problem_of(both);
            ++runs;
            replayed += both.near.replayed + both.far.replayed;
            if (!problem.empty()) {
              INFO("broken before step " << first << " and " << second
                                         << (is_twice ? " twice" : ""));
              REQUIRE(problem == "");
            }
          }
    } while (std::ranges::next_permutation(order).found);
  }
  std::cout << runs << " runs, " << replayed << " messages sent again\n";
  CHECK(replayed > runs / 10);
}

TEST_CASE("Two sessions whose links break in random orders lose nothing, and end") {
  constexpr std::uint32_t first_seed = 1;
  constexpr std::uint32_t seeds = test_support::is_sanitized ? 5'000 : 20'000;
  std::uint64_t breaks = 0;
  std::uint64_t completed = 0;
  for (std::uint32_t seed = first_seed; seed < first_seed + seeds; ++seed) {
    INFO("seed " << seed);
    std::mt19937 random{seed};
    const auto below = [&](std::uint32_t bound) {
      return std::uniform_int_distribution<std::uint32_t>{0, bound - 1}(random);
    };
    channel both{4 + below(6), 4 + below(6), true};
    const std::uint32_t length = 50 + below(250);
    const std::uint32_t rarity = 10 + below(60);
    for (std::uint32_t step = 0; step < length; ++step) {
      end& which = below(2) == 0 ? both.near : both.far;
      switch (below(9)) {
        case 0: which.send(below(1000)); break;
        case 1: which.offer(1 + below(100'000)); break;
        case 2:
          if (below(4) == 0) which.withdraw();
          break;
        case 3:
        case 4: which.consume(below(3) != 0); break;
        case 5:
          if (below(40) == 0) which.close();
          if (below(5) == 0) which.state.request_confirmation();
          break;
        case 6: static_cast<void>(which.state.tick()); [[fallthrough]];
        case 7: which.act(); break;
        default: which.receive(); break;
      }
      if (below(rarity) != 0) continue;
      ++breaks;
      if (below(4) == 0)
        both.break_link_twice();
      else
        both.break_link();
    }
    const std::uint32_t frames = both.finish();
    REQUIRE(problem_of(both) == "");
    REQUIRE(frames < 400);
    for (const end* const each : {&both.near, &both.far}) {
      REQUIRE(each->posted == each->state.limits().receives + message_credits::spare_receives);
      completed += each->completed;
    }
  }
  std::cout << breaks << " broken links, " << completed << " offers complete, seeds from "
            << first_seed << '\n';
  CHECK(completed > seeds / 4);
}

TEST_CASE("A confirmation arrives when it is wanted, although the peer has nothing to send") {
  for (const std::uint32_t receives : {4U, 8U, 64U, 1000U}) {
    channel both{receives, receives, true};
    for (int round = 0; round < 100; ++round) {
      CHECK(both.near.send(1));
      both.near.state.request_confirmation();
      both.settle();
      CHECK(both.near.kept.empty());
      CHECK(both.near.state.unconfirmed() == 0);
      CHECK(both.far.consume(true));
      both.settle();
    }
  }
}

TEST_CASE("A peer whose program holds its messages grants the others on the next link") {
  channel both{4, 8, true};
  for (int i = 0; i < 6; ++i) CHECK(both.near.send(1));
  CHECK_FALSE(both.near.send(1));
  both.settle();
  for (int round = 0; round < 5; ++round) {
    both.break_link();
    both.settle();
    CHECK_FALSE(both.near.send(1));
  }
  CHECK(both.far.inbox.size() == 6);
  CHECK(both.near.replayed == 0);
  for (int i = 0; i < 6; ++i) CHECK(both.far.consume(true));
  both.settle();
  for (int i = 0; i < 6; ++i) CHECK(both.near.send(1));
  both.settle();
  CHECK(both.far.messages_received == 12);
  CHECK(problem_of(both) == "an end has not finished");
}

TEST_CASE("Messages that are sent again count as unconfirmed, and come before new ones") {
  channel both{4, 4, true};
  CHECK(both.near.send(1));
  CHECK(both.near.send(1));
  both.break_link();
  CHECK(both.near.state.unconfirmed() == 2);
  CHECK_FALSE(both.near.state.may_send_message());
  while (both.near.act()) {
  }
  CHECK(both.near.replayed == 2);
  CHECK_FALSE(both.near.send(1));
  both.settle();
  CHECK(both.far.messages_received == 2);
  CHECK(both.far.consume(true));
  CHECK(both.far.consume(true));
  both.settle();
  CHECK(both.near.send(1));
}

TEST_CASE("A peer that claims a wrong state of its end is refused with the reason") {
  const auto refuses = [](const session_point& claimed, session_violation reason) {
    channel both{4, 8, true};
    CHECK(both.near.send(1));
    CHECK(both.near.offer(100));
    both.settle();
    CHECK(both.far.consume(true));
    CHECK(both.far.consume(true));
    both.near.state.request_confirmation();
    both.settle();
    CHECK(both.near.state.unconfirmed() == 0);
    CHECK(both.near.send(1));
    static_cast<void>(both.near.state.break_link());
    CHECK(both.near.state.resume(claimed) == reason);
  };
  constexpr auto none = session_violation::none;
  constexpr auto wrong = session_violation::wrong_sequence;
  refuses({.next = 2, .ends = 1, .granted = 8}, none);
  refuses({.next = 3, .ends = 1, .granted = 8}, none);
  refuses({.next = 1, .ends = 1, .granted = 8}, wrong);
  refuses({.next = 4, .ends = 1, .granted = 8}, wrong);
  refuses({.next = 0xffff'ffff, .ends = 1, .granted = 8}, wrong);
  refuses({.next = 2, .ends = 0, .granted = 8}, wrong);
  refuses({.next = 2, .ends = 2, .granted = 8}, wrong);
  refuses({.next = 3, .ends = 1, .granted = 9}, session_violation::wrong_grant);
  refuses({.next = 3, .ends = 1, .granted = 8, .has_close = true}, wrong);
}

TEST_CASE("An offer is offered again only once a link, and only with its size") {
  using type = message_frame_type;
  const auto again = [](std::uint32_t length, std::uint32_t sequence) {
    return message_frame{.type = type::offer,
                         .flags = message_frame::again,
                         .length = length,
                         .sequence = sequence,
                         .granted = 8};
  };
  const auto far_of = [](bool is_broken) {
    channel both{8, 8, true};
    CHECK(both.near.offer(100));
    both.settle();
    if (is_broken) both.break_link();
    return both.far.state.receive(
        {.type = type::offer, .flags = message_frame::again, .length = 100, .granted = 8}, 16);
  };
  CHECK(far_of(false) == session_arrival::violation);
  CHECK(far_of(true) == session_arrival::none);
  channel both{8, 8, true};
  CHECK(both.near.offer(100));
  both.settle();
  both.break_link();
  message_session& far = both.far.state;
  CHECK(far.receive(again(101, 0), 16) == session_arrival::violation);
  CHECK(far.violation() == session_violation::unknown_offer);
  CHECK(far.receive(again(100, 0), 16) == session_arrival::none);
  CHECK(far.receive(again(100, 0), 16) == session_arrival::violation);
  CHECK(far.receive(again(100, 2), 16) == session_arrival::violation);
  CHECK(far.violation() == session_violation::wrong_sequence);
}

TEST_CASE("A withdrawn offer whose refusal is lost with the link frees both sides") {
  channel both{8, 8, true};
  for (std::uint32_t i = 0; i < 3 * message_session::most_offers; ++i) {
    REQUIRE(both.near.offer(100));
    both.settle();
    REQUIRE(both.near.withdraw());
    while (both.near.act()) {
    }
    while (both.far.receive()) {
    }
    both.break_link();
    both.settle();
    while (both.far.consume(true)) {
    }
  }
  both.near.close();
  both.settle();
  CHECK(problem_of(both) == "");
}

TEST_CASE(
    "A side whose peer has forgotten the session has finished if it has received everything") {
  channel both{4, 4, true};
  CHECK(both.near.send(1));
  both.near.close();
  both.settle();
  CHECK(both.near.is_finished);
  channel other{4, 4, true};
  CHECK(other.near.send(1));
  other.near.close();
  while (other.near.act()) {
  }
  CHECK_FALSE(other.near.state.finish_alone());
  while (other.far.receive() || other.far.act()) {
  }
  CHECK_FALSE(other.near.state.finish_alone());
  while (other.near.receive()) {
  }
  CHECK(other.near.state.finish_alone());
  CHECK(other.near.state.is_finished());
}
