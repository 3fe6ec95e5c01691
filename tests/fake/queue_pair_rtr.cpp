// SPDX-License-Identifier: MIT
// From INIT to RTR: the exact call, and how its values follow from the two ends.
#include <support/catch.hpp>

#include "test_bench.hpp"

using namespace adverb;

namespace {

constexpr int uc_mask =
    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
constexpr int rc_mask = uc_mask | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
constexpr int ud_mask = IBV_QP_STATE;

/// The call that connects an RC pair to this peer.
fake::called::modify_qp call_for(const test_bench& bench, const endpoint& peer,
                                 const path_options& path = {}) {
  auto waiting = bench.waiting<transport::rc>();
  const auto receiving = waiting.rtr().remote(peer, path).apply();
  return bench.modification();
}

void check_no_route(const ibv_ah_attr& way) {
  CHECK(way.is_global == 0);
  CHECK(way.grh.hop_limit == 0);
  CHECK(gid{way.grh.dgid}.is_empty());
}

}  // namespace

TEST_CASE("An address is used on the port that the pair is on, whatever it says") {
  test_bench bench;
  make_infiniband(bench.port());
  auto pair = bench.waiting<transport::uc>();
  const auto receiving = pair.rtr()
                             .address({.port = port_number{2}, .destination = lid{5}})
                             .remote_queue_pair(qp_number{1})
                             .remote_sequence_number(packet_sequence_number{1})
                             .apply();
  CHECK(bench.modification().attributes.ah_attr.port_num == 1);
  CHECK(bench.modification().attributes.ah_attr.dlid == 5);
}

TEST_CASE("RTR of RC passes the mask of the specification", "[ibv_modify_qp]") {
  test_bench bench;
  auto waiting = bench.waiting<transport::rc>();
  const auto receiving = waiting.rtr().remote(test_bench::peer).apply();
  const auto call = bench.modification();
  CHECK(call.pair == receiving.native_handle());
  CHECK(call.mask == rc_mask);
  CHECK(call.attributes.qp_state == IBV_QPS_RTR);
  CHECK(call.attributes.dest_qp_num == 0x77);
  CHECK(call.attributes.rq_psn == 0x123456);
  CHECK(call.attributes.path_mtu == IBV_MTU_1024);
  CHECK(call.attributes.max_dest_rd_atomic == 8);
  CHECK(call.attributes.min_rnr_timer == 12);
}

TEST_CASE("RTR of UC passes the mask of the specification") {
  test_bench bench;
  auto waiting = bench.waiting<transport::uc>();
  const auto receiving = waiting.rtr().remote(test_bench::peer).apply();
  const auto call = bench.modification();
  CHECK(call.pair == receiving.native_handle());
  CHECK(call.mask == uc_mask);
  CHECK(call.attributes.qp_state == IBV_QPS_RTR);
  CHECK(call.attributes.dest_qp_num == 0x77);
  CHECK(call.attributes.rq_psn == 0x123456);
  CHECK(call.attributes.path_mtu == IBV_MTU_1024);
}

TEST_CASE("RTR of UD passes the state alone") {
  test_bench bench;
  auto waiting = bench.waiting<transport::ud>();
  const auto receiving = waiting.rtr().apply();
  const auto call = bench.modification();
  CHECK(call.pair == receiving.native_handle());
  CHECK(call.mask == ud_mask);
  CHECK(call.attributes.qp_state == IBV_QPS_RTR);
}

TEST_CASE("RTR passes what it was given") {
  test_bench bench;
  auto waiting = bench.waiting<transport::rc>();
  const auto receiving = waiting.rtr()
                             .remote(test_bench::peer)
                             .path_mtu(mtu::bytes_256)
                             .max_destination_read_atomic(3)
                             .receiver_not_ready_timer(receiver_not_ready_timer::from_code(5))
                             .apply();
  const auto call = bench.modification();
  CHECK(call.mask == rc_mask);
  CHECK(call.attributes.path_mtu == IBV_MTU_256);
  CHECK(call.attributes.max_dest_rd_atomic == 3);
  CHECK(call.attributes.min_rnr_timer == 5);
}

