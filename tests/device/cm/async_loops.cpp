// SPDX-License-Identifier: MIT
// Loops of tasks: sleeping, functions of other threads, exceptions, and several tasks at once.
#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

#include <adverb/adverb.hpp>
#include <adverb/async.hpp>
#include <support/catch.hpp>
#include <support/sanitized.hpp>
#include <support/sleep_meter.hpp>

#include "cm/async_side.hpp"

using namespace async_test;
using namespace std::chrono_literals;
using std::chrono::steady_clock;

namespace {

async::task<> fail_after(async::device_loop& loop, timeout length, const char* words) {
  co_await async::sleep_for(loop, length);
  throw std::runtime_error{words};
}

async::task<int> count_after(async::device_loop& loop, timeout length, int number,
                             std::vector<int>& ended) {
  co_await async::sleep_for(loop, length);
  ended.push_back(number);
  co_return number;
}

async::task<> note_after(async::device_loop& loop, timeout length, int number,
                         std::vector<int>& ended) {
  static_cast<void>(co_await count_after(loop, length, number, ended));
}

/// A pipe, whose descriptors are closed at its end.
struct pipe_ends {
  pipe_ends() {
    int ends[2] = {};
    REQUIRE(::pipe(ends) == 0);
    read_end = ends[0];
    write_end = ends[1];
  }
  pipe_ends(const pipe_ends&) = delete;
  pipe_ends& operator=(const pipe_ends&) = delete;
  ~pipe_ends() {
    ::close(read_end);
    close_write_end();
  }
  void write(const std::string& words) const {
    CHECK(::write(write_end, words.data(), words.size()) == static_cast<ssize_t>(words.size()));
  }
  [[nodiscard]] std::string read() const {
    std::string words(64, 0);
    words.resize(static_cast<std::size_t>(::read(read_end, words.data(), words.size())));
    return words;
  }
  void close_write_end() {
    if (write_end != -1) ::close(std::exchange(write_end, -1));
  }

  int read_end = -1;
  int write_end = -1;
};

}  // namespace

TEST_CASE("Tasks sleep at least as long as requested, and wake in the order of their times",
          "[rdma_create_event_channel]") {
  for (const async::waiting way : {async::waiting::events, async::waiting::busy}) {
    async::event_loop loop{{.waiting = way}};
    std::vector<int> ended;
    const auto begin = steady_clock::now();
    loop.spawn(note_after(loop, 300ms, 3, ended));
    loop.spawn(note_after(loop, 100ms, 1, ended));
    loop.spawn(note_after(loop, 0ms, 0, ended));
    loop.spawn(note_after(loop, 200ms, 2, ended));
    CHECK(ended.empty());
    loop.run();
    const auto length = steady_clock::now() - begin;
    CHECK(ended == std::vector{0, 1, 2, 3});
    CHECK(length >= 300ms);
  }
}

TEST_CASE("A loop that has no descriptor left wakes for its timers",
          "[rdma_create_event_channel]") {
  async::event_loop loop;
  std::vector<int> ended;
  rlimit old{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &old) == 0);
  const rlimit none{0, old.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  const auto begin = steady_clock::now();
  loop.spawn(note_after(loop, 80ms, 1, ended));
  loop.run();
  const auto length = steady_clock::now() - begin;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &old) == 0);
  CHECK(ended == std::vector{1});
  CHECK(length >= 80ms);
}

TEST_CASE("A loop sleeps until its next timer, whichever was set first or has gone",
          "[rdma_create_event_channel]") {
  const auto slept = [] {
    async::event_loop loop;
    std::vector<int> ended;
    std::error_code cancelled;
    std::error_code never_reached;
    const sleep_meter meter;
    loop.spawn(
        [&]() -> async::task<> { co_await async::sleep_for(loop, 1min).report_to(cancelled); });
    loop.spawn(note_after(loop, 30ms, 1, ended), [&](const std::exception_ptr&) {
      loop.cancel_sleeps();
      loop.spawn([&]() -> async::task<> {
        co_await async::sleep_for(loop, timeout::endless()).report_to(never_reached);
      });
      loop.spawn(note_after(loop, 400ms, 3, ended),
                 [&](const std::exception_ptr&) { loop.cancel_sleeps(); });
      loop.spawn(note_after(loop, 100ms, 2, ended));
    });
    loop.run();
    CHECK(cancelled == std::errc::operation_canceled);
    CHECK(never_reached == std::errc::operation_canceled);
    CHECK(ended == std::vector{1, 2, 3});
    return meter.slept();
  };
  CHECK(best_sleep(230ms, slept) >= 230ms);
}

