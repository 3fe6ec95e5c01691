// SPDX-License-Identifier: MIT
// Completion channels: they signal that a completion queue has completions to poll.
#pragma once

#include <optional>

#include <infiniband/verbs.h>

#include <adverb/core/detail/deadline.hpp>
#include <adverb/device/context.hpp>
#include <adverb/device/detail/explain_device.hpp>
#include <adverb/fwd.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

/// Operations on a completion channel, owned or referenced.
class completion_channel_base : public handle_base<ibv_comp_channel> {
 public:
  using handle_base::handle_base;

  /// Returns the context that the object belongs to.
  [[nodiscard]] context_ref context() const noexcept { return checked_handle()->context; }

  /// Returns a file descriptor that becomes readable when an event arrives, for poll or epoll.
  [[nodiscard]] int file_descriptor() const noexcept { return checked_handle()->fd; }

  /// Returns true if `next_event` would not block. Wraps: poll(2).
  [[nodiscard]] bool has_event() const noexcept { return detail::is_readable(file_descriptor()); }

  /// Makes `next_event` return at once if there is no event, or block again. Wraps: fcntl(2).
  void set_non_blocking(bool non_blocking, on_failure policy = throwing{}) const {
    if (!detail::check_present(policy, "fcntl", native_handle())) return;
    detail::set_non_blocking(policy, file_descriptor(), non_blocking,
                             detail::on_device(native_handle()->context));
  }

  /// Blocks until the next event, acknowledges it, and returns its queue. Returns nullopt if the
  /// channel is non-blocking and has no event, or if a signal handler interrupts the wait. Once the
  /// event is acknowledged, another thread may destroy the queue. An event only means that the
  /// queue was not empty after it was armed: see `completion_queue::arm_and_poll`. Defined in
  /// <adverb/completion/completion_queue.hpp>. Wraps: ibv_get_cq_event(3), ibv_ack_cq_events(3).
  [[nodiscard]] std::optional<completion_queue_ref> next_event(
      on_failure policy = throwing{}) const;
};

}  // namespace detail

/// Refers to a completion channel that another object keeps alive. Pass it by value; it is as
/// cheap as a pointer.
class completion_channel_ref : public detail::reference_to<detail::completion_channel_base> {
 public:
  using reference_to::reference_to;
};

namespace detail {

struct completion_channel_traits {
  using native_type = ibv_comp_channel;
  static constexpr const char* destroy_verb = "ibv_destroy_comp_channel";
  static int destroy(ibv_comp_channel* channel) noexcept {
    return ibv_destroy_comp_channel(channel);
  }
  static void list_parents(const ibv_comp_channel* channel, parent_visitor& parents) noexcept {
    parents.add(channel->context);
  }
  static void describe(const ibv_comp_channel* channel, text_writer& writer) noexcept {
    put_device(writer, channel->context).put(" completion channel");
  }
};

}  // namespace detail

/// Owns a completion channel, which serves any number of completion queues. Thread safe. If several
/// threads wait on one channel, each event wakes one of them.
class [[nodiscard]] completion_channel
    : public detail::owner<detail::completion_channel_base, detail::completion_channel_traits> {
 public:
  using owner::owner;

  /// Creates a completion channel. Wraps: ibv_create_comp_channel(3).
  explicit completion_channel(context_ref context, on_failure policy = throwing{});
};

}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/completion/impl/completion_channel.ipp>
#endif
