// SPDX-License-Identifier: MIT
// What a connector knows of the rejection that ended it.
#pragma once

#include <adverb/cm/private_data.hpp>
#include <adverb/cm/reject_reason.hpp>

namespace adverb::inline ADVERB_ABI::cm {

/// Why the peer rejected a connection.
struct rejection {
  reject_reason reason{};
  cm::private_data private_data;
};

}  // namespace adverb::inline ADVERB_ABI::cm
