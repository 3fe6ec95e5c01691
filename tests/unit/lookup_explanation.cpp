// SPDX-License-Identifier: MIT
// Why a host or a service was not found, in words.
#include <string>
#include <system_error>

#include <adverb/cm/address_list.hpp>
#include <support/catch.hpp>

using namespace adverb;
using cm::address_family;
using cm::lookup_error;

namespace {

failure failed(const std::error_code& code, const detail::lookup& wanted) {
  return failure{code, "getaddrinfo", [&](failure_description& description) {
                   detail::describe_lookup(description, wanted);
                 }};
}
std::string why(const std::error_code& code, const detail::lookup& wanted) {
  return std::string{failed(code, wanted).explanation()};
}

const std::error_code not_found = lookup_error::host_not_found;

}  // namespace

TEST_CASE("A lookup is named by its host and its service") {
  CHECK(failed(not_found, {"far", "7471"}).object() == "far:7471");
  // Names that are too long leave room for the rest.
  const std::string object{failed(not_found, {std::string(500, 'h'), "7471"}).object()};
  CHECK(object.size() < 200);
  CHECK(object.ends_with("...:7471"));
}

TEST_CASE("A host that is not found may lack an address of the family") {
  CHECK(why(not_found, {"far", "7471"}) == "no host is named far");
  CHECK(why(not_found, {"far", "7471", address_family::ipv4}) ==
        "possible causes: no host is named far, or it has no IPv4 address");
  CHECK(why(not_found, {"far", "7471", address_family::ipv6}) ==
        "possible causes: no host is named far, or it has no IPv6 address");
  CHECK(why(not_found, {"far", "7471", address_family::infiniband}) == "no host is named far");
}

TEST_CASE("A failed numeric lookup explains the expected form") {
  CHECK(why(not_found, {"far", "1", address_family::unspecified, true}) ==
        "far is not a numeric address");
  CHECK(why(not_found, {"far", "1", address_family::ipv4, true}) ==
        "possible causes: far is not a numeric address, or it has no IPv4 address");
  CHECK(why(not_found, {"far", "1", address_family::infiniband, true}) ==
        "far is not a GID: a GID has the form of an IPv6 address");
}

TEST_CASE("An explanation distinguishes problems of the service from those of the host") {
  const detail::lookup wanted{"far", "nfs"};
  CHECK(why(lookup_error::service_not_found, wanted) ==
        "no service of that transport is named nfs");
  CHECK(why(lookup_error::try_again, wanted) ==
        "possible causes: no name server answers, or it cannot find out (SERVFAIL, REFUSED)");
  CHECK(why(lookup_error::no_address, wanted) == "far has no address of the requested family");
  // These are not about the host.
  CHECK(why(lookup_error::system_error, wanted).empty());
  CHECK(why(lookup_error::out_of_memory, wanted).empty());
  const static_string<640> no_device{&detail::explain_event_channel};
  CHECK_FALSE(no_device.view().empty());
  CHECK(why(std::make_error_code(std::errc::no_such_device), wanted) == no_device.view());
  // Another errno has no explanation.
  CHECK(why(std::make_error_code(std::errc::io_error), wanted).empty());
}
