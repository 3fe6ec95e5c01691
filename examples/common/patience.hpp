// SPDX-License-Identifier: MIT
// How long the examples wait for a peer that has begun to talk to them.
#pragma once

#include <chrono>

namespace examples {

inline constexpr std::chrono::seconds patience{10};

}  // namespace examples
