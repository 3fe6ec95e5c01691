// SPDX-License-Identifier: MIT
// A request among others that were prepared to be posted together.
#pragma once

#include <adverb/queue/detail/patchable_request.hpp>

namespace adverb::inline ADVERB_ABI {

/// A request of a prepared batch or list: changed like a prepared_request, and posted with the
/// others.
template <class Request>
class linked_request : public detail::patchable_request<linked_request<Request>, Request> {
  using base = detail::patchable_request<linked_request<Request>, Request>;

 public:
  using linked_request_type = Request;
  using native_type = typename base::native_type;

  explicit linked_request(const Request& request) noexcept : base{request} {}

  /// For those that link it: where it is, and what comes next, of which the old is returned.
  [[nodiscard]] native_type* first() const noexcept { return base::first(); }
  native_type* link_to(native_type* next) noexcept {
    native_type* const old = this->native_.next;
    this->native_.next = next;
    return old;
  }
  /// For those that know that the rest of its one buffer stays as it is: where that begins.
  using base::move_buffer;
};

}  // namespace adverb::inline ADVERB_ABI
