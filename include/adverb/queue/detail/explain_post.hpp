// SPDX-License-Identifier: MIT
// Explains why a post was refused, as far as this side can determine it.
#pragma once

#include <cstdint>
#include <string_view>

#include <infiniband/verbs.h>

#include <adverb/core/text.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// The queues to which requests can be posted.
enum class posted_to : std::uint32_t {
  send_queue,
  extended_send_queue,
  receive_queue,
  shared_receive_queue,
  work_queue,
  tag_list,
  send_window,
  /// Such a result stores the requests in progress in place of the errno, and the size of the
  /// window in place of the accepted requests.
  full_send_window,
};
inline constexpr unsigned posted_to_bits = 3;
static_assert(static_cast<unsigned>(posted_to::full_send_window) < 1U << posted_to_bits);

[[nodiscard]] constexpr std::string_view verb_of(posted_to queue) noexcept {
  switch (queue) {
    case posted_to::send_queue: return "ibv_post_send";
    case posted_to::extended_send_queue: return "ibv_wr_complete";
    case posted_to::receive_queue: return "ibv_post_recv";
    case posted_to::shared_receive_queue: return "ibv_post_srq_recv";
    case posted_to::work_queue: return "ibv_post_wq_recv";
    case posted_to::tag_list: return "ibv_post_srq_ops";
    case posted_to::send_window:
    case posted_to::full_send_window: return "send_window::post";
  }
  return "post";
}

/// Names the object that has the queue.
void put_posted_to(text_writer& writer, posted_to queue, const void* object) noexcept;

/// Writes "the queue is full (max_recv_wr is 1)": the exceeded limit and its option. The value is
/// unknown if the queue could not be queried.
void put_exhausted(text_writer& writer, std::string_view what, std::string_view option, bool known,
                   std::uint32_t value) noexcept;

void put_full(text_writer& writer, bool known, std::string_view requests_option,
              std::uint32_t requests, std::string_view elements_option,
              std::uint32_t elements) noexcept;

/// The capacity of the queues of a queue pair.
struct queue_pair_room {
  bool known;
  ibv_qp_cap cap;
};
[[nodiscard]] queue_pair_room room_of(ibv_qp* pair) noexcept;

void explain_full_send_queue(text_writer& writer, ibv_qp* pair) noexcept;

/// For receive queues.
inline void put_no_elements(text_writer& writer) noexcept {
  writer.put(", or none at all, which soft-iWARP refuses");
}

void explain_full_receive_queue(text_writer& writer, ibv_qp* pair) noexcept;

void explain_full_shared_receive_queue(text_writer& writer, ibv_srq* queue) noexcept;

/// Explains the reasons for which providers refuse a request with ENOMEM, EINVAL or ENOSPC. They do
/// not report which reason applies.
[[gnu::cold]] void explain_refusal(text_writer& writer, posted_to queue,
                                   const void* object) noexcept;

}  // namespace adverb::inline ADVERB_ABI::detail

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/queue/impl/explain_post.ipp>
#endif
