// SPDX-License-Identifier: MIT
// Why a host or a service was not found.
#pragma once

#include <string_view>
#include <system_error>

#include <adverb/cm/lookup_error.hpp>
#include <adverb/cm/socket_address.hpp>
#include <adverb/core/failure.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// What was looked for.
struct lookup {
  std::string_view host;
  std::string_view service;
  cm::address_family family = cm::address_family::unspecified;
  bool numeric_host = false;
};

inline void explain_host_not_found(text_writer& writer, const lookup& wanted) {
  using enum cm::address_family;
  if (wanted.numeric_host && wanted.family == infiniband)
    writer.put(wanted.host).put(" is no GID: one is written as an IPv6 address");
  else if (wanted.numeric_host)
    writer.put(wanted.host).put(" is no address in numbers");
  else
    writer.put("no host is named ").put(wanted.host);
  if (wanted.family == ipv4 || wanted.family == ipv6)
    writer.put(", or it has no ").put(wanted.family).put(" address");
}

/// Says in words why a lookup failed.
inline void explain_lookup(failure_description& description, const lookup& wanted) {
  const std::error_code& code = description.code();
  description.explain([&](text_writer& writer) {
    if (code == std::errc::no_such_device)
      writer.put("this machine has no RDMA device");
    else if (code == cm::lookup_error::service_not_found)
      writer.put("no service of that transport is named ").put(wanted.service);
    else if (code == cm::lookup_error::try_again)
      writer.put("no name server answered");
    else if (code.category() == cm::lookup_category())
      explain_host_not_found(writer, wanted);
  });
}

/// The same, with the host and the service named as what the call was on.
inline void describe_lookup(failure_description& description, const lookup& wanted) {
  // Leaves room for what is to be said of them.
  const text<128> host{[&](text_writer& writer) { writer.put(wanted.host); }};
  const text<64> service{[&](text_writer& writer) { writer.put(wanted.service); }};
  description.object(
      [&](text_writer& writer) { writer.put(host.view()).put(":").put(service.view()); });
  explain_lookup(description, {host, service, wanted.family, wanted.numeric_host});
}

}  // namespace adverb::inline ADVERB_ABI::detail
