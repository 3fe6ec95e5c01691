// SPDX-License-Identifier: MIT
// From INIT to RTR: the exact call, and how its values follow from the two ends.
#include <string>
#include <utility>

#include <support/catch.hpp>

#include "test_bench.hpp"

using namespace adverb;

namespace {

/// The call that brings a pair to RTR with these settings, on a bench of its own.
template <transport Transport, class Settings>
std::string rtr_of(const Settings& settings) {
  const test_bench bench;
  auto waiting = bench.waiting<Transport>();
  const auto receiving = settings(waiting.rtr()).apply();
  CHECK(receiving);
  return bench.modification();
}

/// The call that connects an RC pair to this peer.
std::string call_for(const test_bench& bench, const endpoint& peer, const path_options& path = {}) {
  auto waiting = bench.waiting<transport::rc>();
  const auto receiving = waiting.rtr().remote(peer, path).apply();
  return bench.modification();
}

}  // namespace

TEST_CASE("RTR passes all required attributes, and each optional attribute as well",
          "[ibv_modify_qp]") {
  constexpr auto rc = transport::rc;
  constexpr auto uc = transport::uc;
  constexpr auto ud = transport::ud;
  const auto remote = [](auto step) { return std::move(step).remote(test_bench::peer); };
  const std::string rtr = "ibv_modify_qp qp0 qp_state=RTR";
  const std::string way =
      " ah_attr={port_num=1 grh={dgid=::ffff:10.0.0.2 sgid_index=2 hop_limit=64}}";
  const std::string of_uc = way + " path_mtu=1024 rq_psn=0x123456 dest_qp_num=0x77";
  const std::string of_rc = way +
                            " path_mtu=1024 rq_psn=0x123456 min_rnr_timer=12 max_dest_rd_atomic=8"
                            " dest_qp_num=0x77";
  CHECK(rtr_of<rc>(remote) == rtr + of_rc);
  CHECK(rtr_of<uc>(remote) == rtr + of_uc);
  CHECK(rtr_of<ud>([](auto step) { return step; }) == rtr);

  CHECK(rtr_of<rc>([&](auto step) {
          return remote(step)
              .path_mtu(mtu::bytes_256)
              .max_destination_read_atomic(3)
              .rnr_timer(rnr_timer::from_code(5));
        }) == rtr + way +
                  " path_mtu=256 rq_psn=0x123456 min_rnr_timer=5 max_dest_rd_atomic=3"
                  " dest_qp_num=0x77");
  const auto allowed = [&](auto step) { return remote(step).allow(access_right::remote_write); };
  CHECK(rtr_of<rc>(allowed) == rtr + " qp_access_flags=REMOTE_WRITE" + of_rc);
  CHECK(rtr_of<uc>(allowed) == rtr + " qp_access_flags=REMOTE_WRITE" + of_uc);
  CHECK(rtr_of<rc>([&](auto step) { return remote(step).pkey_index(pkey_index{2}); }) ==
        rtr + " pkey_index=2" + of_rc);
  CHECK(rtr_of<ud>([](auto step) { return std::move(step).pkey_index(pkey_index{2}); }) ==
        rtr + " pkey_index=2");
  CHECK(rtr_of<ud>([](auto step) { return std::move(step).queue_key(queue_key{0x22}); }) ==
        rtr + " qkey=0x22");
}

TEST_CASE("RTR accepts address, queue pair number and PSN of the peer separately") {
  // The peer's limits are unknown, so the local ones are used.
  CHECK(rtr_of<transport::rc>([](auto step) {
          return std::move(step)
              .remote_psn(psn{5})
              .remote_queue_pair(qp_number{0x99})
              .address({.destination = lid{7},
                        .route = global_route{.destination = test_bench::peer.gid,
                                              .source = gid_index{1}}});
        }) ==
        "ibv_modify_qp qp0 qp_state=RTR"
        " ah_attr={port_num=1 dlid=0x7 grh={dgid=::ffff:10.0.0.2 sgid_index=1 hop_limit=64}}"
        " path_mtu=1024 rq_psn=0x5 min_rnr_timer=12 max_dest_rd_atomic=16 dest_qp_num=0x99");
}