TEST_CASE("Cancelled sleeps report ECANCELED, and the task can sleep again",
          "[rdma_create_event_channel]") {
  async::event_loop loop;
  std::error_code code;
  bool slept_again = false;
  loop.spawn([](async::device_loop& at, std::error_code& first, bool& again) -> async::task<> {
    co_await async::sleep_for(at, timeout::endless()).report_to(first);
    co_await async::sleep_for(at, 1ms);
    again = true;
  }(loop, code, slept_again));
  loop.cancel_sleeps();
  loop.run();
  CHECK(code == std::errc::operation_canceled);
  CHECK(slept_again);
}

TEST_CASE("A task that sleeps is destroyed with its loop", "[rdma_create_event_channel]") {
  const auto shared = std::make_shared<int>();
  {
    async::event_loop loop;
    loop.spawn([](async::device_loop& at, std::shared_ptr<int>) -> async::task<> {
      co_await async::sleep_for(at, timeout::endless());
    }(loop, shared));
    CHECK(shared.use_count() == 2);
  }
  CHECK(shared.use_count() == 1);
}

TEST_CASE("A connection goes on while other tasks sleep", "[rdma_connect][rdma_accept]") {
  side here;
  int answers = 0;
  std::vector<int> ended;
  here.loop.spawn(serve(here, 1));
  here.loop.spawn(ask(here, 20, answers));
  for (int each = 0; each < 50; ++each)
    here.loop.spawn(note_after(here.loop, std::chrono::milliseconds{each % 7}, each, ended));
  here.loop.run();
  CHECK(answers == 20);
  CHECK(ended.size() == 50);
}

TEST_CASE("Functions of another thread are called in order while the loop sleeps",
          "[rdma_create_event_channel]") {
  async::event_loop loop;
  std::vector<int> called;
  const auto loop_thread = std::this_thread::get_id();
  bool was_elsewhere = false;
  loop.spawn(fail_after(loop, timeout::endless(), "never"), [](const std::exception_ptr&) {});
  const std::jthread other{[&] {
    for (int each = 0; each < 100; ++each) {
      loop.post([&, each, only_moved = std::make_unique<int>(each)] {
        if (std::this_thread::get_id() != loop_thread || *only_moved != each) was_elsewhere = true;
        called.push_back(each);
      });
      if (each % 10 == 0) std::this_thread::sleep_for(1ms);
    }
    loop.post([&] {
      loop.spawn(note_after(loop, 1ms, 100, called),
                 [&](const std::exception_ptr&) { loop.cancel_sleeps(); });
    });
  }};
  loop.run();
  REQUIRE(called.size() == 101);
  for (int each = 0; each < 101; ++each) CHECK(called[static_cast<std::size_t>(each)] == each);
  CHECK_FALSE(was_elsewhere);
}

TEST_CASE("A posted function that throws ends run, and the next run calls the others",
          "[rdma_create_event_channel]") {
  async::event_loop loop;
  std::vector<int> called;
  loop.post([&] { called.push_back(1); });
  loop.post([] { throw std::runtime_error{"told"}; });
  loop.post([&] {
    called.push_back(2);
    loop.post([&] { called.push_back(3); });
  });
  CHECK_THROWS_WITH(loop.run(), "told");
  CHECK(called == std::vector{1});
  loop.run();
  CHECK(called == std::vector{1, 2, 3});
}

TEST_CASE("A stop that comes with an exception, or with the end of a wait, ends the next run") {
  async::event_loop loop;
  const pipe_ends ends;
  bool has_slept = false;
  loop.spawn([&]() -> async::task<> {
    co_await async::sleep_for(loop, 1min);
    has_slept = true;
  });
  // Both come in one turn of the loop.
  const auto stop_with = [&] {
    loop.post([&] {
      CHECK(::write(ends.write_end, "", 1) == 1);
      loop.stop();
    });
  };
  const auto wait_for_byte = [&]() -> async::task<> {
    co_await async::readable(loop, ends.read_end);
    char byte = 0;
    CHECK(::read(ends.read_end, &byte, 1) == 1);
  };
  SECTION("an exception") {
    loop.spawn([&]() -> async::task<> {
      co_await wait_for_byte();
      throw std::runtime_error{"the task fails"};
    });
    stop_with();
    CHECK_THROWS_WITH(loop.run(), "the task fails");
  }
  SECTION("the end of a wait") {
    stop_with();
    CHECK_NOTHROW(loop.wait(wait_for_byte()));
  }
  loop.run();
  CHECK_FALSE(has_slept);
}

