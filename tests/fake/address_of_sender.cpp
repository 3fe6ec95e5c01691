// SPDX-License-Identifier: MIT
// The way back to who sent a datagram, from its completion and its header.
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include <support/catch.hpp>
#include <support/reported.hpp>

#include "render.hpp"
#include "test_bench.hpp"

using namespace adverb;
using fake::called::create_ah_from_wc;
using fake::called::init_ah_from_wc;

namespace {

using header_bytes = std::array<std::byte, grh_size>;

header_bytes ipv6_header(const gid& source, const gid& destination) {
  header_bytes bytes{};
  bytes[0] = std::byte{0x60};
  std::memcpy(&bytes[8], source.bytes().data(), 16);
  std::memcpy(&bytes[24], destination.bytes().data(), 16);
  return bytes;
}

/// An IPv4 header with arbitrary data in the first 20 bytes.
header_bytes ipv4_header(const gid& source, const gid& destination) {
  header_bytes bytes{};
  bytes[5] = std::byte{0xee};
  bytes[20] = std::byte{0x45};
  std::memcpy(&bytes[32], source.bytes().data() + 12, 4);
  std::memcpy(&bytes[36], destination.bytes().data() + 12, 4);
  return bytes;
}

completion received_with(unsigned flags) {
  ibv_wc native{};
  native.opcode = IBV_WC_RECV;
  native.wc_flags = flags;
  native.src_qp = 0x77;
  native.slid = 0x12;
  native.sl = 3;
  native.dlid_path_bits = 5;
  return completion{native};
}

const gid peer{fake::ipv4_gid(10, 0, 0, 2)};
const gid own{fake::ipv4_gid(10, 0, 0, 1)};
const gid group{fake::ipv4_gid(239, 1, 2, 3)};
const gid link_local{{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x50, 0x54, 0, 0xff, 0xfe, 0x12, 0x34, 0x56}};

}  // namespace

TEST_CASE("address_of_sender uses the header and the completion of the datagram",
          "[ibv_init_ah_from_wc]") {
  test_bench bench;
  const header_bytes bytes = ipv4_header(peer, own);
  const address way = address_of_sender(bench.context, port_number{1}, received_with(IBV_WC_GRH),
                                        global_route_header{bytes});
  CHECK(bench.machine.line<init_ah_from_wc>() ==
        "ibv_init_ah_from_wc ctx0 port_num=1 "
        "wc={wc_flags=GRH src_qp=0x77 slid=0x12 sl=3 dlid_path_bits=5} grh=" +
            fake::hex_bytes(bytes.data(), grh_size));
  CHECK(way.port == port_number{1});
  CHECK(way.destination == lid{0x12});
  CHECK(way.service_level == service_level{3});
  CHECK(way.source_path_bits == 5);
  REQUIRE(way.route);
  CHECK(way.route->destination == peer);
  CHECK(way.route->source == gid_index{2});
  CHECK(way.route->hop_limit == 0xff);
}

TEST_CASE("address_of_sender returns an address without a route if there is no header",
          "[ibv_init_ah_from_wc]") {
  test_bench bench;
  const address way = address_of_sender(bench.context, port_number{1}, received_with(0),
                                        global_route_header{header_bytes{}});
  CHECK(way.destination == lid{0x12});
  CHECK(!way.route);
}

TEST_CASE("The reply to a group message uses the port's best GID of the same address family",
          "[ibv_init_ah_from_wc]") {
  test_bench bench;
  const header_bytes over_ipv4 = ipv4_header(peer, group);
  const address way = address_of_sender(bench.context, port_number{1}, received_with(IBV_WC_GRH),
                                        global_route_header{over_ipv4});
  REQUIRE(way.route);
  CHECK(way.route->destination == peer);
  CHECK(way.route->source == gid_index{2});
  const ibv_grh given = bench.machine.calls<init_ah_from_wc>().at(0).header;
  CHECK(std::memcmp(given.dgid.raw + 12, own.bytes().data() + 12, 4) == 0);
  CHECK(std::memcmp(given.dgid.raw, reinterpret_cast<const char*>(over_ipv4.data()) + 24, 12) == 0);
  CHECK(given.version_tclass_flow == 0);

  const gid neighbour{link_local_gid(9)};
  const header_bytes over_ipv6 = ipv6_header(neighbour, gid{{0xff, 0x02}});
  const address back = address_of_sender(bench.context, port_number{1}, received_with(IBV_WC_GRH),
                                         global_route_header{over_ipv6});
  REQUIRE(back.route);
  CHECK(back.route->destination == neighbour);
  CHECK(gid{bench.machine.calls<init_ah_from_wc>().at(1).header.dgid} == link_local);
}

TEST_CASE("An address handle is created from a completion and its header",
          "[ibv_create_ah_from_wc]") {
  test_bench bench;
  const header_bytes bytes = ipv4_header(peer, own);
  {
    const address_handle way{bench.domain, port_number{1}, received_with(IBV_WC_GRH),
                             global_route_header{bytes}};
    CHECK(way);
    CHECK(bench.machine.line<create_ah_from_wc>() ==
          "ibv_create_ah_from_wc pd0 "
          "wc={wc_flags=GRH src_qp=0x77 slid=0x12 sl=3 dlid_path_bits=5} grh=" +
              fake::hex_bytes(bytes.data(), grh_size) + " port_num=1");
  }
  CHECK(bench.machine.count<fake::called::destroy_ah>() == 1);

  const protection_domain none;
  failure why;
  const address_handle way{none, port_number{1}, received_with(IBV_WC_GRH),
                           global_route_header{bytes}, why};
  CHECK(!way);
  CHECK(why.explanation() ==
        "the protection domain is empty: moved from, closed, or never created");
}

TEST_CASE("address_of_sender explains why a sender has no address") {
  test_bench bench;
  const header_bytes elsewhere = ipv4_header(peer, gid{fake::ipv4_gid(10, 9, 9, 9)});
  const failure why = reported([&](auto&... policy) {
    const address way = address_of_sender(bench.context, port_number{1}, received_with(IBV_WC_GRH),
                                          global_route_header{elsewhere}, policy...);
    CHECK(!way.route);
  });
  CHECK(std::string{why.what()}.starts_with(
      "ibv_init_ah_from_wc on fake0:1: ENOENT (No such file or directory); the datagram went from "
      "::ffff:10.0.0.2 to ::ffff:10.9.9.9; usable: 0 (RoCE v1, fe80::"));
  const failure not_made = reported([&](auto&... policy) {
    const address_handle way{bench.domain, port_number{1}, received_with(IBV_WC_GRH),
                             global_route_header{elsewhere}, policy...};
    CHECK(!way);
  });
  CHECK(not_made.verb() == "ibv_create_ah_from_wc");
  CHECK(not_made.explanation() == why.explanation());

  failure no_header;
  (void)address_of_sender(bench.context, port_number{1}, received_with(IBV_WC_GRH),
                          global_route_header{header_bytes{}}, no_header);
  CHECK(no_header.explanation() ==
        "the header (GRH) is neither IPv6 nor IPv4: pass the start of the buffer");
  bench.port().attributes.state = IBV_PORT_DOWN;
  failure down;
  (void)address_of_sender(bench.context, port_number{1}, received_with(IBV_WC_GRH),
                          global_route_header{elsewhere}, down);
  CHECK(down.explanation().starts_with("port 1 is down; the datagram went from "));
  (void)address_of_sender(context_ref{}, port_number{1}, received_with(0),
                          global_route_header{elsewhere}, down);
  CHECK(down.explanation() == "the context is empty: moved from, closed, or never created");
}
