// SPDX-License-Identifier: MIT
#pragma once

#include <adverb/queue/detail/posted_to.hpp>
#include <adverb/queue/detail/queue_traits.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC void put_posted_to(text_writer& writer, posted_to queue, const void* object) noexcept {
  switch (queue) {
    case posted_to::send_queue:
    case posted_to::extended_send_queue:
    case posted_to::receive_queue:
    case posted_to::send_window:
    case posted_to::full_send_window:
      return queue_pair_traits::describe(static_cast<const ibv_qp*>(object), writer);
    case posted_to::shared_receive_queue:
    case posted_to::tag_list:
      return shared_receive_queue_traits::describe(static_cast<const ibv_srq*>(object), writer);
    case posted_to::work_queue:
      return work_queue_traits::describe(static_cast<const ibv_wq*>(object), writer);
  }
}

}  // namespace adverb::inline ADVERB_ABI::detail
