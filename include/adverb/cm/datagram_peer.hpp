// SPDX-License-Identifier: MIT
// Peers that datagrams are sent to without a connection.
#pragma once

#include <adverb/cm/datagram_target.hpp>
#include <adverb/cm/private_data.hpp>
#include <adverb/core/timeout.hpp>

namespace adverb::inline ADVERB_ABI::cm {

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
