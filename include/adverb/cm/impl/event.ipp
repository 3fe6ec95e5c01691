// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

#include <adverb/cm/event.hpp>
#include <adverb/cm/private_data.hpp>

namespace adverb::inline ADVERB_ABI::cm {

ADVERB_FUNC event& event::operator=(event&& other) noexcept {
  if (this != &other) {
    acknowledge();
    native_ = std::exchange(other.native_, nullptr);
    type_ = other.type_;
    status_ = other.status_;
    holds_request_ = std::exchange(other.holds_request_, false);
    carries_data_ = other.carries_data_;
  }
  return *this;
}

ADVERB_FUNC void event::acknowledge() noexcept {
  if (native_ == nullptr) return;
  rdma_cm_id* const request = holds_request_ ? native_->id : nullptr;
  rdma_ack_cm_event(std::exchange(native_, nullptr));
  holds_request_ = false;
  // Destroys the identifier at once.
  static_cast<void>(cm::identifier{adopt, request});
}

ADVERB_FUNC reject_reason event::reason() const noexcept {
  if (type_ == event_type::unreachable) return detail::reason_of_datagrams(status_);
  if (status_ > 0) return static_cast<reject_reason>(status_);
  // iWARP has no reasons, and adds nothing to the private data that was sent.
  return carries_data_ ? reject_reason::by_the_program : reject_reason::unspecified;
}

ADVERB_FUNC cm::identifier event::take_request() noexcept {
  if (native_ == nullptr || !std::exchange(holds_request_, false)) return {};
  return cm::identifier{adopt, native_->id};
}

ADVERB_FUNC std::span<const std::byte> event::private_data() const noexcept {
  if (native_ == nullptr || is_about_group()) return {};
  // Both forms of the parameters begin with these two members.
  const rdma_conn_param& parameters = native_->param.conn;
  return {static_cast<const std::byte*>(parameters.private_data), parameters.private_data_len};
}

ADVERB_FUNC std::optional<event> event_channel_base::next_event(on_failure policy) const {
  rdma_event_channel* const channel = this->native_handle();
  if (!detail::check_present(policy, "rdma_get_cm_event", channel)) return std::nullopt;
  rdma_cm_event* taken = nullptr;
  const bool found = detail::check_waited(
      policy, "rdma_get_cm_event", [&] { return rdma_get_cm_event(channel, &taken); },
      detail::on_object<detail::event_channel_traits>(channel));
  if (!found) return std::nullopt;
  return event{adopt, taken};
}

ADVERB_FUNC std::optional<event> event_channel_base::next_event(timeout limit,
                                                                on_failure policy) const {
  if (!detail::check_present(policy, "rdma_get_cm_event", this->native_handle()))
    return std::nullopt;
  const detail::deadline until{limit};
  if (until.wait_readable(file_descriptor()) != detail::wait_end::readable) {
    policy.clear();
    return std::nullopt;
  }
  return next_event(policy);
}

}  // namespace adverb::inline ADVERB_ABI::cm
