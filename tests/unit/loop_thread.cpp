// SPDX-License-Identifier: MIT
// A call of another thread while a loop runs, which the level DEBUG notices.
#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include <adverb/adverb.hpp>
#include <adverb/messages.hpp>
#include <support/catch.hpp>
#include <support/ended_program.hpp>

#include "tcp_network.hpp"

using namespace adverb;
using namespace channel_test;
using namespace std::chrono_literals;

namespace {

async::task<> nothing() { co_return; }

/// A loop with a channel that another thread runs for as long as this object lives.
class loop_of_other_thread {
 public:
  loop_of_other_thread() {
    here_.loop.spawn([this]() -> async::task<> { accepted_ = co_await here_.listener.accept(); });
    here_.loop.spawn([this]() -> async::task<> {
      connected_ = co_await messages::connect(here_.loop, here_.address(), few_receives());
      is_running_ = true;
      while (!is_over_) co_await async::sleep_for(here_.loop, 1ms);
      co_await connected_.close();
    });
    runner_ = std::thread{[this] { here_.loop.run(); }};
    while (!is_running_) std::this_thread::yield();
  }
  loop_of_other_thread(const loop_of_other_thread&) = delete;
  loop_of_other_thread& operator=(const loop_of_other_thread&) = delete;
  ~loop_of_other_thread() {
    is_over_ = true;
    runner_.join();
  }

  [[nodiscard]] async::event_loop& loop() noexcept { return here_.loop; }
  [[nodiscard]] const messages::channel& channel() const noexcept { return connected_; }

 private:
  both_ends here_;
  messages::channel accepted_;
  messages::channel connected_;
  std::atomic<bool> is_running_{false};
  std::atomic<bool> is_over_{false};
  std::thread runner_;
};

/// Returns the last words of a program that uses objects of a loop while another thread runs it.
std::string words_after(const std::function<void(loop_of_other_thread&)>& use) {
  return words_at_the_end([&] {
    loop_of_other_thread other;
    use(other);
  });
}

}  // namespace

TEST_CASE("A call of another thread ends the program while the loop runs") {
  const auto words = [](const char* call) {
    return std::string{call} +
           ": EINVAL (Invalid argument); another thread runs the loop, and only that may use its "
           "objects: post a function to it";
  };
  CHECK(words_after([](loop_of_other_thread& other) { other.loop().spawn(nothing()); }) ==
        words("device_loop::spawn"));
  CHECK(words_after([](loop_of_other_thread& other) {
          static_cast<void>(other.channel().try_send(std::string_view{"hello"}));
        }) == words("messages::channel"));
  CHECK(words_after([](loop_of_other_thread& other) {
          static_cast<void>(other.channel().next());
        }) == words("messages::channel"));
}

TEST_CASE("A loop may be filled by one thread and run by another") {
  async::event_loop loop;
  bool has_run = false;
  loop.spawn([&]() -> async::task<> {
    co_await async::sleep_for(loop, 0ms);
    has_run = true;
  });
  std::thread{[&] { loop.run(); }}.join();
  CHECK(has_run);
  has_run = false;
  loop.spawn([&]() -> async::task<> {
    has_run = true;
    co_return;
  });
  CHECK(has_run);
}

TEST_CASE("Another thread posts functions to a loop that runs") {
  std::atomic<bool> is_called{false};
  {
    loop_of_other_thread other;
    other.loop().post([&] {
      other.loop().spawn(nothing());
      is_called = true;
    });
    while (!is_called) std::this_thread::yield();
  }
  CHECK(is_called);
}
