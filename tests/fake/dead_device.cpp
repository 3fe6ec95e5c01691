// SPDX-License-Identifier: MIT
// A device that the kernel has taken from the process: every call on it fails with EIO.
#include <array>
#include <cerrno>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <system_error>

#include <adverb/adverb.hpp>
#include <support/catch.hpp>

#include "test_bench.hpp"

using namespace adverb;
namespace called = fake::called;

namespace {

[[nodiscard]] std::string explanation_of(const std::function<void(failure&)>& call) {
  failure why;
  call(why);
  CHECK(why.code() == std::errc::io_error);
  return std::string{why.explanation()};
}

}  // namespace

TEST_CASE_METHOD(test_bench, "The EIO of a removed device is explained, whatever the call",
                 "[ibv_query_port][ibv_reg_mr][ibv_create_cq][ibv_create_ah][ibv_post_send]") {
  const auto pair = ready<transport::rc>();
  std::array<std::byte, 64> bytes{};
  take_device();
  constexpr std::string_view removed = "the device was removed";
  CHECK(explanation_of([&](failure& why) {
          static_cast<void>(context.query_port(port_number{1}, why));
        }) == removed);
  CHECK(explanation_of([&](failure& why) {
          const memory_region refused{domain, bytes, access_right::local_write, why};
        }) == removed);
  CHECK(explanation_of([&](failure& why) {
          const completion_queue refused{context, 16, {}, why};
        }) == removed);
  CHECK(explanation_of([&](failure& why) {
          const address_handle refused{domain, address{.destination = lid{7}}, why};
        }) == removed);
  CHECK(explanation_of([&](failure& why) { queue.request_notification(false, why); }) == removed);
  machine.answer_post({.result = EIO, .bad_request = 0});
  CHECK(explanation_of([&](failure& why) { pair.post(send()).check(why); }) == removed);
  machine.fail_nothing();
}

TEST_CASE_METHOD(test_bench, "An EIO is told as a removed device only if one was seen",
                 "[ibv_query_port]") {
  const auto refused = [&](failure& why) { queue.request_notification(false, why); };
  take_device("/");
  CHECK(explanation_of(refused) ==
        "ibv_query_port fails with EIO, too; possible causes: the device was removed, or it has "
        "failed");
  machine.fail_nothing();
  machine.fail<called::req_notify_cq>(EIO);
  CHECK(explanation_of(refused).empty());
}
