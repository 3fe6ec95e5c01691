// SPDX-License-Identifier: MIT
// The state machine of a channel: scenarios, and two sessions against each other in random orders.
#include <algorithm>
#include <array>
#include <cstdint>
#include <iostream>
#include <memory>
#include <random>

#include <adverb/messages/detail/message_session.hpp>
#include <support/catch.hpp>
#include <support/sanitized.hpp>

#include "two_sessions.hpp"

using namespace session_test;

TEST_CASE("A message spends a credit, and is confirmed by the next frame that grants one") {
  channel both;
  CHECK(both.near.send(10));
  both.settle();
  CHECK(both.far.messages_received == 1);
  CHECK(both.near.state.unconfirmed() == 1);
  CHECK(both.far.consume(true));
  CHECK(both.far.send(10));
  both.settle();
  CHECK(both.near.state.unconfirmed() == 0);
}

TEST_CASE("An offer is taken, written and completed") {
  channel both;
  CHECK(both.near.offer(1 << 20));
  both.settle();
  CHECK(both.far.consume(true));
  both.settle();
  CHECK(both.near.wishes[0].is == wish::fate::written);
  CHECK(both.far.completed == 1);
}

TEST_CASE("A refused offer frees both sides") {
  channel both;
  for (std::uint32_t i = 0; i < 3 * message_session::most_offers; ++i) {
    CHECK(both.near.offer(100));
    both.settle();
    CHECK(both.far.consume(false));
    both.settle();
    CHECK(both.near.wishes.back().is == wish::fate::refused);
    while (both.far.consume(true)) {
    }
  }
}

TEST_CASE("A withdrawn offer is over for the receiver, also if its answer crosses the withdrawal") {
  for (const bool crosses : {false, true}) {
    channel both;
    CHECK(both.near.offer(100));
    both.settle();
    if (crosses) {
      CHECK(both.far.consume(true));
      while (both.far.act()) {
      }
    }
    CHECK(both.near.withdraw());
    both.settle();
    CHECK(both.far.inbox.front().is_over);
    CHECK(both.near.written == 0);
    CHECK(both.far.completed == 0);
    both.near.close();
    both.settle();
    CHECK(both.near.is_finished);
    CHECK(both.far.is_finished);
  }
}

TEST_CASE("An offer that is withdrawn before its answer is sent is refused") {
  channel both;
  CHECK(both.near.offer(100));
  both.settle();
  CHECK(both.far.consume(true));
  CHECK(both.near.withdraw());
  while (both.near.act()) {
  }
  while (both.far.receive()) {
  }
  CHECK(both.far.inbox.front().is_over);
  while (both.far.act()) {
  }
  REQUIRE(!both.near.arriving.empty());
  CHECK(both.near.arriving.front().header.type == message_frame_type::refused);
  both.settle();
  CHECK(both.finish() < 60);
  CHECK(both.near.is_finished);
  CHECK(both.far.is_finished);
}

TEST_CASE("A close is confirmed with every message, although the program holds them") {
  channel both{4, 4};
  while (both.near.send(10)) {
  }
  both.near.close();
  both.settle();
  CHECK(both.near.is_finished);
  CHECK(both.near.state.unconfirmed() == 0);
  CHECK(both.far.messages_received == 2);
  CHECK(both.far.state.is_closed_by_peer());
}

TEST_CASE("A request for confirmations stays fulfilled when the numbers of messages wrap") {
  adverb::detail::requested_messages requested;
  constexpr std::uint32_t step = std::uint32_t{1} << 30;
  std::uint32_t confirmed = 0;
  for (int each = 0; each < 10; ++each) {
    requested.request(confirmed + 3);
    CHECK(requested.is_beyond(confirmed));
    for (int message = 0; message < 8; ++message) {
      confirmed += message == 0 ? 3 : step;
      requested.note_confirmed(confirmed);
      REQUIRE_FALSE(requested.is_beyond(confirmed));
    }
  }
}

