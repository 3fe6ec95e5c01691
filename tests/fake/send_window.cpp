// SPDX-License-Identifier: MIT
// Send windows over the fake: what reaches the provider, when a window is full, and what becomes of
// posts and requests that fail.
#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <support/catch.hpp>
#include <support/reported.hpp>

#include "completed.hpp"
#include "test_bench.hpp"

using namespace adverb;
using fake::called::post_send;

namespace {

struct window_bench : test_bench {
  queue_pair<transport::rc> pair = ready<transport::rc>({.max_send_wr = 16});
  std::array<completion, 16> batch;

  /// For each request that reached the provider, true if it was signaled.
  [[nodiscard]] std::vector<bool> signaled() const {
    std::vector<bool> found;
    for (const auto& call : machine.calls<post_send>())
      for (const auto& request : call.requests)
        found.push_back((request.wr.send_flags & IBV_SEND_SIGNALED) != 0);
    return found;
  }

  /// A completion of the pair's sends, as it is polled.
  [[nodiscard]] completion done(std::uint64_t id, ibv_wc_status status = IBV_WC_SUCCESS,
                                ibv_wc_opcode opcode = IBV_WC_SEND) {
    ibv_wc native = completed(id);
    native.status = status;
    native.opcode = opcode;
    native.qp_num = static_cast<std::uint32_t>(pair.number());
    machine.complete(queue.native_handle(), native);
    return queue.poll(batch).front();
  }

  /// Why no window of the pair can be made with these options.
  [[nodiscard]] std::string refusal(const send_window_options& options) const {
    return std::string{
        reported([&](auto&&... policy) { (void)send_window{pair, options, policy...}; }).what()};
  }
};

std::string explained(const send_window_result& result) {
  return reported([&](auto&&... policy) { result.check(policy...); }).what();
}

}  // namespace

TEST_CASE("A window has the size of the send queue and signals each quarter by default") {
  window_bench bench;
  send_window window{bench.pair};
  CHECK(window.size() == 16);
  CHECK(window.signal_every() == 4);
  CHECK(window.available() == 16);
  CHECK(window.outstanding() == 0);
  CHECK(bench.queue.reserved() == 16);
  for (int index = 0; index < 16; ++index) CHECK(window.post(send()));
  std::vector<bool> expected;
  for (int index = 1; index <= 16; ++index) expected.push_back(index % 4 == 0);
  CHECK(bench.signaled() == expected);

  const auto full = window.post(send());
  CHECK(!full);
  CHECK(full.full());
  CHECK(full.accepted() == 0U);
  CHECK(full.code() == std::errc::resource_unavailable_try_again);
  CHECK(bench.machine.count<post_send>() == 16);
  CHECK(explained(full) ==
        "send_window::post on fake0 qp 0x11: EAGAIN (Resource temporarily unavailable); the window "
        "is full: 16 of 16 requests are in progress; pass their completions to completed()");
}

TEST_CASE("A completion returns the credits of all requests up to its own") {
  window_bench bench;
  send_window window{bench.pair, {.size = 8, .signal_every = 3}};
  for (std::uint64_t id = 1; id <= 8; ++id) CHECK(window.post(send().id(id)));
  CHECK(bench.signaled() == std::vector{false, false, true, false, false, true, false, true});
  CHECK(window.post(send()).full());
  window.completed(bench.done(3));
  CHECK(window.available() == 3);
  window.completed(bench.done(6));
  CHECK(window.available() == 6);
  CHECK(window.post(send().id(9)));
  CHECK(window.unsignaled() == 1);
  CHECK(window.post(send().id(10).signaled()));
  CHECK(window.unsignaled() == 0);
  window.completed(bench.done(8));
  window.completed(bench.done(10));
  CHECK(window.outstanding() == 0);
}

TEST_CASE("A chain takes all its credits or none, and only its last request is signaled") {
  window_bench bench;
  send_window window{bench.pair, {.size = 8, .signal_every = 4}};
  CHECK(window.post(send(), send(), send()));
  CHECK(window.post(send(), send().signaled(), send(), send()));
  CHECK(bench.signaled() == std::vector{false, false, false, false, true, false, false});
  const auto full = window.post(send(), send());
  CHECK(full.full());
  CHECK(explained(full).find("7 of 8 requests") != std::string::npos);
  CHECK(window.post(send()));
  CHECK(bench.signaled().back());
  CHECK(bench.machine.lines<post_send>().lines.at(1) ==
        "ibv_post_send qp0: SEND; SEND flags=SIGNALED; SEND; SEND");
}

