// SPDX-License-Identifier: MIT
// The next completion of a queue: waits, time limits and failures.
#include <cerrno>
#include <chrono>
#include <csignal>
#include <stop_token>
#include <string>
#include <system_error>

#include <sys/time.h>

#include <adverb/adverb.hpp>
#include <adverb/core/stop_event.hpp>
#include <support/catch.hpp>
#include <support/reported.hpp>

#include "completed.hpp"
#include "fake.hpp"

namespace {

namespace called = fake::called;
using adverb::completion_status;
using std::chrono::milliseconds;
using std::chrono::seconds;

struct fixture {
  fake::machine machine;
  adverb::context context = adverb::open_device();
  adverb::completion_channel channel{context};
  adverb::completion_queue sleeping{context, 16, {.channel = channel}};
  adverb::completion_queue polled{context, 16};
  int polls_left = 0;

  void complete(const adverb::completion_queue& queue, std::uint64_t id) {
    machine.complete(queue.native_handle(), completed(id));
  }
  /// Completes a request at the nth poll from now on.
  void complete_at_poll(int nth, const adverb::completion_queue& queue, std::uint64_t id) {
    polls_left = nth;
    machine.before<called::poll_cq>([this, &queue, id] {
      if (--polls_left == 0) complete(queue, id);
    });
  }
  /// Returns the failure of `next`, which every policy reports.
  template <class Arrange, class... Limit>
  [[nodiscard]] adverb::failure failing(const Arrange& arrange,
                                        const adverb::completion_queue& queue, Limit... limit) {
    return reported(arrange, [&](auto&&... policy) {
      const adverb::completion none = queue.next(limit..., policy...);
      CHECK(none.status() == completion_status::general_error);
      CHECK(none.id() == 0);
      CHECK_FALSE(none.success());
    });
  }
};

}  // namespace

TEST_CASE_METHOD(fixture, "next returns one completion at a time, in order") {
  for (const adverb::completion_queue* queue : {&sleeping, &polled}) {
    for (const std::uint64_t id : {1U, 2U, 3U}) complete(*queue, id);
    CHECK(queue->next().id() == 1);
    CHECK(queue->next(seconds{100}).id() == 2);
    std::error_code code = std::make_error_code(std::errc::io_error);
    CHECK(queue->next(code).id() == 3);
    CHECK_FALSE(code);
    CHECK(machine.entries(queue->native_handle()) == 0);
  }
  CHECK(machine.count<called::req_notify_cq>() == 0);
}

TEST_CASE_METHOD(fixture, "next returns the completion of a failed request, which check reports") {
  ibv_wc native = completed(7);
  native.status = IBV_WC_RETRY_EXC_ERR;
  machine.complete(polled.native_handle(), native);
  std::error_code code;
  const adverb::completion found = polled.next(code);
  CHECK_FALSE(code);
  CHECK(found.id() == 7);
  found.check(code);
  CHECK(code == completion_status::retries_exceeded);
}

TEST_CASE_METHOD(fixture, "next of a queue with a channel sleeps until a completion arrives") {
  complete_at_poll(2, sleeping, 5);
  CHECK(sleeping.next().id() == 5);
  CHECK(machine.count<called::req_notify_cq>() == 1);
  channel.set_non_blocking(true);
  machine.before<called::req_notify_cq>([&] { complete(sleeping, 6); });
  CHECK(sleeping.next().id() == 6);
}

TEST_CASE_METHOD(fixture, "next of a queue without a channel polls until a completion arrives") {
  complete_at_poll(100, polled, 5);
  CHECK(polled.next().id() == 5);
  CHECK(machine.count<called::poll_cq>() == 100);
}

TEST_CASE_METHOD(fixture, "next fails with ETIMEDOUT if its limit expires") {
  for (const adverb::completion_queue* queue : {&sleeping, &polled})
    for (const milliseconds limit : {milliseconds{0}, milliseconds{5}}) {
      const auto start = std::chrono::steady_clock::now();
      const adverb::failure why = failing([] {}, *queue, limit);
      CHECK(std::chrono::steady_clock::now() - start >= 3 * limit);
      CHECK(std::string{why.what()} == "completion_queue::next on fake0 cq " +
                                           std::to_string(queue->native_handle()->handle) +
                                           ": ETIMEDOUT (Connection timed out)");
    }
  // The queue stays armed.
  complete(sleeping, 1);
  CHECK(channel.has_event());
  CHECK(sleeping.next().id() == 1);
}

TEST_CASE_METHOD(fixture, "next fails with ECANCELED if the descriptor of its limit is readable") {
  std::stop_source source;
  const adverb::stop_event stopped{source.get_token()};
  source.request_stop();
  const auto limit = adverb::timeout::endless().woken_by(stopped.file_descriptor());
  const adverb::failure why = failing([] {}, sleeping, limit);
  CHECK(why.code() == std::errc::operation_canceled);
  CHECK(why.explanation() == "the descriptor of its time limit became readable");
  complete(sleeping, 1);
  CHECK(sleeping.next(limit).id() == 1);

  const adverb::failure unwatched = failing([] {}, polled, limit);
  CHECK(unwatched.code() == std::errc::invalid_argument);
  CHECK(unwatched.explanation() ==
        "without a completion channel, the queue cannot watch the descriptor of the time limit");
}

TEST_CASE_METHOD(fixture, "next fails with EINTR if a signal handler interrupts its sleep") {
  struct sigaction before{};
  struct sigaction handling{};
  handling.sa_handler = [](int) {};
  REQUIRE(::sigaction(SIGALRM, &handling, &before) == 0);
  const itimerval soon{{0, 20'000}, {0, 20'000}};
  REQUIRE(::setitimer(ITIMER_REAL, &soon, nullptr) == 0);
  const adverb::failure why = failing([] {}, sleeping);
  const itimerval off{};
  REQUIRE(::setitimer(ITIMER_REAL, &off, nullptr) == 0);
  REQUIRE(::sigaction(SIGALRM, &before, nullptr) == 0);
  CHECK(why.code() == std::errc::interrupted);
  CHECK(why.explanation() == "a signal handler ran meanwhile");
}

TEST_CASE_METHOD(fixture, "next reports a failed poll, and an empty queue") {
  for (const adverb::completion_queue* queue : {&sleeping, &polled})
    CHECK(failing([&] { machine.fail<called::poll_cq>(EIO); }, *queue).verb() == "ibv_poll_cq");
  CHECK(failing([&] { machine.fail<called::req_notify_cq>(EIO); }, sleeping).verb() ==
        "ibv_req_notify_cq");
  const adverb::completion_queue none;
  CHECK(failing([] {}, none).explanation() ==
        "the completion queue is empty: moved from, closed, or never created");
}
