// SPDX-License-Identifier: MIT
// Explains why a post was refused, as far as this side can determine it.
#pragma once

#include <cstdint>
#include <string_view>

#include <infiniband/verbs.h>

#include <adverb/core/failure.hpp>
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

/// The shape of a refused request, which rules out some reasons for its refusal.
enum class request_shape : std::uint32_t {
  unknown,
  no_elements,
  one_element,
  elements,
  inline_data
};
inline constexpr unsigned request_shape_bits = 3;

template <class Request>
[[nodiscard]] constexpr request_shape shape_of(const Request& refused) noexcept {
  if constexpr (requires { refused.send_flags; })
    if ((refused.send_flags & IBV_SEND_INLINE) != 0) return request_shape::inline_data;
  if constexpr (requires { refused.num_sge; })
    return refused.num_sge == 0   ? request_shape::no_elements
           : refused.num_sge == 1 ? request_shape::one_element
                                  : request_shape::elements;
  return request_shape::unknown;
}

[[nodiscard]] constexpr const char* verb_of(posted_to queue) noexcept {
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
[[gnu::cold]] void name_posted_to(failure_description& description, posted_to queue,
                                  const void* object) noexcept;

/// Explains the reasons for which providers refuse a request with ENOMEM, EINVAL or ENOSPC. They do
/// not report which reason applies.
[[gnu::cold]] void explain_refusal(text_writer& writer, posted_to queue, const void* object,
                                   request_shape shape) noexcept;

}  // namespace adverb::inline ADVERB_ABI::detail

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/request/impl/explain_post.ipp>
#endif
