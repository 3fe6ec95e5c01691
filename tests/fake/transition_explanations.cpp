// SPDX-License-Identifier: MIT
// Every sentence with which a failed transition explains itself.
#include <cerrno>
#include <string>

#include <adverb/queue/detail/explain_transition.hpp>
#include <support/catch.hpp>

#include "test_bench.hpp"

using namespace adverb;
using fake::called::modify_qp;

namespace {

/// The explanation of an attempt that ibv_modify_qp refuses.
template <class Attempt>
std::string explanation(test_bench& bench, const Attempt& attempt, int error = EINVAL) {
  bench.machine.fail<modify_qp>(error);
  failure why;
  attempt(why);
  REQUIRE(why.verb() == "ibv_modify_qp");
  return std::string{why.explanation()};
}

std::string explanation_of_init(test_bench& bench, pkey_index index = pkey_index{0}) {
  auto pair = bench.fresh<transport::rc>();
  return explanation(bench, [&](failure& why) {
    CHECK(!pair.init().port(port_number{1}).pkey_index(index).apply(why));
  });
}

std::string explanation_of_rtr(test_bench& bench, const endpoint& peer = test_bench::peer,
                               int error = EINVAL) {
  auto pair = bench.waiting<transport::rc>();
  return explanation(
      bench, [&](failure& why) { CHECK(!pair.rtr().remote(peer).apply(why)); }, error);
}

std::string explanation_of_address(test_bench& bench, const address& way, int error = EINVAL) {
  auto pair = bench.waiting<transport::uc>();
  return explanation(
      bench,
      [&](failure& why) {
        CHECK(
            !pair.rtr().address(way).remote_queue_pair(qp_number{1}).remote_psn(psn{1}).apply(why));
      },
      error);
}

const std::string usable =
    "usable: 0 (RoCE v1, fe80::5054:ff:fe12:3456), "
    "1 (RoCE v2, fe80::5054:ff:fe12:3456), 2 (RoCE v2, ::ffff:10.0.0.1)";

}  // namespace

TEST_CASE("A failed transition names states, device, port, pair, errno and cause") {
  test_bench bench;
  auto pair = bench.waiting<transport::rc>();
  bench.port().gids.pop_back();
  bench.machine.fail<modify_qp>(EINVAL);
  failure why;
  CHECK(!pair.rtr().remote(test_bench::peer).apply(why));
  CHECK(std::string{why.what()} ==
        "ibv_modify_qp INIT->RTR on fake0:1 qp 0x11: EINVAL (Invalid argument); sgid index 2 is "
        "empty; usable: 0 (RoCE v1, fe80::5054:ff:fe12:3456), 1 (RoCE v2, "
        "fe80::5054:ff:fe12:3456)");
  CHECK(why.object() == "fake0:1 qp 0x11");
}

TEST_CASE("A failed transition without a visible cause has no explanation") {
  test_bench bench;
  CHECK(explanation_of_init(bench) == "");
  auto receiving = bench.receiving<transport::rc>();
  CHECK(explanation(bench, [&](failure& why) { CHECK(!receiving.rts().apply(why)); }) == "");
}

TEST_CASE("The explanation names missing and forbidden attributes") {
  test_bench bench;
  const auto pair = bench.waiting<transport::rc>();
  const auto said = [&](qp_attributes mask) {
    const ibv_qp_attr values{};
    const failure why{
        {EINVAL, std::generic_category()}, "ibv_modify_qp", [&](failure_description& description) {
          detail::explain_transition(description, pair.native_handle(), transport::uc,
                                     qp_state::init, qp_state::rtr, values, mask, port_number{});
        }};
    CHECK(why.object() == "fake0 qp 0x11");
    return std::string{why.explanation()};
  };
  using enum qp_attribute;
  const qp_attributes complete = state | address | path_mtu | remote_queue_pair | rq_psn;
  CHECK(said(complete - qp_attributes{path_mtu}) == "missing: path_mtu");
  CHECK(said(complete - (path_mtu | remote_queue_pair)) == "missing: path_mtu|remote_queue_pair");
  CHECK(said(complete | retry_count) == "not allowed here: retry_count");
  CHECK(said((complete - qp_attributes{address}) | queue_key | retry_count) ==
        "missing: address; not allowed here: queue_key|retry_count");
}

