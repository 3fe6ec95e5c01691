// SPDX-License-Identifier: MIT
// What is looked for when a name is resolved.
#pragma once

#include <optional>

#include <adverb/cm/port_space.hpp>
#include <adverb/cm/socket_address.hpp>
#include <adverb/core/transport.hpp>

namespace adverb::inline ADVERB_ABI::cm {

/// What is looked for.
struct lookup_options {
  /// An address of this machine to listen on, instead of one to connect to. Without a host it is
  /// the one that stands for all.
  bool passive = false;
  /// The host is an address in numbers: no name service is asked.
  bool numeric_host = false;
  /// Without a route, where a service would know it.
  bool no_route = false;
  /// Of this family only. With `infiniband` and `numeric_host` the host is a GID, written as an
  /// IPv6 address.
  address_family family = address_family::unspecified;
  /// For this transport and port space only.
  std::optional<adverb::transport> transport{};
  std::optional<cm::port_space> port_space{};
  /// An address of this machine to connect from.
  socket_address from{};
};

}  // namespace adverb::inline ADVERB_ABI::cm
