// SPDX-License-Identifier: MIT
// Into ERR and RESET, from every state: the state alone is passed.
#include <support/catch.hpp>

#include "render.hpp"
#include "test_bench.hpp"

using namespace adverb;

namespace {

/// Puts the pair into ERR, and a like one into RESET.
template <class Make>
void check_both(test_bench& bench, const Make& make) {
  auto failing = make();
  ibv_qp* const native = failing.native_handle();
  const std::string name = fake::name_of(native).text;
  const auto failed = failing.error();
  CHECK(!failing);
  CHECK(failed.native_handle() == native);
  CHECK(bench.modification() == "ibv_modify_qp " + name + " qp_state=ERR");

  auto returning = make();
  const std::string other = fake::name_of(returning.native_handle()).text;
  const auto fresh = returning.reset();
  CHECK(bench.modification() == "ibv_modify_qp " + other + " qp_state=RESET");
  CHECK(!returning);
  CHECK(fresh);
}

}  // namespace

TEST_CASE("The transitions to ERR and RESET pass only the state") {
  test_bench bench;
  for_each_transport([&](auto service) {
    check_both(bench, [&] { return bench.fresh<service>(); });
    check_both(bench, [&] { return bench.waiting<service>(); });
    check_both(bench, [&] { return bench.receiving<service>(); });
    check_both(bench, [&] { return bench.ready<service>(); });
    check_both(bench, [&] {
      auto pair = bench.ready<service>();
      return pair.error();
    });
    check_both(bench, [&] { return queue_pair<service, qp_state::any>{bench.ready<service>()}; });
  });
}

TEST_CASE("A pair in RESET can be brought up again") {
  test_bench bench;
  auto ready = bench.ready<transport::rc>();
  auto failed = ready.error();
  auto fresh = failed.reset();
  auto waiting = fresh.init().port(port_number{1}).apply();
  auto receiving = waiting.rtr().remote(test_bench::peer).apply();
  const auto again = receiving.rts().apply();
  CHECK(again);
  CHECK(bench.machine.count<fake::called::create_qp>() == 1);
}

TEST_CASE("A failed transition to ERR or RESET leaves the pair unchanged") {
  test_bench bench;
  auto ready = bench.ready<transport::rc>();
  bench.machine.fail<fake::called::modify_qp>(EIO);
  failure why;
  CHECK(!ready.error(why));
  CHECK(why.what() == std::string{"ibv_modify_qp RTS->ERR on fake0 qp 0x11: EIO (Input/output "
                                  "error)"});
  bench.machine.fail<fake::called::modify_qp>(EIO);
  CHECK_THROWS_AS((void)ready.reset(), adverb::error);
  REQUIRE(ready);
  CHECK(ready.error());
}
