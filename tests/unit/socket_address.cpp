// SPDX-License-Identifier: MIT
// Addresses of every family: what they are made of, and how they are written and read.
#include <array>
#include <cstddef>
#include <cstring>
#include <string>

#include <sys/mman.h>
#include <unistd.h>

#include <adverb/cm/socket_address.hpp>
#include <support/catch.hpp>

using namespace adverb;
using cm::socket_address;

namespace {

const ipv6_address link_local{0xfe80, 0, 0, 0, 0, 0, 0, 1};
const gid native_gid{link_local.bytes()};

}  // namespace

TEST_CASE("An empty address has no family, port or native form") {
  const socket_address empty;
  CHECK(empty.is_empty());
  CHECK(empty.family() == cm::address_family::unspecified);
  CHECK(empty.native() == nullptr);
  CHECK(empty.length() == 0);
  CHECK(empty.port() == 0);
  CHECK_FALSE(empty.is_any());
  CHECK(empty.with_port(7).is_empty());
  CHECK(to_string(empty) == "no address");
}

TEST_CASE("An IPv4 address and its C form return the original values") {
  const socket_address address{ipv4_address{10, 1, 0, 2}, 7471};
  CHECK(address.family() == cm::address_family::ipv4);
  CHECK(address.ipv4() == ipv4_address{10, 1, 0, 2});
  CHECK_FALSE(address.ipv6());
  CHECK_FALSE(address.infiniband());
  CHECK(address.port() == 7471);
  CHECK(to_string(address) == "10.1.0.2:7471");
  CHECK(to_string(address.with_port(0)) == "10.1.0.2");

  sockaddr_in native{};
  REQUIRE(address.length() == sizeof native);
  std::memcpy(&native, address.native(), sizeof native);
  CHECK(native.sin_family == AF_INET);
  CHECK(ntohs(native.sin_port) == 7471);
  CHECK(ntohl(native.sin_addr.s_addr) == 0x0a010002);
}

TEST_CASE("An IPv6 address keeps its scope") {
  const socket_address address{link_local, 7471, 1};
  CHECK(address.family() == cm::address_family::ipv6);
  CHECK(address.ipv6() == link_local);
  CHECK(address.scope() == 1);
  CHECK(address.is_link_local());
  CHECK(address.with_port(8).scope() == 1);
  CHECK(to_string(address) == "[fe80::1%lo]:7471");
  CHECK(to_string(socket_address{link_local, 0, 999999}) == "[fe80::1%999999]");
  CHECK_FALSE(socket_address{ipv6_address{0x2001, 0xdb8, 0, 0, 0, 0, 0, 1}, 1}.is_link_local());
}

TEST_CASE("A native address has a GID, a service and a partition") {
  const socket_address address{native_gid, cm::service_id_of(cm::port_space::tcp, 7471)};
  CHECK(address.family() == cm::address_family::infiniband);
  CHECK(address.infiniband() == native_gid);
  CHECK(address.service() == cm::service_id{0x1061d2f});
  CHECK(address.partition() == pkey{0xffff});
  CHECK(address.port() == 7471);
  CHECK(address.length() == sizeof(sockaddr_ib));
  CHECK(to_string(address) == "[fe80::1] service 0x1061d2f pkey 0xffff");

  const socket_address other{native_gid, cm::service_id{0x1234567890abcdef}, pkey{0x8001}};
  CHECK(other.port() == 0);
  CHECK(other.partition() == pkey{0x8001});
  CHECK(to_string(other) == "[fe80::1] service 0x1234567890abcdef pkey 0x8001");
  CHECK(address.with_port(1).service() == cm::service_id{0x1060001});
  CHECK(address.with_port(1).partition() == pkey{0xffff});

  sockaddr_ib native{};
  std::memcpy(&native, other.native(), sizeof native);
  CHECK(be64toh(native.sib_sid) == 0x1234567890abcdef);
  CHECK(native.sib_sid_mask == ~std::uint64_t{0});
  CHECK(ntohs(native.sib_pkey) == 0x8001);
}