TEST_CASE("Posted functions that were not called are destroyed with their loop",
          "[rdma_create_event_channel]") {
  const auto shared = std::make_shared<int>();
  {
    async::event_loop loop;
    for (int each = 0; each < 3; ++each) loop.post([shared] { FAIL(); });
    CHECK(shared.use_count() == 4);
  }
  CHECK(shared.use_count() == 1);
}

TEST_CASE("The function given to spawn gets the outcome of its task, and the loop continues",
          "[rdma_create_event_channel]") {
  async::event_loop loop;
  std::vector<std::string> ends;
  std::vector<int> ended;
  const auto note = [&](const std::exception_ptr& failure) {
    try {
      if (failure) std::rethrow_exception(failure);
      ends.emplace_back("returned");
    } catch (const std::runtime_error& failed) {
      ends.emplace_back(failed.what());
    }
  };
  const auto shared = std::make_shared<int>();
  loop.spawn(fail_after(loop, 1ms, "told"), note);
  loop.spawn(note_after(loop, 20ms, 1, ended), note);
  loop.spawn(
      [](std::shared_ptr<int>) -> async::task<> {
        throw std::runtime_error{"at once"};
        co_return;
      }(shared),
      [&](const std::exception_ptr& failure) {
        note(failure);
        CHECK(shared.use_count() == 1);  // The task has been destroyed.
      });
  CHECK(ends == std::vector<std::string>{"at once"});
  loop.run();
  CHECK(ends == std::vector<std::string>{"at once", "told", "returned"});
  CHECK(ended == std::vector{1});
}

TEST_CASE("The function given to spawn is not called if the loop destroys its task",
          "[rdma_create_event_channel]") {
  bool has_end = false;
  {
    async::event_loop loop;
    loop.spawn(fail_after(loop, timeout::endless(), "never"),
               [&](const std::exception_ptr&) { has_end = true; });
  }
  CHECK_FALSE(has_end);
}

TEST_CASE("Each run throws one exception of a task, and none is lost",
          "[rdma_create_event_channel]") {
  async::event_loop loop;
  loop.spawn(fail_after(loop, 0ms, "first"));
  loop.spawn(fail_after(loop, 0ms, "second"));
  loop.spawn(fail_after(loop, 0ms, "third"),
             [](const std::exception_ptr& failure) { std::rethrow_exception(failure); });
  CHECK_THROWS_WITH(loop.run(), "first");
  CHECK_THROWS_WITH(loop.run(), "second");
  CHECK_THROWS_WITH(loop.run(), "third");
  loop.run();
}

TEST_CASE("A task awaits several tasks at once, and gets their results",
          "[rdma_create_event_channel]") {
  async::event_loop loop;
  std::vector<int> ended;
  std::optional<std::tuple<int, std::monostate, std::unique_ptr<int>>> results;
  const auto at_once = []() -> async::task<std::unique_ptr<int>> {
    co_return std::make_unique<int>(7);
  };
  loop.spawn([](auto& at, auto& order, auto& out, auto& third) -> async::task<> {
    out = co_await async::when_all(count_after(at, 200ms, 2, order), note_after(at, 1ms, 1, order),
                                   third());
    co_await async::when_all(note_after(at, 0ms, 3, order), note_after(at, 1ms, 4, order));
    out = co_await async::when_all(count_after(at, 0ms, 5, order), note_after(at, 0ms, 6, order),
                                   third());
    order.push_back(7);
  }(loop, ended, results, at_once));
  loop.run();
  CHECK(ended == std::vector{1, 2, 3, 4, 5, 6, 7});
  REQUIRE(results);
  static_assert(
      std::is_same_v<decltype(async::when_all(std::declval<async::task<std::pair<int, int>>>())
                                  .await_resume()),
                     std::tuple<std::pair<int, int>>>);
  CHECK(std::get<0>(*results) == 5);
  CHECK(*std::get<2>(*results) == 7);
}

TEST_CASE("Tasks that end at once are awaited together without growing the stack",
          "[rdma_create_event_channel]") {
  constexpr int times = test_support::is_sanitized ? 20'000 : 100'000;
  async::event_loop loop;
  int ended = 0;
  loop.spawn([](int& count) -> async::task<> {
    const auto end_at_once = [&]() -> async::task<> {
      ++count;
      co_return;
    };
    for (int each = 0; each < times; ++each) co_await async::when_all(end_at_once(), end_at_once());
  }(ended));
  loop.run();
  CHECK(ended == 2 * times);
}

TEST_CASE("The exception of one of several tasks is thrown when all have ended",
          "[rdma_create_event_channel]") {
  async::event_loop loop;
  std::vector<int> ended;
  std::string what;
  loop.spawn([](auto& at, auto& order, auto& out) -> async::task<> {
    try {
      co_await async::when_all(note_after(at, 20ms, 1, order), fail_after(at, 1ms, "told"),
                               fail_after(at, 0ms, "earlier"));
    } catch (const std::runtime_error& failed) {
      out = failed.what();
      order.push_back(2);
    }
  }(loop, ended, what));
  loop.run();
  CHECK(what == "told");
  CHECK(ended == std::vector{1, 2});
}

