// SPDX-License-Identifier: MIT
// Peers that datagrams are sent to without a connection.
#pragma once

#include <adverb/cm/connection_parameters.hpp>
#include <adverb/cm/private_data.hpp>
#include <adverb/core/timeout.hpp>
#include <adverb/queue/address_handle.hpp>
#include <adverb/queue/destination.hpp>

namespace adverb::inline ADVERB_ABI::cm {

/// What peers and multicast groups are to who sends to them: a destination, for as long as it
/// lives, which is until the sends to it have completed.
class [[nodiscard]] datagram_target {
 public:
  /// Empty.
  datagram_target() noexcept = default;

  /// For pairs in the domain. Wraps: ibv_create_ah(3).
  datagram_target(protection_domain_ref domain, const datagram_parameters& there,
                  on_failure policy = throwing{})
      : handle_{domain, there.address, policy}, there_{there} {}

  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(handle_); }

  /// For `send(…).to(…)`. Refers to this.
  operator datagram_destination() const& noexcept {
    return {.address = handle_, .queue_pair = queue_pair(), .queue_key = queue_key()};
  }
  /// One that is about to die is no destination.
  operator datagram_destination() const&& = delete;

  [[nodiscard]] const adverb::address& address() const noexcept { return there_.address; }
  [[nodiscard]] qp_number queue_pair() const noexcept { return there_.queue_pair_number; }
  [[nodiscard]] adverb::queue_key queue_key() const noexcept { return there_.queue_key; }

 private:
  address_handle handle_;
  datagram_parameters there_;
};

/// What a peer is asked with.
struct peer_options {
  /// Handed to the program at the other side: up to 180 bytes.
  cm::private_data private_data{};
  /// How long to wait for each answer: that to the address, to the route and to the request.
  adverb::timeout timeout = detail::seconds{10};
};

/// Where the datagrams of a peer are taken: its queue pair, the way there, and the queue key. It is
/// a destination, and lives until the sends to it have completed:
///
///     const cm::datagram_peer peer = here.resolve_peer(address);
///     here.queue_pair().post(send(text).to(peer)).check();
class [[nodiscard]] datagram_peer : public datagram_target {
 public:
  /// Empty.
  datagram_peer() noexcept = default;

  /// For pairs in the domain. Wraps: ibv_create_ah(3).
  datagram_peer(protection_domain_ref domain, const datagram_parameters& there,
                const cm::private_data& data, on_failure policy = throwing{})
      : datagram_target{domain, there, policy}, private_data_{data} {}

  /// What the peer's program sent along: up to 136 bytes.
  [[nodiscard]] const cm::private_data& private_data() const noexcept { return private_data_; }

 private:
  cm::private_data private_data_;
};

}  // namespace adverb::inline ADVERB_ABI::cm
