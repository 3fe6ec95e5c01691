// SPDX-License-Identifier: MIT
// The attributes of a queue pair.
#pragma once

#include <cstdint>
#include <string_view>

#include <infiniband/verbs.h>

#include <adverb/core/durations.hpp>
#include <adverb/core/flags.hpp>
#include <adverb/request/address.hpp>
#include <adverb/request/queue_pair_state.hpp>

namespace adverb::inline ADVERB_ABI {

/// An alternate path to the same peer, used when the first one fails.
struct alternate_path {
  /// The path.
  adverb::address address{};
  /// The partition key, as an index into the table of the port.
  adverb::pkey_index pkey_index{};
  /// About 67 ms by default.
  adverb::acknowledge_timeout acknowledge_timeout = adverb::acknowledge_timeout::from_code(14);
};

/// The migration state of a queue pair with an alternate path.
enum class path_migration_state : std::uint32_t {
  /// Uses the alternate path; set by hand, migrates to it.
  migrated = IBV_MIG_MIGRATED,
  /// Requests the peer to arm the migration again.
  rearm = IBV_MIG_REARM,
  /// Uses the first path, ready to migrate.
  armed = IBV_MIG_ARMED,
};

[[nodiscard]] constexpr static_string<48> to_text(path_migration_state state) noexcept {
  constexpr std::string_view names = "migrated|rearm|armed";
  const auto number = static_cast<std::uint32_t>(state);
  return detail::listed_name_or_number(names, number);
}

/// Attributes that a transition can set, as the bits of ibv_modify_qp.
enum class qp_attribute : std::uint32_t {
  state = IBV_QP_STATE,
  current_state = IBV_QP_CUR_STATE,
  drain_notification = IBV_QP_EN_SQD_ASYNC_NOTIFY,
  access = IBV_QP_ACCESS_FLAGS,
  pkey_index = IBV_QP_PKEY_INDEX,
  port = IBV_QP_PORT,
  queue_key = IBV_QP_QKEY,
  address = IBV_QP_AV,
  path_mtu = IBV_QP_PATH_MTU,
  acknowledge_timeout = IBV_QP_TIMEOUT,
  retry_count = IBV_QP_RETRY_CNT,
  rnr_retry_count = IBV_QP_RNR_RETRY,
  rq_psn = IBV_QP_RQ_PSN,
  max_initiator_read_atomic = IBV_QP_MAX_QP_RD_ATOMIC,
  alternate_path = IBV_QP_ALT_PATH,
  rnr_timer = IBV_QP_MIN_RNR_TIMER,
  sq_psn = IBV_QP_SQ_PSN,
  max_destination_read_atomic = IBV_QP_MAX_DEST_RD_ATOMIC,
  path_migration_state = IBV_QP_PATH_MIG_STATE,
  remote_queue_pair = IBV_QP_DEST_QPN,
  rate_limit = IBV_QP_RATE_LIMIT,
  /// Defined by adverb: the GID that is announced to the peer. Not a bit of ibv_modify_qp.
  source_gid = 1U << 31,
};
template <>
inline constexpr bool is_flag<qp_attribute> = true;
/// A set of attributes of a queue pair.
using qp_attributes = flags<qp_attribute>;

[[nodiscard]] constexpr std::string_view flag_name(qp_attribute attribute) noexcept {
  constexpr std::string_view names =
      "state|current_state|drain_notification|access|pkey_index|port|queue_key|address|path_mtu|"
      "acknowledge_timeout|retry_count|rnr_retry_count|rq_psn|max_initiator_read_atomic|"
      "alternate_path|rnr_timer|sq_psn|max_destination_read_atomic|path_migration_state||"
      "remote_queue_pair|||||rate_limit||||||source_gid";
  return detail::listed_bit_name(names, static_cast<std::uint32_t>(attribute));
}

}  // namespace adverb::inline ADVERB_ABI
