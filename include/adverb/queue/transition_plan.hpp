// SPDX-License-Identifier: MIT
// The values of a transition: those that the caller set, and the defaults that complete them.
#pragma once

#include <cstdint>
#include <optional>

#include <infiniband/verbs.h>

#include <adverb/core/durations.hpp>
#include <adverb/core/transport.hpp>
#include <adverb/device/context_ref.hpp>
#include <adverb/memory/registrable_memory.hpp>
#include <adverb/queue/attribute.hpp>
#include <adverb/queue/endpoint.hpp>
#include <adverb/queue/transition_table.hpp>
#include <adverb/request/address.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

/// Returns true if a queue pair of this transport announces itself to a peer.
[[nodiscard]] constexpr bool announces(transport service) noexcept {
  return service != transport::raw_packet && service != transport::driver;
}

/// Returns true if a queue pair carries its announced attributes: for RTR and RTS, and as a
/// datagram queue pair (UD) for its addresses.
[[nodiscard]] constexpr bool carries_announcement(transport service, qp_state state) noexcept {
  switch (state) {
    case qp_state::init:
    case qp_state::rtr:
    case qp_state::any: return true;
    case qp_state::rts:
    case qp_state::sqd:
    case qp_state::sqe: return service == transport::ud;
    default: return false;
  }
}

}  // namespace detail

/// The attributes that a queue pair announced in INIT and needs again later.
struct announced_attributes {
  /// Packet sequence number of its first packet.
  adverb::psn psn{};
  /// Local GID, as an index into the table of the port.
  gid_index source_gid{};
  /// Local port.
  port_number port{};
  /// Number of reads and atomics that the peer accepts at once; known from RTR on.
  std::uint8_t peer_read_atomic = 255;

  friend constexpr bool operator==(const announced_attributes&,
                                   const announced_attributes&) noexcept = default;
};

/// Options of the path to a peer.
struct path_options {
  /// Service level.
  adverb::service_level service_level{};
  /// Traffic class of the GRH.
  std::uint8_t traffic_class = 0;
  /// Hop limit of the GRH.
  std::uint8_t hop_limit = 64;
  /// 20 bits.
  std::uint32_t flow_label = 0;
  /// Low bits of the local LID, if the port has several.
  std::uint8_t source_path_bits = 0;
  /// Maximum static rate.
  rate static_rate = rate::unlimited;
};

namespace detail {

/// The values set so far for a transition. `given` names the attributes that are set.
struct transition_plan {
  qp_attributes given{};
  ibv_qp_attr values{};
  announced_attributes announced{};
  /// The peer is set as an endpoint, from which its address is computed.
  bool has_peer = false;
  endpoint peer{};
  path_options path{};
  /// The GID is to be chosen by rule, although one is set.
  bool chooses_gid = false;

  [[nodiscard]] bool has(qp_attribute attribute) const noexcept {
    return given.contains(attribute);
  }

