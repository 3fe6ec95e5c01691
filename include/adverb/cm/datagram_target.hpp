// SPDX-License-Identifier: MIT
// A destination of datagrams that owns its address handle.
#pragma once

#include <adverb/cm/datagram_parameters.hpp>
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

}  // namespace adverb::inline ADVERB_ABI::cm
