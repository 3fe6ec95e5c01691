// SPDX-License-Identifier: MIT
// Counters: the attached events, and their readings.
#include <array>
#include <cerrno>
#include <cstdint>
#include <span>
#include <string>

#include <support/catch.hpp>
#include <support/reported.hpp>

#include "test_bench.hpp"

using namespace adverb;
namespace called = fake::called;

namespace {

struct counters_bench : test_bench {
  counters traffic{context};
  queue_pair<transport::ud> pair = ready<transport::ud>();
  flow steered{pair, flow_rule{{}, action_count{traffic}}};
};

}  // namespace

TEST_CASE_METHOD(counters_bench, "counters are created and destroyed on a device",
                 "[ibv_create_counters][ibv_destroy_counters]") {
  CHECK(traffic.context().native_handle() == context.native_handle());
  steered.close();
  traffic.close();
  CHECK_THAT((machine.lines<called::create_counters, called::destroy_counters>()), is_log(R"(
    ibv_create_counters ctx0
    ibv_destroy_counters counters0)"));
}

TEST_CASE_METHOD(counters_bench, "attach assigns an index to a counter for all flows or for one",
                 "[ibv_attach_counters_point_flow]") {
  machine.forget_calls();
  traffic.attach(counted::packets, 3);
  const counters_ref reference = traffic;
  reference.attach(counted::bytes, 0, steered);
  CHECK_THAT(machine.lines(), is_log(R"(
    ibv_attach_counters_point_flow counters0 counter_desc=PACKETS index=3 null
    ibv_attach_counters_point_flow counters0 counter_desc=BYTES index=0 flow0)"));
}

TEST_CASE_METHOD(counters_bench, "counters are read into a span, from the device or the cache",
                 "[ibv_read_counters]") {
  machine.count(traffic.native_handle(), {5, 640});
  machine.forget_calls();
  std::array<std::uint64_t, 3> values{};
  traffic.read(values);
  CHECK(values == std::array<std::uint64_t, 3>{5, 640, 0});
  machine.count(traffic.native_handle(), {6, 700});
  traffic.read_cached(std::span{values}.first(2));
  CHECK(values == std::array<std::uint64_t, 3>{6, 700, 0});
  CHECK_THAT(machine.lines(), is_log(R"(
    ibv_read_counters counters0 ncounters=3
    ibv_read_counters counters0 ncounters=2 flags=PREFER_CACHED)"));
}

TEST_CASE_METHOD(counters_bench, "failed calls of counters are explained") {
  CHECK(reported([&] { machine.fail<called::create_counters>(EOPNOTSUPP); },
                 [&](auto&&... policy) { const counters none{context, policy...}; })
            .explanation() == "fake0 has no counters");
  const auto attach_refused = [&](int error) {
    return reported([&] { machine.fail<called::attach_counters_point_flow>(error); },
                    [&](auto&&... policy) { traffic.attach(counted::bytes, 1, policy...); });
  };
  CHECK(std::string{attach_refused(ENOTSUP).what()} ==
        "ibv_attach_counters_point_flow on fake0 counters: EOPNOTSUPP (Operation not supported); "
        "the device does not count the bytes of flows");
  CHECK(attach_refused(ENOSYS).explanation() == "the device does not count the bytes of flows");
  CHECK(reported([&] { machine.fail<called::attach_counters_point_flow>(ENOTSUP); },
                 [&](auto&&... policy) { traffic.attach(counted::bytes, 1, steered, policy...); })
            .explanation() ==
        "the device does not count the bytes of flows, or accepts this only before the flow is "
        "created: attach without a flow");
  CHECK(attach_refused(EBUSY).explanation() ==
        "a flow already uses the counters: attach before the flow is created");
  CHECK(attach_refused(ENOMEM).explanation().empty());

  machine.count(traffic.native_handle(), {1, 2, 3});
  std::array<std::uint64_t, 2> values{};
  CHECK(std::string{reported([&](auto&&... policy) { traffic.read(values, policy...); }).what()} ==
        "ibv_read_counters on fake0 counters: EINVAL (Invalid argument); there is room for 2; "
        "possible "
        "causes: the highest index in use is beyond it, or no flow uses the counters yet");
  CHECK(reported([&] { machine.fail<called::read_counters>(EIO); },
                 [&](auto&&... policy) { traffic.read_cached(values, policy...); })
            .explanation()
            .empty());
}

TEST_CASE_METHOD(counters_bench, "empty counters and flows are reported") {
  const counters none{};
  const flow no_flow{};
  std::array<std::uint64_t, 1> values{};
  const std::string empty = "the counter set is empty: moved from, closed, or never created";
  CHECK(reported([&](auto&&... policy) {
          none.attach(counted::bytes, 0, policy...);
        }).explanation() == empty);
  CHECK(reported([&](auto&&... policy) { none.read(values, policy...); }).explanation() == empty);
  CHECK(reported([&](auto&&... policy) {
          traffic.attach(counted::bytes, 0, no_flow, policy...);
        }).explanation() == "the flow is empty: moved from, closed, or never created");
  CHECK(machine.count<called::attach_counters_point_flow>() == 0);
}