TEST_CASE("RTR replaces the port of an address with that of the pair") {
  test_bench bench;
  make_infiniband(bench.port());
  auto pair = bench.waiting<transport::uc>();
  const auto receiving = pair.rtr()
                             .address({.port = port_number{2}, .destination = lid{5}})
                             .remote_queue_pair(qp_number{1})
                             .remote_psn(psn{1})
                             .apply();
  CHECK(field(bench.modification(), "ah_attr") == "{port_num=1 dlid=0x5}");
}

TEST_CASE("RTR uses the lower path MTU of both sides") {
  test_bench bench;
  endpoint peer = test_bench::peer;
  peer.mtu = mtu::bytes_512;
  CHECK(field(call_for(bench, peer), "path_mtu") == "512");
  peer.mtu = mtu::bytes_4096;
  CHECK(field(call_for(bench, peer), "path_mtu") == "1024");
  bench.port().attributes.active_mtu = IBV_MTU_4096;
  CHECK(field(call_for(bench, peer), "path_mtu") == "4096");
}

TEST_CASE("RTR limits incoming reads to what the device supports and the peer uses") {
  test_bench bench;
  endpoint peer = test_bench::peer;
  peer.max_initiator_read_atomic = 200;
  CHECK(field(call_for(bench, peer), "max_dest_rd_atomic") == "16");
  peer.max_initiator_read_atomic = 0;
  CHECK(field(call_for(bench, peer), "max_dest_rd_atomic") == "0");

  // The attribute has 8 bits, the limit of the device 32.
  bench.limits().max_qp_rd_atom = 0x101;
  adverb::detail::forget_limits_of(bench.context.native_handle());
  peer.max_initiator_read_atomic = 255;
  CHECK(field(call_for(bench, peer), "max_dest_rd_atomic") == "255");
}

TEST_CASE("RTR passes the given path options") {
  const test_bench bench;
  CHECK(field(call_for(bench, test_bench::peer,
                       {.service_level = service_level{3},
                        .traffic_class = 106,
                        .hop_limit = 5,
                        .flow_label = 0xabcde,
                        .source_path_bits = 1,
                        .static_rate = adverb::rate::gigabits_10}),
              "ah_attr") ==
        "{port_num=1 sl=3 src_path_bits=1 static_rate=3 grh={dgid=::ffff:10.0.0.2 sgid_index=2 "
        "flow_label=0xabcde hop_limit=5 traffic_class=106}}");
}

TEST_CASE("On InfiniBand a peer in the same subnet is reached by its LID alone") {
  test_bench bench;
  make_infiniband(bench.port());
  endpoint peer = test_bench::peer;
  peer.lid = lid{0x1234};
  for (const gid& near : {gid{global_gid(2)}, gid{}}) {
    peer.gid = near;
    CHECK(field(call_for(bench, peer, {.service_level = service_level{4}}), "ah_attr") ==
          "{port_num=1 dlid=0x1234 sl=4}");
  }
}

TEST_CASE("On InfiniBand a peer in another subnet needs a global route") {
  test_bench bench;
  make_infiniband(bench.port());
  endpoint peer = test_bench::peer;
  peer.lid = lid{0x1234};
  peer.gid = gid{global_gid(2, 9)};
  CHECK(field(call_for(bench, peer), "ah_attr") ==
        "{port_num=1 dlid=0x1234 grh={dgid=2001:db8:0:9::2 sgid_index=0 hop_limit=64}}");
}

TEST_CASE("RTR and RTS do not query given values") {
  test_bench bench;
  auto waiting = bench.waiting<transport::rc>();
  bench.machine.forget_calls();
  auto receiving = waiting.rtr()
                       .address({.route = global_route{.destination = test_bench::peer.gid}})
                       .remote_queue_pair(qp_number{0x77})
                       .remote_psn(psn{1})
                       .path_mtu(mtu::bytes_512)
                       .max_destination_read_atomic(1)
                       .apply();
  const auto ready = receiving.rts().max_initiator_read_atomic(1).apply();
  CHECK_THAT(bench.machine.lines(), is_log(R"(
    ibv_modify_qp qp0 qp_state=RTR
      ah_attr={port_num=1 grh={dgid=::ffff:10.0.0.2 sgid_index=0 hop_limit=64}} path_mtu=512
      rq_psn=0x1 min_rnr_timer=12 max_dest_rd_atomic=1 dest_qp_num=0x77
    ibv_modify_qp qp0 qp_state=RTS timeout=14 retry_cnt=6 rnr_retry=7 max_rd_atomic=1
      sq_psn=0xabcdef)"));
}
