// SPDX-License-Identifier: MIT
// Identifiers for transports that rdma_create_id does not support: UC and XRC.
#pragma once

#include <system_error>

#include <adverb/cm/identifier.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Returns true if rdma_create_ep must create the identifier of a transport. Its ports are in the
/// space of InfiniBand's own services, where requests name their transport.
[[nodiscard]] constexpr bool needs_endpoint(transport service) noexcept {
  return service == transport::uc || service == transport::xrc_send ||
         service == transport::xrc_recv;
}

/// Explains why rdma_create_ep failed for these addresses, in terms of its steps.
void explain_endpoint(text_writer& writer, const std::error_code& code,
                      const cm::socket_address& from, const cm::socket_address& to);

/// Creates an identifier from addresses: bound for listening, or with its address and route
/// resolved for connecting. librdmacm waits two seconds for each resolution. The identifier is
/// synchronous until it is migrated to a channel. Wraps: rdma_create_ep(3).
[[nodiscard]] cm::identifier create_endpoint(on_failure policy, transport service,
                                             const cm::socket_address& from,
                                             const cm::socket_address& to);

/// Reports that an address cannot be reused, because librdmacm binds it during creation.
void refuse_to_reuse(on_failure policy, const cm::socket_address& address);

}  // namespace adverb::inline ADVERB_ABI::detail

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/cm/impl/create_endpoint.ipp>
#endif
