// SPDX-License-Identifier: MIT
// connect(): from INIT to RTS in one call, and back to INIT when it fails.
#include <cerrno>

#include <support/catch.hpp>
#include <support/reported.hpp>
#include <support/told_failures.hpp>

#include "test_bench.hpp"

using namespace adverb;
using fake::called::modify_qp;

namespace {

constexpr int rtr_mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                         IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
constexpr int rts_mask = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                         IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;

auto waiting_with_attributes(const test_bench& bench) {
  auto fresh = bench.fresh<transport::rc>();
  return fresh.init()
      .port(port_number{1})
      .allow(access_right::remote_write)
      .pkey_index(pkey_index{5})
      .gid(gid_index{1})
      .sequence_number(packet_sequence_number{0x10203})
      .apply();
}

}  // namespace

TEST_CASE("connect passes the masks of the specification, with the defaults of the builders",
          "[ibv_modify_qp]") {
  test_bench bench;
  auto waiting = bench.waiting<transport::rc>();
  bench.machine.forget_calls();
  const auto pair = waiting.connect(test_bench::peer);
  CHECK(pair);
  CHECK(!waiting);

  const auto calls = bench.machine.calls<modify_qp>();
  REQUIRE(calls.size() == 2);
  CHECK(calls[0].mask == rtr_mask);
  CHECK(calls[0].attributes.qp_state == IBV_QPS_RTR);
  CHECK(calls[0].attributes.dest_qp_num == 0x77);
  CHECK(calls[0].attributes.rq_psn == 0x123456);
  CHECK(calls[0].attributes.path_mtu == IBV_MTU_1024);
  CHECK(calls[0].attributes.max_dest_rd_atomic == 8);
  CHECK(calls[0].attributes.min_rnr_timer == 12);
  CHECK(calls[0].attributes.ah_attr.grh.sgid_index == 2);
  CHECK(calls[1].mask == rts_mask);
  CHECK(calls[1].attributes.qp_state == IBV_QPS_RTS);
  CHECK(calls[1].attributes.sq_psn == 0xabcdef);
  CHECK(calls[1].attributes.timeout == 14);
  CHECK(calls[1].attributes.retry_cnt == 6);
  CHECK(calls[1].attributes.rnr_retry == 7);
  CHECK(calls[1].attributes.max_rd_atomic == 4);
}

TEST_CASE("connect of UC passes the masks of the specification", "[ibv_modify_qp]") {
  test_bench bench;
  auto waiting = bench.waiting<transport::uc>();
  bench.machine.forget_calls();
  const auto pair = waiting.connect(test_bench::peer);
  const auto calls = bench.machine.calls<modify_qp>();
  REQUIRE(calls.size() == 2);
  CHECK(calls[0].mask ==
        (IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN));
  CHECK(calls[1].mask == (IBV_QP_STATE | IBV_QP_SQ_PSN));
}

TEST_CASE("connect passes each of its options", "[ibv_modify_qp]") {
  test_bench bench;
  auto waiting = bench.waiting<transport::rc>();
  bench.machine.forget_calls();
  const auto pair = waiting.connect(
      test_bench::peer, {.path = {.service_level = service_level{2}, .hop_limit = 9},
                         .path_mtu = mtu::bytes_512,
                         .max_destination_read_atomic = 3,
                         .max_initiator_read_atomic = 2,
                         .receiver_not_ready_timer = receiver_not_ready_timer::from_code(21),
                         .acknowledge_timeout = acknowledge_timeout::from_code(8),
                         .retry_count = 1,
                         .receiver_not_ready_retry_count = 4});
  const auto calls = bench.machine.calls<modify_qp>();
  REQUIRE(calls.size() == 2);
  CHECK(calls[0].mask == rtr_mask);
  CHECK(calls[0].attributes.ah_attr.sl == 2);
  CHECK(calls[0].attributes.ah_attr.grh.hop_limit == 9);
  CHECK(calls[0].attributes.path_mtu == IBV_MTU_512);
  CHECK(calls[0].attributes.max_dest_rd_atomic == 3);
  CHECK(calls[0].attributes.min_rnr_timer == 21);
  CHECK(calls[1].mask == rts_mask);
  CHECK(calls[1].attributes.max_rd_atomic == 2);
  CHECK(calls[1].attributes.timeout == 8);
  CHECK(calls[1].attributes.retry_cnt == 1);
  CHECK(calls[1].attributes.rnr_retry == 4);
}