TEST_CASE("Several tasks that a task awaits are destroyed with it", "[rdma_create_event_channel]") {
  const auto shared = std::make_shared<int>();
  const auto sleep = [](async::device_loop& at, timeout length,
                        std::shared_ptr<int>) -> async::task<> {
    co_await async::sleep_for(at, length);
  };
  {
    async::event_loop loop;
    loop.spawn([](auto& at, auto& child, auto held) -> async::task<> {
      co_await async::when_all(child(at, 0ms, held), child(at, timeout::endless(), held),
                               child(at, timeout::endless(), held));
      FAIL();
    }(loop, sleep, shared));
    const std::jthread stopping{[&] {
      std::this_thread::sleep_for(20ms);
      loop.stop();
    }};
    loop.run();
    CHECK(shared.use_count() > 2);
  }
  CHECK(shared.use_count() == 1);
}

TEST_CASE("device_events fails if its descriptor cannot be watched", "[ibv_get_async_event]") {
  const context device = open_device();
  async::event_loop loop;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file{std::tmpfile(), &std::fclose};
  REQUIRE(file != nullptr);
  static_cast<void>(loop.queue(device));  // Creating it needs the descriptor.
  int& descriptor = device.native_handle()->async_fd;
  // Epoll refuses ordinary files.
  const int before = std::exchange(descriptor, ::fileno(file.get()));
  failure why;
  CHECK_FALSE(async::device_events{loop, device, why});
  CHECK(why.code() == std::errc::operation_not_permitted);
  CHECK(why.verb() == "epoll_ctl");
  descriptor = before;
  CHECK(async::device_events{loop, device, why});
  CHECK_FALSE(why);
}

TEST_CASE("A task waits until a descriptor is readable, or until its time limit",
          "[rdma_create_event_channel]") {
  async::event_loop loop;
  pipe_ends pipe;
  std::optional<bool> early;
  std::optional<bool> in_time;
  std::optional<bool> at_the_end;
  std::string taken;
  loop.spawn([&]() -> async::task<> {
    early = co_await async::readable(loop, pipe.read_end, 10ms);
    loop.spawn([&]() -> async::task<> {
      co_await async::sleep_for(loop, 1ms);
      pipe.write("hello");
    });
    in_time = co_await async::readable(loop, pipe.read_end, 1min);
    taken = pipe.read();
    pipe.close_write_end();
    at_the_end = co_await async::readable(loop, pipe.read_end);
  });
  loop.run();
  CHECK(early == false);
  CHECK(in_time == true);
  CHECK(taken == "hello");
  CHECK(at_the_end == true);
}

TEST_CASE("A task that a readable descriptor resumes may end the other waits",
          "[rdma_create_event_channel]") {
  std::optional<async::event_loop> loop{std::in_place};
  const pipe_ends first;
  const pipe_ends second;
  int resumed = 0;
  // Both descriptors are readable in one turn.
  first.write("1");
  second.write("2");
  const auto wait = [&](int descriptor) -> async::task<> {
    static_cast<void>(co_await async::readable(*loop, descriptor));
    ++resumed;
    loop->stop();
    loop->cancel_sleeps();
  };
  std::error_code cancelled;
  loop->spawn(wait(first.read_end));
  loop->spawn(wait(second.read_end), [](std::exception_ptr) {});
  loop->spawn([&]() -> async::task<> {
    static_cast<void>(co_await async::readable(*loop, first.write_end).report_to(cancelled));
  });
  loop->run();
  CHECK(resumed >= 1);
  CHECK(cancelled == std::errc::operation_canceled);
  loop.reset();
}

TEST_CASE("readable fails if its descriptor is invalid or already waited for",
          "[rdma_create_event_channel]") {
  async::event_loop loop;
  const pipe_ends pipe;
  std::error_code closed;
  std::error_code second;
  loop.spawn([&]() -> async::task<> {
    static_cast<void>(co_await async::readable(loop, -1).report_to(closed));
    loop.spawn([&]() -> async::task<> {
      const bool is_readable = co_await async::readable(loop, pipe.read_end);
      CHECK(is_readable);
    });
    static_cast<void>(co_await async::readable(loop, pipe.read_end).report_to(second));
    pipe.write("go on");
  });
  loop.run();
  CHECK(closed == std::errc::bad_file_descriptor);
  CHECK(second == std::errc::file_exists);
}
