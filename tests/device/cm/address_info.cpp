// SPDX-License-Identifier: MIT
// Lookups of hosts, services and addresses, and the failures of unsuccessful ones.
#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include <netdb.h>

#include <adverb/adverb.hpp>
#include <adverb/cm.hpp>
#include <support/catch.hpp>
#include <support/reported.hpp>
#include <support/skip.hpp>

#include "cm/guest.hpp"
#include "cm/support.hpp"

using namespace adverb;

TEST_CASE("A numeric address is looked up for the given use",
          "[rdma_getaddrinfo][rdma_freeaddrinfo]") {
  const cm::address_list found{"10.1.2.3",
                               7471,
                               {.numeric_host = true,
                                .no_route = true,
                                .transport = transport::rc,
                                .port_space = cm::port_space::tcp}};
  REQUIRE(std::distance(found.begin(), found.end()) == 1);
  const cm::address_info info = found.front();
  CHECK(info.destination() == cm_test::in_numbers("10.1.2.3", 7471));
  CHECK(info.source().is_empty());
  CHECK(info.family() == cm::address_family::ipv4);
  CHECK(info.transport() == transport::rc);
  CHECK(info.port_space() == cm::port_space::tcp);
  CHECK_FALSE(info.is_passive());
  CHECK(info.destination_name().empty());
  CHECK(info.source_name().empty());
  CHECK(info.route().empty());
  CHECK(info.connect_data().empty());
  CHECK(info == *found.begin());
  CHECK(info.native_handle() == found.native_handle());
}

TEST_CASE("A lookup finds a host by its name", "[rdma_getaddrinfo]") {
  addrinfo* known = nullptr;
  if (::getaddrinfo("localhost", nullptr, nullptr, &known) != 0)
    skip("a host by its name", "no host is named localhost here");
  ::freeaddrinfo(known);
  const cm::address_list found{"localhost", 7471, {.family = cm::address_family::ipv4}};
  REQUIRE_FALSE(found.empty());
  CHECK(found.front().destination() == cm_test::in_numbers("127.0.0.1", 7471));
}

TEST_CASE("A lookup respects the datagram transport and IPv6", "[rdma_getaddrinfo]") {
  const cm::address_list datagrams{"::1", "7471", {.transport = transport::ud}};
  REQUIRE_FALSE(datagrams.empty());
  CHECK(datagrams.front().transport() == transport::ud);
  CHECK(datagrams.front().port_space() == cm::port_space::udp);
  CHECK(datagrams.front().destination() == cm_test::in_numbers("::1", 7471));
}

TEST_CASE("A passive lookup returns a source address", "[rdma_getaddrinfo]") {
  const cm::address_list found{
      "", 7471, {.passive = true, .family = cm::address_family::ipv6, .transport = transport::rc}};
  REQUIRE_FALSE(found.empty());
  CHECK(found.front().is_passive());
  CHECK(found.front().source() == cm::socket_address::any(7471));
  CHECK(found.front().destination().is_empty());
}

TEST_CASE("A lookup returns the given source address", "[rdma_getaddrinfo]") {
  const cm::socket_address from = cm_test::device_address();
  const cm::address_list by_name{"10.1.2.3", 7471, {.from = from}};
  CHECK(by_name.front().source() == from);
  const cm::address_list by_address{cm_test::in_numbers("10.1.2.3", 7471), {.from = from}};
  REQUIRE_FALSE(by_address.empty());
  CHECK(by_address.front().destination() == cm_test::in_numbers("10.1.2.3", 7471));
  CHECK(by_address.front().source() == from);
}

TEST_CASE("A native address is looked up as a numeric GID", "[rdma_getaddrinfo]") {
  const cm::address_list found{"fe80::1",
                               7471,
                               {.numeric_host = true,
                                .family = cm::address_family::infiniband,
                                .transport = transport::rc,
                                .port_space = cm::port_space::tcp}};
  REQUIRE_FALSE(found.empty());
  const cm::socket_address native = found.front().destination();
  CHECK(native.family() == cm::address_family::infiniband);
  CHECK(native.infiniband() == gid{cm_test::in_numbers("fe80::1", 0).ipv6()->bytes()});
  CHECK(native.service() == cm::service_id_of(cm::port_space::tcp, 7471));
  CHECK(native.partition() == pkey{0xffff});
}

TEST_CASE("An address list can be moved, released and adopted") {
  cm::address_list first{"10.1.2.3", 1};
  rdma_addrinfo* const native = first.native_handle();
  cm::address_list second{std::move(first)};
  CHECK(first.empty());
  CHECK(first.begin() == first.end());
  first = std::move(second);
  CHECK(first.native_handle() == native);
  const cm::address_list adopted{adopt, first.release()};
  CHECK(first.empty());
  CHECK(adopted.native_handle() == native);
}

namespace {

std::string refused(std::string_view host, const char* service, const cm::lookup_options& options,
                    std::error_code expected) {
  const failure why = reported([&](auto&&... policy) {
    const cm::address_list found{host, service, options, policy...};
    CHECK(found.empty());
  });
  CHECK(why.verb() == "rdma_getaddrinfo");
  CHECK(std::string{why.object()}.ends_with(std::string{":"} + service));
  CHECK(why.code() == expected);
  return std::string{why.explanation()};
}

}  // namespace

TEST_CASE("A failed lookup names the host or service", "[rdma_getaddrinfo]") {
  using enum cm::lookup_error;
  CHECK(refused("no host", "1", {.numeric_host = true}, host_not_found) ==
        "no host is not a numeric address");
  CHECK(refused("localhost", "no-service", {.transport = transport::rc}, service_not_found) ==
        "no service of that transport is named no-service");
  CHECK(refused("10.1.2.3", "1", {.numeric_host = true, .family = cm::address_family::infiniband},
                host_not_found) == "10.1.2.3 is not a GID: a GID has the form of an IPv6 address");
  CHECK(refused("", "no-service", {}, service_not_found) ==
        "no service of that transport is named no-service");
  const std::string_view with_null{"127.0.0.1\0.evil", 15};
  CHECK(refused(with_null, "1", {}, host_not_found) == R"(no host is named 127.0.0.1\0.evil)");
  CHECK(refused(std::string(2000, 'x'), "1", {}, host_not_found) ==
        "no host is named " + std::string(125, 'x') + "...");
}

TEST_CASE("A lookup fails if the address belongs to another family than requested",
          "[rdma_getaddrinfo]") {
  failure why;
  const cm::address_list found{"10.1.2.3", 1, {.family = cm::address_family::ipv6}, why};
  CHECK(found.empty());
  CHECK(why.code().category() == cm::lookup_category());
  CHECK(why.explanation() == "10.1.2.3 is not an IPv6 address, and no host has this name");
}

TEST_CASE("A lookup distinguishes an unknown name from a silent name server",
          "[rdma_getaddrinfo]") {
  failure why;
  const cm::address_list found{"no-such-host.invalid", 1, {}, why};
  CHECK(found.empty());
  if (why.code() == cm::lookup_error::try_again)
    CHECK(why.explanation().starts_with("possible causes: no name server answers"));
  else
    CHECK(why.explanation() == "no host is named no-such-host.invalid");
}

TEST_CASE("local_addresses contains the address of the device", "[rdma_bind_addr]") {
  const auto found = cm::local_addresses();
  const auto is_it = [](const cm::local_address& each) {
    return each.address == cm_test::device_address();
  };
  const auto here = std::find_if(found.begin(), found.end(), is_it);
  REQUIRE(here != found.end());
  CHECK(here->device.view() == open_device().device().name());
}
