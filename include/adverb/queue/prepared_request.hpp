// SPDX-License-Identifier: MIT
// A work request that is built once, and posted again and again.
#pragma once

#include <cstdint>

#include <adverb/queue/detail/patchable_request.hpp>
#include <adverb/queue/post_result.hpp>

namespace adverb::inline ADVERB_ABI {

/// A work request as the C API has it, to be changed where it differs and posted again:
///
///     prepared_request request{write(remote, region.slice(0, 64)).signaled()};
///     request.remote(slot).id(index);
///     queue_pair.post(request).check();
///
/// A value that holds all of it, but for lists of buffers, inline bytes and the header of a
/// segmented send, which it refers to: they are read by each post, and have to live until then. It
/// is posted where the request that it was made from can be posted, by queue pairs, shared receive
/// queues and work queues; not through the extended sender. It may be changed as soon as it is
/// posted. One thread at a time.
template <class Request>
class prepared_request : public detail::patchable_request<prepared_request<Request>, Request> {
  using base = detail::patchable_request<prepared_request<Request>, Request>;

 public:
  using request_type = Request;
  using prepared_requests = detail::request_list<Request>;
  static constexpr bool is_just_one = true;

  explicit prepared_request(const Request& request) noexcept : base{request} {}

  /// Calls `post` with what is to be posted, for those who have a queue.
  template <class Post>
  [[nodiscard]] post_result hand_over(const Post& post) const noexcept {
    return post(this->first(), 1);
  }
};

}  // namespace adverb::inline ADVERB_ABI