TEST_CASE("A chain longer than its window fails with EINVAL") {
  window_bench bench;
  send_window window{bench.pair, {.size = 2}};
  const auto never = window.post(send(), send(), send());
  CHECK(!never);
  CHECK(!never.full());
  CHECK(explained(never) ==
        "send_window::post on fake0 qp 0x11: EINVAL (Invalid argument); 0 requests were accepted; "
        "no completion can make room; possible causes: the chain is longer than the window, or no "
        "request in "
        "progress is signaled");
  CHECK(window.outstanding() == 0);
  CHECK(bench.machine.count<post_send>() == 0);
}

TEST_CASE("A chain fails with EINVAL if no completion can make room for it") {
  window_bench bench;
  send_window window{bench.pair, {.size = 4, .signal_every = 3}};
  CHECK(window.post(send(), send()));
  const auto never = window.post(send(), send(), send());
  CHECK(!never.full());
  CHECK(never.code() == std::errc::invalid_argument);
  CHECK(window.post(send().id(1)));
  CHECK(window.post(send(), send()).full());
  window.completed(bench.done(1));
  CHECK(window.post(send(), send(), send()));
}

TEST_CASE("A window of size 1 signals each request") {
  window_bench bench;
  send_window window{bench.pair, {.size = 1}};
  for (std::uint64_t id = 0; id < 3; ++id) {
    CHECK(window.post(send().id(id)));
    CHECK(window.post(send()).full());
    window.completed(bench.done(id));
  }
  CHECK(bench.signaled() == std::vector{true, true, true});
}

TEST_CASE("The window keeps the modifiers of a request that it signals") {
  window_bench bench;
  send_window window{bench.pair, {.signal_every = 1}};
  CHECK(window.post(send().solicited().id(7)));
  CHECK(bench.machine.line() == "ibv_post_send qp0: SEND wr_id=7 flags=SIGNALED|SOLICITED");
}

TEST_CASE("On a pair that signals every send, a completion returns one credit") {
  window_bench bench;
  bench.pair = bench.ready<transport::rc>({.max_send_wr = 8, .signal_all_sends = true});
  send_window window{bench.pair, {.signal_every = 4}};
  CHECK(window.signal_every() == 1);
  // Each request is signaled, because some devices report sq_sig_all of every pair.
  prepared_batch batch{send().id(0), send().id(1), send().id(2)};
  for (const bool is_prepared : {false, true}) {
    CHECK(
        (is_prepared ? window.post(batch) : window.post(send().id(0), send().id(1), send().id(2))));
    const auto signaled = bench.signaled();
    CHECK(std::ranges::count(signaled, true) == std::ssize(signaled));
    for (std::uint32_t id = 0; id < 3; ++id) {
      CHECK(window.outstanding() == 3 - id);
      window.completed(bench.done(id));
    }
    CHECK(window.outstanding() == 0);
  }
}

TEST_CASE("A window counts the accepted requests of a failed post") {
  window_bench bench;
  send_window window{bench.pair, {.size = 8, .signal_every = 2}};
  bench.machine.answer_post({.result = ENOMEM, .bad_request = 2});
  const auto failed = window.post(send(), send(), send());
  CHECK(!failed);
  CHECK(!failed.full());
  CHECK(failed.accepted() == 2U);
  CHECK(failed.code() == std::errc::not_enough_memory);
  CHECK(window.outstanding() == 2);
  CHECK(!window.broken());
  // The one that was to be signaled is not there: the next one is.
  CHECK(window.unsignaled() == 2);
  CHECK(window.post(send().id(3)));
  CHECK(bench.signaled().back());
  window.completed(bench.done(3));
  CHECK(window.outstanding() == 0);

  bench.machine.answer_post({.result = EINVAL, .bad_request = 0});
  CHECK(window.post(send()).accepted() == 0U);
  CHECK(window.outstanding() == 0);
}

TEST_CASE("An unknown number of accepted requests counts as all and breaks the window") {
  window_bench bench;
  send_window window{bench.pair, {.size = 8, .signal_every = 2}};
  bench.machine.answer_post({.result = EIO});
  CHECK(!window.post(send(), send()).accepted());
  CHECK(window.broken());
  CHECK(window.outstanding() == 2);
  window.completed(bench.done(0));
  CHECK(window.outstanding() == 0);
  window.restart();
  CHECK(!window.broken());
}

