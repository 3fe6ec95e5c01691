// SPDX-License-Identifier: MIT
// The time for which the examples wait for a connected peer.
#pragma once

#include <chrono>

namespace examples {

inline constexpr std::chrono::seconds patience{10};

}  // namespace examples
