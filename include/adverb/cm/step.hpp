// SPDX-License-Identifier: MIT
// How far the set-up of a connection has come.
#pragma once

#include <cstdint>

#include <adverb/version.hpp>

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

}  // namespace adverb::inline ADVERB_ABI::cm
