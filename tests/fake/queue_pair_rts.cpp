// SPDX-License-Identifier: MIT
// From RTR to RTS: the exact call, and how its values follow from what was announced.
#include <support/catch.hpp>

#include "test_bench.hpp"

using namespace adverb;

namespace {

constexpr int datagram_mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
constexpr int uc_mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
constexpr int rc_mask =
    uc_mask | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;

}  // namespace

TEST_CASE("A retry count that does not fit its three bits is refused, never cut") {
  test_bench bench;
  auto pair = bench.receiving<transport::rc>();
  const auto before = bench.machine.count<fake::called::modify_qp>();
  failure why;
  CHECK(!pair.rts().retry_count(8).apply(why));
  CHECK(why.explanation() == "retry_count is 8, the most is 7");
  CHECK(std::string_view{why.what()}.starts_with("ibv_modify_qp RTR->RTS on fake0:1 qp 0x"));
  CHECK(!pair.rts().receiver_not_ready_retry_count(200).apply(why));
  CHECK(why.explanation() == "receiver_not_ready_retry_count is 200, the most is 7");
  CHECK(bench.machine.count<fake::called::modify_qp>() == before);
}

TEST_CASE("RTS of RC passes the mask of the specification", "[ibv_modify_qp]") {
  test_bench bench;
  auto receiving = bench.receiving<transport::rc>();
  const auto pair = receiving.rts().apply();
  const auto call = bench.modification();
  CHECK(call.pair == pair.native_handle());
  CHECK(call.mask == rc_mask);
  CHECK(call.attributes.qp_state == IBV_QPS_RTS);
  CHECK(call.attributes.timeout == 14);
  CHECK(call.attributes.retry_cnt == 6);
  CHECK(call.attributes.rnr_retry == 7);
  CHECK(call.attributes.max_rd_atomic == 4);
}

TEST_CASE("RTS of UC and UD pass the mask of the specification") {
  test_bench bench;
  SECTION("UC") {
    auto receiving = bench.receiving<transport::uc>();
    const auto pair = receiving.rts().apply();
    CHECK(bench.modification().mask == uc_mask);
  }
  SECTION("UD") {
    auto receiving = bench.receiving<transport::ud>();
    const auto pair = receiving.rts().apply();
    CHECK(bench.modification().mask == datagram_mask);
  }
  CHECK(bench.modification().attributes.qp_state == IBV_QPS_RTS);
}

TEST_CASE("The first packet has the sequence number that was announced") {
  test_bench bench;
  for_each_transport([&](auto service) {
    auto receiving = bench.receiving<service>();
    CHECK(receiving.announced().sequence_number == packet_sequence_number{0xabcdef});
    const auto pair = receiving.rts().apply();
    CHECK(bench.modification().attributes.sq_psn == 0xabcdef);
  });
}

TEST_CASE("A random sequence number is announced and used") {
  test_bench bench;
  auto fresh = bench.fresh<transport::rc>();
  auto waiting = fresh.init().port(port_number{1}).apply();
  const auto announced = waiting.endpoint().sequence_number;
  auto receiving = waiting.rtr().remote(test_bench::peer).apply();
  const auto pair = receiving.rts().apply();
  CHECK(bench.modification().attributes.sq_psn == announced.value());
}

TEST_CASE("RTS passes what it was given") {
  test_bench bench;
  auto receiving = bench.receiving<transport::rc>();
  const auto pair = receiving.rts()
                        .acknowledge_timeout(acknowledge_timeout::from_code(9))
                        .retry_count(2)
                        .receiver_not_ready_retry_count(0)
                        .max_initiator_read_atomic(1)
                        .apply();
  const auto call = bench.modification();
  CHECK(call.mask == rc_mask);
  CHECK(call.attributes.timeout == 9);
  CHECK(call.attributes.retry_cnt == 2);
  CHECK(call.attributes.rnr_retry == 0);
  CHECK(call.attributes.max_rd_atomic == 1);
}

TEST_CASE("The own reads are what the device may use and the peer can take") {
  test_bench bench;
  const auto used = [&](std::uint8_t peer_takes) {
    endpoint peer = test_bench::peer;
    peer.max_destination_read_atomic = peer_takes;
    auto waiting = bench.waiting<transport::rc>();
    auto receiving = waiting.rtr().remote(peer).apply();
    const auto pair = receiving.rts().apply();
    return bench.modification().attributes.max_rd_atomic;
  };
  CHECK(used(0) == 0);
  CHECK(used(7) == 7);
  CHECK(used(200) == 16);
  bench.limits().max_qp_init_rd_atom = 3;
  CHECK(used(7) == 3);
}

TEST_CASE("Each optional attribute of RTS adds its bit and no other") {
  test_bench bench;
  SECTION("rights of RC") {
    auto receiving = bench.receiving<transport::rc>();
    const auto pair = receiving.rts().allow(access_right::remote_read).apply();
    CHECK(bench.modification().mask == (rc_mask | IBV_QP_ACCESS_FLAGS));
    CHECK(bench.modification().attributes.qp_access_flags == IBV_ACCESS_REMOTE_READ);
  }
  SECTION("the receiver-not-ready timer of RC") {
    auto receiving = bench.receiving<transport::rc>();
    const auto pair =
        receiving.rts().receiver_not_ready_timer(receiver_not_ready_timer::from_code(3)).apply();
    CHECK(bench.modification().mask == (rc_mask | IBV_QP_MIN_RNR_TIMER));
    CHECK(bench.modification().attributes.min_rnr_timer == 3);
  }
  SECTION("rights of UC") {
    auto receiving = bench.receiving<transport::uc>();
    const auto pair = receiving.rts().allow(access_right::remote_write).apply();
    CHECK(bench.modification().mask == (uc_mask | IBV_QP_ACCESS_FLAGS));
  }
  SECTION("the queue key of UD") {
    auto receiving = bench.receiving<transport::ud>();
    const auto pair = receiving.rts().queue_key(queue_key{0x33}).apply();
    CHECK(bench.modification().mask == (datagram_mask | IBV_QP_QKEY));
    CHECK(bench.modification().attributes.qkey == 0x33);
  }
}
