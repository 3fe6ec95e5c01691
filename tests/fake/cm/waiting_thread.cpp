// SPDX-License-Identifier: MIT
// A thread that waits for one step after the other.
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <future>
#include <string>
#include <system_error>
#include <thread>

#include <unistd.h>

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

/// Returns true if a thread of this process sleeps.
[[nodiscard]] bool is_asleep(pid_t thread) {
  std::ifstream file{"/proc/self/task/" + std::to_string(thread) + "/stat"};
  std::string fields;
  std::getline(file, fields);
  // The state follows the name, which is in parentheses.
  return fields.substr(fields.rfind(')') + 1, 2) == " S";
}

/// Completes an operation from another thread as soon as this one, which is about to run the loop,
/// sleeps. Nothing then uses the fake, which is not thread safe.
[[nodiscard]] std::thread complete_soon(loop_connection& of, async::operation& which) {
  ibv_cq* const queue = of.loop.queue(of.context).native_handle();
  std::promise<void> created;
  std::thread other{[&machine = of.machine, queue, &which, waiting = ::gettid(),
                     is_created = created.get_future()] {
    is_created.wait();
    while (!is_asleep(waiting)) std::this_thread::yield();
    ibv_wc done{};
    done.wr_id = reinterpret_cast<std::uintptr_t>(&which);
    machine.complete(queue, done);
  }};
  created.set_value();
  return other;
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
