// SPDX-License-Identifier: MIT
#pragma once

#include <adverb/remote/detail/ring_slots.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC std::string_view describe(ring_violation violated) noexcept {
  switch (violated) {
    case ring_violation::none: break;
    case ring_violation::unknown_slot: return "it named a slot that the ring does not have";
    case ring_violation::foreign_slot: return "it named a slot that it does not have";
    case ring_violation::old_generation: return "it named an earlier use of a slot";
    case ring_violation::after_end: return "an entry follows the end";
    case ring_violation::wrong_length: return "an entry has another length than its slot allows";
    case ring_violation::malformed_frame:
      return "a message is no frame of a ring: from the first next or claim on, the messages of a "
             "connection belong to its rings";
    case ring_violation::no_ring: return "it uses a ring that this side does not have";
  }
  return "the reason is unknown";
}

}  // namespace adverb::inline ADVERB_ABI::detail
