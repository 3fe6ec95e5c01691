// SPDX-License-Identifier: MIT
// From RTR to RTS: the exact call, and how its values follow from what was announced.
#include <string>
#include <utility>

#include <support/catch.hpp>

#include "test_bench.hpp"

using namespace adverb;

namespace {

/// The call that brings a pair to RTS with these settings, on a bench of its own.
template <transport Transport, class Settings>
std::string rts_of(const Settings& settings) {
  const test_bench bench;
  auto receiving = bench.receiving<Transport>();
  const auto pair = settings(receiving.rts()).apply();
  CHECK(pair);
  return bench.modification();
}

}  // namespace

TEST_CASE("RTS refuses a retry count of more than three bits") {
  test_bench bench;
  auto pair = bench.receiving<transport::rc>();
  const auto before = bench.machine.count<fake::called::modify_qp>();
  failure why;
  CHECK(!pair.rts().retry_count(8).apply(why));
  CHECK(why.explanation() == "retry_count is 8, the maximum is 7");
  CHECK(std::string_view{why.what()}.starts_with("ibv_modify_qp RTR->RTS on fake0:1 qp 0x"));
  CHECK(!pair.rts().rnr_retry_count(200).apply(why));
  CHECK(why.explanation() == "rnr_retry_count is 200, the maximum is 7");
  CHECK(bench.machine.count<fake::called::modify_qp>() == before);
}

TEST_CASE("RTS passes all required attributes, and each optional attribute as well",
          "[ibv_modify_qp]") {
  constexpr auto rc = transport::rc;
  constexpr auto uc = transport::uc;
  constexpr auto ud = transport::ud;
  const std::string rts = "ibv_modify_qp qp0 qp_state=RTS";
  const std::string of_rc = " timeout=14 retry_cnt=6 rnr_retry=7 max_rd_atomic=4";
  // The announced sequence number.
  const std::string psn = " sq_psn=0xabcdef";
  const auto plain = [](auto step) { return step; };
  CHECK(rts_of<rc>(plain) == rts + of_rc + psn);
  CHECK(rts_of<uc>(plain) == rts + psn);
  CHECK(rts_of<ud>(plain) == rts + psn);

  CHECK(rts_of<rc>([](auto step) {
          return std::move(step)
              .acknowledge_timeout(acknowledge_timeout::from_code(9))
              .retry_count(2)
              .rnr_retry_count(0)
              .max_initiator_read_atomic(1);
        }) == rts + " timeout=9 retry_cnt=2 rnr_retry=0 max_rd_atomic=1" + psn);
  CHECK(rts_of<rc>([](auto step) { return std::move(step).allow(access_right::remote_read); }) ==
        rts + " qp_access_flags=REMOTE_READ" + of_rc + psn);
  CHECK(rts_of<rc>([](auto step) { return std::move(step).rnr_timer(rnr_timer::from_code(3)); }) ==
        rts + of_rc + " min_rnr_timer=3" + psn);
  CHECK(rts_of<uc>([](auto step) { return std::move(step).allow(access_right::remote_write); }) ==
        rts + " qp_access_flags=REMOTE_WRITE" + psn);
  CHECK(rts_of<ud>([](auto step) { return std::move(step).queue_key(queue_key{0x33}); }) ==
        rts + " qkey=0x33" + psn);
}

TEST_CASE("RTS uses the announced packet sequence number") {
  test_bench bench;
  auto fresh = bench.fresh<transport::rc>();
  auto waiting = fresh.init().port(port_number{1}).apply();
  const auto announced = waiting.endpoint().psn;
  auto receiving = waiting.rtr().remote(test_bench::peer).apply();
  CHECK(receiving.announced().psn == announced);
  const auto pair = receiving.rts().apply();
  CHECK(bench.machine.calls<fake::called::modify_qp>().back().attributes.sq_psn ==
        announced.value());
}

TEST_CASE("RTS limits outgoing reads to what the device and the peer support") {
  test_bench bench;
  const auto used = [&](std::uint8_t peer_takes) {
    endpoint peer = test_bench::peer;
    peer.max_destination_read_atomic = peer_takes;
    auto waiting = bench.waiting<transport::rc>();
    auto receiving = waiting.rtr().remote(peer).apply();
    const auto pair = receiving.rts().apply();
    return field(bench.modification(), "max_rd_atomic");
  };
  CHECK(used(0) == "0");
  CHECK(used(7) == "7");
  CHECK(used(200) == "16");
  bench.limits().max_qp_init_rd_atom = 3;
  adverb::detail::forget_limits_of(bench.context.native_handle());
  CHECK(used(7) == "3");
}
