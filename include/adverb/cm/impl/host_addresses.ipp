// SPDX-License-Identifier: MIT
#pragma once

#include <sys/socket.h>

#include <adverb/cm/detail/explain_lookup.hpp>
#include <adverb/cm/detail/host_addresses.hpp>
#include <adverb/cm/lookup_error.hpp>
#include <adverb/core/detail/check.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC host_addresses::host_addresses(std::string_view host, std::uint16_t port,
                                           cm::address_family family, on_failure policy) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICSERV;
  hints.ai_family = static_cast<int>(family);
  // One entry per address instead of one per socket type.
  hints.ai_socktype = SOCK_STREAM;
  // A name that is too long is cut so that it matches no host.
  const static_string<NI_MAXHOST> node{[&](text_writer& writer) { writer.put(host); }};
  const static_string<8> service{[&](text_writer& writer) { writer.decimal(port); }};
  check_looked_up(
      policy, "getaddrinfo", cm::lookup_category(),
      [&] {
        const int result =
            ::getaddrinfo(host.empty() ? nullptr : node.c_str(), service.c_str(), &hints, &first_);
        return result == EAI_SYSTEM ? -1 : result;
      },
      [&](failure_description& description) {
        describe_lookup(description, {host, service, family});
      });
}

}  // namespace adverb::inline ADVERB_ABI::detail
