// SPDX-License-Identifier: MIT
// The destination of a request, where the queue pair alone does not determine it.
#pragma once

#include <cstdint>

#include <infiniband/verbs.h>

#include <adverb/core/ids.hpp>
#include <adverb/request/address_handle.hpp>
#include <adverb/request/queue_pair_state.hpp>

namespace adverb::inline ADVERB_ABI {

/// The destination of a datagram: the address, and the queue pair there.
struct datagram_destination {
  /// The path to the destination. The address handle must exist until the send completes.
  address_handle_ref address;
  /// The queue pair number of the destination.
  qp_number queue_pair;
  /// The queue key that the destination expects.
  adverb::queue_key queue_key;
};

namespace detail {

/// The kind of destination that a request names.
enum class destination_kind : std::uint8_t { none, datagram, shared_receive_queue };

/// Returns the kind of destination that a transport needs.
[[nodiscard]] constexpr destination_kind destination_of(transport service) noexcept {
  if (service == transport::ud) return destination_kind::datagram;
  if (service == transport::xrc_send) return destination_kind::shared_receive_queue;
  return destination_kind::none;
}

struct no_destination {
  static constexpr destination_kind kind = destination_kind::none;

  static constexpr void fill(ibv_send_wr&) noexcept {}
  static constexpr void build(ibv_qp_ex*) noexcept {}
};

struct datagram_fields {
  static constexpr destination_kind kind = destination_kind::datagram;

  // A function that returned the fields would join two of them in one register.
  explicit datagram_fields(const datagram_destination& there) noexcept
      : address{there.address.native_handle()},
        queue_pair{static_cast<std::uint32_t>(there.queue_pair)},
        queue_key{static_cast<std::uint32_t>(there.queue_key)} {}

  ibv_ah* address;
  std::uint32_t queue_pair;
  std::uint32_t queue_key;

  void fill(ibv_send_wr& request) const noexcept {
    request.wr.ud.ah = address;
    request.wr.ud.remote_qpn = queue_pair;
    request.wr.ud.remote_qkey = queue_key;
  }
  /// Wraps: ibv_wr_set_ud_addr(3).
  void build(ibv_qp_ex* sender) const noexcept {
    ibv_wr_set_ud_addr(sender, address, queue_pair, queue_key);
  }
};

struct shared_receive_queue_field {
  static constexpr destination_kind kind = destination_kind::shared_receive_queue;

  constexpr explicit shared_receive_queue_field(shared_receive_queue_number there) noexcept
      : number{static_cast<std::uint32_t>(there)} {}

  std::uint32_t number;

  void fill(ibv_send_wr& request) const noexcept { request.qp_type.xrc.remote_srqn = number; }
  /// Wraps: ibv_wr_set_xrc_srqn(3).
  void build(ibv_qp_ex* sender) const noexcept { ibv_wr_set_xrc_srqn(sender, number); }
};

}  // namespace detail
}  // namespace adverb::inline ADVERB_ABI
