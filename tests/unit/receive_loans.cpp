// SPDX-License-Identifier: MIT
// The receives that channels share: every order of shares that come, receive, hold and go.
#include <array>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <adverb/async/detail/receive_loans.hpp>
#include <support/catch.hpp>

#include "every_state.hpp"

using adverb::detail::receive_loans;
using adverb::detail::receive_share;

namespace {

constexpr std::uint32_t guaranteed = 2;
constexpr std::uint32_t spare = 1;
constexpr std::uint32_t most = 3;

/// The events of a share.
enum class event : std::uint8_t {
  join,
  /// A message arrives: a receive that was granted is held, and another one may be lent.
  arrive,
  /// The program gives a message back: its receive is granted again, or goes back.
  give_back,
  /// The peer returns a credit.
  return_credit,
  leave,
};
struct step {
  std::uint8_t share;
  event is;
};

/// Follows the receives of one share without the library.
struct follower {
  std::optional<receive_share> share;
  std::uint32_t granted = 0;
  std::uint32_t held = 0;
  bool has_left = false;
};

/// Takes steps from the start, because loans cannot be copied.
struct run {
  run(std::uint32_t receives, const std::vector<step>& steps)
      : all{std::make_shared<receive_loans>(receives)} {
    for (const step& each : steps) can_go_on = can_go_on && take(each);
  }
  run(const run&) = delete;
  run& operator=(const run&) = delete;

  /// Returns false if the step is impossible.
  bool take(const step& each) {
    follower& self = users[each.share];
    switch (each.is) {
      case event::join:
        if (self.share && !self.has_left) return false;
        // The share that has left is destroyed.
        self = {};
        self.share.emplace(all, guaranteed, spare, most);
        if (!*self.share) {
          self.share.reset();
          // Only those that use and reserve the rest keep it out.
          std::uint32_t taken = 0;
          for (const follower& other : users)
            taken += in_use(other) + (other.share && !other.has_left ? spare : 0);
          is_wrong = is_wrong || taken + guaranteed + spare <= all->receives();
          return false;
        }
        self.granted = guaranteed;
        return true;
      case event::arrive:
        if (self.granted == 0) return false;
        --self.granted;
        ++self.held;
        self.granted += self.share->take() ? 1U : 0U;
        return true;
      case event::give_back:
        // Messages that are held at the end go back with the share.
        if (self.held == 0 || self.has_left) return false;
        --self.held;
        ++self.granted;
        if (self.share->shrink()) --self.granted;
        return true;
      case event::return_credit:
        if (self.granted == 0) return false;
        --self.granted;
        self.granted += self.share->take_back(1);
        return true;
      case event::leave:
        if (!self.share || self.has_left) return false;
        self.share->leave(self.held);
        self.granted = 0;
        self.has_left = true;
        return true;
    }
    return false;
  }
  [[nodiscard]] static std::uint32_t in_use(const follower& of) { return of.granted + of.held; }
  /// Returns true if every grant has a receive, and each share what it is guaranteed.
  [[nodiscard]] bool holds() const {
    std::uint32_t used = 0;
    std::uint32_t reserved = 0;
    for (const follower& each : users) {
      used += in_use(each);
      if (!each.share || each.has_left) continue;
      if (each.share->in_use() != in_use(each)) return false;
      if (in_use(each) < guaranteed) return false;
      reserved += spare;
    }
    return !is_wrong && used + reserved + all->lendable() == all->receives();
  }
  [[nodiscard]] std::string key() const {
    std::string key;
    for (const follower& each : users) {
      key.push_back(static_cast<char>(each.granted));
      key.push_back(static_cast<char>(each.held));
      key.push_back(static_cast<char>(each.has_left ? 2 : each.share ? 1 : 0));
    }
    return key;
  }

  std::shared_ptr<receive_loans> all;
  std::array<follower, 3> users;
  bool can_go_on = true;
  bool is_wrong = false;
};

}  // namespace

TEST_CASE("Shares of receives never use more than there are, and have what they are guaranteed") {
  for (const std::uint32_t receives : {6U, 8U, 11U}) {
    std::size_t wrong = 0;
    std::size_t lent = 0;
    std::size_t refused = 0;
    const auto visit = [&](const std::vector<step>& steps, const auto& add) {
      for (std::uint8_t share = 0; share < 3; ++share)
        for (const event is :
             {event::join, event::arrive, event::give_back, event::return_credit, event::leave}) {
          std::vector<step> longer = steps;
          longer.push_back({share, is});
          const run next{receives, longer};
          if (!next.holds()) ++wrong;
          if (!next.can_go_on) {
            if (is == event::join && !next.users[share].share) ++refused;
            continue;
          }
          if (next.users[share].granted + next.users[share].held > guaranteed) ++lent;
          add(longer);
        }
    };
    const auto name = [&](const std::vector<step>& steps) { return run{receives, steps}.key(); };
    const std::size_t states = models::visit_every_state(std::vector<step>{}, name, visit);
    std::cout << states << " states of " << receives << " receives\n";
    CHECK(states > 50);
    CHECK(wrong == 0);
    CHECK(lent != 0);
    // Two shares that have the most leave enough for a third, or not.
    CHECK((receives < 2 * (most + spare) + guaranteed + spare) == (refused != 0));
  }
}

TEST_CASE("A busy share is lent up to its most, and the last eighth goes to smaller shares") {
  const auto all = std::make_shared<receive_loans>(64U);
  receive_share large{all, 4, 2, 64};
  const receive_share idle{all, 4, 2, 64};
  REQUIRE(large);
  REQUIRE(idle);
  std::uint32_t taken = 0;
  while (large.take()) ++taken;
  CHECK(large.in_use() == 4 + taken);
  CHECK(all->lendable() == 8);
  CHECK_FALSE(large.shrink());

  // A newcomer takes its guarantee from the last eighth, and is lent the rest of it.
  receive_share third{all, 4, 2, 16};
  REQUIRE(third);
  CHECK(third.take());
  CHECK(all->lendable() == 1);
  // The large one shrinks, because it has more than its part.
  CHECK(large.shrink());
  CHECK(all->lendable() == 2);
  CHECK_FALSE(third.shrink());
}

TEST_CASE("Credits that a peer returns are lendable, and those that are guaranteed stay") {
  const auto all = std::make_shared<receive_loans>(32U);
  receive_share user{all, 4, 2, 16};
  for (int i = 0; i < 5; ++i) CHECK(user.take());
  CHECK(user.take_back(7) == 2);
  CHECK(user.in_use() == 4);
  CHECK(all->lendable() == 32 - 6);
}

TEST_CASE("A share that has left keeps the receives of held messages until it is destroyed") {
  const auto all = std::make_shared<receive_loans>(16U);
  {
    receive_share user{all, 4, 2, 16};
    user.leave(3);
    CHECK(all->lendable() == 13);
    CHECK(all->shares() == 0);
  }
  CHECK(all->lendable() == 16);
}

TEST_CASE("A share that is moved or destroyed gives back what it has") {
  const auto all = std::make_shared<receive_loans>(16U);
  {
    receive_share first{all, 4, 2, 16};
    receive_share second{std::move(first)};
    CHECK_FALSE(first);  // NOLINT(bugprone-use-after-move): it is empty.
    CHECK(all->lendable() == 10);
    second = receive_share{all, 4, 2, 16};
    CHECK(all->lendable() == 10);
    CHECK(all->shares() == 1);
  }
  CHECK(all->lendable() == 16);
  CHECK(all->shares() == 0);
}