TEST_CASE("A failed request breaks the window, and each later completion returns one credit") {
  window_bench bench;
  send_window window{bench.pair, {.size = 8, .signal_every = 4}};
  for (int index = 0; index < 8; ++index) CHECK(window.post(send()));
  window.completed(bench.done(4));
  CHECK(!window.broken());
  // This is the second of the second four: the window has no proof that the first of them
  // succeeded.
  window.completed(bench.done(6, IBV_WC_REM_ACCESS_ERR));
  CHECK(window.broken());
  CHECK(window.outstanding() == 3);
  window.completed(bench.done(7, IBV_WC_WR_FLUSH_ERR));
  window.completed(bench.done(8, IBV_WC_WR_FLUSH_ERR));
  CHECK(window.outstanding() == 1);
  // The completion of a last request proves that all others have ended.
  CHECK(window.post(send().signaled().id(99)));
  window.completed(bench.done(99, IBV_WC_WR_FLUSH_ERR));
  CHECK(window.outstanding() == 1);

  window.restart();
  CHECK(!window.broken());
  CHECK(window.available() == 8);
  for (int index = 1; index <= 8; ++index) {
    CHECK(window.post(send()));
    CHECK(bench.signaled().back() == (index % 4 == 0));
  }
}

TEST_CASE("completed refuses the completions of other requests") {
  window_bench bench;
  send_window window{bench.pair, {.size = 8, .signal_every = 2}};
  const auto why = [&](const completion& each) {
    return std::string{
        reported([&](auto&&... policy) { window.completed(each, policy...); }).what()};
  };
  const std::string begin = "send_window::completed on fake0 qp 0x11: EINVAL (Invalid argument); ";
  CHECK(why(bench.done(0)) == begin + "no signaled request is in progress");
  CHECK(why(bench.done(0, IBV_WC_WR_FLUSH_ERR)) == begin + "no signaled request is in progress");
  CHECK(!window.broken());
  CHECK(window.post(send(), send()));
  CHECK(why(bench.done(0, IBV_WC_SUCCESS, IBV_WC_RECV)) ==
        begin + "the completion belongs to a receive");
  ibv_wc other{};
  other.qp_num = 0x12;
  CHECK(why(completion{other}) == begin + "the completion belongs to qp 0x12");
  CHECK(window.outstanding() == 2);
}

TEST_CASE("Creating a window fails with a reason") {
  window_bench bench;
  const std::string begin = "send_window on fake0 qp 0x11: EINVAL (Invalid argument); ";
  CHECK(bench.refusal({.size = 17}) == begin + "17 requests do not fit: the send queue holds 16");
  CHECK(bench.refusal({.size = 0}) == begin + "a window needs room for at least one request");
  CHECK(bench.refusal({.signal_every = 0}) ==
        begin + "the interval of signaled requests is 0: it must be at least 1");
  CHECK(bench.queue.reserved() == 0);

  const auto query = reported([&] { bench.machine.fail<fake::called::query_qp>(EIO); },
                              [&](auto&&... policy) { (void)send_window{bench.pair, policy...}; });
  CHECK(query.verb() == "ibv_query_qp");

  failure none;
  (void)send_window{queue_pair_ref<transport::rc>{}, none};
  CHECK(none.explanation() == "the queue pair is empty: moved from, closed, or never created");
}

TEST_CASE("Windows and receives share a completion queue that cannot overflow") {
  window_bench bench;  // Its queue has 16 entries.
  const completion_reservation receives{bench.queue, 4};
  CHECK(receives);
  CHECK(receives.entries() == 4);
  const std::string queue = "fake0 cq " + std::to_string(bench.queue.native_handle()->handle);
  CHECK(bench.refusal({}) ==
        "send_window on " + queue +
            ": ENOBUFS (No buffer space available); 16 entries do not fit: 4 of 16 are reserved");
  const send_window window{bench.pair, {.size = 12}};
  CHECK(bench.queue.reserved() == 16);
  CHECK(std::string{reported([&](auto&&... policy) {
                      (void)completion_reservation{bench.queue, 1, policy...};
                    }).what()} ==
        "completion_reservation on " + queue +
            ": ENOBUFS (No buffer space available); 1 entry does not fit: 16 of 16 are reserved");

  bench.queue.resize(32);
  const completion_reservation more{bench.queue, 16};
  CHECK(bench.queue.reserved() == 32);
  CHECK(reported([&](auto&&... policy) { bench.queue.resize(16, policy...); }).explanation() ==
        "32 entries are reserved");
  CHECK(bench.queue.capacity() == 32);
}

