// SPDX-License-Identifier: MIT
// Datagram peers: destinations without a connection.
#pragma once

#include <adverb/cm/connection_parameters.hpp>
#include <adverb/cm/private_data.hpp>
#include <adverb/core/timeout.hpp>
#include <adverb/request/address_handle.hpp>
#include <adverb/request/destination.hpp>

namespace adverb::inline ADVERB_ABI::cm {

/// A destination for datagrams: a peer or a multicast group. Must live until the sends to it have
/// completed.
class [[nodiscard]] datagram_target {
 public:
  /// Creates an empty target.
  datagram_target() noexcept = default;

  /// Creates a target for queue pairs in the domain. Wraps: ibv_create_ah(3).
  datagram_target(protection_domain_ref domain, const datagram_parameters& there,
                  on_failure policy = throwing{})
      : handle_{domain, there.address, policy}, there_{there} {}

  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(handle_); }

  /// Returns the destination for `send(…).to(…)`, which refers to this object.
  operator datagram_destination() const& noexcept {
    return {.address = handle_, .queue_pair = queue_pair(), .queue_key = queue_key()};
  }
  /// A temporary cannot be a destination.
  operator datagram_destination() const&& = delete;

  /// Returns the address for an address handle.
  [[nodiscard]] const adverb::address& address() const noexcept { return there_.address; }
  /// Returns the queue pair number of the destination.
  [[nodiscard]] qp_number queue_pair() const noexcept { return there_.queue_pair_number; }
  /// Returns the queue key that the destination expects.
  [[nodiscard]] adverb::queue_key queue_key() const noexcept { return there_.queue_key; }

 private:
  address_handle handle_;
  datagram_parameters there_;
};

/// Options for resolving a peer.
struct peer_options {
  /// Private data for the peer's program: up to 180 bytes.
  cm::private_data private_data{};
  /// The time limit for each answer: to the address, the route and the request.
  adverb::timeout timeout = detail::seconds{10};
};

/// A peer that receives datagrams: its queue pair, the route to it, and the queue key. It is a
/// destination, and must live until the sends to it have completed:
///
///     const cm::datagram_peer peer = here.resolve_peer(address);
///     here.queue_pair().post(send(text).to(peer)).check();
class [[nodiscard]] datagram_peer : public datagram_target {
 public:
  /// Creates an empty peer.
  datagram_peer() noexcept = default;

  /// Creates a peer for queue pairs in the domain. Wraps: ibv_create_ah(3).
  datagram_peer(protection_domain_ref domain, const datagram_parameters& there,
                const cm::private_data& data, on_failure policy = throwing{})
      : datagram_target{domain, there, policy}, private_data_{data} {}

  /// Returns the private data that the peer sent: up to 136 bytes.
  [[nodiscard]] const cm::private_data& private_data() const noexcept { return private_data_; }

 private:
  cm::private_data private_data_;
};

}  // namespace adverb::inline ADVERB_ABI::cm
