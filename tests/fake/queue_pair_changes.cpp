// SPDX-License-Identifier: MIT
// The transitions after RTS, changes within a state, and the transports that have no peer.
#include <cerrno>
#include <chrono>

#include <support/catch.hpp>

#include "test_bench.hpp"

using namespace adverb;
using namespace std::chrono_literals;

TEST_CASE("A change within RTS sets what it was given and nothing else", "[ibv_modify_qp]") {
  test_bench bench;
  auto pair = bench.ready<transport::rc>();
  pair.change().allow(access_right::remote_read).receiver_not_ready_timer(1ms).apply();
  const auto call = bench.modification();
  CHECK(call.mask == (IBV_QP_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER));
  CHECK(call.attributes.qp_state == IBV_QPS_RTS);
  CHECK(call.attributes.qp_access_flags == IBV_ACCESS_REMOTE_READ);
  CHECK(call.attributes.min_rnr_timer == 14);
  CHECK(pair);
}

TEST_CASE("A change within INIT") {
  test_bench bench;
  auto pair = bench.waiting<transport::rc>();
  pair.change().pkey_index(pkey_index{0}).apply();
  CHECK(bench.modification().mask == (IBV_QP_STATE | IBV_QP_PKEY_INDEX));
  CHECK(bench.modification().attributes.qp_state == IBV_QPS_INIT);
}

TEST_CASE("What is changed within INIT is announced, and used from then on") {
  test_bench bench;
  auto pair = bench.waiting<transport::rc>();
  const announcement before = pair.announced();
  pair.change().pkey_index(pkey_index{0}).apply();
  CHECK(pair.announced() == before);

  pair.change().gid(gid_index{0}).sequence_number(packet_sequence_number{0x42}).apply();
  CHECK(bench.modification().mask == IBV_QP_STATE);
  CHECK(pair.announced().source_gid == gid_index{0});
  CHECK(pair.endpoint().sequence_number == packet_sequence_number{0x42});
  CHECK(pair.endpoint().gid == adverb::gid{bench.port().gids.at(0).gid});

  pair.change().gid(std::nullopt).apply();
  CHECK(pair.announced().source_gid == before.source_gid);
  CHECK(before.source_gid != gid_index{0});
  pair.change().gid(gid_index{0}).apply();

  auto receiving = pair.rtr().remote(test_bench::peer).apply();
  CHECK(bench.modification().attributes.ah_attr.grh.sgid_index == 0);
  const auto ready = receiving.rts().apply();
  CHECK(bench.modification().attributes.sq_psn == 0x42);
}

TEST_CASE("A pair that changes its port within INIT takes a GID of the new one") {
  test_bench bench;
  fake::port second = bench.port();
  second.attributes.lid = 0x99;
  second.gids = {table_entry(fake::ipv4_gid(10, 0, 9, 1), 0, IBV_GID_TYPE_ROCE_V2, 2)};
  bench.machine.devices[0].ports.push_back(second);
  auto pair = bench.waiting<transport::rc>();
  const announcement before = pair.announced();
  CHECK(before.source_gid != gid_index{0});

  failure why;
  bench.machine.fail<fake::called::modify_qp>(EINVAL);
  pair.change().port(port_number{2}).apply(why);
  CHECK(why.code() == std::errc::invalid_argument);
  CHECK(pair.announced() == before);

  pair.change().port(port_number{2}).apply();
  CHECK(pair.announced().port == port_number{2});
  CHECK(pair.announced().source_gid == gid_index{0});
  CHECK(pair.announced().sequence_number == before.sequence_number);
  CHECK(pair.endpoint().lid == lid{0x99});
  const auto receiving = pair.rtr().remote(test_bench::peer).apply();
  CHECK(bench.modification().attributes.ah_attr.port_num == 2);
}