TEST_CASE("A connect that fails at RTR leaves the pair in INIT") {
  test_bench bench;
  auto waiting = waiting_with_attributes(bench);
  const announcement announced = waiting.announced();
  const failure why = reported([&] { bench.machine.fail<modify_qp>(EINVAL); },
                               [&](auto&&... policy) {
                                 const auto pair = waiting.connect(test_bench::peer, {}, policy...);
                                 CHECK(!pair);
                               });
  CHECK(std::string{why.what()}.starts_with("ibv_modify_qp INIT->RTR on fake0:1 qp 0x11"));
  CHECK(waiting.announced() == announced);
  CHECK(bench.machine.attributes(waiting.native_handle()).qp_state == IBV_QPS_INIT);
  CHECK(waiting.connect(test_bench::peer));
}

TEST_CASE("A connect that fails at RTS returns the pair to INIT with all that it had there") {
  test_bench bench;
  auto waiting = waiting_with_attributes(bench);
  const announcement announced = waiting.announced();
  const failure why = reported([&] { bench.machine.fail<modify_qp>(EINVAL, 2); },
                               [&](auto&&... policy) {
                                 const auto pair = waiting.connect(test_bench::peer, {}, policy...);
                                 CHECK(!pair);
                               });
  CHECK(std::string{why.what()}.starts_with("ibv_modify_qp RTR->RTS on fake0:1 qp 0x11"));
  CHECK(waiting.announced() == announced);

  // Each attempt: RTR, RTS (which fails), RESET, INIT.
  const auto calls = bench.machine.calls<modify_qp>();
  const auto& reset = calls[calls.size() - 2];
  CHECK(reset.mask == IBV_QP_STATE);
  CHECK(reset.attributes.qp_state == IBV_QPS_RESET);
  const auto& init = calls[calls.size() - 1];
  CHECK(init.mask == (IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
  CHECK(init.attributes.qp_state == IBV_QPS_INIT);
  CHECK(init.attributes.port_num == 1);
  CHECK(init.attributes.pkey_index == 5);
  CHECK(init.attributes.qp_access_flags == IBV_ACCESS_REMOTE_WRITE);

  const auto pair = waiting.connect(test_bench::peer);
  CHECK(pair);
  CHECK(field(bench.modification(), "sq_psn") == "0x10203");
}

TEST_CASE("A connect that asks the device in vain leaves the pair in INIT") {
  test_bench bench;
  auto waiting = bench.waiting<transport::rc>();
  failure why;
  SECTION("about its port, before RTR") {
    bench.machine.fail<fake::called::query_port>(EIO);
    CHECK(!waiting.connect(test_bench::peer, {}, why));
    CHECK(why.verb() == "ibv_query_port");
  }
  SECTION("about its limits, between RTR and RTS") {
    bench.machine.fail<fake::called::query_device>(EIO, 2);
    CHECK(!waiting.connect(test_bench::peer, {}, why));
    CHECK(why.verb() == "ibv_query_device_ex");
  }
  CHECK(bench.machine.attributes(waiting.native_handle()).qp_state == IBV_QPS_INIT);
  CHECK(waiting.connect(test_bench::peer, {}, why));
  CHECK(!why);
}

TEST_CASE("When even the return to INIT fails, the failure hook is told") {
  test_bench bench;
  const told_failures told;
  auto waiting = bench.waiting<transport::rc>();
  std::error_code code;
  SECTION("because the pair cannot be asked for its attributes") {
    bench.machine.fail<modify_qp>(EINVAL, 2);
    bench.machine.fail<fake::called::query_qp>(EIO);
    CHECK(!waiting.connect(test_bench::peer, {}, code));
    REQUIRE(told.messages().size() == 1);
    CHECK(told.messages()[0] == "ibv_query_qp on fake0 qp 0x11: EIO (Input/output error)");
  }
  SECTION("because it cannot be reset") {
    bench.machine.before<modify_qp>([&] {
      if (field(bench.modification(), "qp_state") == "RTS")
        bench.machine.before<modify_qp>([&] { bench.machine.fail<modify_qp>(EIO); });
    });
    bench.machine.fail<modify_qp>(EINVAL, 2);
    CHECK(!waiting.connect(test_bench::peer, {}, code));
    REQUIRE(told.messages().size() == 1);
    CHECK(told.messages()[0] ==
          "ibv_modify_qp RTR->RESET on fake0:1 qp 0x11: EIO (Input/output error)");
  }
  // The caller gets the first failure, not the second.
  CHECK(code == std::errc::invalid_argument);
}
