// SPDX-License-Identifier: MIT
// A thread that waits for one step after the other.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <system_error>
#include <thread>

#include <adverb/async.hpp>
#include <support/catch.hpp>

#include "loop_connection.hpp"

using namespace adverb;

namespace {

/// Calls a function when its completion is passed on.
template <class Function>
struct calling_operation : async::operation {
  explicit calling_operation(Function called)
      : operation{[](async::operation& self, const completion&) {
          static_cast<calling_operation&>(self).called_();
        }},
        called_{called} {}

 private:
  Function called_;
};

/// Completes an operation a moment later, from another thread.
[[nodiscard]] std::thread complete_soon(loop_connection& of, async::operation& which) {
  ibv_cq* const queue = of.loop.queue(of.context).native_handle();
  return std::thread{[&machine = of.machine, queue, &which] {
    std::this_thread::sleep_for(std::chrono::milliseconds{30});
    ibv_wc done{};
    done.wr_id = reinterpret_cast<std::uintptr_t>(&which);
    machine.complete(queue, done);
  }};
}

}  // namespace

TEST_CASE_METHOD(loop_connection, "What completes between two waits of a thread raises no event",
                 "[ibv_req_notify_cq][ibv_get_cq_event]") {
  bool is_done = false;
  calling_operation sets{[&] { is_done = true; }};
  machine.forget_calls();
  constexpr std::size_t waits = 4;
  for (std::size_t each = 0; each < waits; ++each) {
    if (each != 0) raise_event();  // That of a message which the thread has sent.
    is_done = false;
    std::thread other = complete_soon(*this, sets);
    CHECK(loop.run_until(is_done));
    other.join();
  }
  CHECK(machine.count<fake::called::get_cq_event>() <= waits);
  CHECK(machine.count<fake::called::req_notify_cq>() == waits);
}

TEST_CASE_METHOD(loop_connection, "A loop that runs after a wait is woken by completions",
                 "[ibv_req_notify_cq]") {
  bool is_done = false;
  calling_operation sets{[&] { is_done = true; }};
  std::thread other = complete_soon(*this, sets);
  CHECK(loop.run_until(is_done));
  other.join();

  int times = 0;
  calling_operation stops{[&] {
    ++times;
    loop.stop();
  }};
  std::error_code cancelled;
  loop.spawn([&]() -> async::task<> {
    co_await async::sleep_for(loop, timeout::endless()).report_to(cancelled);
  });
  for (int runs = 1; runs < 4; ++runs) {
    other = complete_soon(*this, stops);
    loop.run();
    other.join();
    CHECK(times == runs);
  }
}
