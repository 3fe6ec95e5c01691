// SPDX-License-Identifier: MIT
// The life of a channel that resumes: every sequence of facts up to a length.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <adverb/messages/detail/resumption_life.hpp>
#include <support/catch.hpp>

using adverb::detail::resumption_action;
using adverb::detail::resumption_life;
using adverb::detail::resumption_phase;

namespace {

enum class fact : std::uint8_t { broken, ended, retry, request, failed, succeeded, over };
constexpr std::size_t fact_count = 7;

/// The owner of a life: it performs the actions, and notes those that break a rule.
struct owner {
  explicit owner(bool connects) : life{connects}, is_connecting{connects} {}

  resumption_life life;
  bool is_connecting;
  bool has_link = true;
  bool is_ending = false;
  bool has_attempt = false;
  bool has_request = false;
  bool waits = false;
  std::string wrong;

  void require(bool holds, const char* sentence) {
    if (!holds && wrong.empty()) wrong = sentence;
  }
  void act() {
    for (int each = 0;; ++each) {
      require(each < 5, "a life has actions without end");
      const resumption_action action = life.next();
      if (action == resumption_action::nothing || !wrong.empty()) return;
      require(!life.is_over(), "a life that is over has an action");
      switch (action) {
        case resumption_action::nothing: break;
        case resumption_action::end_link:
          require(has_link && !is_ending, "a link ends twice");
          is_ending = true;
          break;
        case resumption_action::wait:
          require(is_connecting, "the end that does not connect waits for its turn");
          require(!waits && !has_attempt && !has_link, "a wait follows no broken link");
          waits = true;
          break;
        case resumption_action::connect:
          require(is_connecting, "the wrong end connects");
          require(!has_link, "a link is connected while another one is in use");
          require(!has_attempt, "two links are connected at a time");
          has_attempt = true;
          break;
        case resumption_action::answer:
          require(has_request, "an answer has no request");
          require(!has_link, "a request is answered while another link is in use");
          require(!has_attempt, "two requests are answered at a time");
          has_request = false;
          has_attempt = true;
          break;
        case resumption_action::drop_attempt:
          require(has_attempt, "there is nothing to drop");
          has_attempt = false;
          break;
      }
    }
  }
  void take(fact which) {
    switch (which) {
      case fact::broken:
        if (has_link) life.link_broken();
        break;
      case fact::ended:
        if (has_link) life.link_ended();
        has_link = is_ending = false;
        break;
      case fact::retry:
        if (waits) life.retry();
        waits = false;
        break;
      case fact::request:
        has_request = !is_connecting && !life.is_over();
        life.request_arrived();
        break;
      case fact::failed:
      case fact::succeeded:
        if (!has_attempt || life.is_over()) break;
        has_attempt = false;
        if (which == fact::succeeded) {
          life.attempt_succeeded();
          has_link = true;
        } else {
          life.attempt_failed();
        }
        break;
      case fact::over: life.end(); break;
    }
    act();
    check();
  }
  void check() {
    if (life.is_over()) return;
    const resumption_phase at = life.phase();
    require((at == resumption_phase::connected || at == resumption_phase::ending) == has_link,
            "a phase has no link, or one too many");
    require((at == resumption_phase::connecting) == has_attempt, "an attempt has another phase");
    require(life.is_broken() == (at != resumption_phase::connected), "a broken link is not broken");
    // Progress: something will happen.
    if (at == resumption_phase::waiting)
      require(is_connecting ? waits : !has_request, "a broken link waits for nothing");
    if (at == resumption_phase::ending) require(is_ending, "a link that is ending is not ended");
  }
};

void explore(const owner& from, std::size_t depth, std::size_t& count, std::string& wrong,
             std::size_t& resumed) {
  for (std::size_t each = 0; each < fact_count && wrong.empty(); ++each) {
    owner next = from;
    const bool was_broken = next.life.is_broken();
    next.take(static_cast<fact>(each));
    ++count;
    wrong = next.wrong;
    if (was_broken && next.life.phase() == resumption_phase::connected) ++resumed;
    if (depth > 1) explore(next, depth - 1, count, wrong, resumed);
  }
}

}  // namespace

TEST_CASE("A life keeps its rules in every sequence of eight facts") {
  for (const bool is_connecting : {false, true}) {
    std::size_t count = 0;
    std::size_t resumed = 0;
    std::string wrong;
    explore(owner{is_connecting}, 8, count, wrong, resumed);
    CHECK(wrong == "");
    CHECK(count > 1'000'000);
    CHECK(resumed > 1'000);
  }
}

TEST_CASE("A connecting end tries again at growing intervals, and at once after a success") {
  owner self{true};
  self.take(fact::ended);
  std::vector<std::uint32_t> intervals;
  for (int round = 0; round < 9; ++round) {
    intervals.push_back(self.life.take_interval());
    self.take(fact::retry);
    CHECK(self.life.phase() == resumption_phase::connecting);
    self.take(fact::failed);
    CHECK(self.life.phase() == resumption_phase::waiting);
  }
  CHECK(intervals == std::vector<std::uint32_t>{10, 20, 40, 80, 160, 320, 640, 1000, 1000});
  self.take(fact::retry);
  self.take(fact::succeeded);
  CHECK(self.life.phase() == resumption_phase::connected);
  CHECK(self.life.take_interval() == 10);
}

TEST_CASE("A request replaces a link that this end takes for alive") {
  owner self{false};
  self.take(fact::request);
  CHECK(self.life.phase() == resumption_phase::ending);
  self.take(fact::ended);
  CHECK(self.life.phase() == resumption_phase::connecting);
  self.take(fact::request);
  CHECK(self.life.phase() == resumption_phase::connecting);
  self.take(fact::succeeded);
  CHECK(self.life.phase() == resumption_phase::connected);
}
