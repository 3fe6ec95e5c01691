// SPDX-License-Identifier: MIT
// Connecting and listening for channels over TCP.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <optional>
#include <utility>

#include <adverb/async/reliable_connection.hpp>
#include <adverb/async/waiter.hpp>
#include <adverb/messages/channel_options.hpp>
#include <adverb/messages/detail/frame_carrier.hpp>
#include <adverb/messages/detail/tcp_greeting.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Makes the carrier of a greeting that has succeeded.
[[nodiscard]] greeted_carrier carrier_of(async::device_loop& loop, tcp_greeting& greeted,
                                         const handshake& mine,
                                         const messages::channel_options& options,
                                         on_failure policy);

/// A connection to a listener over TCP.
class tcp_connect_step : public async_step<tcp_connect_step> {
 public:
  tcp_connect_step(async::device_loop& loop, const cm::socket_address& address,
                   const handshake& mine, const messages::channel_options& options) noexcept
      : loop_{&loop}, address_{address}, mine_{mine}, options_{options} {}

  [[nodiscard]] async::device_loop& loop() const noexcept { return *loop_; }

  template <class Derived>
  class operation : private tcp_greeting {
   public:
    explicit operation(const tcp_connect_step& step) noexcept
        : tcp_greeting{[](tcp_greeting& which) {
                         auto& self = *static_cast<operation*>(which.owner());
                         static_cast<Derived&>(self).finished();
                       },
                       this},
          step_{&step} {}

    [[nodiscard]] bool start() {
      return connect(*step_->loop_, step_->address_, step_->mine_, step_->options_.connect_timeout);
    }
    [[nodiscard]] greeted_carrier take(on_failure policy) {
      if (why()) {
        policy.report(why());
        return {};
      }
      return carrier_of(*step_->loop_, *this, step_->mine_, step_->options_, policy);
    }

   private:
    const tcp_connect_step* step_;
  };

 private:
  async::device_loop* loop_;
  cm::socket_address address_;
  handshake mine_;
  messages::channel_options options_;
};

/// Takes connections that are not for the program of a listener.
struct greeting_filter {
  /// Returns true if it has taken the connection, whose peer has sent its handshake.
  bool (*takes)(void* argument, std::unique_ptr<tcp_greeting>& greeted);
  void* argument;
};

/// Listens over TCP, and keeps the connections whose peers have sent their handshakes.
class tcp_listener final : private watched_socket {
 public:
  /// Wraps: listen(2).
  tcp_listener(async::device_loop& loop, cm::socket_address address, const handshake& mine,
               timeout limit, async::waiter_list& waiters, greeting_filter filter,
               on_failure policy);
  tcp_listener(const tcp_listener&) = delete;
  tcp_listener& operator=(const tcp_listener&) = delete;
  ~tcp_listener() = default;

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  /// Returns the next connection; null if there is none.
  [[nodiscard]] std::unique_ptr<tcp_greeting> take() noexcept;
  /// Closes the connections that nobody has taken.
  void clear() noexcept { ready_.clear(); }

 private:
  using arrivals = std::list<std::unique_ptr<tcp_greeting>>;

  ADVERB_FUNC void socket_ready() override;
  void add(int descriptor);
  void greeted(tcp_greeting& which);

  /// The connections that wait for handshakes, and those that wait for the program. A peer that
  /// sends nothing makes room for others.
  static constexpr std::size_t most_at_a_time = 128;

  async::device_loop* loop_;
  handshake mine_;
  timeout limit_;
  async::waiter_list* waiters_;
  greeting_filter filter_;
  std::uint16_t port_ = 0;
  arrivals greeting_;
  arrivals ready_;
  owned_timer<tcp_listener> pause_{
      *this,
      [](timer& which) { owned_timer<tcp_listener>::owner_of(which).watch_for_writing(false); }};
};

}  // namespace adverb::inline ADVERB_ABI::detail

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/messages/impl/tcp_peers.ipp>
#endif
