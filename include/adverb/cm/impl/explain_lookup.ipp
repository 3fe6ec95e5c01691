// SPDX-License-Identifier: MIT
#pragma once

#include <system_error>

#include <adverb/cm/detail/explain_lookup.hpp>
#include <adverb/cm/lookup_error.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC void explain_no_address(text_writer& writer, const lookup& wanted) {
  writer.put(wanted.host).put(" is no ");
  if (wanted.family == cm::address_family::unspecified)
    writer.put("IP");
  else
    writer.put(wanted.family);
  writer.put(" address");
}

ADVERB_FUNC void explain_host_not_found(text_writer& writer, const lookup& wanted) {
  using enum cm::address_family;
  if (wanted.numeric_host && wanted.family == infiniband) {
    writer.put(wanted.host).put(" is no GID: one is written as an IPv6 address");
  } else if (looks_like_address(wanted.host)) {
    explain_no_address(writer, wanted);
    if (!wanted.numeric_host) writer.put(", and no host is named so");
  } else {
    if (wanted.numeric_host)
      writer.put(wanted.host).put(" is no address in numbers");
    else
      writer.put("no host is named ").put(wanted.host);
    if (wanted.family == ipv4 || wanted.family == ipv6)
      writer.put(", or it has no ").put(wanted.family).put(" address");
  }
}

ADVERB_FUNC void explain_no_name_server(text_writer& writer, const lookup& wanted) {
  if (looks_like_address(wanted.host)) {
    explain_no_address(writer, wanted);
    writer.put(", and ");
  }
  writer.put("no name server answered");
}

ADVERB_FUNC void explain_lookup(failure_description& description, const lookup& wanted) {
  const std::error_code& code = description.code();
  description.explain([&](text_writer& writer) {
    if (code == std::errc::no_such_device)
      writer.put("this machine has no RDMA device");
    else if (code == cm::lookup_error::service_not_found)
      writer.put("no service of that transport is named ").put(wanted.service);
    else if (code == cm::lookup_error::try_again)
      explain_no_name_server(writer, wanted);
    else if (code.category() == cm::lookup_category())
      explain_host_not_found(writer, wanted);
  });
}

ADVERB_FUNC void describe_lookup(failure_description& description, const lookup& wanted) {
  // Leaves room for the explanation.
  const static_string<128> host{[&](text_writer& writer) { writer.put(wanted.host); }};
  const static_string<64> service{[&](text_writer& writer) { writer.put(wanted.service); }};
  description.object(
      [&](text_writer& writer) { writer.put(host.view()).put(":").put(service.view()); });
  explain_lookup(description, {host, service, wanted.family, wanted.numeric_host});
}

}  // namespace adverb::inline ADVERB_ABI::detail