TEST_CASE("A change that fails changes nothing and says what it was") {
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
  auto drained = pair.drain().notify_when_drained().apply();
  CHECK(!pair);
  CHECK(bench.modification().mask == (IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY));
  CHECK(bench.modification().attributes.qp_state == IBV_QPS_SQD);
  CHECK(bench.modification().attributes.en_sqd_async_notify == 1);

  drained.change().retry_count(3).acknowledge_timeout(1s).apply();
  CHECK(bench.modification().mask == (IBV_QP_STATE | IBV_QP_RETRY_CNT | IBV_QP_TIMEOUT));
  CHECK(bench.modification().attributes.retry_cnt == 3);
  CHECK(bench.modification().attributes.timeout == 18);
  failure why;
  drained.change().retry_count(8).apply(why);
  CHECK(why.explanation() == "retry_count is 8, the most is 7");

  bench.machine.fail<fake::called::modify_qp>(EINVAL);
  drained.change().pkey_index(pkey_index{999}).apply(why);
  CHECK(std::string_view{why.what()}.starts_with("ibv_modify_qp SQD->SQD on fake0:1 qp 0x"));
  CHECK(why.explanation().starts_with("P_Key index 999 is not in the table of "));

  const queue_pair<transport::rc> ready = drained.rts().apply();
  CHECK(bench.modification().mask == IBV_QP_STATE);
  CHECK(bench.modification().attributes.qp_state == IBV_QPS_RTS);
}

TEST_CASE("A plain drain asks for no event") {
  test_bench bench;
  auto pair = bench.ready<transport::uc>();
  const auto drained = pair.drain().apply();
  CHECK(bench.modification().mask == IBV_QP_STATE);
}

TEST_CASE("A send queue that stopped at an error is started again") {
  test_bench bench;
  queue_pair<transport::uc, qp_state::any> any = bench.ready<transport::uc>();
  any.native_handle()->state = IBV_QPS_SQE;
  auto stopped = any.assume<qp_state::sqe>();
  const auto ready = stopped.rts().current_state(qp_state::sqe).apply();
  CHECK(bench.modification().mask == (IBV_QP_STATE | IBV_QP_CUR_STATE));
  CHECK(bench.modification().attributes.cur_qp_state == IBV_QPS_SQE);
  CHECK(bench.modification().attributes.qp_state == IBV_QPS_RTS);
}

TEST_CASE("A path migrates to another one") {
  test_bench bench;
  auto pair = bench.ready<transport::rc>();
  const address other{.port = port_number{1}, .destination = lid{7}};
  pair.change()
      .alternate_path({.address = other, .pkey_index = pkey_index{2}, .acknowledge_timeout = 1s})
      .path_migration(path_migration_state::rearm)
      .apply();
  const auto call = bench.modification();
  CHECK(call.mask == (IBV_QP_STATE | IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE));
  CHECK(call.attributes.alt_ah_attr.dlid == 7);
  CHECK(call.attributes.alt_port_num == 1);
  CHECK(call.attributes.alt_pkey_index == 2);
  CHECK(call.attributes.alt_timeout == 18);
  CHECK(call.attributes.path_mig_state == IBV_MIG_REARM);
  CHECK(pair.query().path_migration_state() == path_migration_state::rearm);

  pair.change().path_migration(path_migration_state::migrated).apply();
  CHECK(bench.modification().mask == (IBV_QP_STATE | IBV_QP_PATH_MIG_STATE));
  CHECK(bench.modification().attributes.path_mig_state == IBV_MIG_MIGRATED);
}

