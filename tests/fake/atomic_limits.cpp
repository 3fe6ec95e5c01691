// SPDX-License-Identifier: MIT
// The number of queries in which transitions read the device's limits of reads and atomics.
#include <cerrno>
#include <string>

#include <adverb/adverb.hpp>

#include "fake.hpp"
#include "log.hpp"
#include "support/catch.hpp"
#include "test_bench.hpp"

namespace {

using namespace adverb;
using fake::called::query_device;

/// Connects a pair the way that the guide shows.
auto connected(const test_bench& bench) {
  auto waiting = bench.waiting<transport::rc>();
  (void)waiting.endpoint();
  return waiting.connect(test_bench::peer);
}

}  // namespace

TEST_CASE("A context queries the limits of its device once", "[ibv_query_device_ex]") {
  test_bench bench;
  const auto first = connected(bench);
  const auto second = connected(bench);
  CHECK(bench.machine.count<query_device>() == 1);
  CHECK(field(bench.modification(), "max_rd_atomic") == "4");

  // A query by the program goes to the device.
  bench.limits().max_qp_rd_atom = 3;
  CHECK(bench.context.query_device().max_destination_read_atomic() == 3);
  CHECK(bench.machine.count<query_device>() == 2);

  const context other = open_device();
  const protection_domain domain{other};
  const completion_queue queue{other, 16};
  auto fresh = queue_pair<transport::rc>::create(domain, {.send_cq = queue, .recv_cq = queue});
  const auto waiting = fresh.init().port(port_number{1}).apply();
  CHECK(waiting.endpoint().max_destination_read_atomic == 3);
  CHECK(bench.machine.count<query_device>() == 3);
}

TEST_CASE("A pair queries its port and GIDs again for each connection") {
  test_bench bench;
  const auto first = connected(bench);
  const std::size_t ports = bench.machine.count<fake::called::query_port>();
  const std::size_t tables = bench.machine.count<fake::called::query_gid_table>();
  const std::size_t gids = bench.machine.count<fake::called::query_gid>();
  const auto second = connected(bench);
  // For the endpoint, and for RTR.
  CHECK(bench.machine.count<fake::called::query_port>() - ports == 2);
  // To choose a GID, and for the endpoint.
  CHECK(bench.machine.count<fake::called::query_gid_table>() - tables == 1);
  CHECK(bench.machine.count<fake::called::query_gid>() - gids == 1);

  bench.port().attributes.active_mtu = IBV_MTU_256;
  auto waiting = bench.waiting<transport::rc>();
  CHECK(waiting.endpoint().mtu == mtu::bytes_256);
}

TEST_CASE("Limits are queried again after a failed query") {
  test_bench bench;
  const auto waiting = bench.waiting<transport::rc>();
  bench.machine.fail<query_device>(EIO);
  failure why;
  (void)waiting.endpoint(why);
  CHECK(why.verb() == "ibv_query_device_ex");
  CHECK(waiting.endpoint(why).max_destination_read_atomic == 16);
  CHECK(!why);
}

TEST_CASE("Limits are queried again after a failed transition") {
  test_bench bench;
  const auto first = connected(bench);
  auto waiting = bench.waiting<transport::rc>();
  bench.limits().max_qp_rd_atom = 2;
  bench.machine.fail<fake::called::modify_qp>(EINVAL);
  std::error_code code;
  CHECK(!waiting.connect(test_bench::peer, {}, code));
  CHECK(code == std::errc::invalid_argument);
  CHECK(waiting.endpoint().max_destination_read_atomic == 2);
}

TEST_CASE("Limits are queried again for a new context at the address of a closed one") {
  fake::machine machine;
  ibv_device_attr& limits = machine.devices[0].attributes;
  const auto ask = [](const context& opened) {
    return detail::limits_of(opened.native_handle(), throwing{}).destination;
  };
  context opened = open_device();
  CHECK(ask(opened) == 16);
  limits.max_qp_rd_atom = 5;
  SECTION("closed by adverb") {
    opened.close();
    opened = open_device();
    CHECK(ask(opened) == 5);
  }
  SECTION("closed by C, and the new one is of another device") {
    opened.native_handle()->device->dev_name[6] = '9';
    CHECK(ask(opened) == 5);
  }
}
