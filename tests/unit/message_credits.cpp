// SPDX-License-Identifier: MIT
// The credits of a channel: every order of sends, arrivals and messages given back on small sizes.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <adverb/messages/detail/message_credits.hpp>
#include <support/catch.hpp>
#include <support/sanitized.hpp>

#include "every_state.hpp"

using adverb::detail::message_credits;
using adverb::detail::message_frame;
using adverb::detail::message_frame_type;

namespace {

/// One end: its credits, its posted receives, the messages that its program holds, and the frames
/// that it has still to send.
struct end {
  message_credits counts;
  std::uint32_t posted;
  std::uint32_t held = 0;
  std::uint32_t messages_left;
  std::uint32_t controls_left;
  std::uint32_t probes_left;
  std::vector<message_frame> arriving{};

  end(std::uint32_t receives, std::uint32_t of_peer, std::uint32_t messages, std::uint32_t controls,
      std::uint32_t probes)
      : counts{receives, of_peer},
        posted{receives + message_credits::spare_receives},
        messages_left{messages},
        controls_left{controls},
        probes_left{probes} {}
};

struct pair_of_ends {
  std::array<end, 2> ends;
  bool is_broken = false;

  [[nodiscard]] std::string key() const {
    std::string key;
    const auto put = [&](const auto& value) {
      key.append(reinterpret_cast<const char*>(&value), sizeof value);
    };
    for (const end& each : ends) {
      put(each.counts);
      put(each.posted);
      put(each.held);
      put(each.messages_left);
      put(each.controls_left);
      put(each.probes_left);
      for (const message_frame& each_frame : each.arriving) put(each_frame);
      key.push_back('|');
    }
    return key;
  }

  void send(std::size_t side, message_frame_type type, std::uint8_t flags = 0) {
    message_frame sent{.type = type, .flags = flags};
    ends[side].counts.send(sent);
    ends[1 - side].arriving.push_back(sent);
  }

  /// The steps that the library takes by itself. Returns false if there is none.
  bool act(std::size_t side) {
    end& self = ends[side];
    if (self.controls_left != 0 && self.counts.may_send_control()) {
      --self.controls_left;
      send(side, message_frame_type::refused);
    } else if (self.counts.owes_credit()) {
      send(side, message_frame_type::credit);
    } else if (self.counts.owes_confirmation()) {
      send(side, message_frame_type::credit, message_frame::confirms);
    } else {
      return false;
    }
    return true;
  }
  /// A credit frame without need.
  bool probe(std::size_t side) {
    end& self = ends[side];
    if (self.probes_left == 0 || !self.counts.may_send_credit()) return false;
    --self.probes_left;
    send(side, message_frame_type::credit);
    return true;
  }
  bool send_message(std::size_t side) {
    end& self = ends[side];
    if (self.messages_left == 0 || !self.counts.may_send_message()) return false;
    --self.messages_left;
    send(side, message_frame_type::data);
    return true;
  }
  bool receive(std::size_t side) {
    end& self = ends[side];
    if (self.arriving.empty()) return false;
    const message_frame received = self.arriving.front();
    self.arriving.erase(self.arriving.begin());
    // The receiver is not ready, or the peer is taken for an offender.
    is_broken = is_broken || self.posted == 0 || !self.counts.receive(received);
    --self.posted;
    if (received.type == message_frame_type::data) {
      ++self.held;
    } else {
      ++self.posted;
      self.counts.receive_posted(received);
    }
    return true;
  }
  bool give_back(std::size_t side) {
    end& self = ends[side];
    if (self.held == 0) return false;
    --self.held;
    ++self.posted;
    self.counts.receive_posted({});
    return true;
  }
};

struct outcome {
  std::size_t states = 0;
  std::size_t not_ready = 0;
  std::size_t stuck = 0;
};

/// Visits every state. A state is stuck if nothing is under way, and a side has answers to send, or
/// messages although the programs hold none.
outcome explore(const pair_of_ends& start) {
  outcome found;
  const auto visit = [&](const pair_of_ends& state, const auto& add) {
    bool can_act = false;
    pair_of_ends next = state;
    for (std::size_t side = 0; side < 2; ++side)
      for (const auto step : {&pair_of_ends::act, &pair_of_ends::probe, &pair_of_ends::send_message,
                              &pair_of_ends::receive, &pair_of_ends::give_back}) {
        // A step that cannot be taken changes nothing.
        if (!(next.*step)(side)) continue;
        if (step != &pair_of_ends::give_back) can_act = true;
        if (next.is_broken)
          ++found.not_ready;
        else
          add(next);
        next = state;
      }
    std::uint32_t messages = 0;
    std::uint32_t controls = 0;
    std::uint32_t held = 0;
    for (const end& each : state.ends) {
      messages += each.messages_left;
      controls += each.controls_left;
      held += each.held;
    }
    if (!can_act && (controls != 0 || (messages != 0 && held == 0))) ++found.stuck;
  };
  found.states = models::visit_every_state(start, &pair_of_ends::key, visit);
  return found;
}

}  // namespace