  void set_port(port_number number) noexcept;
  void set_access(access_rights rights) noexcept {
    values.qp_access_flags = rights.bits();
    given |= qp_attribute::access;
  }
  void set_pkey_index(pkey_index index) noexcept {
    values.pkey_index = static_cast<std::uint16_t>(index);
    given |= qp_attribute::pkey_index;
  }
  void set_queue_key(queue_key key) noexcept {
    values.qkey = static_cast<std::uint32_t>(key);
    given |= qp_attribute::queue_key;
  }
  void set_psn(psn number) noexcept {
    announced.psn = number;
    values.sq_psn = number.value();
    given |= qp_attribute::sq_psn;
  }
  void set_source_gid(std::optional<gid_index> index) noexcept;
  void set_peer(const endpoint& end, const path_options& way) noexcept;
  void set_address(const address& way) noexcept {
    values.ah_attr = way.native();
    given |= qp_attribute::address;
  }
  void set_remote_queue_pair(qp_number number) noexcept {
    values.dest_qp_num = static_cast<std::uint32_t>(number);
    given |= qp_attribute::remote_queue_pair;
  }
  void set_remote_psn(psn number) noexcept {
    values.rq_psn = number.value();
    given |= qp_attribute::rq_psn;
  }
  void set_path_mtu(mtu size) noexcept {
    values.path_mtu = static_cast<ibv_mtu>(size);
    given |= qp_attribute::path_mtu;
  }
  void set_max_destination_read_atomic(std::uint8_t count) noexcept {
    values.max_dest_rd_atomic = count;
    given |= qp_attribute::max_destination_read_atomic;
  }
  void set_rnr_timer(rnr_timer time) noexcept {
    values.min_rnr_timer = time.code();
    given |= qp_attribute::rnr_timer;
  }
  void set_acknowledge_timeout(acknowledge_timeout time) noexcept {
    values.timeout = time.code();
    given |= qp_attribute::acknowledge_timeout;
  }
  void set_retry_count(std::uint8_t count) noexcept {
    values.retry_cnt = count;
    given |= qp_attribute::retry_count;
  }
  void set_rnr_retry_count(std::uint8_t count) noexcept {
    values.rnr_retry = count;
    given |= qp_attribute::rnr_retry_count;
  }
  void set_max_initiator_read_atomic(std::uint8_t count) noexcept {
    values.max_rd_atomic = count;
    given |= qp_attribute::max_initiator_read_atomic;
  }
  void set_alternate_path(const alternate_path& other) noexcept;
  void set_path_migration_state(path_migration_state state) noexcept {
    values.path_mig_state = static_cast<ibv_mig_state>(state);
    given |= qp_attribute::path_migration_state;
  }
  void set_current_state(qp_state state) noexcept {
    values.cur_qp_state = static_cast<ibv_qp_state>(state);
    given |= qp_attribute::current_state;
  }
  void set_drain_notification() noexcept {
    values.en_sqd_async_notify = 1;
    given |= qp_attribute::drain_notification;
  }
  void set_rate_limit(std::uint32_t kilobits_per_second) noexcept {
    values.rate_limit = kilobits_per_second;
    given |= qp_attribute::rate_limit;
  }
};

/// The defaults of attributes that the specification requires and the caller may omit.
struct transition_defaults {
  /// About 67 ms.
  static constexpr std::uint8_t acknowledge_timeout_code = 14;
  /// Not 7, the obvious choice, because some providers (Soft-RoCE) retry without limit at 7.
  // See docs/decisions.md, "Default retry counts".
  static constexpr std::uint8_t retry_count = 6;
  /// No limit: a slow receiver is no error.
  static constexpr std::uint8_t rnr_retry_count = 7;
  /// 0.64 ms.
  static constexpr std::uint8_t rnr_timer_code = 12;
};

/// Returns a copy, out of line: each setter of a builder makes one.
[[nodiscard]] transition_plan copy_of(const transition_plan& plan) noexcept;

[[nodiscard]] psn random_psn() noexcept;

template <class T>
[[nodiscard]] constexpr T lower_of(T left, T right) noexcept {
  return left < right ? left : right;
}

// Each of these fills in the omitted attributes. Returns false if a query of the device fails.
bool complete_init(transition_plan& plan, qp_state from, context_ref context, on_failure policy);

/// Returns the address of a peer's endpoint, from the port and GID announced to it.
address address_of_peer(const endpoint& peer, const path_options& path,
                        const announced_attributes& announced, context_ref context,
                        const port_attributes& port, on_failure policy);

bool complete_rtr(transition_plan& plan, qp_attributes needed, context_ref context,
                  on_failure policy);

bool complete_rts(transition_plan& plan, qp_attributes needed, context_ref context,
                  on_failure policy);

/// Fills in the omitted attributes that the transition needs. Returns false if a device query
/// fails.
inline bool complete(transition_plan& plan, const transition_step& step, context_ref context,
                     on_failure policy) {
  const qp_attributes needed = step.attributes.required;
  if (step.to == qp_state::init) return complete_init(plan, step.from, context, policy);
  if (step.from == qp_state::init && step.to == qp_state::rtr)
    return complete_rtr(plan, needed, context, policy);
  if (step.from == qp_state::rtr && step.to == qp_state::rts)
    return complete_rts(plan, needed, context, policy);
  return true;
}

/// Completes a plan with defaults and performs the transition. The values used stay in the plan.
/// Returns true on success. Wraps: ibv_modify_qp(3).
bool carry_out(transition_plan& plan, ibv_qp* queue_pair, const transition_step& step,
               on_failure policy);

}  // namespace detail
}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/queue/impl/transition_plan.ipp>
#endif
