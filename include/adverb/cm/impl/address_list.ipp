// SPDX-License-Identifier: MIT
#pragma once

#include <adverb/cm/address_list.hpp>

namespace adverb::inline ADVERB_ABI::cm {

ADVERB_FUNC address_list::address_list(std::string_view host, std::uint16_t port,
                                       const lookup_options& options, on_failure policy) {
  look_up(host, static_string<8>{[&](text_writer& writer) { writer.decimal(port); }}, options,
          policy);
}

ADVERB_FUNC address_list::address_list(const socket_address& to, const lookup_options& options,
                                       on_failure policy) {
  rdma_addrinfo hints = native(options);
  hints.ai_family = static_cast<int>(to.family());
  hints.ai_dst_addr = to.native();
  hints.ai_dst_len = to.length();
  find(nullptr, nullptr, hints, policy, [&](failure_description& description) {
    description.object([&](text_writer& writer) { writer.put(to); });
    detail::explain_lookup(description, {});
  });
}

ADVERB_FUNC address_list& address_list::operator=(address_list&& other) noexcept {
  if (this != &other) {
    free();
    first_ = std::exchange(other.first_, nullptr);
  }
  return *this;
}

ADVERB_FUNC rdma_addrinfo address_list::native(const lookup_options& options) noexcept {
  rdma_addrinfo hints{};
  hints.ai_flags = (options.passive ? RAI_PASSIVE : 0) |
                   (options.numeric_host ? RAI_NUMERICHOST : 0) |
                   (options.no_route ? RAI_NOROUTE : 0);
  if (options.family != address_family::unspecified) {
    hints.ai_flags |= RAI_FAMILY;
    hints.ai_family = static_cast<int>(options.family);
  }
  if (options.transport) hints.ai_qp_type = static_cast<int>(*options.transport);
  if (options.port_space) hints.ai_port_space = static_cast<int>(*options.port_space);
  hints.ai_src_addr = options.from.native();
  hints.ai_src_len = options.from.length();
  return hints;
}

ADVERB_FUNC void address_list::look_up(std::string_view host, std::string_view service,
                                       const lookup_options& options, on_failure policy) {
  const auto describe = [&](failure_description& description) {
    detail::describe_lookup(description, {host, service, options.family, options.numeric_host});
  };
  // librdmacm treats a numeric address as IPv6, whatever its family.
  if (options.family == address_family::infiniband && options.numeric_host) {
    const auto address = socket_address::parse(host, 0);
    if (!address || !address->ipv6()) {
      policy.report(make_error_code(lookup_error::host_not_found), "rdma_getaddrinfo", describe);
      return;
    }
  }
  // The C API needs null-terminated strings. A name that is too long is cut so that it matches no
  // host.
  const static_string<NI_MAXHOST> node{[&](text_writer& writer) { writer.put(host); }};
  const static_string<NI_MAXSERV> port{[&](text_writer& writer) { writer.put(service); }};
  find(host.empty() ? nullptr : node.c_str(), service.empty() ? nullptr : port.c_str(),
       native(options), policy, describe);
}

}  // namespace adverb::inline ADVERB_ABI::cm
