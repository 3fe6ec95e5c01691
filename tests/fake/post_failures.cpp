// SPDX-License-Identifier: MIT
// The ways in which posts fail, each as a provider really does it.
#include <array>
#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>

#include <support/catch.hpp>
#include <support/reported.hpp>

#include "test_bench.hpp"

using namespace adverb;

namespace {

struct failing_bench : test_bench {
  queue_pair<transport::rc> pair = ready<transport::rc>({.max_send_wr = 8,
                                                         .max_recv_wr = 7,
                                                         .max_send_sge = 3,
                                                         .max_recv_sge = 2,
                                                         .max_inline_data = 64});

  /// The outcome of three sends that are answered so.
  [[nodiscard]] post_result sent(const fake::post_answer& answer) {
    machine.answer_post(answer);
    return pair.post(send(), send(), send());
  }
  [[nodiscard]] post_result received(const fake::post_answer& answer) {
    machine.answer_post(answer);
    return pair.post(receive(), receive());
  }
};

}  // namespace

TEST_CASE("A failed post reports the number of accepted requests") {
  failing_bench bench;
  for (std::size_t bad = 0; bad < 3; ++bad) {
    const post_result result = bench.sent({.result = EINVAL, .bad_request = bad});
    CHECK(!result);
    CHECK(result.code() == std::errc::invalid_argument);
    CHECK(result.accepted() == bad);
  }
  const post_result result = bench.received({.result = ENOMEM, .bad_request = 1});
  CHECK(!result);
  CHECK(result.code() == std::errc::not_enough_memory);
  CHECK(result.accepted() == 1U);
}

TEST_CASE("A negative errno, as siw, cxgb4 and qedr return it, is reported as the positive one") {
  failing_bench bench;
  const post_result result = bench.sent({.result = -EINVAL, .bad_request = 2});
  CHECK(!result);
  CHECK(result.code() == std::errc::invalid_argument);
  CHECK(result.accepted() == 2U);
  CHECK(bench.received({.result = -ENOMEM, .bad_request = 0}).code() ==
        std::errc::not_enough_memory);
}

TEST_CASE("An error without a bad request, as rxe reports it, leaves the count unknown") {
  failing_bench bench;
  const post_result result = bench.sent({.result = EIO});
  CHECK(!result);
  CHECK(result.code() == std::errc::io_error);
  CHECK(!result.accepted().has_value());
}

TEST_CASE("An unsupported post accepts no request, whatever the bad request contains") {
  failing_bench bench;
  for (const int error : {EOPNOTSUPP, ENOSYS}) {
    CHECK(bench.sent({.result = error}).accepted() == 0U);
    CHECK(bench.received({.result = error}).accepted() == 0U);
  }
}

TEST_CASE("A single receive without a bad request, as on cxgb4, counts as not accepted") {
  failing_bench bench;
  const shared_receive_queue shared{bench.domain, {.max_wr = 8}};
  const fake::post_answer full{.result = -ENOMEM, .leaves_bad_request = true};
  bench.machine.answer_post(full);
  const post_result one = shared.post(receive());
  CHECK(one.code() == std::errc::not_enough_memory);
  CHECK(one.accepted() == 0U);
  prepared_request prepared{receive()};
  bench.machine.answer_post(full);
  CHECK(shared.post(prepared).accepted() == 0U);
  bench.machine.answer_post(full);
  CHECK(!shared.post(receive(), receive()).accepted());
}

TEST_CASE("A result of 0 with a bad request, as siw returns it, is a failure") {
  failing_bench bench;
  const post_result result = bench.sent({.result = 0, .bad_request = 1});
  CHECK(!result);
  CHECK(result.code() == std::errc::io_error);
  CHECK(result.accepted() == 1U);
  CHECK(!bench.received({.result = 0, .bad_request = 0}));
}

TEST_CASE("A successful post reports no failure under any policy") {
  failing_bench bench;
  const post_result result = bench.sent({});
  CHECK(result);
  CHECK(result.accepted() == 3U);
  CHECK(!result.code());
  CHECK_NOTHROW(result.check());
  std::error_code code = std::make_error_code(std::errc::io_error);
  result.check(code);
  CHECK(!code);
}

