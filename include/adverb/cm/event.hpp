// SPDX-License-Identifier: MIT
// Events: what happened to an identifier.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include <rdma/rdma_cma.h>

#include <adverb/cm/connection_parameters.hpp>
#include <adverb/cm/event_type.hpp>
#include <adverb/cm/identifier.hpp>
#include <adverb/cm/private_data.hpp>
#include <adverb/cm/reject_reason.hpp>

namespace adverb::inline ADVERB_ABI::cm {

/// An event that was taken from a channel, and that is acknowledged when it dies:
///
///     while (auto event = channel.next_event()) {
///       switch (event->type()) {
///         case event_type::connect_request: serve(event->take_request()); break;
///         case event_type::established: start(event->identifier()); break;
///         …
///
/// The identifiers that it names are not destroyed before it is acknowledged: their destruction
/// waits for it, so the thread that holds the event must not be the one that destroys them. A
/// request to connect that nobody took is turned down when the event dies.
class [[nodiscard]] event {
 public:
  /// Takes over an event that `rdma_get_cm_event` gave, and has it to acknowledge.
  event(adopt_t, rdma_cm_event* native) noexcept
      : native_{native},
        type_{static_cast<event_type>(native->event)},
        status_{native->status},
        holds_request_{type_ == event_type::connect_request},
        carries_data_{!private_data().empty()} {}

  event(event&& other) noexcept
      : native_{std::exchange(other.native_, nullptr)},
        type_{other.type_},
        status_{other.status_},
        holds_request_{std::exchange(other.holds_request_, false)},
        carries_data_{other.carries_data_} {}
  event& operator=(event&& other) noexcept {
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
  ~event() { acknowledge(); }

  /// Lets what it names be destroyed. Does nothing the second time. Wraps: rdma_ack_cm_event(3).
  void acknowledge() noexcept {
    if (native_ == nullptr) return;
    rdma_cm_id* const request = holds_request_ ? native_->id : nullptr;
    rdma_ack_cm_event(std::exchange(native_, nullptr));
    holds_request_ = false;
    // Destroyed at once.
    static_cast<void>(cm::identifier{adopt, request});
  }
  /// Gives up the event without acknowledging it.
  [[nodiscard]] rdma_cm_event* release() noexcept {
    holds_request_ = false;
    return std::exchange(native_, nullptr);
  }

  [[nodiscard]] event_type type() const noexcept { return type_; }
  /// 0, or why it failed: a negated errno, or, when rejected, the reason.
  [[nodiscard]] int status() const noexcept { return status_; }
  /// Whether the peer said no: to a connection (`event_type::rejected`), or to a request for
  /// datagrams (`event_type::unreachable` with a status of its protocol).
  [[nodiscard]] bool is_rejection() const noexcept {
    return type_ == event_type::rejected || (type_ == event_type::unreachable && status_ > 0);
  }
  /// Why it did.
  [[nodiscard]] reject_reason reason() const noexcept {
    if (type_ == event_type::unreachable) return detail::reason_of_datagrams(status_);
    if (status_ > 0) return static_cast<reject_reason>(status_);
    // iWARP has no reasons, and adds nothing to what was sent.
    return carries_data_ ? reject_reason::by_the_program : reject_reason::unspecified;
  }

  // What it is about; empty once it is acknowledged.
  /// Whom it happened to; for a request the new identifier.
  [[nodiscard]] identifier_ref identifier() const noexcept {
    return native_ == nullptr ? nullptr : native_->id;
  }
  /// The listener that a request came to.
  [[nodiscard]] identifier_ref listener() const noexcept {
    return native_ == nullptr ? nullptr : native_->listen_id;
  }
  /// The identifier of a request, to accept or to reject it; empty when the event is none, or it
  /// was taken already.
  [[nodiscard]] cm::identifier take_request() noexcept {
    if (native_ == nullptr || !std::exchange(holds_request_, false)) return {};
    return cm::identifier{adopt, native_->id};
  }

  /// What the peer's program sent along with a request, an acceptance or a rejection.
  [[nodiscard]] std::span<const std::byte> private_data() const noexcept {
    if (native_ == nullptr || is_about_group()) return {};
    // In both forms of the parameters these two members come first.
    const rdma_conn_param& parameters = native_->param.conn;
    return {static_cast<const std::byte*>(parameters.private_data), parameters.private_data_len};
  }
  /// What a request for a connection asks for, or what its acceptance grants.
  [[nodiscard]] peer_parameters parameters() const noexcept {
    if (native_ == nullptr) return {};
    return peer_parameters::from_native(native_->param.conn);
  }

  /// Where the queue pair of a peer is (datagrams: `event_type::established`), or the group that
  /// was joined.
  [[nodiscard]] cm::datagram_parameters datagram_parameters() const noexcept {
    if (native_ == nullptr) return {};
    return datagram_parameters::from_native(native_->param.ud);
  }
  /// What the group of the event was joined with; null when it is about no group.
  [[nodiscard]] const void* join_context() const noexcept {
    return native_ != nullptr && is_about_group() ? native_->param.ud.private_data : nullptr;
  }

  /// Null once it is acknowledged.
  [[nodiscard]] const rdma_cm_event* native_handle() const noexcept { return native_; }

 private:
  /// Such an event has the pointer of its join where the others have private data.
  [[nodiscard]] bool is_about_group() const noexcept {
    return type_ == event_type::multicast_join || type_ == event_type::multicast_error;
  }

  rdma_cm_event* native_;
  event_type type_;
  int status_;
  bool holds_request_;
  bool carries_data_;
};

inline std::optional<event> event_channel_base::next_event(on_failure policy) const {
  rdma_event_channel* const channel = this->native_handle();
  if (!detail::check_present(policy, "rdma_get_cm_event", channel)) return std::nullopt;
  rdma_cm_event* taken = nullptr;
  const bool found = detail::check_waited(
      policy, "rdma_get_cm_event", [&] { return rdma_get_cm_event(channel, &taken); },
      detail::on_object<detail::event_channel_traits>(channel));
  if (!found) return std::nullopt;
  return event{adopt, taken};
}

inline std::optional<event> event_channel_base::next_event(timeout limit, on_failure policy) const {
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
