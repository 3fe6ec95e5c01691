// SPDX-License-Identifier: MIT
// The handshake of a channel over TCP.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include <unistd.h>

#include <adverb/async/detail/loop_sockets.hpp>
#include <adverb/async/detail/timer_queue.hpp>
#include <adverb/async/device_loop.hpp>
#include <adverb/cm/socket_address.hpp>
#include <adverb/core/failure.hpp>
#include <adverb/messages/detail/frame_carrier.hpp>
#include <adverb/messages/detail/handshake.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// A carrier, and the handshake of its peer: none if what has come is no handshake.
struct greeted_carrier {
  std::unique_ptr<frame_carrier> carrier;
  std::optional<handshake> of_peer;
};

/// Connects, or takes over an accepted socket, and exchanges the handshakes: the connecting end
/// sends first, and the accepting end answers when its program accepts. Calls a function once, when
/// the handshake of the peer has arrived, or at a failure; not within `connect` and `accept`. It
/// stays where it is.
class tcp_greeting : private watched_socket {
 public:
  /// The function that it calls, which may destroy it.
  using function = void(tcp_greeting&);

  /// The function finds its owner in `owner`.
  tcp_greeting(function* done, void* owner) noexcept : done_{done}, owner_{owner} {}
  tcp_greeting(const tcp_greeting&) = delete;
  tcp_greeting& operator=(const tcp_greeting&) = delete;
  virtual ~tcp_greeting() {
    if (greeted_ != -1) ::close(greeted_);
  }

  /// Starts as the connecting end. Returns false, with the failure in `why`, if that fails. Wraps:
  /// connect(2).
  [[nodiscard]] bool connect(async::device_loop& loop, const cm::socket_address& address,
                             const handshake& mine, timeout limit);
  /// Starts as the accepting end of a socket that does not block.
  [[nodiscard]] bool accept(async::device_loop& loop, int descriptor, const handshake& mine,
                            timeout limit);

  [[nodiscard]] void* owner() const noexcept { return owner_; }
  /// Returns the handshake of the peer; none if it has failed, or if what has come is no handshake
  /// that has a version in common: `why` is empty then.
  [[nodiscard]] const std::optional<handshake>& of_peer() const noexcept { return of_peer_; }
  [[nodiscard]] const failure& why() const noexcept { return why_; }
  /// Answers the handshake of the peer, at the accepting end. Wraps: send(2).
  void answer(const handshake& mine, on_failure policy);
  /// Returns the socket of a peer that has sent a handshake.
  [[nodiscard]] int socket() const noexcept { return greeted_; }
  /// Gives up the socket of a peer that has sent a handshake.
  [[nodiscard]] int take_socket() noexcept { return std::exchange(greeted_, -1); }

 private:
  /// connecting → receiving (the connecting end), receiving (the accepting end), done.
  enum class phase : std::uint8_t { connecting, receiving, done };

  [[nodiscard]] bool start(async::device_loop& loop, loop_sockets& sockets, int descriptor,
                           bool is_connecting, const handshake& mine, timeout limit);
  ADVERB_FUNC void socket_ready() override;
  void expired();
  /// Sends a handshake to an empty socket, which has room for it. Returns 0, or an errno.
  [[nodiscard]] static int send(int descriptor, const handshake& part);
  void receive();
  void finish();
  void fail(int number, const char* verb, const char* sentence = nullptr);

  function* done_;
  void* owner_;
  phase at_ = phase::done;
  bool is_connecting_ = false;
  handshake mine_;
  cm::socket_address peer_;
  std::array<std::byte, handshake::encoded_size> received_{};
  std::size_t received_size_ = 0;
  std::optional<handshake> of_peer_;
  /// The socket, not watched; -1 until the handshakes are exchanged.
  int greeted_ = -1;
  failure why_;
  owned_timer<tcp_greeting> timer_{
      *this, [](timer& which) { owned_timer<tcp_greeting>::owner_of(which).expired(); }};
};

}  // namespace adverb::inline ADVERB_ABI::detail

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/messages/impl/tcp_greeting.ipp>
#endif
