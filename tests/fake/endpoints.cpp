// SPDX-License-Identifier: MIT
// The endpoint that a queue pair announces.
#include <cerrno>
#include <string>

#include <support/catch.hpp>
#include <support/reported.hpp>

#include "test_bench.hpp"

using namespace adverb;

TEST_CASE("An endpoint contains the pair's number, port, GID and device limits") {
  test_bench bench;
  bench.port().attributes.lid = 0x2222;
  bench.limits().max_qp_rd_atom = 12;
  bench.limits().max_qp_init_rd_atom = 300;
  const auto waiting = bench.waiting<transport::rc>();
  const endpoint mine = waiting.endpoint();
  CHECK(mine.number == waiting.number());
  CHECK(mine.psn == psn{0xabcdef});
  CHECK(mine.lid == lid{0x2222});
  CHECK(mine.gid == gid{fake::ipv4_gid(10, 0, 0, 1)});
  CHECK(mine.mtu == mtu::bytes_1024);
  CHECK(mine.max_destination_read_atomic == 12);
  CHECK(mine.max_initiator_read_atomic == 255);
  CHECK(mine.queue_key == queue_key{});
}

TEST_CASE("An endpoint of a datagram pair contains the queue key") {
  test_bench bench;
  CHECK(bench.waiting<transport::ud>().endpoint().queue_key == queue_key{0x1111});
  const auto receiving = bench.receiving<transport::ud>();
  CHECK(receiving.endpoint().psn == psn{0xabcdef});
}

TEST_CASE("An endpoint contains the GID that the caller chose") {
  test_bench bench;
  auto fresh = bench.fresh<transport::rc>();
  const auto waiting = fresh.init().port(port_number{1}).gid(gid_index{1}).apply();
  CHECK(waiting.endpoint().gid.is_link_local());
}

TEST_CASE("endpoint fails on Ethernet if the source GID is empty") {
  test_bench bench;
  auto fresh = bench.fresh<transport::rc>();
  const auto waiting = fresh.init().port(port_number{1}).gid(gid_index{5}).apply();
  const failure why = reported([&](auto&&... policy) { (void)waiting.endpoint(policy...); });
  CHECK(why.code() == std::errc::address_not_available);
  CHECK(std::string{why.explanation()}.starts_with("sgid index 5 is empty; usable: 0 (RoCE v1"));
}

TEST_CASE("endpoint reports a failed query") {
  test_bench bench;
  const auto waiting = bench.waiting<transport::ud>();
  failure why;
  bench.machine.fail<fake::called::query_port>(EIO);
  (void)waiting.endpoint(why);
  CHECK(why.verb() == "ibv_query_port");
  bench.machine.fail<fake::called::query_device>(EIO);
  (void)waiting.endpoint(why);
  CHECK(why.verb() == "ibv_query_device_ex");
  bench.machine.fail<fake::called::query_gid>(EIO);
  (void)waiting.endpoint(why);
  CHECK(why.verb() == "ibv_query_gid");
  bench.machine.fail<fake::called::query_qp>(EIO);
  (void)waiting.endpoint(why);
  CHECK(why.verb() == "ibv_query_qp");
  (void)waiting.endpoint(why);
  CHECK(!why);
  const queue_pair<transport::rc, qp_state::init> none;
  (void)none.endpoint(why);
  CHECK(why.code() == std::errc::invalid_argument);
}