TEST_CASE("The explanation names reads and atomics beyond the device's limit") {
  test_bench bench;
  auto waiting = bench.waiting<transport::rc>();
  CHECK(explanation(bench, [&](failure& why) {
          CHECK(!waiting.rtr().remote(test_bench::peer).max_destination_read_atomic(17).apply(why));
        }) == "max_destination_read_atomic is 17, the device allows 16");

  bench.limits().max_qp_init_rd_atom = 8;
  auto receiving = bench.receiving<transport::rc>();
  CHECK(explanation(bench, [&](failure& why) {
          CHECK(!receiving.rts().max_initiator_read_atomic(9).apply(why));
        }) == "max_initiator_read_atomic is 9, the device allows 8");
}

TEST_CASE("The explanation names a P_Key index beyond the table") {
  test_bench bench;
  CHECK(explanation_of_init(bench, pkey_index{1}) == "P_Key index 1 is not in the table of 1");
}

TEST_CASE("The explanation names a path MTU beyond that of the port") {
  test_bench bench;
  auto waiting = bench.waiting<transport::rc>();
  CHECK(explanation(bench, [&](failure& why) {
          CHECK(!waiting.rtr().remote(test_bench::peer).path_mtu(mtu::bytes_2048).apply(why));
        }) == "path MTU 2048 bytes exceeds the active MTU of the port, 1024 bytes");
}

TEST_CASE("The explanation names the state of an inactive port") {
  test_bench bench;
  bench.port().attributes.state = IBV_PORT_DOWN;
  CHECK(explanation_of_init(bench) == "port 1 is down");
  CHECK(explanation_of_rtr(bench) == "port 1 is down");
  bench.port().attributes.state = IBV_PORT_INIT;
  CHECK(explanation_of_rtr(bench) == "port 1 is initializing");
  auto receiving = bench.receiving<transport::uc>();
  CHECK(explanation(bench, [&](failure& why) { CHECK(!receiving.rts().apply(why)); }) ==
        "port 1 is initializing");
}

TEST_CASE("The explanation of a missing port lists the ports") {
  test_bench bench;
  auto pair = bench.fresh<transport::rc>();
  CHECK(explanation(bench, [&](failure& why) {
          CHECK(!pair.init().port(port_number{2}).gid(gid_index{0}).apply(why));
        }) == "the device has one port, number 1");
}

TEST_CASE("The explanation of port 0 lists the ports") {
  test_bench bench;
  auto pair = bench.fresh<transport::rc>();
  CHECK(explanation(bench, [&](failure& why) {
          CHECK(!pair.init().port(port_number{0}).gid(gid_index{2}).apply(why));
        }) == "the device has one port, number 1");
}

TEST_CASE("The explanation names a missing global route only if the port needs one") {
  test_bench bench;
  CHECK(explanation_of_address(bench, {.destination = lid{7}}) ==
        "the address has no global route (GRH), which Ethernet links need");
  make_infiniband(bench.port());
  CHECK(explanation_of_address(bench, {.destination = lid{7}}) == "");
  bench.port().attributes.flags = IBV_QPF_GRH_REQUIRED;
  CHECK(explanation_of_address(bench, {.destination = lid{7}}) ==
        "the address has no global route (GRH), which this port needs");
}

TEST_CASE("The explanation of an empty source GID lists the usable GIDs") {
  test_bench bench;
  CHECK(explanation_of_address(bench, {.route = global_route{.destination = test_bench::peer.gid,
                                                             .source = gid_index{5}}}) ==
        "sgid index 5 is empty; " + usable);
  // Beyond the table.
  CHECK(explanation_of_address(bench, {.route = global_route{.destination = test_bench::peer.gid,
                                                             .source = gid_index{200}}}) ==
        "sgid index 200 is empty; " + usable);
}

