// SPDX-License-Identifier: MIT
// The results of a lookup of librdmacm: every member is that of the C struct.
#include <array>
#include <cstddef>
#include <string>

#include <adverb/cm/address_list.hpp>
#include <support/catch.hpp>

using namespace adverb;

TEST_CASE("Address information has two sides with their names and data") {
  const cm::socket_address from{ipv4_address{10, 0, 0, 1}, 1};
  const cm::socket_address to{ipv6_address{0xfe80, 0, 0, 0, 0, 0, 0, 1}, 2, 3};
  std::string from_name = "from";
  std::string to_name = "to";
  std::array<std::byte, 5> route{};
  std::array<std::byte, 7> data{};
  rdma_addrinfo native{};
  native.ai_family = AF_INET6;
  native.ai_qp_type = IBV_QPT_UD;
  native.ai_port_space = RDMA_PS_IPOIB;
  native.ai_src_addr = from.native();
  native.ai_src_len = from.length();
  native.ai_dst_addr = to.native();
  native.ai_dst_len = to.length();
  native.ai_src_canonname = from_name.data();
  native.ai_dst_canonname = to_name.data();
  native.ai_route = route.data();
  native.ai_route_len = route.size();
  native.ai_connect = data.data();
  native.ai_connect_len = data.size();

  const cm::address_info info{&native};
  CHECK(info);
  CHECK(info.native_handle() == &native);
  CHECK(info.source() == from);
  CHECK(info.destination() == to);
  CHECK(info.family() == cm::address_family::ipv6);
  CHECK(info.transport() == transport::ud);
  CHECK(info.port_space() == cm::port_space::ipoib);
  CHECK(info.source_name() == "from");
  CHECK(info.destination_name() == "to");
  CHECK(info.route().data() == route.data());
  CHECK(info.route().size() == route.size());
  CHECK(info.connect_data().data() == data.data());
  CHECK(info.connect_data().size() == data.size());

  // An address that is cut short is none.
  native.ai_src_len -= 1;
  native.ai_dst_len -= 1;
  CHECK(info.source().is_empty());
  CHECK(info.destination().is_empty());
}

TEST_CASE("Address information without a field returns an empty value") {
  rdma_addrinfo native{};
  const cm::address_info info{&native};
  CHECK(info.source().is_empty());
  CHECK(info.destination().is_empty());
  CHECK(info.family() == cm::address_family::unspecified);
  CHECK_FALSE(info.transport());
  CHECK_FALSE(info.port_space());
  CHECK(info.source_name().empty());
  CHECK(info.destination_name().empty());
  CHECK(info.route().empty());
  CHECK(info.connect_data().empty());
  CHECK_FALSE(cm::address_info{});
}

TEST_CASE("Address information is passive if RAI_PASSIVE is set") {
  rdma_addrinfo native{};
  native.ai_flags = RAI_NUMERICHOST | RAI_NOROUTE | RAI_FAMILY;
  CHECK_FALSE(cm::address_info{&native}.is_passive());
  native.ai_flags |= RAI_PASSIVE;
  CHECK(cm::address_info{&native}.is_passive());
}