TEST_CASE("Every order of messages, answers and credit frames meets a posted receive") {
  struct sizes {
    std::uint32_t receives, of_peer, messages, messages_of_peer, controls, probes;
  };
  for (const sizes& each : {sizes{4, 4, 4, 2, 2, 0}, sizes{4, 4, 3, 1, 1, 1},
                            sizes{4, 5, 3, 2, 1, 0}, sizes{8, 4, 9, 1, 1, 0}}) {
    // The sanitizers find nothing in the largest one that they do not find in the others.
    if (test_support::is_sanitized && each.controls == 2) continue;
    const outcome found = explore(
        {{end{each.receives, each.of_peer, each.messages, each.controls, each.probes},
          end{each.of_peer, each.receives, each.messages_of_peer, each.controls, each.probes}}});
    std::cout << found.states << " states with " << each.receives << " and " << each.of_peer
              << " receives\n";
    CHECK(found.states > 1'000);
    CHECK(found.not_ready == 0);
    CHECK(found.stuck == 0);
  }
}

TEST_CASE("Ends that exchange no messages become silent") {
  // Each program holds as many messages as it can, and both have answers to send.
  pair_of_ends both{{end{4, 4, 9, 0, 0}, end{4, 4, 9, 0, 0}}};
  for (int round = 0; round < 20; ++round)
    for (std::size_t side = 0; side < 2; ++side) {
      while (both.send_message(side) || both.act(side)) {
      }
      while (both.receive(side)) {
      }
    }
  int frames = 0;
  for (std::size_t side = 0; side < 2; ++side) both.ends[side].controls_left = 6;
  for (bool is_busy = true; is_busy && frames < 1000;) {
    is_busy = false;
    for (std::size_t side = 0; side < 2; ++side) {
      while (both.act(side)) {
        is_busy = true;
        ++frames;
      }
      while (both.receive(side)) is_busy = true;
    }
  }
  CHECK_FALSE(both.is_broken);
  CHECK(both.ends[0].controls_left == 0);
  CHECK(both.ends[1].controls_left == 0);
  CHECK(frames < 60);
}

TEST_CASE("Grants are announced at a quarter of the receives, and to a peer that cannot send") {
  message_credits counts{8, 8};
  const auto receive = [&] {
    CHECK(counts.receive({.type = message_frame_type::data, .granted = 8}));
    return true;
  };
  receive();
  counts.receive_posted({});
  CHECK_FALSE(counts.owes_credit());
  receive();
  counts.receive_posted({});
  CHECK(counts.owes_credit());

  message_frame sent{};
  counts.send(sent);
  CHECK(sent.granted == 10);
  CHECK_FALSE(counts.owes_credit());
  for (int i = 0; i < 6; ++i) receive();
  CHECK_FALSE(counts.owes_credit());
  counts.receive_posted({});
  CHECK(counts.owes_credit());
}

TEST_CASE("A share that was refused a loan requests it again, although no message comes") {
  constexpr std::uint32_t least = message_credits::least_receives;
  constexpr std::uint32_t spare = message_credits::spare_receives;
  const auto all = std::make_shared<adverb::detail::receive_loans>(32U);
  adverb::detail::receive_share mine{all, least, spare, 32};
  std::optional<adverb::detail::receive_share> other;
  other.emplace(all, least, spare, 64U);
  while (other->take()) {
  }
  while (mine.take()) {
  }
  adverb::async::waiter waiter{[](adverb::async::waiter&) { return true; }};
  mine.set_waiter(waiter);
  const adverb::async::waiter* resumed = nullptr;
  all->set_resume(
      [](void* argument, adverb::async::waiter& which) {
        *static_cast<const adverb::async::waiter**>(argument) = &which;
      },
      &resumed);
  // The program holds every message that the peer may send.
  message_credits counts{32, 32, 0, &mine};
  for (std::uint32_t each = message_credits::reserve; each < mine.in_use(); ++each) {
    CHECK(counts.receive({.type = message_frame_type::data, .granted = 32}));
    counts.balance();
  }
  CHECK_FALSE(counts.owes_credit());
  const std::uint32_t in_use = mine.in_use();
  CHECK(waiter.is_waiting());
  CHECK(resumed == nullptr);
  SECTION("over the same link") { CHECK(counts.granted_now() == message_credits::reserve); }
  SECTION("over the next link, if the link breaks meanwhile") {
    counts.begin_again();
    CHECK(counts.granted_now() == message_credits::reserve);
  }
  other.reset();
  CHECK(resumed == &waiter);
  CHECK_FALSE(waiter.is_waiting());
  counts.balance();
  CHECK(mine.in_use() == in_use + 1);
  CHECK(counts.owes_credit());
  // Once is enough for the messages that have arrived.
  counts.balance();
  CHECK(mine.in_use() == in_use + 1);
  CHECK_FALSE(waiter.is_waiting());
}

TEST_CASE("A grant that exceeds the receives of the peer is refused") {
  message_credits counts{8, 8};
  CHECK_FALSE(counts.receive({.type = message_frame_type::credit, .granted = 9}));
  message_credits sender{8, 8};
  message_frame sent{};
  sender.send(sent);
  CHECK(sender.receive({.type = message_frame_type::credit, .granted = 9}));
  CHECK_FALSE(sender.receive({.type = message_frame_type::credit, .granted = 8}));
}

TEST_CASE("A frame beyond the announced grants is refused") {
  message_credits counts{4, 4};
  for (int i = 0; i < 4; ++i)
    CHECK(counts.receive({.type = message_frame_type::data, .granted = 4}));
  CHECK_FALSE(counts.receive({.type = message_frame_type::data, .granted = 4}));
}

TEST_CASE("A confirmation of a credit frame that was not sent is refused") {
  message_credits counts{4, 4};
  CHECK_FALSE(counts.receive({.type = message_frame_type::data, .credit_frames = 1, .granted = 4}));
}

TEST_CASE("A frame that only confirms is refused if it confirms nothing") {
  message_credits counts{4, 4};
  const message_frame confirmation{.type = message_frame_type::credit,
                                   .flags = message_frame::confirms,
                                   .credit_frames = 1,
                                   .granted = 4};
  message_frame sent{.type = message_frame_type::credit};
  counts.send(sent);
  CHECK(counts.receive(confirmation));
  CHECK_FALSE(counts.receive(confirmation));
}

TEST_CASE("A credit frame spends the credits that it returns, and no more than there are") {
  message_credits counts{8, 8};
  CHECK(counts.receive({.type = message_frame_type::credit, .lane = 5, .granted = 8}));
  // They are granted again.
  message_frame sent{.type = message_frame_type::credit};
  counts.send(sent);
  CHECK(sent.granted == 13);
  message_credits others{8, 8};
  CHECK_FALSE(others.receive({.type = message_frame_type::credit, .lane = 9, .granted = 8}));
}