TEST_CASE("A reservation can be moved and ends with its owner") {
  window_bench bench;
  {
    completion_reservation first{bench.queue, 5};
    completion_reservation second{std::move(first)};
    CHECK(!first);
    CHECK(bench.queue.reserved() == 5);
    second = completion_reservation{bench.queue, 6};
    CHECK(bench.queue.reserved() == 6);
    second = completion_reservation{};
    CHECK(bench.queue.reserved() == 0);
  }
  const completion_reservation nothing{bench.queue, 0};
  CHECK(bench.queue.reserved() == 0);
  failure empty;
  (void)completion_reservation{completion_queue_ref{}, 1, empty};
  CHECK(empty.explanation() ==
        "the completion queue is empty: moved from, closed, or never created");
}

TEST_CASE("Destroying a queue with reserved entries fails") {
  const fake::machine machine;
  const context device = open_device();
  completion_queue queue{device, 16};
  {
    const completion_reservation some{queue, 1};
    CHECK(reported([&](auto&&... policy) { queue.close(policy...); }).explanation() ==
          "still in use by 1 completion reservation; destroy these first");
  }
  queue.close();
}

TEST_CASE("A new queue at the address of a destroyed one has no reserved entries") {
  const fake::machine machine;
  const context device = open_device();
  for (int round = 0; round < 3000; ++round) {
    completion_queue queue{device, 16};
    auto some = std::make_unique<completion_reservation>(queue, 16U);
    std::thread other{[&] { some.reset(); }};
    std::error_code in_use;
    for (queue.close(in_use); in_use; queue.close(in_use)) std::this_thread::yield();
    const completion_queue next{device, 16};
    const std::size_t reserved = next.reserved();
    other.join();
    REQUIRE(reserved == 0);
  }
}

TEST_CASE("Moving a window moves its counts and leaves it empty") {
  window_bench bench;
  send_window first{bench.pair, {.size = 8}};
  CHECK(first.post(send().signaled().id(1)));
  send_window second{std::move(first)};
  CHECK(!first);
  CHECK(second.outstanding() == 1);
  CHECK(bench.queue.reserved() == 8);
  const auto empty = first.post(send());
  CHECK(!empty.full());
  CHECK(empty.code() == std::errc::invalid_argument);
  CHECK(std::string{reported([&](auto&&... policy) { empty.check(policy...); }).what()} ==
        "send_window::post: EINVAL (Invalid argument); the send window is empty: moved from, or "
        "never created");
  std::error_code code;
  first.completed(bench.done(1), code);
  CHECK(code == std::errc::invalid_argument);
  second = send_window<queue_pair_ref<transport::rc>>{};
  CHECK(bench.queue.reserved() == 0);
}

TEST_CASE("A window over an extended sender signals and counts in the same way") {
  window_bench bench;
  extended_completion_queue<> queue{bench.context, 16};
  auto fresh = queue_pair<transport::rc>::create(
      bench.domain, {.send_cq = queue,
                     .recv_cq = queue,
                     .max_send_wr = 8,
                     .send_operations = basic_operations(transport::rc)});
  auto waiting = fresh.init().port(port_number{1}).apply();
  const auto pair = waiting.connect(test_bench::peer);
  send_window window{pair.extended(), {.signal_every = 3}};
  CHECK(queue.reserved() == 8);
  for (std::uint64_t id = 1; id <= 4; ++id) CHECK(window.post(send().id(id), send().id(id)));
  CHECK(window.post(send()).full());
  std::vector<bool> signaled;
  for (const auto& call : bench.machine.calls<fake::called::wr_complete>())
    for (const auto& request : call.requests)
      signaled.push_back((request.flags & IBV_SEND_SIGNALED) != 0);
  CHECK(signaled == std::vector{false, false, false, true, false, false, false, true});

  ibv_wc done{};
  bench.machine.complete(queue.native_handle(), done);
  done.status = IBV_WC_RETRY_EXC_ERR;
  bench.machine.complete(queue.native_handle(), done);
  for (const auto& each : queue.poll(2)) window.completed(each);
  CHECK(window.outstanding() == 3);
  CHECK(window.broken());

  window.restart();
  bench.machine.fail<fake::called::wr_complete>(ENOMEM);
  const auto failed = window.post(send(), send().signaled());
  CHECK(failed.accepted() == 0U);
  CHECK(window.outstanding() == 0);
}

