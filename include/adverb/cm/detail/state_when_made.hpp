// SPDX-License-Identifier: MIT
// The state in which librdmacm hands out a queue pair.
#pragma once

#include <adverb/core/transport.hpp>
#include <adverb/queue/transport.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// The state of a queue pair that librdmacm has just made.
[[nodiscard]] constexpr qp_state state_when_made(transport service) noexcept {
  return service == transport::ud ? qp_state::rts : qp_state::init;
}

}  // namespace adverb::inline ADVERB_ABI::detail
