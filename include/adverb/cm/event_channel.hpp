// SPDX-License-Identifier: MIT
// Event channels: where identifiers announce what happened to them.
#pragma once

#include <optional>
#include <string_view>

#include <rdma/rdma_cma.h>

#include <adverb/cm/detail/explain_call.hpp>
#include <adverb/core/detail/deadline.hpp>
#include <adverb/core/detail/file_descriptor.hpp>
#include <adverb/core/handle.hpp>
#include <adverb/fwd.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

struct event_channel_traits {
  using native_type = rdma_event_channel;
  static constexpr std::string_view destroy_verb = "rdma_destroy_event_channel";
  static int destroy(rdma_event_channel* channel) noexcept {
    rdma_destroy_event_channel(channel);
    return 0;
  }
  template <class Function>
  static void for_each_parent(const rdma_event_channel*, const Function&) noexcept {}
  static void describe(const rdma_event_channel* channel, text_writer& writer) noexcept {
    writer.put("rdma_cm event channel ").decimal(static_cast<unsigned>(channel->fd));
  }
};

}  // namespace detail

namespace cm {

/// What an event channel can do, whether it is owned or referred to.
class event_channel_base : public detail::handle_base<rdma_event_channel> {
 public:
  using handle_base::handle_base;

  /// Becomes readable when an event is there: for poll, epoll and the like.
  [[nodiscard]] int file_descriptor() const noexcept { return native_handle()->fd; }

  /// Whether `next_event` would find an event at once. Wraps: poll(2).
  [[nodiscard]] bool has_event() const noexcept { return detail::is_readable(file_descriptor()); }

  /// Makes `next_event` return at once when there is none, or wait again. Wraps: fcntl(2).
  void set_non_blocking(bool non_blocking, on_failure policy = throwing{}) const {
    if (!detail::check_present(policy, "fcntl", native_handle())) return;
    detail::set_non_blocking(policy, file_descriptor(), non_blocking,
                             detail::on_object<detail::event_channel_traits>(native_handle()));
  }

  /// Waits for the next event. Nothing when the channel is non-blocking and no event is there, or
  /// when a signal handler ran meanwhile. Taking an event can move a queue pair that the library
  /// made on: to RTS when the peer has accepted, to ERR when it has rejected.
  /// Defined in <adverb/cm/event.hpp>. Wraps: rdma_get_cm_event(3).
  [[nodiscard]] std::optional<event> next_event(on_failure policy = throwing{}) const;

  /// The same, and nothing when the time is up. A blocking channel may wait longer, where an event
  /// is dropped by librdmacm; a non-blocking one does not.
  [[nodiscard]] std::optional<event> next_event(timeout limit,
                                                on_failure policy = throwing{}) const;
};

/// Refers to an event channel that something else keeps alive. As cheap as the pointer, to be
/// passed by value.
class event_channel_ref : public detail::reference_to<event_channel_base> {
 public:
  using reference_to::reference_to;
};

/// An event channel. One serves any number of identifiers. Thread safe, but of several threads that
/// wait on one, each event wakes one.
class [[nodiscard]] event_channel
    : public detail::owner<event_channel_base, detail::event_channel_traits> {
 public:
  using owner::owner;

  /// Empty.
  event_channel() noexcept = default;

  /// Fails where the kernel has no rdma_cm, or the machine no RDMA device. Wraps:
  /// rdma_create_event_channel(3).
  [[nodiscard]] static event_channel create(on_failure policy = throwing{}) {
    return event_channel{
        adopt, detail::check_pointer(
                   policy, "rdma_create_event_channel", [] { return rdma_create_event_channel(); },
                   [](failure_description& description) {
                     description.explain([&](text_writer& writer) {
                       detail::explain_event_channel(writer, description.code());
                     });
                   })};
  }
};

}  // namespace cm
}  // namespace adverb::inline ADVERB_ABI