TEST_CASE("A raw packet pair needs a port and nothing else") {
  test_bench bench;
  auto fresh = queue_pair<transport::raw_packet>::create(
      bench.domain, {.send_cq = bench.queue, .recv_cq = bench.queue});
  auto waiting = fresh.init().port(port_number{1}).apply();
  CHECK(bench.modification().mask == (IBV_QP_STATE | IBV_QP_PORT));
  CHECK(waiting.announced().port == port_number{1});
  auto receiving = waiting.rtr().apply();
  CHECK(bench.modification().mask == IBV_QP_STATE);
  auto pair = receiving.rts().rate_limit(5000).apply();
  CHECK(bench.modification().mask == (IBV_QP_STATE | IBV_QP_RATE_LIMIT));
  CHECK(bench.modification().attributes.rate_limit == 5000);
  pair.change().rate_limit(0).apply();
  CHECK(bench.modification().mask == (IBV_QP_STATE | IBV_QP_RATE_LIMIT));
  CHECK(bench.machine.count<fake::called::query_gid_table>() == 0);

  std::array<std::byte, 64> packet{};
  const memory_region region{bench.domain, packet};
  pair.post(send(region.buffer()).ip_checksum()).check();
  const auto sent = bench.machine.calls<fake::called::post_send>().back().requests;
  CHECK(sent.at(0).wr.send_flags == IBV_SEND_IP_CSUM);
}

TEST_CASE("Segmented sends carry their header") {
  test_bench bench;
  const auto pair = bench.ready<transport::raw_packet>({.max_tso_header = 64});
  std::array<std::byte, 64> packet{};
  const memory_region region{bench.domain, packet};
  const std::span<const std::byte> header = std::span{packet}.first(14);
  pair.post(send_segmented(header, 1000, region.slice(14, 50)).id(4)).check();
  const auto sent = bench.machine.calls<fake::called::post_send>().back().requests.at(0);
  CHECK(sent.wr.opcode == IBV_WR_TSO);
  CHECK(sent.wr.wr_id == 4);
  CHECK(sent.wr.tso.hdr == header.data());
  CHECK(sent.wr.tso.hdr_sz == 14);
  CHECK(sent.wr.tso.mss == 1000);
  CHECK(sent.elements.at(0).length == 50);
}

