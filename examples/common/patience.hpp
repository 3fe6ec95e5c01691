// SPDX-License-Identifier: MIT
// The patience of the examples with a connected peer.
#pragma once

#include <chrono>

namespace examples {

inline constexpr std::chrono::seconds patience{10};
/// The time after which an asynchronous peer without a heartbeat is dead.
inline constexpr std::chrono::seconds longest_silence{30};

}  // namespace examples