TEST_CASE("A failed post explains possible causes") {
  failing_bench bench;
  const auto explained = [](const post_result& result) {
    return std::string{reported([&](auto&&... policy) { result.check(policy...); }).what()};
  };
  const std::string of_sends =
      "possible causes: the queue is full (max_send_wr is 8), or its operation does not allow its "
      "length; "
      "unsignaled "
      "requests leave the queue when a later signaled one completes";
  CHECK(explained(bench.sent({.result = EINVAL, .bad_request = 2})) ==
        "ibv_post_send on fake0 qp 0x11: EINVAL (Invalid argument); 2 requests were accepted; " +
            of_sends);
  CHECK(explained(bench.received({.result = EIO})) ==
        "ibv_post_recv on fake0 qp 0x11: EIO (Input/output error); the number of accepted requests "
        "is unknown");
  CHECK(
      explained(bench.sent({.result = ENOMEM, .bad_request = 1})) ==
      "ibv_post_send on fake0 qp 0x11: ENOMEM (Cannot allocate memory); 1 request was accepted; " +
          of_sends);
  CHECK(explained(bench.received({.result = ENOMEM, .bad_request = 1})) ==
        "ibv_post_recv on fake0 qp 0x11: ENOMEM (Cannot allocate memory); 1 request was accepted; "
        "possible causes: the receive has no elements, which soft-iWARP refuses, or the queue is "
        "full (max_recv_wr "
        "is 7)");
}

TEST_CASE("The explanation of a refused request names the limits that apply to it") {
  failing_bench bench;
  std::array<std::byte, 64> memory{};
  const memory_region region{bench.domain, memory, access_right::local_write};
  const mutable_buffer buffer = region.slice(0, 8);
  const auto explained = [&](const auto&... requests) {
    bench.machine.answer_post({.result = ENOMEM, .bad_request = 0});
    const post_result result = bench.pair.post(requests...);
    const failure why = reported([&](auto&&... policy) { result.check(policy...); });
    const std::string words{why.explanation()};
    const std::string_view accepted = "0 requests were accepted; possible causes: ";
    REQUIRE(words.starts_with(accepted));
    return words.substr(accepted.size(), words.find("; unsignaled") - accepted.size());
  };
  const std::string full = "the queue is full (max_send_wr is 8)";
  const std::string length = ", or its operation does not allow its length";
  const std::string elements = ", or the request has too many elements (max_send_sge is 3)";
  const std::string inlined = "the request has too much inline data (max_inline_data is 64), or ";
  CHECK(explained(send(buffer)) == full + length);
  CHECK(explained(send(buffer, buffer)) == full + elements + length);
  CHECK(explained(send(inline_data{memory})) == inlined + full + elements + length);
  CHECK(explained(prepared_request{send(inline_data{memory})}) ==
        inlined + full + elements + length);
  CHECK(explained(send(inline_data{memory}), send(buffer)) == inlined + full + elements + length);
  CHECK(explained(receive(buffer)) == "the queue is full (max_recv_wr is 7)");
  CHECK(explained(receive(buffer, buffer)) ==
        "the queue is full (max_recv_wr is 7), or the request has too many elements (max_recv_sge "
        "is 2)");
  CHECK(explained(receive()) ==
        "the receive has no elements, which soft-iWARP refuses, or the queue is full (max_recv_wr "
        "is 7)");
}

TEST_CASE("The explanation names a limit of 0 elements") {
  failing_bench bench;
  const auto pair = bench.ready<transport::rc>({.max_recv_wr = 7, .max_recv_sge = 0});
  std::array<std::byte, 64> memory{};
  const memory_region region{bench.domain, memory, access_right::local_write};
  bench.machine.answer_post({.result = EINVAL, .bad_request = 0});
  const post_result result = pair.post(receive(region.buffer()));
  CHECK(reported([&](auto&&... policy) { result.check(policy...); }).explanation() ==
        "0 requests were accepted; possible causes: the queue is full (max_recv_wr is 7), or the "
        "request has too "
        "many elements (max_recv_sge is 0)");
}

TEST_CASE("A failed post queries the queue pair only for an explanation") {
  failing_bench bench;
  bench.machine.forget_calls();
  const post_result result = bench.received({.result = ENOMEM, .bad_request = 1});
  std::error_code code;
  result.check(code);
  CHECK(code == std::errc::not_enough_memory);
  CHECK(bench.machine.count<fake::called::query_qp>() == 0);
  failure why;
  bench.machine.fail<fake::called::query_qp>(EIO);
  result.check(why);
  CHECK(why.explanation() ==
        "1 request was accepted; possible causes: the receive has no elements, which soft-iWARP "
        "refuses, or the queue is full (max_recv_wr)");
}
