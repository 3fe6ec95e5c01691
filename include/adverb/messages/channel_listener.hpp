// SPDX-License-Identifier: MIT
// Listeners for channels.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include <adverb/async/accept.hpp>
#include <adverb/async/task.hpp>
#include <adverb/cm/socket_address.hpp>
#include <adverb/messages/channel.hpp>
#include <adverb/messages/channel_options.hpp>
#include <adverb/messages/detail/handshake.hpp>
#include <adverb/messages/detail/tcp_peers.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::messages {

/// Listens for channels, over RDMA, TCP, or both:
///
///     messages::listener listener{loop, cm::socket_address::any(7471)};
///     while (true) loop.spawn(serve(co_await listener.accept()));
///
/// It stays where it is, because the loop refers to it. Not thread safe.
class listener {
 public:
  /// Listens. With `network::any`, over each that the machine has. Fails with EINVAL if an option
  /// is out of its range. Wraps: rdma_listen(3), listen(2).
  listener(async::device_loop& loop, const cm::socket_address& address,
           const channel_options& options = {}, on_failure policy = throwing{});
  listener(const listener&) = delete;
  listener& operator=(const listener&) = delete;
  ~listener() { cancel_waits(); }

  /// Returns the port on which it listens.
  [[nodiscard]] std::uint16_t port() const noexcept {
    return rdma_ ? rdma_->port() : tcp_ ? tcp_->port() : std::uint16_t{0};
  }
  /// Returns true if it listens over this network. Over iWARP, where RDMA connections take the
  /// ports of TCP, a listener for both listens over RDMA alone.
  [[nodiscard]] bool is_over(network which) const noexcept {
    return (which != network::tcp && rdma_) || (which != network::rdma && tcp_);
  }

  /// Accepts the next request for a channel. Requests of peers that are none are rejected. A peer
  /// that does not finish the handshake ends this step only: await the next. A task for coroutines
  /// of tasks. Wraps: rdma_accept(3), accept(2).
  [[nodiscard]] async::task<channel> accept();
  /// Ends the waits in `accept` with ECANCELED, and rejects the requests that nobody has taken.
  void cancel_waits() noexcept;

  // For the operations.
  /// Returns its loop.
  [[nodiscard]] async::device_loop& loop() const noexcept { return *loop_; }

 private:
  /// A request over RDMA, or a connection over TCP.
  struct arrival {
    async::connection_request request;
    std::unique_ptr<detail::tcp_greeting> greeted;
    [[nodiscard]] explicit operator bool() const noexcept { return request || greeted != nullptr; }
  };
  class arrival_step;

  [[nodiscard]] arrival take();

  async::device_loop* loop_;
  channel_options options_;
  detail::handshake mine_;
  async::waiter_list waiters_;
  std::optional<async::listener> rdma_;
  std::optional<detail::tcp_listener> tcp_;
};

}  // namespace adverb::inline ADVERB_ABI::messages

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/messages/impl/channel_listener.ipp>
#endif