TEST_CASE("A window signals a prepared request only for that post") {
  window_bench bench;
  send_window window{bench.pair, {.size = 6, .signal_every = 3}};
  prepared_request request{send()};
  CHECK(!request.is_signaled());
  for (std::uint64_t id = 1; id <= 4; ++id) CHECK(window.post(request.id(id)));
  CHECK(window.post(request.signaled()));
  CHECK(request.is_signaled());
  CHECK(window.post(request.signaled(false)));
  CHECK(!request.is_signaled());
  CHECK(bench.signaled() == std::vector{false, false, true, false, true, true});
  const auto full = window.post(request);
  CHECK(full.full());
  CHECK(explained(full).find("6 of 6 requests") != std::string::npos);
  window.completed(bench.done(3));
  window.completed(bench.done(5));
  window.completed(bench.done(6));
  CHECK(window.outstanding() == 0);
}

TEST_CASE("A prepared batch or partial list takes all its credits or none") {
  window_bench bench;
  send_window window{bench.pair, {.size = 8, .signal_every = 4}};
  prepared_batch batch{send().id(1), send().id(2).signaled(), send().id(3)};
  prepared_list list{send(), 4};
  CHECK(window.post(batch));  // One since the second.
  CHECK(window.post(list.first(2)));
  CHECK(window.post(list.first(0)));
  CHECK(window.outstanding() == 5);
  CHECK(window.post(list).full());
  CHECK(window.post(list.first(3)));  // The fourth, and the last credits.
  CHECK(bench.signaled() == std::vector{false, true, false, false, false, false, false, true});
  for (const auto& each : list) CHECK(!each.is_signaled());
  CHECK(!batch.request<2>().is_signaled());
  window.completed(bench.done(2));
  CHECK(window.outstanding() == 6);
  window.completed(bench.done(8));
  CHECK(window.outstanding() == 0);

  prepared_list too_long{send(), 9};
  CHECK(window.post(too_long).code() == std::errc::invalid_argument);
}

TEST_CASE("A window counts the accepted requests of a failed prepared list") {
  window_bench bench;
  send_window window{bench.pair, {.size = 8, .signal_every = 2}};
  prepared_list list{send(), 3};
  bench.machine.answer_post({.result = ENOMEM, .bad_request = 2});
  CHECK(window.post(list).accepted() == 2U);
  CHECK(window.outstanding() == 2);
  CHECK(!list[2].is_signaled());
  CHECK(window.post(list.first(1)));
  CHECK(bench.signaled().back());

  bench.machine.answer_post({.result = EIO});
  CHECK(!window.post(list).accepted());
  CHECK(window.broken());
  CHECK(window.outstanding() == 6);
}

TEST_CASE("A window never overflows the provider's queues") {
  const std::uint32_t size = GENERATE(1U, 3U, 8U, 15U);
  const std::uint32_t every = GENERATE(1U, 2U, 5U);
  window_bench bench;
  send_window window{bench.pair, {.size = size, .signal_every = every}};
  std::mt19937 random{size * 100 + every};
  std::deque<std::pair<std::uint64_t, bool>> in_progress;
  std::uint64_t id = 0;
  for (int step = 0; step < 400; ++step) {
    const bool asks = random() % 8 == 0;
    const std::size_t seen = bench.signaled().size();
    const auto posted = random() % 2 == 0
                            ? window.post(send().id(id).signaled(asks))
                            : window.post(send().id(id).signaled(asks), send().id(id + 1));
    const std::vector<bool> all = bench.signaled();
    for (std::size_t index = seen; index < all.size(); ++index)
      in_progress.emplace_back(id++, all[index]);
    REQUIRE(in_progress.size() <= size);
    REQUIRE(window.outstanding() == in_progress.size());
    if (!posted && !posted.full()) REQUIRE(posted.code() == std::errc::invalid_argument);
    if (!posted.full() || random() % 2 == 0) continue;
    // Something that completes is always there.
    while (!in_progress.front().second) in_progress.pop_front();
    window.completed(bench.done(in_progress.front().first));
    in_progress.pop_front();
  }
}