TEST_CASE("Each optional attribute of RTR adds its bit and no other") {
  test_bench bench;
  SECTION("rights of RC") {
    auto waiting = bench.waiting<transport::rc>();
    const auto receiving =
        waiting.rtr().remote(test_bench::peer).allow(access_right::remote_write).apply();
    CHECK(bench.modification().mask == (rc_mask | IBV_QP_ACCESS_FLAGS));
    CHECK(bench.modification().attributes.qp_access_flags == IBV_ACCESS_REMOTE_WRITE);
  }
  SECTION("rights of UC") {
    auto waiting = bench.waiting<transport::uc>();
    const auto receiving =
        waiting.rtr().remote(test_bench::peer).allow(access_right::remote_write).apply();
    CHECK(bench.modification().mask == (uc_mask | IBV_QP_ACCESS_FLAGS));
  }
  SECTION("the partition of RC") {
    auto waiting = bench.waiting<transport::rc>();
    const auto receiving = waiting.rtr().remote(test_bench::peer).pkey_index(pkey_index{2}).apply();
    CHECK(bench.modification().mask == (rc_mask | IBV_QP_PKEY_INDEX));
    CHECK(bench.modification().attributes.pkey_index == 2);
  }
  SECTION("the partition of UD") {
    auto waiting = bench.waiting<transport::ud>();
    const auto receiving = waiting.rtr().pkey_index(pkey_index{2}).apply();
    CHECK(bench.modification().mask == (ud_mask | IBV_QP_PKEY_INDEX));
  }
  SECTION("the queue key of UD") {
    auto waiting = bench.waiting<transport::ud>();
    const auto receiving = waiting.rtr().queue_key(queue_key{0x22}).apply();
    CHECK(bench.modification().mask == (ud_mask | IBV_QP_QKEY));
    CHECK(bench.modification().attributes.qkey == 0x22);
  }
}

TEST_CASE("The path MTU is the lower of both ends") {
  test_bench bench;
  endpoint peer = test_bench::peer;
  peer.mtu = mtu::bytes_512;
  CHECK(call_for(bench, peer).attributes.path_mtu == IBV_MTU_512);
  peer.mtu = mtu::bytes_4096;
  CHECK(call_for(bench, peer).attributes.path_mtu == IBV_MTU_1024);
  bench.port().attributes.active_mtu = IBV_MTU_4096;
  CHECK(call_for(bench, peer).attributes.path_mtu == IBV_MTU_4096);
}

TEST_CASE("The reads that are taken are what the device can and the peer may use") {
  test_bench bench;
  endpoint peer = test_bench::peer;
  peer.max_initiator_read_atomic = 200;
  CHECK(call_for(bench, peer).attributes.max_dest_rd_atomic == 16);
  peer.max_initiator_read_atomic = 0;
  CHECK(call_for(bench, peer).attributes.max_dest_rd_atomic == 0);

  // The attribute has 8 bits, the limit of the device 32.
  bench.limits().max_qp_rd_atom = 0x101;
  peer.max_initiator_read_atomic = 255;
  CHECK(call_for(bench, peer).attributes.max_dest_rd_atomic == 255);
}

TEST_CASE("On Ethernet there is a global route, from the GID that was announced") {
  test_bench bench;
  const ibv_ah_attr way = call_for(bench, test_bench::peer).attributes.ah_attr;
  CHECK(way.is_global == 1);
  CHECK(gid{way.grh.dgid} == test_bench::peer.gid);
  CHECK(way.grh.sgid_index == 2);
  CHECK(way.grh.hop_limit == 64);
  CHECK(way.grh.flow_label == 0);
  CHECK(way.grh.traffic_class == 0);
  CHECK(way.port_num == 1);
  CHECK(way.dlid == 0);
  CHECK(way.sl == 0);
  CHECK(way.src_path_bits == 0);
  CHECK(way.static_rate == 0);
}