TEST_CASE("Numeric addresses are parsed") {
  CHECK(socket_address::parse("10.1.0.2", 5) == socket_address{ipv4_address{10, 1, 0, 2}, 5});
  CHECK(socket_address::parse("fe80::1", 5) == socket_address{link_local, 5});
  CHECK(socket_address::parse("fe80::1%lo", 5) == socket_address{link_local, 5, 1});
  CHECK(socket_address::parse("fe80::1%23", 5) == socket_address{link_local, 5, 23});
  CHECK(socket_address::parse("fe80::1%999999999", 5) == socket_address{link_local, 5, 999999999});
  CHECK(socket_address::parse("fe80::ffff:ffff:255.255.255.255", 1));
  for (const char* wrong :
       {"", "host", "10.1.0", "10.1.0.2%lo", "fe80::1%", "fe80::1%no-such-interface", "fe80::1%0",
        "fe80::1%4294967297", "fe80::1%42949672970", "fe80::1%12x",
        "fe80::1%a-name-that-no-interface-can-have", "fe80::12345",
        "0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000"})
    CHECK_FALSE(socket_address::parse(wrong, 5));
}

TEST_CASE("Wildcard addresses are recognised") {
  CHECK(socket_address::any(1).is_any());
  CHECK(socket_address::any(1).family() == cm::address_family::ipv6);
  CHECK(socket_address::any_ipv4(1).is_any());
  CHECK(socket_address{gid{}, cm::service_id{1}}.is_any());
  CHECK_FALSE(socket_address{ipv4_address{127, 0, 0, 1}, 1}.is_any());
}

TEST_CASE("A C address is copied if it is complete and of a supported family") {
  sockaddr_in native{};
  native.sin_family = AF_INET;
  native.sin_port = htons(7471);
  native.sin_addr.s_addr = htonl(0x0a010002);
  // Garbage that the kernel may leave there.
  std::memset(native.sin_zero, 0x5a, sizeof native.sin_zero);
  const auto* const pointer = reinterpret_cast<const sockaddr*>(&native);
  CHECK(socket_address::from_native(pointer, sizeof native) ==
        socket_address{ipv4_address{10, 1, 0, 2}, 7471});
  CHECK(socket_address::from_native(pointer, sizeof native - 1).is_empty());
  CHECK(socket_address::from_native(pointer, 1).is_empty());
  CHECK(socket_address::from_native(nullptr, sizeof native).is_empty());
  native.sin_family = AF_UNIX;
  CHECK(socket_address::from_native(pointer, sizeof native).is_empty());
}

TEST_CASE("A C address that ends inside its family is not read") {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* const pages =
      ::mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(pages != MAP_FAILED);
  REQUIRE(::mprotect(static_cast<std::byte*>(pages) + page, page, PROT_NONE) == 0);
  const void* const end = static_cast<std::byte*>(pages) + page;
  CHECK(socket_address::from_native(static_cast<const sockaddr*>(end), 0).is_empty());
  CHECK(socket_address::from_native(static_cast<const sockaddr*>(end), 1).is_empty());
  ::munmap(pages, 2 * page);
}

TEST_CASE("Zeros in the address of an identifier mean no address unless a port is set") {
  const auto in = [](const socket_address& address) {
    sockaddr_storage there{};
    if (!address.is_empty()) std::memcpy(&there, address.native(), address.length());
    return detail::address_in(reinterpret_cast<const sockaddr*>(&there));
  };
  CHECK(in({}).is_empty());
  CHECK(in(socket_address::any(0)).is_empty());
  CHECK(in(socket_address::any_ipv4(0)).is_empty());
  CHECK(in({gid{}, cm::service_id{}}).is_empty());

  const socket_address known[]{socket_address::any(7471),
                               socket_address::any_ipv4(7471),
                               {gid{}, cm::service_id_of(cm::port_space::tcp, 7471)},
                               {ipv4_address{10, 1, 0, 2}, 0},
                               {link_local, 0, 1},
                               {native_gid, cm::service_id{}}};
  for (const socket_address& address : known) CHECK(in(address) == address);
}

TEST_CASE("Families have names") {
  CHECK(to_string(cm::address_family::ipv4) == "IPv4");
  CHECK(to_string(cm::address_family::ipv6) == "IPv6");
  CHECK(to_string(cm::address_family::infiniband) == "InfiniBand");
  CHECK(to_string(cm::address_family::unspecified) == "unspecified");
  CHECK(to_string(cm::address_family{77}) == "unknown (77)");
}

TEST_CASE("is_multicast returns true for the addresses of multicast groups") {
  const auto is_group = [](const char* address) {
    return adverb::cm::socket_address::parse(address, 0).value().is_multicast();
  };
  CHECK(is_group("224.0.0.0"));
  CHECK(is_group("239.255.255.255"));
  CHECK(is_group("ff00::"));
  CHECK(is_group("ff0e::1"));
  CHECK_FALSE(is_group("223.255.255.255"));
  CHECK_FALSE(is_group("240.0.0.0"));
  CHECK_FALSE(is_group("fe80::1"));
  CHECK_FALSE(adverb::cm::socket_address{}.is_multicast());
}
