// SPDX-License-Identifier: MIT
// All addresses of a host, to be tried in turn.
#pragma once

#include <cstdint>
#include <string_view>

#include <netdb.h>
#include <sys/socket.h>

#include <adverb/cm/address_list.hpp>
#include <adverb/cm/detail/explain_lookup.hpp>
#include <adverb/cm/lookup_error.hpp>
#include <adverb/cm/socket_address.hpp>
#include <adverb/core/detail/check.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// All IP addresses of a host from the name service, of one family or both. librdmacm's own lookup
/// returns only the first.
class host_addresses {
 public:
  host_addresses(std::string_view host, std::uint16_t port, cm::address_family family,
                 on_failure policy) {
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
          const int result = ::getaddrinfo(host.empty() ? nullptr : node.c_str(), service.c_str(),
                                           &hints, &first_);
          return result == EAI_SYSTEM ? -1 : result;
        },
        [&](failure_description& description) {
          describe_lookup(description, {host, service, family});
        });
  }
  host_addresses(const host_addresses&) = delete;
  host_addresses& operator=(const host_addresses&) = delete;
  ~host_addresses() {
    if (first_ != nullptr) ::freeaddrinfo(first_);
  }

  /// Calls `function` with each address, best first, until it returns false.
  template <class Function>
  void for_each(const Function& function) const {
    for (const addrinfo* each = first_; each != nullptr; each = each->ai_next)
      if (!function(cm::socket_address::from_native(each->ai_addr, each->ai_addrlen))) return;
  }

 private:
  addrinfo* first_ = nullptr;
};

/// Calls `function` with each address of a host until it returns false. Native addresses come from
/// librdmacm, because no name service has them.
template <class Function>
void for_each_address_of(std::string_view host, std::uint16_t port, cm::address_family family,
                         on_failure policy, const Function& function) {
  if (family == cm::address_family::infiniband) {
    const cm::address_list found{host, port, {.family = family}, policy};
    for (const cm::address_info& each : found)
      if (!function(each.destination())) return;
    return;
  }
  host_addresses{host, port, family, policy}.for_each(function);
}

}  // namespace adverb::inline ADVERB_ABI::detail
