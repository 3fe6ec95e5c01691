// SPDX-License-Identifier: MIT
// The steps of connection establishment.
#pragma once

#include <cstdint>

#include <adverb/core/transport.hpp>

namespace adverb::inline ADVERB_ABI::cm {

/// The last completed step of connection establishment. A type parameter, because it decides the
/// next permitted steps.
enum class step : std::uint8_t {
  start,
  /// The device is known; objects can be created on it.
  address_resolved,
  /// The queue pair can be created.
  route_resolved,
  /// A listener received the request; the queue pair can be created.
  requested,
  /// The queue pair exists; receives can be posted and the connection established.
  ready,
};

/// The creator of a connection's queue pair, a parameter of the connection's type.
enum class pair_owner : std::uint8_t {
  /// `create_queue_pair`: librdmacm drives the state transitions.
  librdmacm,
  /// `use_queue_pair`: adverb drives the state transitions as librdmacm would.
  program,
};

// Declared here for the default template arguments.
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
