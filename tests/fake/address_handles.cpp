// SPDX-License-Identifier: MIT
// Address handles and the addresses that they are made from.
#include <cerrno>
#include <string>

#include <support/catch.hpp>
#include <support/reported.hpp>

#include "test_bench.hpp"

using namespace adverb;
using fake::called::create_ah;

namespace {

const address to_peer{
    .route = global_route{.destination = test_bench::peer.gid, .source = gid_index{2}}};

const address without_route{.destination = lid{7}};

std::string explanation(test_bench& bench, const address& way) {
  bench.machine.fail<create_ah>(EINVAL);
  failure why;
  const address_handle handle{bench.domain, way, why};
  CHECK(!handle);
  return std::string{why.explanation()};
}

}  // namespace

TEST_CASE("address_handle passes each field of an address to ibv_create_ah", "[ibv_create_ah]") {
  test_bench bench;
  bench.port().gids.push_back(table_entry(global_gid(8), 8, IBV_GID_TYPE_ROCE_V2));
  bench.machine.devices[0].ports.resize(3, fake::port{bench.port()});
  const address_handle handle{bench.domain,
                              {.port = port_number{3},
                               .destination = lid{0x1234},
                               .service_level = service_level{5},
                               .source_path_bits = 6,
                               .static_rate = adverb::rate::gigabits_40,
                               .route = global_route{.destination = test_bench::peer.gid,
                                                     .source = gid_index{8},
                                                     .flow_label = 0x9abcd,
                                                     .hop_limit = 10,
                                                     .traffic_class = 11}}};
  CHECK(bench.machine.line() ==
        "ibv_create_ah pd0 attr={port_num=3 dlid=0x1234 sl=5 src_path_bits=6 static_rate=7 "
        "grh={dgid=::ffff:10.0.0.2 sgid_index=8 flow_label=0x9abcd hop_limit=10 "
        "traffic_class=11}}");
  static_assert(IBV_RATE_40_GBPS == 7);
  CHECK(handle.context().native_handle() == bench.context.native_handle());
}

TEST_CASE("Creating an address handle fails with a reason") {
  test_bench bench;
  const failure why =
      reported([&] { bench.machine.fail<create_ah>(EINVAL); },
               [&](auto&&... policy) {
                 const address_handle handle{bench.domain, without_route, policy...};
                 CHECK(!handle);
               });
  CHECK(std::string{why.what()} ==
        "ibv_create_ah on fake0:1: EINVAL (Invalid argument); the address has no global route "
        "(GRH), which Ethernet links need");

  address empty_source = to_peer;
  empty_source.route->source = gid_index{6};
  CHECK(explanation(bench, empty_source).starts_with("sgid index 6 is empty; usable: 0 (RoCE v1,"));
  address other_family = to_peer;
  other_family.route->source = gid_index{1};
  CHECK(explanation(bench, other_family)
            .starts_with("sgid index 1 is fe80::5054:ff:fe12:3456, of another address family than "
                         "the peer's ::ffff:10.0.0.2; usable: "));
  address no_destination = to_peer;
  no_destination.route->destination = gid{};
  CHECK(explanation(bench, no_destination) == "the destination GID is empty");
  address other_port = to_peer;
  other_port.port = port_number{2};
  CHECK(explanation(bench, other_port) == "the device has one port, number 1");
  CHECK(explanation(bench, to_peer)
            .starts_with("possible causes: there is no route from ::ffff:10.0.0.1 (sgid"));
  bench.port().attributes.state = IBV_PORT_DOWN;
  CHECK(explanation(bench, to_peer) == "port 1 is down");
}

TEST_CASE("An address handle keeps its domain open, and is destroyed once", "[ibv_destroy_ah]") {
  test_bench bench;
  {
    const address_handle handle{bench.domain, to_peer};
    std::error_code code;
    bench.domain.close(code);
    CHECK(code == std::errc::device_or_resource_busy);
  }
  CHECK(bench.machine.count<fake::called::destroy_ah>() == 1);

  const protection_domain none;
  std::error_code code;
  const address_handle handle{none, to_peer, code};
  CHECK(!handle);
  CHECK(code == std::errc::invalid_argument);
  CHECK(bench.machine.count<create_ah>() == 1);
}

TEST_CASE("address_of uses the port and GID that the pair announced") {
  test_bench bench;
  const auto waiting = bench.waiting<transport::ud>();
  const address way = waiting.address_of(test_bench::peer, {.service_level = service_level{3}});
  CHECK(way.port == port_number{1});
  CHECK(way.service_level == service_level{3});
  REQUIRE(way.route);
  CHECK(way.route->source == gid_index{2});
  CHECK(way.route->destination == test_bench::peer.gid);

  make_infiniband(bench.port());
  endpoint neighbour = test_bench::peer;
  neighbour.gid = gid{global_gid(9)};
  neighbour.lid = lid{0x77};
  const auto on_infiniband = bench.waiting<transport::ud>();
  const address local = on_infiniband.address_of(neighbour);
  CHECK(!local.route);
  CHECK(local.destination == lid{0x77});
}
