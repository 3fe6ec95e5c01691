// SPDX-License-Identifier: MIT
// From RESET to INIT: the exact call, and what is announced from then on.
#include <optional>
#include <set>

#include <support/catch.hpp>

#include "test_bench.hpp"

using namespace adverb;

namespace {

gid_index chosen(const test_bench& bench) {
  return bench.waiting<transport::rc>().announced().source_gid;
}

}  // namespace

TEST_CASE("INIT passes all required attributes, and grants no rights", "[ibv_modify_qp]") {
  test_bench bench;
  auto rc = bench.fresh<transport::rc>();
  const auto of_rc = rc.init().port(port_number{1}).apply();
  auto uc = bench.fresh<transport::uc>();
  const auto of_uc = uc.init().port(port_number{1}).apply();
  auto ud = bench.fresh<transport::ud>();
  const auto of_ud = ud.init().port(port_number{1}).queue_key(queue_key{0x8001'0002}).apply();
  CHECK_THAT(bench.machine.lines<fake::called::modify_qp>(), is_log(R"(
    ibv_modify_qp qp0 qp_state=INIT qp_access_flags=0 pkey_index=0 port_num=1
    ibv_modify_qp qp1 qp_state=INIT qp_access_flags=0 pkey_index=0 port_num=1
    ibv_modify_qp qp2 qp_state=INIT pkey_index=0 port_num=1 qkey=0x80010002)"));
}

TEST_CASE("INIT passes the given attributes") {
  test_bench bench;
  bench.machine.devices[0].ports.push_back(bench.port());
  auto fresh = bench.fresh<transport::rc>();
  const auto waiting = fresh.init()
                           .allow(access_right::remote_read | access_right::remote_atomic)
                           .pkey_index(pkey_index{3})
                           .gid(gid_index{1})
                           .psn(psn{0x1abcdef})
                           .port(port_number{2})
                           .apply();
  CHECK(bench.modification() ==
        "ibv_modify_qp qp0 qp_state=INIT qp_access_flags=REMOTE_READ|REMOTE_ATOMIC pkey_index=3 "
        "port_num=2");
  CHECK(waiting.announced().port == port_number{2});
  CHECK(waiting.announced().source_gid == gid_index{1});
  CHECK(waiting.announced().psn == psn{0xabcdef});
}

TEST_CASE("The packet sequence number is random by default") {
  test_bench bench;
  std::set<std::uint32_t> numbers;
  for (int repetition = 0; repetition < 8; ++repetition) {
    auto fresh = bench.fresh<transport::uc>();
    const auto waiting = fresh.init().port(port_number{1}).apply();
    numbers.insert(waiting.announced().psn.value());
  }
  CHECK(numbers.size() > 6);
  CHECK(*numbers.rbegin() <= 0xff'ffff);
}

TEST_CASE("INIT chooses a GID by type and address, whatever its index") {
  test_bench bench;
  auto& gids = bench.port().gids;
  const ibv_gid_entry v1_local = table_entry(link_local_gid(1), 0, IBV_GID_TYPE_ROCE_V1);
  const ibv_gid_entry v2_local = table_entry(link_local_gid(1), 1, IBV_GID_TYPE_ROCE_V2);
  const ibv_gid_entry v1_ipv4 = table_entry(fake::ipv4_gid(10, 0, 0, 1), 2, IBV_GID_TYPE_ROCE_V1);
  const ibv_gid_entry v2_ipv6 = table_entry(global_gid(1), 3, IBV_GID_TYPE_ROCE_V2);
  const ibv_gid_entry v2_ipv4 = table_entry(fake::ipv4_gid(10, 0, 0, 1), 4, IBV_GID_TYPE_ROCE_V2);
  const ibv_gid_entry empty = table_entry({}, 5, IBV_GID_TYPE_ROCE_V2);

  SECTION("RoCE v2 over IPv4 comes first") {
    gids = {empty, v1_local, v2_local, v1_ipv4, v2_ipv6, v2_ipv4};
    CHECK(chosen(bench) == gid_index{4});
    gids = {v2_ipv4, v2_ipv6, v1_ipv4, v2_local, v1_local, empty};
    CHECK(chosen(bench) == gid_index{4});
  }
  SECTION("then RoCE v2 over IPv6") {
    gids = {v1_ipv4, v1_local, v2_local, v2_ipv6, empty};
    CHECK(chosen(bench) == gid_index{3});
  }
  SECTION("then RoCE v1, if its address is not link-local") {
    gids = {v2_local, v1_local, v1_ipv4};
    CHECK(chosen(bench) == gid_index{2});
  }
  SECTION("then a link-local one, again v2 before v1") {
    gids = {v1_local, v2_local};
    CHECK(chosen(bench) == gid_index{1});
    gids = {empty, v1_local};
    CHECK(chosen(bench) == gid_index{0});
  }
  SECTION("among equals the first") {
    gids = {v2_ipv4, table_entry(fake::ipv4_gid(10, 0, 0, 9), 6, IBV_GID_TYPE_ROCE_V2)};
    CHECK(chosen(bench) == gid_index{4});
  }
  SECTION("never one of another port") {
    gids = {table_entry(fake::ipv4_gid(10, 0, 0, 9), 6, IBV_GID_TYPE_ROCE_V2, 2), v1_local};
    CHECK(chosen(bench) == gid_index{0});
  }
}

TEST_CASE("On InfiniBand INIT chooses the first GID, even if it is link-local") {
  test_bench bench;
  make_infiniband(bench.port());
  bench.port().gids = {table_entry(link_local_gid(1), 0, IBV_GID_TYPE_IB),
                       table_entry(global_gid(1), 1, IBV_GID_TYPE_IB)};
  CHECK(chosen(bench) == gid_index{0});
}

TEST_CASE("INIT succeeds on a port without a GID") {
  test_bench bench;
  bench.port().gids.clear();
  CHECK(chosen(bench) == gid_index{0});
}

TEST_CASE("INIT does not read the GID table if a GID is given") {
  test_bench bench;
  auto fresh = bench.fresh<transport::rc>();
  bench.machine.forget_calls();
  const auto waiting = fresh.init().port(port_number{1}).gid(gid_index{7}).apply();
  CHECK(waiting.announced().source_gid == gid_index{7});
  CHECK(bench.machine.log().size() == 1);
}

TEST_CASE("A failed query of the GID table leaves the pair in RESET") {
  test_bench bench;
  auto fresh = bench.fresh<transport::rc>();
  bench.machine.fail<fake::called::query_gid_table>(EIO);
  failure why;
  const auto waiting = fresh.init().port(port_number{1}).apply(why);
  CHECK(!waiting);
  CHECK(why.verb() == "ibv_query_gid_table");
  CHECK(bench.machine.count<fake::called::modify_qp>() == 0);
  CHECK(fresh.init().port(port_number{1}).apply(why));
  CHECK(!why);
}

TEST_CASE("INIT chooses the GID if the given optional is empty") {
  test_bench bench;
  auto fresh = bench.fresh<transport::rc>();
  const std::optional<gid_index> open;
  const auto waiting = fresh.init().port(port_number{1}).gid(open).apply();
  CHECK(waiting.announced().source_gid == chosen(bench));
  CHECK(waiting.announced().source_gid != gid_index{0});
}
