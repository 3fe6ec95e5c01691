// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <system_error>

#include <sys/socket.h>

#include <adverb/cm/address_list.hpp>
#include <adverb/cm/connect.hpp>
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

ADVERB_FUNC bool failed_attempts::note(const cm::socket_address& to, const failure& why,
                                       attempt_lacks missing,
                                       const std::optional<cm::rejection>& rejection) {
  if (is_code(why.code(), std::errc::connection_refused)) missing = attempt_lacks::consent;
  if (rejection && seems_program_s(*rejection)) {
    missing = has_words(rejection->private_data.bytes()) ? attempt_lacks::permission_to_go_on
                                                         : attempt_lacks::consent;
    rejecting_family_ = to.family();
  }
  if (is_code(why.code(), std::errc::interrupted) ||
      is_code(why.code(), std::errc::operation_canceled))
    missing = attempt_lacks::permission_to_go_on;
  if (!told_ || missing > missing_) {
    told_ = why;
    missing_ = missing;
  }
  return missing != attempt_lacks::permission_to_go_on;
}

}  // namespace adverb::inline ADVERB_ABI::detail
