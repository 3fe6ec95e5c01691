// SPDX-License-Identifier: MIT
// Completion channels: where completion queues announce that there is something to poll.
#pragma once

#include <optional>

#include <infiniband/verbs.h>

#include <adverb/core/detail/file_descriptor.hpp>
#include <adverb/device/context.hpp>
#include <adverb/fwd.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

/// What a completion channel can do, whether it is owned or referred to.
class completion_channel_base : public handle_base<ibv_comp_channel> {
 public:
  using handle_base::handle_base;

  [[nodiscard]] context_ref context() const noexcept { return native_handle()->context; }

  /// Becomes readable when an event is there: for poll, epoll and the like.
  [[nodiscard]] int file_descriptor() const noexcept { return native_handle()->fd; }

  /// Whether `next_event` would find an event at once. Wraps: poll(2).
  [[nodiscard]] bool has_event() const noexcept { return detail::is_readable(file_descriptor()); }

  /// Makes `next_event` return at once when there is none, or wait again. Wraps: fcntl(2).
  void set_non_blocking(bool non_blocking, on_failure policy = throwing{}) const {
    if (!detail::check_present(policy, "fcntl", native_handle())) return;
    detail::set_non_blocking(policy, file_descriptor(), non_blocking,
                             detail::on_device(native_handle()->context));
  }

  /// Waits for the next event, acknowledges it, and returns the queue that it is for. Nothing when
  /// the channel is non-blocking and no event is there, or when a signal handler ran meanwhile.
  /// Once it is acknowledged, another thread may destroy the queue.
  /// An event only says that the queue was not empty when it was armed: see
  /// `completion_queue::arm_and_poll`. Defined in <adverb/completion/completion_queue.hpp>.
  /// Wraps: ibv_get_cq_event(3), ibv_ack_cq_events(3).
  [[nodiscard]] std::optional<completion_queue_ref> next_event(
      on_failure policy = throwing{}) const;
};

}  // namespace detail

/// Refers to a completion channel that something else keeps alive. As cheap as the pointer, to be
/// passed by value.
class completion_channel_ref : public detail::reference_to<detail::completion_channel_base> {
 public:
  using reference_to::reference_to;
};

namespace detail {

struct completion_channel_traits {
  using native_type = ibv_comp_channel;
  static constexpr std::string_view destroy_verb = "ibv_destroy_comp_channel";
  static int destroy(ibv_comp_channel* channel) noexcept {
    return ibv_destroy_comp_channel(channel);
  }
  template <class Function>
  static void for_each_parent(const ibv_comp_channel* channel, const Function& function) noexcept {
    function(channel->context);
  }
  static void describe(const ibv_comp_channel* channel, text_writer& writer) noexcept {
    put_device(writer, channel->context).put(" completion channel");
  }
};

}  // namespace detail

/// A completion channel. One serves any number of completion queues. Thread safe, but of several
/// threads that wait on one, each event wakes one.
class [[nodiscard]] completion_channel
    : public detail::owner<detail::completion_channel_base, detail::completion_channel_traits> {
 public:
  using owner::owner;

  /// Wraps: ibv_create_comp_channel(3).
  explicit completion_channel(context_ref context, on_failure policy = throwing{})
      : owner{adverb::adopt, detail::make_object(
                                 policy, "ibv_create_comp_channel",
                                 [&] { return ibv_create_comp_channel(context.native_handle()); },
                                 detail::on_device(context.native_handle()), context)} {}
};

}  // namespace adverb::inline ADVERB_ABI
