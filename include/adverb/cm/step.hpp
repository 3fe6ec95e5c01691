// SPDX-License-Identifier: MIT
// The steps in which a connection is set up.
#pragma once

#include <cstdint>

#include <adverb/core/transport.hpp>

namespace adverb::inline ADVERB_ABI::cm {

/// The last step of a set-up that succeeded; a parameter of its type, because what may be done next
/// differs.
enum class step : std::uint8_t {
  start,
  /// The device is known: objects can be made on it.
  address_resolved,
  /// A queue pair can be made.
  route_resolved,
  /// Of a request that came to a listener: a queue pair can be made.
  requested,
  /// The queue pair is there: receives can be posted, and the connection be made.
  ready,
};

/// Who made the queue pair of a connection, which its type says, too.
enum class pair_owner : std::uint8_t {
  /// `create_queue_pair`: librdmacm drives it through its states.
  librdmacm,
  /// `use_queue_pair`: adverb drives it as librdmacm would.
  program,
};

// Declared here for their defaults.
template <transport Transport = transport::rc, step Step = step::start,
          pair_owner Owner = pair_owner::librdmacm>
class connector;
template <transport Transport = transport::rc, step Step = step::requested,
          pair_owner Owner = pair_owner::librdmacm>
class connection_request;
template <transport Transport = transport::rc, pair_owner Owner = pair_owner::librdmacm>
class connection;
template <transport Transport = transport::rc>
class listener;

}  // namespace adverb::inline ADVERB_ABI::cm
