// SPDX-License-Identifier: MIT
// The transition from INIT to RTS in one call, and back on failure.
#pragma once

#include <cstdint>
#include <optional>

#include <infiniband/verbs.h>

#include <adverb/core/durations.hpp>
#include <adverb/core/transport.hpp>
#include <adverb/device/port_link.hpp>
#include <adverb/queue/endpoint.hpp>
#include <adverb/queue/transition_plan.hpp>

namespace adverb::inline ADVERB_ABI {

/// The options of `connect` that a transport has. Omitted options have the defaults of
/// `transition`. Transports without a connection have no options.
template <transport Transport>
struct rtr_rts_attributes {};

/// Options of connecting a reliable connection (RC).
template <>
struct rtr_rts_attributes<transport::rc> {
  /// Options of the path to the peer.
  path_options path{};
  /// MTU of the path.
  std::optional<mtu> path_mtu{};
  /// Maximum number of reads and atomics in progress at this side as the responder.
  std::optional<std::uint8_t> max_destination_read_atomic{};
  /// Maximum number of reads and atomics in progress at this side as the requester.
  std::optional<std::uint8_t> max_initiator_read_atomic{};
  /// The time for which a peer waits if this side has posted no receive.
  std::optional<adverb::rnr_timer> rnr_timer{};
  /// Time to wait for an acknowledgement before a packet is sent again.
  std::optional<adverb::acknowledge_timeout> acknowledge_timeout{};
  /// Number of times that a packet is sent again without an acknowledgement.
  std::optional<std::uint8_t> retry_count{};
  /// Number of retries after a receiver-not-ready (RNR) response; 7 is unlimited.
  std::optional<std::uint8_t> rnr_retry_count{};
};

/// Options of connecting an unreliable connection (UC).
template <>
struct rtr_rts_attributes<transport::uc> {
  /// Options of the path to the peer.
  path_options path{};
  /// MTU of the path.
  std::optional<mtu> path_mtu{};
};

/// Options of connecting the initiator of an extended reliable connection (XRC).
template <>
struct rtr_rts_attributes<transport::xrc_send> {
  /// Options of the path to the peer.
  path_options path{};
  /// MTU of the path.
  std::optional<mtu> path_mtu{};
  /// Maximum number of reads and atomics in progress at this side as the requester.
  std::optional<std::uint8_t> max_initiator_read_atomic{};
  /// Time to wait for an acknowledgement before a packet is sent again.
  std::optional<adverb::acknowledge_timeout> acknowledge_timeout{};
  /// Number of times that a packet is sent again without an acknowledgement.
  std::optional<std::uint8_t> retry_count{};
  /// Number of retries after a receiver-not-ready (RNR) response; 7 is unlimited.
  std::optional<std::uint8_t> rnr_retry_count{};
};

/// Options of connecting the target of an extended reliable connection (XRC).
template <>
struct rtr_rts_attributes<transport::xrc_recv> {
  /// Options of the path to the peer.
  path_options path{};
  /// MTU of the path.
  std::optional<mtu> path_mtu{};
  /// Maximum number of reads and atomics in progress at this side as the responder.
  std::optional<std::uint8_t> max_destination_read_atomic{};
  /// The time for which a peer waits if this side has posted no receive.
  std::optional<adverb::rnr_timer> rnr_timer{};
  /// Time to wait for an acknowledgement before a packet is sent again.
  std::optional<adverb::acknowledge_timeout> acknowledge_timeout{};
};

namespace detail {

template <transport Transport>
[[nodiscard]] transition_plan plan_rtr(const announced_attributes& announced, const endpoint& peer,
                                       const rtr_rts_attributes<Transport>& options) noexcept {
  transition_plan plan;
  plan.announced = announced;
  plan.set_peer(peer, options.path);
  if (options.path_mtu) plan.set_path_mtu(*options.path_mtu);
  if constexpr (requires { options.max_destination_read_atomic; }) {
    if (options.max_destination_read_atomic)
      plan.set_max_destination_read_atomic(*options.max_destination_read_atomic);
    if (options.rnr_timer) plan.set_rnr_timer(*options.rnr_timer);
  }
  return plan;
}

template <transport Transport>
[[nodiscard]] transition_plan plan_rts(
    const announced_attributes& announced,
    [[maybe_unused]] const rtr_rts_attributes<Transport>& options) noexcept {
  transition_plan plan;
  plan.announced = announced;
  if constexpr (requires { options.acknowledge_timeout; })
    if (options.acknowledge_timeout) plan.set_acknowledge_timeout(*options.acknowledge_timeout);
  if constexpr (requires { options.retry_count; }) {
    if (options.retry_count) plan.set_retry_count(*options.retry_count);
    if (options.rnr_retry_count) plan.set_rnr_retry_count(*options.rnr_retry_count);
    if (options.max_initiator_read_atomic)
      plan.set_max_initiator_read_atomic(*options.max_initiator_read_atomic);
  }
  return plan;
}

/// Moves a queue pair from RTR back to INIT with its previous attributes. If that fails, calls the
/// failure hook.
// See docs/decisions.md, "connect() starts from INIT".
[[gnu::cold]] void return_to_init(ibv_qp* queue_pair, transport service,
                                  const announced_attributes& announced) noexcept;

/// Returns a queue pair to INIT when destroyed, unless dismissed.
class in_rtr {
 public:
  in_rtr(ibv_qp* queue_pair, transport service, const announced_attributes& announced) noexcept
      : queue_pair_{queue_pair}, service_{service}, announced_{announced} {}
  in_rtr(const in_rtr&) = delete;
  in_rtr& operator=(const in_rtr&) = delete;
  ~in_rtr() {
    if (queue_pair_ != nullptr) return_to_init(queue_pair_, service_, announced_);
  }

  void dismiss() noexcept { queue_pair_ = nullptr; }

 private:
  ibv_qp* queue_pair_;
  transport service_;
  const announced_attributes& announced_;
};

}  // namespace detail
}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/queue/impl/rtr_rts_attributes.ipp>
#endif
