// SPDX-License-Identifier: MIT
// A work request that is built once and posted repeatedly.
#pragma once

#include <cstdint>

#include <adverb/queue/detail/patchable_request.hpp>
#include <adverb/queue/post_result.hpp>

namespace adverb::inline ADVERB_ABI {

/// A work request in its C form, to be changed where it differs and posted again:
///
///     prepared_request request{write(remote, region.slice(0, 64)).signaled()};
///     request.remote(slot).id(index);
///     queue_pair.post(request).check();
///
/// It is a value. It refers only to lists of buffers, inline bytes and the header of a segmented
/// send: each post reads them, and they must live until then. Post it wherever the original request
/// can be posted: to queue pairs, shared receive queues and work queues, but not through the
/// extended sender. It may be changed right after a post. Not thread safe.
template <class Request>
class prepared_request : public detail::patchable_request<prepared_request<Request>, Request> {
  using base = detail::patchable_request<prepared_request<Request>, Request>;

 public:
  using request_type = Request;
  using prepared_requests = detail::request_list<Request>;
  static constexpr bool is_just_one = true;

  explicit prepared_request(const Request& request) noexcept : base{request} {}

  /// Calls `post` with the request, for callers that have a queue.
  template <class Post>
  [[nodiscard]] post_result hand_over(const Post& post) const noexcept {
    return post(this->first(), 1);
  }
};

}  // namespace adverb::inline ADVERB_ABI
