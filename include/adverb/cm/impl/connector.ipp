// SPDX-License-Identifier: MIT
#pragma once

#include <adverb/cm/connector.hpp>

namespace adverb::inline ADVERB_ABI::cm {

ADVERB_FUNC datagram_peer datagram_endpoint::resolve_peer(const socket_address& to,
                                                          const peer_options& options,
                                                          on_failure policy) const {
  if (!detail::check_present(policy, "rdma_resolve_addr", identifier().native_handle())) return {};
  auto start = connector<transport::ud>::create(policy);
  if (!start) return {};
  // The same address, with another port.
  const resolve_options how{.from = local_address().with_port(0), .timeout = options.timeout};
  auto near = start.resolve_address(to, how, policy);
  if (!near) return {};
  auto far = near.resolve_route(options.timeout, policy);
  if (!far) return {};
  return far.resolve_peer(protection_domain(), options, policy);
}

}  // namespace adverb::inline ADVERB_ABI::cm