TEST_CASE("A header that no device takes stays one that no device takes") {
  const std::vector<std::byte> header(70'000);
  ibv_send_wr native{};
  detail::no_memory none;
  send_segmented(std::span{header}, 1).fill(native, nullptr, none);
  CHECK(native.tso.hdr_sz == 65'535);
}

TEST_CASE("A pair of the driver takes whatever it is given, and fills in nothing") {
  test_bench bench;
  ibv_qp_init_attr attributes{};
  attributes.send_cq = bench.queue.native_handle();
  attributes.recv_cq = bench.queue.native_handle();
  attributes.qp_type = IBV_QPT_DRIVER;
  ibv_qp* const native = ibv_create_qp(bench.domain.native_handle(), &attributes);
  queue_pair<transport::driver, qp_state::reset> fresh{adopt, native};
  auto waiting = fresh.init().port(port_number{1}).queue_key(queue_key{3}).apply();
  CHECK(bench.modification().mask == (IBV_QP_STATE | IBV_QP_PORT | IBV_QP_QKEY));
  auto receiving = waiting.rtr().path_mtu(mtu::bytes_1024).apply();
  CHECK(bench.modification().mask == (IBV_QP_STATE | IBV_QP_PATH_MTU));
  auto pair = receiving.rts().sequence_number(packet_sequence_number{9}).apply();
  CHECK(bench.modification().mask == (IBV_QP_STATE | IBV_QP_SQ_PSN));
  CHECK(bench.modification().attributes.sq_psn == 9);
  pair.post(send()).check();
  CHECK(bench.machine.count<fake::called::post_send>() == 1);
}

TEST_CASE("An XRC connection is brought up on both ends") {
  test_bench bench;
  auto fresh = queue_pair<transport::xrc_send>::create(bench.domain, {.send_cq = bench.queue});
  auto waiting = fresh.init().port(port_number{1}).apply();
  CHECK(bench.modification().mask ==
        (IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
  const auto initiator = waiting.connect(test_bench::peer, {.retry_count = 2});
  const auto calls = bench.machine.calls<fake::called::modify_qp>();
  CHECK(calls.at(calls.size() - 2).mask ==
        (IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN));
  CHECK(calls.back().mask == (IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                              IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC));
  CHECK(calls.back().attributes.retry_cnt == 2);

  initiator.post(send().to(shared_receive_queue_number{0x321})).check();
  const auto sent = bench.machine.calls<fake::called::post_send>().back().requests.at(0);
  CHECK(sent.wr.qp_type.xrc.remote_srqn == 0x321);
}

TEST_CASE("The rate of a pair is limited", "[ibv_modify_qp_rate_limit]") {
  test_bench bench;
  const auto pair = bench.ready<transport::rc>();
  pair.limit_rate({.kilobits_per_second = 1, .max_burst_size = 2, .typical_packet_size = 3});
  const auto call = bench.machine.calls<fake::called::modify_qp_rate_limit>().at(0);
  CHECK(call.pair == pair.native_handle());
  CHECK(call.attributes.rate_limit == 1);
  CHECK(call.attributes.max_burst_sz == 2);
  CHECK(call.attributes.typical_pkt_sz == 3);
  CHECK(call.attributes.comp_mask == 0);

  bench.machine.fail<fake::called::modify_qp_rate_limit>(EOPNOTSUPP);
  failure why;
  pair.limit_rate({}, why);
  CHECK(why.explanation() == "fake0 has no rate limits of queue pairs");
}

TEST_CASE("Connection enhancements are queried and set", "[ibv_query_ece][ibv_set_ece]") {
  test_bench bench;
  const auto pair = bench.waiting<transport::rc>();
  const connection_enhancements accepted =
      pair.set_enhancements({.vendor_id = 0x15b3, .options = 0x305});
  CHECK(accepted == connection_enhancements{0x15b3, 5});
  const auto set = bench.machine.calls<fake::called::set_ece>().at(0);
  CHECK(set.pair == pair.native_handle());
  CHECK(set.options.vendor_id == 0x15b3);
  CHECK(set.options.options == 0x305);
  CHECK(set.options.comp_mask == 0);
  CHECK(pair.enhancements() == connection_enhancements{0x15b3, 5});

  bench.machine.fail<fake::called::query_ece>(EOPNOTSUPP);
  failure why;
  CHECK(pair.enhancements(why) == connection_enhancements{});
  CHECK(why.explanation() == "fake0 has no enhanced connection establishment (ECE)");
  bench.machine.fail<fake::called::set_ece>(EINVAL);
  CHECK(pair.set_enhancements({.vendor_id = 1}, why) == connection_enhancements{});
  CHECK(why.code() == std::errc::invalid_argument);
}

TEST_CASE("Whether data arrives in order is asked for each kind", "[ibv_query_qp_data_in_order]") {
  test_bench bench;
  const auto pair = bench.ready<transport::rc>();
  CHECK(pair.has_data_in_order(arriving_data::write));
  CHECK(!pair.has_data_in_order(arriving_data::read));
  CHECK(!pair.has_data_in_order(arriving_data::send));
  const auto calls = bench.machine.calls<fake::called::query_qp_data_in_order>();
  REQUIRE(calls.size() == 3);
  CHECK(calls[0].operation == IBV_WR_RDMA_WRITE);
  CHECK(calls[0].flags == 0);
  CHECK(calls[1].operation == IBV_WR_RDMA_READ);
  CHECK(calls[2].operation == IBV_WR_SEND);
  const queue_pair<transport::rc> empty;
  CHECK(!empty.has_data_in_order(arriving_data::write));
}

TEST_CASE("A datagram pair keeps its port and GID, for peers that it learns of later") {
  test_bench bench;
  const auto pair = bench.ready<transport::ud>();
  CHECK(pair.endpoint().number == pair.number());
  const address way = pair.address_of(test_bench::peer);
  REQUIRE(way.route);
  CHECK(way.route->destination == test_bench::peer.gid);
  CHECK(way.port == port_number{1});
}
