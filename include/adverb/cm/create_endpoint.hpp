// SPDX-License-Identifier: MIT
// Identifiers of transports that rdma_create_id knows nothing of: UC and XRC.
#pragma once

#include <string_view>
#include <utility>

#include <rdma/rdma_cma.h>

#include <adverb/cm/identifier.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Whether an identifier of a transport is made by rdma_create_ep. Its ports are in the space of
/// InfiniBand's own services, where requests name their transport.
[[nodiscard]] constexpr bool needs_endpoint(transport service) noexcept {
  return service == transport::uc || service == transport::xrc_send ||
         service == transport::xrc_recv;
}

/// Makes an identifier of what address information says: bound where it is passive, or else with
/// its address and its route resolved, for which librdmacm waits (two seconds for each). It is
/// synchronous until it is migrated to a channel. Wraps: rdma_create_ep(3).
template <error_policy Policy>
[[nodiscard]] cm::identifier create_endpoint(Policy&& policy, const rdma_addrinfo& information) {
  rdma_addrinfo copy = information;
  rdma_cm_id* made = nullptr;
  const bool passive = (copy.ai_flags & RAI_PASSIVE) != 0;
  const bool done = check_minus_one(
      std::forward<Policy>(policy), "rdma_create_ep",
      [&] { return rdma_create_ep(&made, &copy, nullptr, nullptr); },
      [&](failure_description& description) {
        const sockaddr* const address = passive ? copy.ai_src_addr : copy.ai_dst_addr;
        if (address != nullptr) description.detail(to_text(address_in(address)));
      });
  return done ? cm::identifier{adopt, made} : cm::identifier{};
}

/// The same from addresses: one to listen on, or one to connect to.
template <error_policy Policy>
[[nodiscard]] cm::identifier create_endpoint(Policy&& policy, transport service,
                                             const cm::socket_address& from,
                                             const cm::socket_address& to) {
  rdma_addrinfo information{};
  information.ai_flags = to.is_empty() ? RAI_PASSIVE : 0;
  information.ai_family = static_cast<int>(to.is_empty() ? from.family() : to.family());
  information.ai_qp_type = static_cast<int>(service);
  information.ai_port_space = RDMA_PS_IB;
  information.ai_src_addr = from.native();
  information.ai_src_len = from.length();
  information.ai_dst_addr = to.native();
  information.ai_dst_len = to.length();
  return create_endpoint(std::forward<Policy>(policy), information);
}

}  // namespace adverb::inline ADVERB_ABI::detail
