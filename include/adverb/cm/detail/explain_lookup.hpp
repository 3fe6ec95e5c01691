// SPDX-License-Identifier: MIT
// Explains why a host or service was not found.
#pragma once

#include <string_view>

#include <adverb/cm/socket_address.hpp>
#include <adverb/core/failure.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// The target of a lookup.
struct lookup {
  std::string_view host{};
  std::string_view service{};
  cm::address_family family = cm::address_family::unspecified;
  bool numeric_host = false;
};

/// Returns true if the text was meant as an IP address. No host has such a name.
[[nodiscard]] constexpr bool looks_like_address(std::string_view host) noexcept {
  return host.find(':') != std::string_view::npos ||
         (!host.empty() && host.find_first_not_of("0123456789.") == std::string_view::npos);
}

/// "10.1.0.999 is no IP address".
void explain_no_address(text_writer& writer, const lookup& wanted);

void explain_host_not_found(text_writer& writer, const lookup& wanted);

/// A malformed address is looked up as a name.
void explain_no_name_server(text_writer& writer, const lookup& wanted);

/// Explains why a lookup failed.
void explain_lookup(failure_description& description, const lookup& wanted);

/// Explains a failed lookup, with the host and the service as its object.
void describe_lookup(failure_description& description, const lookup& wanted);

}  // namespace adverb::inline ADVERB_ABI::detail

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/cm/impl/explain_lookup.ipp>
#endif
