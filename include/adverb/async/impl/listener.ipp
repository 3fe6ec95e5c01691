// SPDX-License-Identifier: MIT
#pragma once

#include <adverb/async/listener.hpp>

namespace adverb::inline ADVERB_ABI::async {

ADVERB_FUNC listener::listener(device_loop& loop, const cm::socket_address& address,
                               const cm::listener_options& options, on_failure policy)
    : loop_{&loop}, listener_{cm::listener<>::create(loop.channel(), address, options, policy)} {
  if (listener_) listener_.set_user_context(static_cast<detail::async_event_target*>(this));
}

ADVERB_FUNC connection_request listener::take_request() {
  connection_request next;
  if (!requests_.empty()) {
    next = std::move(requests_.front());
    requests_.pop_front();
  }
  return next;
}

ADVERB_FUNC void listener::handle(cm::event& happened) {
  if (happened.type() != cm::event_type::connect_request) return;
  failure why;
  auto requested = listener_.take_request(happened, why);
  if (!requested) return;
  // It has the context of this listener, which gets no other events of it.
  requested.identifier().native_handle()->context = nullptr;
  requests_.emplace_back(*loop_, std::move(requested));
  waiters_.resume_first();
}

ADVERB_FUNC void listener::cancel_waits() {
  requests_.clear();
  while (waiters_.resume_first()) {
  }
}

}  // namespace adverb::inline ADVERB_ABI::async
