// SPDX-License-Identifier: MIT
// What a listener is made with.
#pragma once

#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::cm {

/// What a listener is made with.
struct listener_options {
  /// How many requests may queue up; as many as the kernel allows when 0.
  int backlog = 0;
  /// Listens even if the port was used until just now, as SO_REUSEADDR does. Refused (EOPNOTSUPP)
  /// for UC and XRC, whose listeners librdmacm binds as it makes them.
  bool reuse_address = false;
  /// On `socket_address::any`: for IPv6 alone, so that another can listen on the port for IPv4. Not
  /// for UC and XRC.
  bool address_family_only = false;
};

}  // namespace adverb::inline ADVERB_ABI::cm
