// SPDX-License-Identifier: MIT
// What a connection is made with, from the side that asks for it.
#pragma once

#include <adverb/cm/connection_parameters.hpp>
#include <adverb/cm/socket_address.hpp>
#include <adverb/core/timeout.hpp>
#include <adverb/memory/protection_domain.hpp>
#include <adverb/queue/queue_pair_options.hpp>

namespace adverb::inline ADVERB_ABI::cm {

/// How a connection is made from the side that asks for it.
struct connect_options {
  /// Without completion queues they are made with the queue pair.
  queue_pair_options queue_pair{};
  /// librdmacm's own unless it is said here.
  protection_domain_ref domain{};
  /// What goes with the request to connect.
  connection_parameters connection{};
  /// The address of this machine to connect from; any unless it is said here.
  socket_address from{};
  /// Of a host with addresses of several families, the one to take; that of `from`, or all, unless
  /// it is said here.
  address_family family = address_family::unspecified;
  /// How long each step may take, for each address that is tried: until the device and the
  /// neighbour are found, and the same again for the route; and until the peer has answered. To
  /// resolve the name of a host takes as long as the name service does.
  timeout resolve_timeout = detail::seconds{2};
  timeout connect_timeout = detail::seconds{10};

  /// The family of the addresses that are tried.
  [[nodiscard]] address_family family_to_try() const noexcept {
    return family == address_family::unspecified ? from.family() : family;
  }
};

}  // namespace adverb::inline ADVERB_ABI::cm
