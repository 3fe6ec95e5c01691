// SPDX-License-Identifier: MIT
// The arithmetic of a send window, against a model that remembers every request.
#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <random>
#include <vector>

#include <adverb/queue/detail/send_credits.hpp>
#include <support/catch.hpp>

using adverb::detail::send_credits;

namespace {

/// Posts a chain as a window does, of which `accepted` requests are taken. Returns which of its
/// requests are signaled, or nothing when there is no room.
std::optional<std::vector<bool>> post(send_credits& credits, std::vector<bool> asked,
                                      std::size_t accepted) {
  const std::size_t count = asked.size();
  const bool any = std::find(asked.begin(), asked.end(), true) != asked.end();
  if (!any && credits.stays_in_stretch(count)) {
    CHECK(!credits.is_last_due(asked));
    if (accepted == count) {
      credits.count_unsignaled(count);
      return asked;
    }
  } else {
    if (!credits.fits(count)) return std::nullopt;
    asked.back() = credits.is_last_due(asked);
    if (count == 1) CHECK(asked.back());
  }
  for (std::size_t index = 0; index < accepted; ++index) credits.count(asked[index]);
  return asked;
}
std::optional<std::vector<bool>> post(send_credits& credits, const std::vector<bool>& asked) {
  return post(credits, asked, asked.size());
}

/// Every request in progress, and whether it completes.
struct model {
  std::uint32_t size;
  std::uint32_t every;
  bool all_complete;
  std::deque<bool> in_progress{};
  std::uint32_t since_signaled = 0;

  [[nodiscard]] bool is_last_due(const std::vector<bool>& asked) const {
    std::uint32_t since = since_signaled;
    for (const bool each : asked) since = each ? 0 : since + 1;
    return asked.back() || since >= every || in_progress.size() + asked.size() == size;
  }
  void take(bool signaled) {
    in_progress.push_back(signaled || all_complete);
    since_signaled = signaled || all_complete ? 0 : since_signaled + 1;
  }
  [[nodiscard]] bool has_completion() const {
    for (const bool each : in_progress)
      if (each) return true;
    return false;
  }
  void complete() {
    while (!in_progress.front()) in_progress.pop_front();
    in_progress.pop_front();
  }
};

void check_same(const send_credits& credits, const model& expected) {
  REQUIRE(credits.outstanding() == expected.in_progress.size());
  REQUIRE(credits.available() == expected.size - expected.in_progress.size());
  std::uint32_t tail = 0;
  for (auto each = expected.in_progress.rbegin(); each != expected.in_progress.rend() && !*each;
       ++each)
    ++tail;
  REQUIRE(credits.unsignaled() == tail);
}

/// Thousands of chains, completions and posts that are refused in part, in any order.
void run(model expected, unsigned seed) {
  send_credits credits{expected.size, expected.every, expected.all_complete};
  std::mt19937 random{seed};
  const auto up_to = [&](std::size_t limit) { return random() % (limit + 1); };
  for (int step = 0; step < 3000; ++step) {
    if (up_to(2) == 0) {
      REQUIRE(credits.succeeded() == expected.has_completion());
      if (expected.has_completion()) expected.complete();
    } else {
      std::vector<bool> asked(1 + up_to(3));
      for (std::size_t index = 0; index < asked.size(); ++index) asked[index] = up_to(9) == 0;
      const std::size_t accepted = up_to(9) == 0 ? up_to(asked.size()) : asked.size();
      const bool fits = asked.size() <= credits.available();
      const bool due = fits && expected.is_last_due(asked);
      const auto signaled = post(credits, asked, accepted);
      REQUIRE(signaled.has_value() == fits);
      if (!fits) continue;
      asked.back() = due;
      REQUIRE(*signaled == asked);
      for (std::size_t index = 0; index < accepted; ++index) expected.take(asked[index]);
    }
    check_same(credits, expected);
    // Never full of requests of which none completes.
    if (credits.available() == 0) REQUIRE(expected.has_completion());
  }
  CHECK(!credits.broken());
}

}  // namespace

TEST_CASE("Every n-th request and the request that takes the last credit are signaled") {
  send_credits credits{10, 4, false};
  CHECK(credits.signal_every() == 4);
  for (int index = 1; index <= 10; ++index) {
    const auto signaled = post(credits, {false});
    CHECK(signaled->front() == (index == 4 || index == 8 || index == 10));
  }
  CHECK(!post(credits, {false}));
  CHECK(credits.succeeded());
  CHECK(credits.outstanding() == 6);
  CHECK(credits.succeeded());
  CHECK(credits.succeeded());
  CHECK(credits.outstanding() == 0);
  CHECK(!credits.succeeded());
}

TEST_CASE("A request that the program signals restarts the count to n") {
  send_credits credits{16, 4, false};
  CHECK(!post(credits, {false})->front());
  CHECK(post(credits, {true})->front());
  for (int index = 1; index <= 4; ++index) CHECK(post(credits, {false})->front() == (index == 4));
  CHECK(credits.succeeded());
  CHECK(credits.outstanding() == 4);
}

TEST_CASE("A chain takes all its credits or none, and is signaled at its end") {
  send_credits credits{8, 4, false};
  CHECK(*post(credits, {false, false, false}) == std::vector{false, false, false});
  CHECK(*post(credits, {false, false, false}) == std::vector{false, false, true});
  CHECK(!post(credits, {false, false, false}));
  CHECK(credits.outstanding() == 6);
  CHECK(*post(credits, {false, false}) == std::vector{false, true});
  CHECK(credits.available() == 0);
}

TEST_CASE("A window of size 1 signals each request") {
  send_credits credits{1, 1, false};
  for (int round = 0; round < 5; ++round) {
    CHECK(post(credits, {false})->front());
    CHECK(!post(credits, {false}));
    CHECK(credits.succeeded());
  }
}

TEST_CASE("After a failure the counts are upper bounds, and each completion returns one credit") {
  send_credits credits{8, 4, false};
  for (int index = 0; index < 6; ++index) CHECK(post(credits, {false}));
  CHECK(credits.unsignaled() == 2);
  CHECK(credits.failed());
  CHECK(credits.broken());
  CHECK(credits.unsignaled() == 0);
  CHECK(credits.outstanding() == 5);
  CHECK(post(credits, {true}));
  for (int index = 0; index < 6; ++index) CHECK(credits.failed());
  CHECK(!credits.failed());
  credits.restart();
  CHECK(!credits.broken());
  CHECK(credits.outstanding() == 0);
  CHECK(!credits.succeeded());
  for (int index = 1; index <= 8; ++index)
    CHECK(post(credits, {false})->front() == (index % 4 == 0));
}

TEST_CASE("A refused signaled request leaves the signal to the next request") {
  send_credits credits{8, 2, false};
  CHECK(*post(credits, {false, false, false}, 2) == std::vector{false, false, true});
  CHECK(credits.outstanding() == 2);
  CHECK(post(credits, {false})->front());
  CHECK(credits.succeeded());
  CHECK(credits.outstanding() == 0);
}

TEST_CASE("Chains, completions and refusals in any order agree with the model") {
  for (const std::uint32_t size : {1U, 2U, 3U, 5U, 8U, 13U, 100U})
    for (const std::uint32_t every : {1U, 2U, 4U, 7U, 100U}) {
      if (every > size) continue;
      run({size, every, false}, size * 1000 + every);
      if (every == 1) run({size, 1, true}, size);
    }
}
