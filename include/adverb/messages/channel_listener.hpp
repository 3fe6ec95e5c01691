// SPDX-License-Identifier: MIT
// Listeners for channels.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include <adverb/async/accept.hpp>
#include <adverb/async/task.hpp>
#include <adverb/cm/socket_address.hpp>
#include <adverb/messages/channel.hpp>
#include <adverb/messages/channel_options.hpp>
#include <adverb/messages/detail/handshake.hpp>
#include <adverb/messages/detail/resumable_carrier.hpp>
#include <adverb/messages/detail/session_table.hpp>
#include <adverb/messages/detail/tcp_peers.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// The part of a listener that its requests, which may outlive it, use too.
struct accepting_end {
  accepting_end(async::device_loop& of, const messages::channel_options& given, on_failure policy)
      : loop{&of}, options{given}, mine{handshake::of(given, policy)} {}

  /// Returns this end's part of the handshake with a peer.
  [[nodiscard]] handshake answer_to(const handshake& of_peer) const noexcept;

  async::device_loop* loop;
  messages::channel_options options;
  handshake mine;
  session_table sessions;
};

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI::messages {

class listener;

/// A request for a channel. The destructor rejects it. It may outlive its listener; then its
/// channel does not resume. It must not outlive the loop. Not thread safe.
class [[nodiscard]] channel_request {
 public:
  channel_request(channel_request&&) noexcept = default;
  channel_request& operator=(channel_request&&) noexcept = default;
  ~channel_request() = default;

  /// Accepts it. Fails with EPROTO if the peer is no channel with a version in common, and if it
  /// does not finish the handshake of RDMA. A task for coroutines of tasks, which may outlive the
  /// request. Wraps: rdma_accept(3).
  [[nodiscard]] async::task<channel> accept();

 private:
  friend class listener;

  channel_request() noexcept = default;
  [[nodiscard]] bool is_for_channel() const noexcept;
  void reject();
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(request_); }

  std::shared_ptr<detail::accepting_end> end_;
  detail::link_request request_;
};

/// Listens for channels, over RDMA, TCP, or both:
///
///     messages::listener listener{loop, cm::socket_address::any(7471)};
///     while (true) loop.spawn(serve(co_await listener.next()));
///
/// A request for the next link of a channel (`channel_options::resume_within`) goes to that
/// channel, not to `next` and `accept`. Its destruction ends the channels whose links are broken.
///
/// It stays where it is, because the loop refers to it. Not thread safe.
class listener {
 public:
  /// Listens. `network::any` means each network of the machine. Fails with EINVAL if an option
  /// is out of its range. Wraps: rdma_listen(3), listen(2).
  listener(async::device_loop& loop, const cm::socket_address& address,
           const channel_options& options = {}, on_failure policy = throwing{});
  listener(const listener&) = delete;
  listener& operator=(const listener&) = delete;
  ~listener();

  /// Returns the port on which it listens.
  [[nodiscard]] std::uint16_t port() const noexcept {
    return rdma_ ? rdma_->port() : tcp_ ? tcp_->port() : std::uint16_t{0};
  }
  /// Returns true if it listens over this network. Over iWARP, where RDMA connections take the
  /// ports of TCP, a listener for both listens over RDMA alone.
  [[nodiscard]] bool is_over(network which) const noexcept {
    return (which != network::tcp && rdma_) || (which != network::rdma && tcp_);
  }

  /// Waits for the next request, which the task of its client accepts: a peer that does not finish
  /// the handshake delays nobody else. A task for coroutines of tasks.
  [[nodiscard]] async::task<channel_request> next();
  /// Waits for the next request, and accepts it. Requests of peers that are no channels are
  /// rejected. A request that fails on the way ends this call only. A task for coroutines of tasks.
  /// Wraps: rdma_accept(3).
  [[nodiscard]] async::task<channel> accept();
  /// Ends the waits for requests with ECANCELED, and rejects the requests that nobody has taken.
  void cancel_waits() noexcept;

  // For the operations.
  /// Returns its loop.
  [[nodiscard]] async::device_loop& loop() const noexcept { return *end_->loop; }

 private:
  class arrival_step;

  /// Has each request over RDMA taken as it arrives.
  struct request_waiter : async::cancellable_waiter {
    explicit request_waiter(listener& of) noexcept
        : cancellable_waiter{[](waiter& which) {
            static_cast<request_waiter&>(which).owner->take_request();
            return false;
          }},
          owner{&of} {}
    listener* owner;
  };

  /// Returns what has arrived, if anything has.
  [[nodiscard]] channel_request take();
  /// Takes the request over RDMA that has arrived, and resumes one that waits for it, who may
  /// destroy the listener.
  void take_request();
  /// Passes a request for the next link of a channel to that. Returns false if it is for another
  /// channel.
  [[nodiscard]] bool resume(detail::link_request& requested);
  static bool resume_over_tcp(void* self, std::unique_ptr<detail::tcp_greeting>& greeted);

  /// The requests over RDMA that wait for the program.
  static constexpr std::size_t most_requests = 1024;

  std::shared_ptr<detail::accepting_end> end_;
  async::waiter_list waiters_;
  std::deque<detail::link_request> requests_;
  request_waiter request_waiter_{*this};
  std::optional<async::listener> rdma_;
  std::optional<detail::tcp_listener> tcp_;
};

}  // namespace adverb::inline ADVERB_ABI::messages

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/messages/impl/channel_listener.ipp>
#endif
