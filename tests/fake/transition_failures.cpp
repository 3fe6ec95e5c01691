// SPDX-License-Identifier: MIT
// A transition that fails leaves the pair as it was, to be tried again, and leaks nothing.
#include <cerrno>

#include <support/catch.hpp>
#include <support/reported.hpp>

#include "test_bench.hpp"

using namespace adverb;
using fake::called::modify_qp;

namespace {

/// Lets the transition fail with each policy, and then succeed.
template <class Pair, class Apply>
void check_survives(test_bench& bench, Pair&& pair, const Apply& apply) {
  ibv_qp* const native = pair.native_handle();
  const auto fail_next = [&] {
    REQUIRE(pair.native_handle() == native);
    bench.machine.fail<modify_qp>(EINVAL);
  };
  const failure why = reported(fail_next, [&](auto&&... policy) {
    const auto next = apply(pair, policy...);
    CHECK(!next);
  });
  CHECK(why.verb() == "ibv_modify_qp");
  CHECK(why.code() == std::errc::invalid_argument);
  REQUIRE(pair.native_handle() == native);
  CHECK(bench.machine.count<fake::called::destroy_qp>() == 0);

  const auto next = apply(pair);
  CHECK(next.native_handle() == native);
  CHECK(!pair);
}

}  // namespace

TEST_CASE("A failed transition to INIT can be repeated") {
  test_bench bench;
  check_survives(bench, bench.fresh<transport::rc>(), [](auto& pair, auto&&... policy) {
    return pair.init().port(port_number{1}).apply(policy...);
  });
}

TEST_CASE("A failed transition to RTR can be repeated") {
  test_bench bench;
  auto pair = bench.waiting<transport::rc>();
  const announced_attributes announced = pair.announced();
  check_survives(bench, pair, [&](auto& waiting, auto&&... policy) {
    CHECK(waiting.announced() == announced);
    return waiting.rtr().remote(test_bench::peer).apply(policy...);
  });
}

TEST_CASE("A failed transition to RTS can be repeated") {
  test_bench bench;
  auto pair = bench.receiving<transport::rc>();
  const announced_attributes announced = pair.announced();
  check_survives(bench, pair, [&](auto& receiving, auto&&... policy) {
    CHECK(receiving.announced() == announced);
    return receiving.rts().apply(policy...);
  });
  CHECK(field(bench.modification(), "sq_psn") == "0xabcdef");
}

TEST_CASE("A builder can be applied again") {
  test_bench bench;
  auto fresh = bench.fresh<transport::rc>();
  const auto builder = fresh.init().port(port_number{1}).pkey_index(pkey_index{0});
  bench.machine.fail<modify_qp>(EINVAL);
  std::error_code code;
  CHECK(!builder.apply(code));
  CHECK(builder.apply(code));
  CHECK(!code);
}

TEST_CASE("A negative errno of ibv_modify_qp is reported as the positive one") {
  test_bench bench;
  auto fresh = bench.fresh<transport::rc>();
  bench.machine.fail<modify_qp>(-EPERM);
  std::error_code code;
  CHECK(!fresh.init().port(port_number{1}).apply(code));
  CHECK(code == std::errc::operation_not_permitted);
}

TEST_CASE("Every transition of an empty pair fails") {
  test_bench bench;
  queue_pair<transport::rc, qp_state::reset> none;
  const failure why = reported([&](auto&&... policy) {
    const auto waiting = none.init().port(port_number{1}).apply(policy...);
    CHECK(!waiting);
  });
  CHECK(std::string_view{why.what()} ==
        "ibv_modify_qp: EINVAL (Invalid argument); the queue pair is empty: moved from, closed, or "
        "never created");
  queue_pair<transport::rc, qp_state::init> no_peer;
  std::error_code code;
  CHECK(!no_peer.connect(test_bench::peer, {}, code));
  CHECK(code == std::errc::invalid_argument);
  code.clear();
  CHECK(!none.error(code));
  CHECK(code == std::errc::invalid_argument);
  CHECK(bench.machine.count<modify_qp>() == 0);
}

TEST_CASE("Bringing a pair up reports the failure of any call and leaks nothing") {
  std::size_t failed_at = 0;
  for (std::size_t nth = 1; nth < 100; ++nth) {
    fake::machine machine;
    bool thrown = false;
    {
      const context context = open_device();
      machine.fail_any(EIO, nth);
      try {
        const protection_domain domain{context};
        const completion_queue queue{context, 4};
        auto fresh =
            queue_pair<transport::rc>::create(domain, {.send_cq = queue, .recv_cq = queue});
        auto waiting = fresh.init().port(port_number{1}).apply();
        (void)waiting.endpoint();
        auto receiving = waiting.rtr().remote(test_bench::peer).apply();
        auto pair = receiving.rts().apply();
        CHECK(pair);
        // Failures in destructors have their own tests.
        machine.fail_any(0, 1000);
      } catch (const adverb::error& why) {
        thrown = true;
        CHECK(why.code() == std::errc::io_error);
      }
    }
    CHECK(machine.live_objects() == 0);
    if (!thrown) break;
    failed_at = nth;
  }
  // The domain, queue and pair, three transitions, and the questions before them.
  CHECK(failed_at >= 11);
  CHECK(failed_at < 99);
}
