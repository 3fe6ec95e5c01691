// SPDX-License-Identifier: MIT
// Event channels: the source of the events of identifiers.
#pragma once

#include <optional>
#include <string_view>

#include <rdma/rdma_cma.h>

#include <adverb/core/detail/deadline.hpp>
#include <adverb/core/handle.hpp>
#include <adverb/core/timeout.hpp>
#include <adverb/fwd.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

struct event_channel_traits {
  using native_type = rdma_event_channel;
  static constexpr const char* destroy_verb = "rdma_destroy_event_channel";
  static int destroy(rdma_event_channel* channel) noexcept {
    rdma_destroy_event_channel(channel);
    return 0;
  }
  static void list_parents(const rdma_event_channel*, parent_visitor&) noexcept {}
  static void describe(const rdma_event_channel* channel, text_writer& writer) noexcept {
    writer.put("rdma_cm event channel ").decimal(static_cast<unsigned>(channel->fd));
  }
};

}  // namespace detail

namespace cm {

/// The operations on an event channel, owned or referenced.
class event_channel_base : public detail::handle_base<rdma_event_channel> {
 public:
  using handle_base::handle_base;

  /// Returns a descriptor that becomes readable when an event is pending, for poll or epoll.
  [[nodiscard]] int file_descriptor() const noexcept { return checked_handle()->fd; }

  /// Returns true if an event is pending. Wraps: poll(2).
  [[nodiscard]] bool has_event() const noexcept { return detail::is_readable(file_descriptor()); }

  /// Selects whether `next_event` returns at once or blocks if no event is pending.
  /// Wraps: fcntl(2).
  void set_non_blocking(bool non_blocking, on_failure policy = throwing{}) const;

  /// Blocks until the next event, and returns it. Returns nothing if a signal handler runs, or if a
  /// non-blocking channel has no event. Taking an event can change the state of a queue pair that
  /// librdmacm created: to RTS if the peer has accepted, to ERR if it has rejected. Defined in
  /// <adverb/cm/event.hpp>. Wraps: rdma_get_cm_event(3).
  [[nodiscard]] std::optional<event> next_event(on_failure policy = throwing{}) const;

  /// Returns the next event, or nothing if the time limit expires. A blocking channel may wait
  /// longer if librdmacm drops an event; a non-blocking channel does not.
  [[nodiscard]] std::optional<event> next_event(timeout limit,
                                                on_failure policy = throwing{}) const;
};

/// A reference to an event channel that another object keeps alive. Pass it by value; it is as
/// cheap as a pointer.
class event_channel_ref : public detail::reference_to<event_channel_base> {
 public:
  using reference_to::reference_to;
};

/// An event channel, for any number of identifiers. Thread safe. If several threads wait on one
/// channel, each event wakes one of them.
class [[nodiscard]] event_channel
    : public detail::owner<event_channel_base, detail::event_channel_traits> {
 public:
  using owner::owner;

  /// Creates an empty channel.
  event_channel() noexcept = default;

  /// Creates a channel. Fails if the kernel lacks rdma_cm or the machine has no RDMA device.
  /// Wraps: rdma_create_event_channel(3).
  [[nodiscard]] static event_channel create(on_failure policy = throwing{});
};

}  // namespace cm
}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/cm/impl/event_channel.ipp>
#endif
