// SPDX-License-Identifier: MIT
// All addresses of a host, to be tried in turn.
#pragma once

#include <cstdint>
#include <string_view>

#include <netdb.h>

#include <adverb/cm/address_list.hpp>
#include <adverb/cm/socket_address.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// All IP addresses of a host from the name service, of one family or both. librdmacm's own lookup
/// returns only the first.
class host_addresses {
 public:
  host_addresses(std::string_view host, std::uint16_t port, cm::address_family family,
                 on_failure policy);
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

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/cm/impl/host_addresses.ipp>
#endif