TEST_CASE("The way has the quality that was asked for") {
  test_bench bench;
  const ibv_ah_attr way = call_for(bench, test_bench::peer,
                                   {.service_level = service_level{3},
                                    .traffic_class = 106,
                                    .hop_limit = 5,
                                    .flow_label = 0xabcde,
                                    .source_path_bits = 1,
                                    .static_rate = adverb::rate::gigabits_10})
                              .attributes.ah_attr;
  CHECK(way.sl == 3);
  CHECK(way.grh.traffic_class == 106);
  CHECK(way.grh.hop_limit == 5);
  CHECK(way.grh.flow_label == 0xabcde);
  CHECK(way.src_path_bits == 1);
  CHECK(way.static_rate == IBV_RATE_10_GBPS);
}

TEST_CASE("On InfiniBand a peer in the same subnet is reached by its LID alone") {
  test_bench bench;
  make_infiniband(bench.port());
  endpoint peer = test_bench::peer;
  peer.lid = lid{0x1234};
  SECTION("by its GID's prefix") { peer.gid = gid{global_gid(2)}; }
  SECTION("and when it has no GID") { peer.gid = gid{}; }
  const ibv_ah_attr way =
      call_for(bench, peer, {.service_level = service_level{4}}).attributes.ah_attr;
  check_no_route(way);
  CHECK(way.dlid == 0x1234);
  CHECK(way.sl == 4);
  CHECK(way.port_num == 1);
}

TEST_CASE("On InfiniBand a peer in another subnet needs a global route") {
  test_bench bench;
  make_infiniband(bench.port());
  endpoint peer = test_bench::peer;
  peer.lid = lid{0x1234};
  peer.gid = gid{global_gid(2, 9)};
  const ibv_ah_attr way = call_for(bench, peer).attributes.ah_attr;
  CHECK(way.is_global == 1);
  CHECK(gid{way.grh.dgid} == peer.gid);
  CHECK(way.grh.sgid_index == 0);
  CHECK(way.dlid == 0x1234);
}

TEST_CASE("The peer can be given in its parts") {
  test_bench bench;
  auto waiting = bench.waiting<transport::rc>();
  const auto receiving = waiting.rtr()
                             .remote_sequence_number(packet_sequence_number{5})
                             .remote_queue_pair(qp_number{0x99})
                             .address({.destination = lid{7},
                                       .route = global_route{.destination = test_bench::peer.gid,
                                                             .source = gid_index{1}}})
                             .apply();
  const auto call = bench.modification();
  CHECK(call.mask == rc_mask);
  CHECK(call.attributes.rq_psn == 5);
  CHECK(call.attributes.dest_qp_num == 0x99);
  CHECK(call.attributes.ah_attr.dlid == 7);
  CHECK(call.attributes.ah_attr.is_global == 1);
  CHECK(call.attributes.ah_attr.grh.sgid_index == 1);
  // Nothing is known of the peer's limits, so the own ones are used.
  CHECK(call.attributes.path_mtu == IBV_MTU_1024);
  CHECK(call.attributes.max_dest_rd_atomic == 16);
}

TEST_CASE("The device is asked nothing about what was given") {
  test_bench bench;
  auto waiting = bench.waiting<transport::rc>();
  const auto asked = [&] {
    return bench.machine.calls<fake::called::query_port>().size() +
           bench.machine.calls<fake::called::query_device>().size() +
           bench.machine.calls<fake::called::query_gid_table>().size();
  };
  const std::size_t before = asked();
  auto receiving = waiting.rtr()
                       .address({.route = global_route{.destination = test_bench::peer.gid}})
                       .remote_queue_pair(qp_number{0x77})
                       .remote_sequence_number(packet_sequence_number{1})
                       .path_mtu(mtu::bytes_512)
                       .max_destination_read_atomic(1)
                       .apply();
  CHECK(bench.modification().attributes.path_mtu == IBV_MTU_512);
  const auto ready = receiving.rts().max_initiator_read_atomic(1).apply();
  CHECK(asked() == before);
}
