// SPDX-License-Identifier: MIT
// A request of a batch or list that is posted as a whole.
#pragma once

#include <adverb/queue/detail/patchable_request.hpp>

namespace adverb::inline ADVERB_ABI {

/// A request of a prepared batch or list. It is changed like a prepared_request, and posted
/// together with the others.
template <class Request>
class linked_request : public detail::patchable_request<linked_request<Request>, Request> {
  using base = detail::patchable_request<linked_request<Request>, Request>;

 public:
  using linked_request_type = Request;
  using native_type = typename base::native_type;

  explicit linked_request(const Request& request) noexcept : base{request} {}

  /// For the batch or list. `first` returns the request; `link_to` replaces and returns the next
  /// one.
  [[nodiscard]] native_type* first() const noexcept { return base::first(); }
  native_type* link_to(native_type* next) noexcept {
    native_type* const old = this->native_.next;
    this->native_.next = next;
    return old;
  }
  /// Sets the address of its one buffer and nothing else.
  using base::move_buffer;
};

}  // namespace adverb::inline ADVERB_ABI