TEST_CASE(
    "A peer that grants many receives has the memory of few, and confirms no message too early") {
  constexpr std::uint32_t granted = 65'536;
  CHECK(message_session::counted_frames(8) == 16);
  CHECK(message_session::counted_frames(granted) == 1'024);
  message_session state{{.receives = 8, .receives_of_peer = granted}};
  constexpr std::uint32_t sent = 3'000;
  for (std::uint32_t each = 0; each < sent; ++each)
    static_cast<void>(state.send_message({.length = 1}));
  for (const std::uint32_t received :
       {0U, 1U, 500U, sent - 1'100, sent - 1'024, sent - 1'023, sent - 10, sent}) {
    static_cast<void>(state.receive({.type = message_frame_type::refused,
                                     .flags = message_frame::withdrawn,
                                     .granted = granted + received},
                                    message_frame::header_size));
    CHECK(state.unconfirmed() >= sent - received);
    if (sent - received < 1'024) CHECK(state.unconfirmed() == sent - received);
  }
}

TEST_CASE("A peer that may be silent is probed unless the link does that") {
  for (const bool link_probes : {false, true}) {
    message_session state{{.peer_may_be_silent = true, .link_probes = link_probes}};
    for (std::uint32_t each = 0; each < 2 * message_session::ticks_to_death; ++each)
      CHECK(state.tick());
    CHECK((state.next() == session_action::send_probe) == !link_probes);
  }
}

TEST_CASE("A silent peer is probed at half of the time and dead at the end of it") {
  channel both;
  CHECK(both.near.state.tick());
  CHECK_FALSE(both.near.act());
  CHECK(both.near.state.tick());
  CHECK(both.near.act());
  CHECK(both.far.arriving.front().header.type == message_frame_type::probe);
  both.settle();
  for (std::uint32_t i = 0; i < 3; ++i) CHECK(both.near.state.tick());
  CHECK(both.near.act());
  both.far.arriving.clear();
  CHECK(both.near.state.tick());
  CHECK_FALSE(both.near.state.tick());
}

TEST_CASE("A probe finds an idle peer that has not confirmed the last credit frame") {
  channel both{4, 4};
  // The far side announces at once, and the near side has nothing to send.
  CHECK(both.near.send(1));
  both.settle();
  CHECK(both.far.consume(true));
  both.settle();
  for (int i = 0; i < 40; ++i) {
    CHECK(both.far.state.tick());
    CHECK(both.near.state.tick());
    both.settle();
  }
}

TEST_CASE("The accepting side of iWARP is silent until the connecting side has sent a frame") {
  end near{{.sends_first = true}};
  end far{{.waits_for_peer = true}};
  near.peer = &far;
  far.peer = &near;
  CHECK_FALSE(far.send(1));
  CHECK_FALSE(far.act());
  for (std::uint32_t each = 0; each < message_session::ticks_to_probe; ++each)
    CHECK(far.state.tick());
  CHECK_FALSE(far.act());
  CHECK_FALSE(far.state.may_send_failed());
  CHECK(near.act());
  CHECK(far.receive());
  CHECK(far.state.may_send_failed());
  CHECK(far.send(1));
}

TEST_CASE("A frame that violates the protocol is refused with its reason") {
  const auto refuses = [](const message_frame& which, std::size_t size, session_violation reason) {
    message_session state{{.receives = 4, .receives_of_peer = 4, .longest = 1000}};
    CHECK(state.receive(which, size) == session_arrival::violation);
    CHECK(state.violation() == reason);
    CHECK_FALSE(describe(reason).empty());
  };
  constexpr std::uint32_t granted = 4;
  refuses({.type = message_frame_type{0}, .granted = granted}, 16, session_violation::unknown_type);
  refuses({.type = message_frame_type{10}, .granted = granted}, 16,
          session_violation::unknown_type);
  refuses({.length = 5, .granted = granted}, 20, session_violation::wrong_size);
  refuses({.length = 5, .granted = granted}, 22, session_violation::wrong_size);
  refuses({.flags = message_frame::tagged, .length = 5, .granted = granted}, 21,
          session_violation::wrong_size);
  refuses({.type = message_frame_type::offer, .flags = message_frame::tagged, .granted = granted},
          16, session_violation::wrong_size);
  refuses({.type = message_frame_type::credit, .granted = granted}, 15,
          session_violation::wrong_size);
  refuses({.length = 1001, .granted = granted}, 1017, session_violation::too_long);
  refuses({.type = message_frame_type::offer, .length = 1001, .granted = granted}, 16,
          session_violation::too_long);
  refuses({.sequence = 1, .granted = granted}, 16, session_violation::wrong_sequence);
  refuses({.granted = granted + 1}, 16, session_violation::wrong_grant);
  refuses({.granted = granted - 1}, 16, session_violation::wrong_grant);
  refuses({.type = message_frame_type::take, .granted = granted}, 40,
          session_violation::unknown_offer);
  refuses({.type = message_frame_type::taken, .granted = granted}, 16,
          session_violation::unknown_offer);
  refuses({.type = message_frame_type::refused, .granted = granted}, 16,
          session_violation::unknown_offer);
  refuses({.type = message_frame_type::credit, .sequence = 1, .granted = granted}, 16,
          session_violation::wrong_sequence);
  refuses({.type = message_frame_type::close, .sequence = 1, .granted = granted}, 16,
          session_violation::wrong_sequence);
  refuses({.type = message_frame_type::close, .length = 1, .granted = granted}, 16,
          session_violation::wrong_sequence);

  message_session state{{.receives = 20, .receives_of_peer = 4}};
  for (std::uint32_t i = 0; i < message_session::most_offers; ++i)
    CHECK(state.receive(
              {.type = message_frame_type::offer, .length = 9, .sequence = i, .granted = 4}, 16) ==
          session_arrival::offer);
  CHECK(state.receive(
            {.type = message_frame_type::offer, .length = 9, .sequence = 16, .granted = 4}, 16) ==
        session_arrival::violation);
  CHECK(state.violation() == session_violation::too_many_offers);
  // Memory that the program has not given cannot be complete.
  CHECK(state.receive({.type = message_frame_type::taken, .length = 9, .granted = 4}, 16) ==
        session_arrival::violation);
  CHECK(state.violation() == session_violation::unknown_offer);

  message_session closed{{.receives = 4, .receives_of_peer = 4}};
  CHECK(closed.receive({.type = message_frame_type::close, .granted = 4}, 16) ==
        session_arrival::close);
  CHECK(closed.receive({.granted = 4}, 16) == session_arrival::violation);
  CHECK(closed.violation() == session_violation::after_close);
}

namespace {

/// Takes steps of two sessions in random orders, and closes both. `make` returns the two from a
/// source of random numbers, and `check` checks the receives of an end.
template <class Make, class Check>
void take_random_steps(const Make& make, const Check& check) {
  constexpr std::uint32_t first_seed = 1;
  constexpr std::uint32_t seeds = test_support::is_sanitized ? 5'000 : 20'000;
  std::uint64_t steps = 0;
  std::uint64_t offers = 0;
  for (std::uint32_t seed = first_seed; seed < first_seed + seeds; ++seed) {
    INFO("seed " << seed);
    std::mt19937 random{seed};
    const auto below = [&](std::uint32_t bound) {
      return std::uniform_int_distribution<std::uint32_t>{0, bound - 1}(random);
    };
    const auto made = make(below);
    channel& both = *made;
    const std::uint32_t length = 50 + below(150);
    // The programs are busy to different degrees.
    const std::array<std::uint32_t, 2> eagerness{1 + below(6), 1 + below(6)};
    for (std::uint32_t step = 0; step < length; ++step, ++steps) {
      const std::uint32_t side = below(2);
      end& which = side == 0 ? both.near : both.far;
      switch (below(9)) {
        case 0: which.send(below(1000)); break;
        case 1: which.offer(1 + below(100'000)); break;
        case 2:
          if (below(4) == 0) which.withdraw();
          break;
        case 3:
        case 4:
          if (below(eagerness[side]) == 0) which.consume(below(3) != 0);
          break;
        case 5:
          if (below(40) == 0) which.close();
          break;
        case 6: static_cast<void>(which.state.tick()); [[fallthrough]];
        case 7: which.act(); break;
        default: which.receive(); break;
      }
    }
    const std::uint32_t frames = both.finish();
    for (end* const each : {&both.near, &both.far}) {
      REQUIRE(each->violated == session_violation::none);
      REQUIRE_FALSE(each->was_not_ready);
      REQUIRE_FALSE(each->was_out_of_order);
      REQUIRE(each->is_finished);
      REQUIRE(each->state.unconfirmed() == 0);
      REQUIRE(each->messages_received == each->peer->messages_sent);
      REQUIRE(each->completed == each->peer->written);
      check(*each);
      REQUIRE(std::ranges::count(each->wishes, wish::fate::open, &wish::is) == 0);
      offers += each->completed;
    }
    REQUIRE(frames < 300);
  }
  std::cout << steps << " steps, " << offers << " offers written, seeds from " << first_seed
            << '\n';
  CHECK(offers > seeds / 2);
}

}  // namespace

TEST_CASE("Two sessions in random orders lose nothing, and end") {
  take_random_steps(
      [](const auto& below) { return std::make_unique<channel>(4 + below(6), 4 + below(6)); },
      [](const end& each) {
        REQUIRE(each.posted == each.state.limits().receives + message_credits::spare_receives);
      });
}

TEST_CASE("Two sessions that share receives lose nothing, and grant what is there") {
  std::shared_ptr<adverb::detail::receive_loans> all;
  std::uint32_t most_in_use = 0;
  take_random_steps(
      [&](const auto& below) {
        // The guarantees of both, and up to a dozen to lend.
        all = std::make_shared<adverb::detail::receive_loans>(12 + below(13));
        return std::make_unique<channel>(all, 4 + below(6));
      },
      [&](const end& each) {
        const std::uint32_t in_use = each.state.limits().share->in_use();
        most_in_use = std::max(most_in_use, in_use);
        REQUIRE(in_use >= message_credits::least_receives);
        REQUIRE(in_use <= each.state.limits().receives);
        REQUIRE(each.posted == in_use + message_credits::spare_receives);
        REQUIRE(all->receives() - all->lendable() == in_use +
                                                         each.peer->state.limits().share->in_use() +
                                                         2 * message_credits::spare_receives);
      });
  CHECK(most_in_use == 9);
}

TEST_CASE("An idle sender returns the credits that it was lent") {
  channel both{std::make_shared<adverb::detail::receive_loans>(64U), 32};
  const auto exchange = [&](int messages) {
    for (int i = 0; i < messages; ++i) {
      CHECK(both.near.send(10));
      both.settle();
      CHECK(both.far.consume(true));
      both.settle();
    }
  };
  exchange(40);
  CHECK(both.shares[1].in_use() == 32);
  // It is not idle while it sends.
  static_cast<void>(both.near.state.tick());
  exchange(1);
  static_cast<void>(both.near.state.tick());
  both.settle();
  CHECK(both.shares[1].in_use() == 32);

  static_cast<void>(both.near.state.tick());
  both.settle();
  CHECK(both.shares[1].in_use() == message_credits::least_receives);
  CHECK(both.far.violated == session_violation::none);
  CHECK(both.near.state.unconfirmed() == 0);
  exchange(40);
  CHECK(both.shares[1].in_use() == 32);
  both.finish();
  CHECK(both.near.is_finished);
  CHECK(both.far.is_finished);
}
