// SPDX-License-Identifier: MIT
// Connects a queue pair of the program in the same way as librdmacm connects its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <infiniband/verbs.h>

#include <adverb/cm/connection_parameters.hpp>
#include <adverb/cm/identifier.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// The maximum outstanding reads and atomics of a side, if librdmacm has no better value.
struct read_atomic_limits {
  std::optional<std::uint8_t> as_destination{};
  std::optional<std::uint8_t> as_initiator{};
};

/// Returns the limits that the acceptance grants: the program's, or the lower of the peer's request
/// and the device's maximum.
[[nodiscard]] read_atomic_limits granted_limits(const cm::connection_parameters& options,
                                                const cm::peer_parameters& asked,
                                                context_ref context, on_failure policy);

/// Returns the attributes of a transition, from the identifier. Older kernels include RoCE
/// attributes for RTR on InfiniBand too (bits 21 to 23, from IB_QP_SMAC to IB_QP_VID), and then
/// refuse the transition. librdmacm omits these for its own queue pairs.
[[nodiscard]] cm::queue_pair_settings settings_of_own_pair(cm::identifier_ref id,
                                                           const ibv_qp* pair, qp_state to,
                                                           on_failure policy);

/// Performs one transition with the identifier's attributes. On iWARP there may be nothing to set,
/// because the kernel connects the queue pair. Returns true on success. Wraps: ibv_modify_qp(3).
bool drive_own_pair(cm::identifier_ref id, ibv_qp* pair, qp_state from, qp_state to,
                    const read_atomic_limits& limits, on_failure policy);

/// Returns true for iWARP, where the kernel connects and disconnects the queue pair.
[[nodiscard]] inline bool is_iwarp(context_ref context) noexcept {
  return context.native_handle()->device->transport_type == IBV_TRANSPORT_IWARP;
}

/// Moves the queue pair to RTS from the reached state, INIT or RTR. Returns true on success.
bool connect_own_pair(cm::identifier_ref id, ibv_qp* pair, qp_state& reached,
                      const read_atomic_limits& limits, on_failure policy);

/// Returns the parameters to send for a queue pair that the identifier does not own.
[[nodiscard]] cm::connection_parameters options_for_own_pair(cm::connection_parameters options,
                                                             const ibv_qp* pair) noexcept;

/// Reports a queue pair on another device than the connection's. Another context of the same device
/// is valid. Returns true if the queue pair fits.
bool check_own_pair(on_failure policy, const char* verb, cm::identifier_ref id, const ibv_qp* pair);

/// Checks a queue pair and moves it to INIT. Returns true on success.
bool begin_own_pair(on_failure policy, cm::identifier_ref id, ibv_qp* pair);

}  // namespace adverb::inline ADVERB_ABI::detail

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/cm/impl/drive_own_pair.ipp>
#endif
