// SPDX-License-Identifier: MIT
// Calls that other threads may make on the loop of asynchronous connections. Compiled with the
// thread sanitizer.
#include <atomic>
#include <chrono>
#include <csignal>
#include <exception>
#include <future>
#include <system_error>
#include <thread>
#include <vector>

#include <sys/time.h>

#include <adverb/adverb.hpp>
#include <support/catch.hpp>

#include "cm/net_side.hpp"

using namespace async_test;
using namespace std::chrono_literals;

TEST_CASE("Other threads can stop a loop repeatedly, and it can run again",
          "[rdma_create_event_channel]") {
  constexpr int clients = 4;
  constexpr int rounds = 20;
  side here;
  int answers = 0;
  here.loop.spawn(serve(here, clients));
  for (int each = 0; each < clients; ++each) here.loop.spawn(ask(here, rounds, answers));
  std::atomic<bool> is_over = false;
  std::vector<std::jthread> stopping;
  for (int each = 0; each < 2; ++each) {
    stopping.emplace_back([&] {
      while (!is_over) {
        here.loop.stop();
        std::this_thread::sleep_for(1ms);
      }
    });
  }
  int runs = 0;
  for (; answers != clients * rounds || here.loop.connections() != 0; ++runs) here.loop.run();
  is_over = true;
  CHECK(runs > 1);
}

TEST_CASE("Other threads post functions, which start tasks and stop the loop",
          "[rdma_connect][rdma_accept]") {
  constexpr int threads = 3;
  constexpr int rounds = 20;
  side here;
  int answers = 0;
  int ended = 0;
  here.loop.spawn(serve(here, threads));
  std::vector<std::jthread> posting;
  for (int each = 0; each < threads; ++each) {
    posting.emplace_back([&] {
      here.loop.post([&] {
        here.loop.spawn(ask(here, rounds, answers), [&](const std::exception_ptr&) { ++ended; });
      });
      for (int call = 0; call < 200; ++call)
        here.loop.post([&answers, call, moved = std::vector{call}] { answers += moved[0] - call; });
      here.loop.post([&] { here.loop.stop(); });
    });
  }
  while (ended != threads) here.loop.run();
  CHECK(answers == threads * rounds);
}

TEST_CASE("Names are looked up by other threads, even after the loop has ended",
          "[rdma_create_event_channel]") {
  constexpr int lookups = 8;
  const auto look_up = [](async::device_loop& loop, int& found) -> async::task<> {
    const auto addresses = co_await async::look_up(loop, environment("SOFTRDMA_ADDRESS"), 1);
    if (addresses == std::vector{device_address(1)}) ++found;
  };
  int found = 0;
  {
    async::event_loop loop;
    for (int each = 0; each < lookups; ++each) loop.spawn(look_up(loop, found));
    loop.run();
    CHECK(found == lookups);
    for (int each = 0; each < lookups; ++each) loop.spawn(look_up(loop, found));
  }
  CHECK(found == lookups);
}

TEST_CASE("A signal handler stops a loop", "[rdma_create_event_channel]") {
  static async::event_loop* to_stop = nullptr;
  side here;
  to_stop = &here.loop;
  bool has_ended = false;
  here.loop.spawn([](side& at, bool& ended) -> async::task<> {
    std::error_code ignored;
    static_cast<void>(co_await at.listener.accept(small).report_to(ignored));
    ended = true;
  }(here, has_ended));
  struct sigaction action{};
  action.sa_handler = [](int) { to_stop->stop(); };
  struct sigaction before{};
  ::sigaction(SIGALRM, &action, &before);
  const itimerval once{{0, 0}, {0, 50'000}};
  ::setitimer(ITIMER_REAL, &once, nullptr);
  here.loop.run();
  ::sigaction(SIGALRM, &before, nullptr);
  CHECK_FALSE(has_ended);
  here.listener.cancel_waits();
  here.loop.run();
  CHECK(has_ended);
}

TEST_CASE("Other threads spawn coroutines on an io_context, and wait for their results",
          "[rdma_connect][rdma_accept]") {
  constexpr int clients = 3;
  constexpr int rounds = 20;
  net_side here;
  here.spawn(net_serve(here, clients));
  std::vector<std::future<int>> answers;
  for (int each = 0; each < clients; ++each) {
    answers.push_back(std::async(std::launch::async, [&] {
      int own = 0;
      asio::co_spawn(here.context, net_ask(here.loop, here.address(), rounds, own),
                     asio::use_future)
          .get();
      return own;
    }));
  }
  here.run();
  for (std::future<int>& each : answers) CHECK(each.get() == rounds);
}

TEST_CASE("Other threads cancel by posting to the io_context", "[rdma_disconnect]") {
  net_side here;
  std::error_code accepted;
  here.listener.accept(small)(
      [&](std::error_code error, const async::connection&) { accepted = error; });
  const std::jthread cancelling{[&] {
    std::this_thread::sleep_for(20ms);
    asio::post(here.context, [&] { here.listener.cancel_waits(); });
  }};
  here.run();
  CHECK(accepted == operation_aborted);
}
