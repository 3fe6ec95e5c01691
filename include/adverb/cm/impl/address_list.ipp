// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <new>
#include <string>
#include <system_error>

#include <netdb.h>

#include <adverb/cm/address_list.hpp>
#include <adverb/cm/detail/explain_call.hpp>

namespace adverb::inline ADVERB_ABI::detail {

class [[gnu::visibility("default")]] lookup_category_type final : public std::error_category {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "getaddrinfo"; }
  [[nodiscard]] std::string message(int value) const override { return ::gai_strerror(value); }
  [[nodiscard]] std::error_condition default_error_condition(int value) const noexcept override {
    switch (static_cast<cm::lookup_error>(value)) {
      case cm::lookup_error::try_again: return std::errc::resource_unavailable_try_again;
      case cm::lookup_error::family_not_supported: return std::errc::address_family_not_supported;
      case cm::lookup_error::out_of_memory: return std::errc::not_enough_memory;
      default: return {value, *this};
    }
  }
};

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI::cm {

ADVERB_FUNC const std::error_category& lookup_category() noexcept {
  // The same way as in completion_category().
  alignas(
      detail::lookup_category_type) static std::byte storage[sizeof(detail::lookup_category_type)];
  static const auto* const category = new (storage) detail::lookup_category_type;
  return *category;
}

}  // namespace adverb::inline ADVERB_ABI::cm

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC void explain_no_address(text_writer& writer, const lookup& wanted) {
  writer.put(wanted.host).put(" is not an ");
  if (wanted.family == cm::address_family::unspecified)
    writer.put("IP");
  else
    writer.put(wanted.family);
  writer.put(" address");
}

ADVERB_FUNC void explain_host_not_found(text_writer& writer, const lookup& wanted) {
  using enum cm::address_family;
  if (wanted.numeric_host && wanted.family == infiniband) {
    writer.put(wanted.host).put(" is not a GID: a GID has the form of an IPv6 address");
  } else if (looks_like_address(wanted.host)) {
    explain_no_address(writer, wanted);
    if (!wanted.numeric_host) writer.put(", and no host has this name");
  } else {
    const bool has_family = wanted.family == ipv4 || wanted.family == ipv6;
    if (has_family) writer.put("possible causes: ");
    if (wanted.numeric_host)
      writer.put(wanted.host).put(" is not a numeric address");
    else
      writer.put("no host is named ").put(wanted.host);
    if (has_family) writer.put(", or it has no ").put(wanted.family).put(" address");
  }
}

ADVERB_FUNC void explain_no_address_of_host(text_writer& writer, const lookup& wanted) {
  if (looks_like_address(wanted.host))
    explain_host_not_found(writer, wanted);
  else
    writer.put(wanted.host).put(" has no address of the requested family");
}

ADVERB_FUNC void explain_no_name_server(text_writer& writer, const lookup& wanted) {
  if (looks_like_address(wanted.host)) {
    explain_no_address(writer, wanted);
    writer.put(", and was looked up as a name; ");
  }
  writer.put("possible causes: no name server answers, or it cannot find out (SERVFAIL, REFUSED)");
}

ADVERB_FUNC void explain_lookup(failure_description& description, const lookup& wanted) {
  const std::error_code& code = description.code();
  description.explain([&](text_writer& writer) {
    if (is_code(code, std::errc::no_such_device))
      explain_event_channel(writer);
    else if (code == cm::lookup_error::service_not_found)
      writer.put("no service of that transport is named ").put(wanted.service);
    else if (code == cm::lookup_error::try_again)
      explain_no_name_server(writer, wanted);
    else if (code == cm::lookup_error::host_not_found)
      explain_host_not_found(writer, wanted);
#if defined(EAI_NODATA)
    else if (code == cm::lookup_error::no_address || code == cm::lookup_error::no_address_of_family)
      explain_no_address_of_host(writer, wanted);
#endif
  });
}

ADVERB_FUNC void describe_lookup(failure_description& description, const lookup& wanted) {
  // Leaves room for the explanation.
  const static_string<128> host{[&](text_writer& writer) { writer.put(wanted.host); }};
  const static_string<64> service{[&](text_writer& writer) { writer.put(wanted.service); }};
  description.object("{}:{}", {host.view(), service.view()});
  explain_lookup(description, {host, service, wanted.family, wanted.numeric_host});
}

ADVERB_FUNC rdma_addrinfo lookup_hints(const cm::lookup_options& options) noexcept {
  rdma_addrinfo hints{};
  hints.ai_flags = (options.passive ? RAI_PASSIVE : 0) |
                   (options.numeric_host ? RAI_NUMERICHOST : 0) |
                   (options.no_route ? RAI_NOROUTE : 0) |
                   (options.subnet_administrator ? 0x10 : 0);  // RAI_SA, of rdma-core 60
  if (options.family != cm::address_family::unspecified) {
    hints.ai_flags |= RAI_FAMILY;
    hints.ai_family = static_cast<int>(options.family);
  }
  if (options.transport) hints.ai_qp_type = static_cast<int>(*options.transport);
  if (options.port_space) hints.ai_port_space = static_cast<int>(*options.port_space);
  hints.ai_src_addr = options.from.native();
  hints.ai_src_len = options.from.length();
  return hints;
}

ADVERB_FUNC void look_up(std::string_view host, std::string_view service,
                         const cm::lookup_options& options, const char* verb,
                         callable_ref<native_lookup> call, on_failure policy) {
  const auto describe = [&](failure_description& description) {
    describe_lookup(description, {host, service, options.family, options.numeric_host});
  };
  // librdmacm treats a numeric address as IPv6, whatever its family.
  if (options.family == cm::address_family::infiniband && options.numeric_host) {
    const auto address = cm::socket_address::parse(host, 0);
    if (!address || !address->ipv6()) {
      policy.report(make_error_code(cm::lookup_error::host_not_found), verb, describe);
      return;
    }
  }
  // The C API needs null-terminated strings. A name that is too long is cut so that it matches no
  // host.
  const static_string<NI_MAXHOST> node{[&](text_writer& writer) { writer.put(host); }};
  const static_string<NI_MAXSERV> port{[&](text_writer& writer) { writer.put(service); }};
  const rdma_addrinfo hints = lookup_hints(options);
  call({host.empty() ? nullptr : node.c_str(), service.empty() ? nullptr : port.c_str(), &hints,
        describe});
}

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI::cm {

ADVERB_FUNC address_list::address_list(std::string_view host, std::uint16_t port,
                                       const lookup_options& options, on_failure policy) {
  look_up(host, static_string<8>{[&](text_writer& writer) { writer.decimal(port); }}, options,
          policy);
}

ADVERB_FUNC address_list::address_list(const socket_address& to, const lookup_options& options,
                                       on_failure policy) {
  rdma_addrinfo hints = detail::lookup_hints(options);
  hints.ai_family = static_cast<int>(to.family());
  hints.ai_dst_addr = to.native();
  hints.ai_dst_len = to.length();
  const auto describe = [&](failure_description& description) {
    description.object("{}", {to});
    detail::explain_lookup(description, {});
  };
  find({nullptr, nullptr, &hints, describe}, policy);
}

ADVERB_FUNC address_list& address_list::operator=(address_list&& other) noexcept {
  if (this != &other) {
    free();
    first_ = std::exchange(other.first_, nullptr);
  }
  return *this;
}

}  // namespace adverb::inline ADVERB_ABI::cm
