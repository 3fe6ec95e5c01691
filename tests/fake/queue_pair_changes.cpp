// SPDX-License-Identifier: MIT
// The transitions after RTS, changes within a state, and the transports that have no peer.
#include <cerrno>
#include <chrono>

#include <support/catch.hpp>

#include "test_bench.hpp"

using namespace adverb;
using namespace std::chrono_literals;

TEST_CASE("A change sets only the given attributes", "[ibv_modify_qp]") {
  test_bench bench;
  auto waiting = bench.waiting<transport::rc>();
  auto pair = bench.ready<transport::rc>();
  bench.machine.forget_calls();
  waiting.change().pkey_index(pkey_index{0}).apply();
  pair.change().allow(access_right::remote_read).rnr_timer(1ms).apply();
  CHECK_THAT(bench.machine.lines(), is_log(R"(
    ibv_modify_qp qp0 qp_state=INIT pkey_index=0
    ibv_modify_qp qp1 qp_state=RTS qp_access_flags=REMOTE_READ min_rnr_timer=14)"));
  CHECK(pair);
}

TEST_CASE("Later transitions use the attributes of a change within INIT") {
  test_bench bench;
  auto pair = bench.waiting<transport::rc>();
  const announced_attributes before = pair.announced();
  pair.change().pkey_index(pkey_index{0}).apply();
  CHECK(pair.announced() == before);

  pair.change().gid(gid_index{0}).psn(psn{0x42}).apply();
  CHECK(bench.modification() == "ibv_modify_qp qp0 qp_state=INIT");
  CHECK(pair.announced().source_gid == gid_index{0});
  CHECK(pair.endpoint().psn == psn{0x42});
  CHECK(pair.endpoint().gid == adverb::gid{bench.port().gids.at(0).gid});

  pair.change().gid(std::nullopt).apply();
  CHECK(pair.announced().source_gid == before.source_gid);
  CHECK(before.source_gid != gid_index{0});
  pair.change().gid(gid_index{0}).apply();

  auto receiving = pair.rtr().remote(test_bench::peer).apply();
  CHECK(field(bench.modification(), "ah_attr") ==
        "{port_num=1 grh={dgid=::ffff:10.0.0.2 sgid_index=0 hop_limit=64}}");
  const auto ready = receiving.rts().apply();
  CHECK(field(bench.modification(), "sq_psn") == "0x42");
}

TEST_CASE("A pair that changes its port within INIT uses a GID of the new port") {
  test_bench bench;
  fake::port second = bench.port();
  second.attributes.lid = 0x99;
  second.gids = {table_entry(fake::ipv4_gid(10, 0, 9, 1), 0, IBV_GID_TYPE_ROCE_V2, 2)};
  bench.machine.devices[0].ports.push_back(second);
  auto pair = bench.waiting<transport::rc>();
  const announced_attributes before = pair.announced();
  CHECK(before.source_gid != gid_index{0});

  failure why;
  bench.machine.fail<fake::called::modify_qp>(EINVAL);
  pair.change().port(port_number{2}).apply(why);
  CHECK(why.code() == std::errc::invalid_argument);
  CHECK(pair.announced() == before);

  pair.change().port(port_number{2}).apply();
  CHECK(pair.announced().port == port_number{2});
  CHECK(pair.announced().source_gid == gid_index{0});
  CHECK(pair.announced().psn == before.psn);
  CHECK(pair.endpoint().lid == lid{0x99});
  const auto receiving = pair.rtr().remote(test_bench::peer).apply();
  CHECK(field(bench.modification(), "ah_attr") ==
        "{port_num=2 grh={dgid=::ffff:10.0.0.2 sgid_index=0 hop_limit=64}}");
}

TEST_CASE("A failed change changes nothing and names the transition") {
  test_bench bench;
  auto pair = bench.ready<transport::ud>();
  bench.machine.fail<fake::called::modify_qp>(EINVAL);
  failure why;
  pair.change().queue_key(queue_key{5}).apply(why);
  CHECK(std::string_view{why.what()}.starts_with("ibv_modify_qp RTS->RTS on fake0:1 qp 0x"));
  CHECK(pair);
}

TEST_CASE("The send queue is drained, changed, and started again") {
  test_bench bench;
  auto pair = bench.ready<transport::rc>();
  bench.machine.forget_calls();
  auto drained = pair.drain().notify_when_drained().apply();
  CHECK(!pair);
  drained.change().retry_count(3).acknowledge_timeout(1s).apply();
  failure why;
  drained.change().retry_count(8).apply(why);
  CHECK(why.explanation() == "retry_count is 8, the maximum is 7");
  const queue_pair<transport::rc> ready = drained.rts().apply();
  CHECK_THAT(bench.machine.lines(), is_log(R"(
    ibv_modify_qp qp0 qp_state=SQD en_sqd_async_notify=1
    ibv_modify_qp qp0 qp_state=SQD timeout=18 retry_cnt=3
    ibv_modify_qp qp0 qp_state=RTS)"));
}

TEST_CASE("A failed change in SQD is explained") {
  test_bench bench;
  auto pair = bench.ready<transport::rc>();
  auto drained = pair.drain().apply();
  bench.machine.fail<fake::called::modify_qp>(EINVAL);
  failure why;
  drained.change().pkey_index(pkey_index{999}).apply(why);
  CHECK(std::string_view{why.what()}.starts_with("ibv_modify_qp SQD->SQD on fake0:1 qp 0x"));
  CHECK(why.explanation().starts_with("P_Key index 999 is not in the table of "));
}

TEST_CASE("A plain drain requests no event") {
  test_bench bench;
  auto pair = bench.ready<transport::uc>();
  const auto drained = pair.drain().apply();
  CHECK(bench.modification() == "ibv_modify_qp qp0 qp_state=SQD");
}

TEST_CASE("A send queue in SQE can be started again") {
  test_bench bench;
  queue_pair<transport::uc, qp_state::any> any = bench.ready<transport::uc>();
  any.native_handle()->state = IBV_QPS_SQE;
  auto stopped = any.assume<qp_state::sqe>();
  const auto ready = stopped.rts().current_state(qp_state::sqe).apply();
  CHECK(bench.modification() == "ibv_modify_qp qp0 qp_state=RTS cur_qp_state=SQE");
}

TEST_CASE("A path migrates to another one") {
  test_bench bench;
  auto pair = bench.ready<transport::rc>();
  bench.machine.forget_calls();
  const address other{.port = port_number{1}, .destination = lid{7}};
  pair.change()
      .alternate_path({.address = other, .pkey_index = pkey_index{2}, .acknowledge_timeout = 1s})
      .path_migration(path_migration_state::rearm)
      .apply();
  CHECK(pair.query().path_migration_state() == path_migration_state::rearm);
  pair.change().path_migration(path_migration_state::migrated).apply();
  CHECK_THAT(bench.machine.lines<fake::called::modify_qp>(), is_log(R"(
    ibv_modify_qp qp0 qp_state=RTS alt_ah_attr={port_num=1 dlid=0x7} alt_pkey_index=2
      alt_port_num=1 alt_timeout=18 path_mig_state=REARM
    ibv_modify_qp qp0 qp_state=RTS path_mig_state=MIGRATED)"));
}

TEST_CASE("A raw packet pair needs a port and nothing else") {
  test_bench bench;
  std::array<std::byte, 64> packet{};
  const memory_region region{bench.domain, packet};
  auto fresh = bench.fresh<transport::raw_packet>();
  bench.machine.forget_calls();
  auto waiting = fresh.init().port(port_number{1}).apply();
  CHECK(waiting.announced().port == port_number{1});
  auto receiving = waiting.rtr().apply();
  auto pair = receiving.rts().rate_limit(5000).apply();
  pair.change().rate_limit(0).apply();
  pair.post(send(region.buffer()).ip_checksum()).check();
  CHECK_THAT(bench.machine.lines(), is_log(R"(
    ibv_modify_qp qp0 qp_state=INIT port_num=1
    ibv_modify_qp qp0 qp_state=RTR
    ibv_modify_qp qp0 qp_state=RTS rate_limit=5000
    ibv_modify_qp qp0 qp_state=RTS rate_limit=0
    ibv_post_send qp0: SEND flags=IP_CSUM [mr0+0 64])"));
}

TEST_CASE("A segmented send limits the size of its header to 65535") {
  const std::vector<std::byte> header(70'000);
  ibv_send_wr native{};
  detail::no_memory none;
  send_segmented(std::span{header}, 1).fill(native, nullptr, none);
  CHECK(native.tso.hdr_sz == 65'535);
}

TEST_CASE("A driver queue pair sets only the given attributes") {
  test_bench bench;
  ibv_qp_init_attr attributes{};
  attributes.send_cq = bench.queue.native_handle();
  attributes.recv_cq = bench.queue.native_handle();
  attributes.qp_type = IBV_QPT_DRIVER;
  ibv_qp* const native = ibv_create_qp(bench.domain.native_handle(), &attributes);
  bench.machine.forget_calls();
  queue_pair<transport::driver, qp_state::reset> fresh{adopt, native};
  auto waiting = fresh.init().port(port_number{1}).queue_key(queue_key{3}).apply();
  auto receiving = waiting.rtr().path_mtu(mtu::bytes_1024).apply();
  auto pair = receiving.rts().psn(psn{9}).apply();
  pair.post(send()).check();
  CHECK_THAT(bench.machine.lines(), is_log(R"(
    ibv_modify_qp qp0 qp_state=INIT port_num=1 qkey=0x3
    ibv_modify_qp qp0 qp_state=RTR path_mtu=1024
    ibv_modify_qp qp0 qp_state=RTS sq_psn=0x9
    ibv_post_send qp0: SEND)"));
}

TEST_CASE("The rate of a pair is limited", "[ibv_modify_qp_rate_limit]") {
  test_bench bench;
  const auto pair = bench.ready<transport::rc>();
  pair.limit_rate({.kilobits_per_second = 1, .max_burst_size = 2, .typical_packet_size = 3});
  CHECK(bench.machine.line() ==
        "ibv_modify_qp_rate_limit qp0 rate_limit=1 max_burst_sz=2 typical_pkt_sz=3");

  bench.machine.fail<fake::called::modify_qp_rate_limit>(EOPNOTSUPP);
  failure why;
  pair.limit_rate({}, why);
  CHECK(why.explanation() == "fake0 has no rate limits of queue pairs");
}

TEST_CASE("Connection enhancements are queried and set", "[ibv_query_ece][ibv_set_ece]") {
  test_bench bench;
  const auto pair = bench.waiting<transport::rc>();
  const ece accepted = pair.set_ece({.vendor_id = 0x15b3, .options = 0x305});
  CHECK(accepted == ece{0x15b3, 5});
  CHECK(bench.machine.line() == "ibv_set_ece qp0 vendor_id=0x15b3 options=0x305");
  CHECK(pair.query_ece() == ece{0x15b3, 5});

  bench.machine.fail<fake::called::query_ece>(EOPNOTSUPP);
  failure why;
  CHECK(pair.query_ece(why) == ece{});
  CHECK(why.explanation() == "fake0 has no enhanced connection establishment (ECE)");
  bench.machine.fail<fake::called::set_ece>(EINVAL);
  CHECK(pair.set_ece({.vendor_id = 1}, why) == ece{});
  CHECK(why.code() == std::errc::invalid_argument);
}

TEST_CASE("The query of in-order data passes each kind of operation",
          "[ibv_query_qp_data_in_order]") {
  test_bench bench;
  const auto pair = bench.ready<transport::rc>();
  CHECK(pair.has_data_in_order(in_order_operation::write));
  CHECK(!pair.has_data_in_order(in_order_operation::read));
  CHECK(!pair.has_data_in_order(in_order_operation::send));
  CHECK_THAT(bench.machine.lines<fake::called::query_qp_data_in_order>(), is_log(R"(
    ibv_query_qp_data_in_order qp0 op=RDMA_WRITE flags=0x0
    ibv_query_qp_data_in_order qp0 op=RDMA_READ flags=0x0
    ibv_query_qp_data_in_order qp0 op=SEND flags=0x0)"));
  const queue_pair<transport::rc> empty;
  CHECK(!empty.has_data_in_order(in_order_operation::write));
}

TEST_CASE("A datagram pair keeps its port and GID for later addresses") {
  test_bench bench;
  const auto pair = bench.ready<transport::ud>();
  CHECK(pair.endpoint().number == pair.number());
  const address way = pair.address_of(test_bench::peer);
  REQUIRE(way.route);
  CHECK(way.route->destination == test_bench::peer.gid);
  CHECK(way.port == port_number{1});
}