TEST_CASE("The explanation of a port without a GID suggests a remedy") {
  test_bench bench;
  bench.port().gids.clear();
  CHECK(explanation_of_rtr(bench) ==
        "sgid index 0 is empty; port 1 has none: give its network interface an address");
}

TEST_CASE("The explanation names an empty destination GID") {
  test_bench bench;
  endpoint peer = test_bench::peer;
  peer.gid = gid{};
  CHECK(explanation_of_rtr(bench, peer) == "the destination GID is empty");
}

TEST_CASE("The explanation names different address families and lists the usable GIDs") {
  test_bench bench;
  endpoint peer = test_bench::peer;
  peer.gid = gid{global_gid(2)};
  CHECK(explanation_of_rtr(bench, peer) ==
        "sgid index 2 is ::ffff:10.0.0.1, of another address family than the peer's "
        "2001:db8:0:1::2; " +
            usable);
}

TEST_CASE("The explanation names the route to the peer that was tried") {
  test_bench bench;
  const std::string no_way =
      "no route was found from ::ffff:10.0.0.1 (sgid index 2) to "
      "::ffff:10.0.0.2: check the routes, the peer's address, and that its "
      "interface is up";
  CHECK(explanation_of_rtr(bench, test_bench::peer, ENETUNREACH) == no_way);
  CHECK(explanation_of_rtr(bench, test_bench::peer, EHOSTUNREACH) == no_way);
  CHECK(explanation_of_rtr(bench, test_bench::peer, ETIMEDOUT) ==
        "no neighbour answered for ::ffff:10.0.0.2, from ::ffff:10.0.0.1 (sgid index 2): check the "
        "peer's address");
  CHECK(explanation_of_rtr(bench, test_bench::peer, EINVAL) ==
        "possible causes: there is no route from ::ffff:10.0.0.1 (sgid index 2) to "
        "::ffff:10.0.0.2, or "
        "the device refuses another field of the address");
}

TEST_CASE("The explanation does not name the route for unrelated errors") {
  test_bench bench;
  CHECK(explanation_of_rtr(bench, test_bench::peer, ENOMEM) == "");
  CHECK(explanation_of_rtr(bench, test_bench::peer, EPERM) == "");
}

TEST_CASE("The explanation names several causes") {
  test_bench bench;
  bench.port().attributes.state = IBV_PORT_DOWN;
  auto pair = bench.waiting<transport::rc>();
  endpoint peer = test_bench::peer;
  peer.gid = gid{};
  CHECK(explanation(bench,
                    [&](failure& why) {
                      CHECK(!pair.rtr()
                                 .remote(peer)
                                 .path_mtu(mtu::bytes_2048)
                                 .pkey_index(pkey_index{9})
                                 .max_destination_read_atomic(99)
                                 .apply(why));
                    }) ==
        "port 1 is down; max_destination_read_atomic is 99, the device allows 16; P_Key index "
        "9 is not in the table of 1; path MTU 2048 bytes exceeds the active MTU of the port, 1024 "
        "bytes; the destination GID is empty");
}

TEST_CASE("An explanation leaves out a cause if its query fails") {
  test_bench bench;
  auto pair = bench.waiting<transport::rc>();
  bench.machine.before<modify_qp>([&] { bench.machine.fail<fake::called::query_port>(EIO); });
  CHECK(explanation(bench, [&](failure& why) {
          CHECK(!pair.rtr().remote(test_bench::peer).apply(why));
        }) == "");
}

TEST_CASE("A queue key for privileged programs is named if it is refused") {
  test_bench bench;
  auto pair = bench.fresh<transport::ud>();
  const auto refused = [&](queue_key key) {
    return explanation(
        bench,
        [&](failure& why) { CHECK(!pair.init().port(port_number{1}).queue_key(key).apply(why)); },
        EPERM);
  };
  CHECK(refused(queue_key{0x80000001}) ==
        "queue key 0x80000001 has its highest bit set: it needs CAP_NET_RAW");
  CHECK(refused(queue_key{0x7fffffff}).empty());
}
