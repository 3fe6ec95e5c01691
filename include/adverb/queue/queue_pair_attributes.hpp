// SPDX-License-Identifier: MIT
// The state and attributes of a queue pair.
#pragma once

#include <cstdint>

#include <infiniband/verbs.h>

#include <adverb/core/durations.hpp>
#include <adverb/core/ids.hpp>
#include <adverb/device/port.hpp>
#include <adverb/memory/registrable_memory.hpp>
#include <adverb/queue/attribute.hpp>
#include <adverb/request/queue_pair_state.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI {

/// The ways in which data enters local memory.
enum class in_order_operation : std::uint32_t {
  /// Sends of a peer, into receives.
  send = IBV_WR_SEND,
  /// Writes of a peer.
  write = IBV_WR_RDMA_WRITE,
  /// Reads of this side.
  read = IBV_WR_RDMA_READ,
};

/// The pacing of a queue pair. See the packet pacing capabilities of the device.
struct rate_limit {
  /// 0 means no limit.
  std::uint32_t kilobits_per_second = 0;
  /// In bytes; 0 means the default of the device.
  std::uint32_t max_burst_size = 0;
  /// In bytes; 0 means the MTU of the port.
  std::uint16_t typical_packet_size = 0;

  [[nodiscard]] ibv_qp_rate_limit_attr native() const noexcept {
    ibv_qp_rate_limit_attr native{};
    native.rate_limit = kilobits_per_second;
    native.max_burst_sz = max_burst_size;
    native.typical_pkt_sz = typical_packet_size;
    return native;
  }
};

/// Enhanced connection establishment (ECE): vendor options that both ends of a connection share.
/// Query them on one side, send them to the peer, and set there what both support.
struct ece {
  /// The IEEE number of the vendor (OUI); 0 means none.
  std::uint32_t vendor_id = 0;
  /// Defined by the vendor.
  std::uint32_t options = 0;

  friend bool operator==(const ece&, const ece&) noexcept = default;
};

/// The state and attributes of a queue pair, returned by `pair.query()`. Attributes that were never
/// set are zero. The rate limit is missing, because ibv_query_qp does not return it.
class queue_pair_attributes {
 public:
  queue_pair_attributes() noexcept = default;
  /// Copies the C API structs.
  queue_pair_attributes(const ibv_qp_attr& native, const ibv_qp_init_attr& initial) noexcept
      : native_{native}, initial_{initial} {}

  /// Returns the actual state.
  [[nodiscard]] qp_state state() const noexcept { return static_cast<qp_state>(native_.qp_state); }
  /// Returns the port.
  [[nodiscard]] port_number port() const noexcept {
    return static_cast<port_number>(native_.port_num);
  }
  /// Returns the index of the partition key.
  [[nodiscard]] adverb::pkey_index pkey_index() const noexcept {
    return static_cast<adverb::pkey_index>(native_.pkey_index);
  }
  /// Returns the remote access that the queue pair grants.
  [[nodiscard]] access_rights allowed() const noexcept {
    return access_rights::from_bits(native_.qp_access_flags);
  }
  /// Returns the queue key (UD).
  [[nodiscard]] adverb::queue_key queue_key() const noexcept {
    return static_cast<adverb::queue_key>(native_.qkey);
  }
  /// Returns the MTU of the path.
  [[nodiscard]] mtu path_mtu() const noexcept { return static_cast<mtu>(native_.path_mtu); }
  /// Returns the number of the peer's queue pair.
  [[nodiscard]] qp_number remote_queue_pair() const noexcept {
    return static_cast<qp_number>(native_.dest_qp_num);
  }
  /// Returns the packet sequence number (PSN) of the next packet to send.
  [[nodiscard]] psn sq_psn() const noexcept { return psn{native_.sq_psn}; }
  /// Returns the packet sequence number (PSN) of the next packet to receive.
  [[nodiscard]] psn rq_psn() const noexcept { return psn{native_.rq_psn}; }
  /// Returns the maximum number of reads and atomics in progress as the responder.
  [[nodiscard]] std::uint8_t max_destination_read_atomic() const noexcept {
    return native_.max_dest_rd_atomic;
  }
  /// Returns the maximum number of reads and atomics in progress as the requester.
  [[nodiscard]] std::uint8_t max_initiator_read_atomic() const noexcept {
    return native_.max_rd_atomic;
  }
  /// Returns the receiver-not-ready (RNR) timer.
  [[nodiscard]] adverb::rnr_timer rnr_timer() const noexcept {
    return adverb::rnr_timer::from_code(native_.min_rnr_timer);
  }
  /// Returns the time after which a packet is sent again.
  [[nodiscard]] adverb::acknowledge_timeout acknowledge_timeout() const noexcept {
    return adverb::acknowledge_timeout::from_code(native_.timeout);
  }
  /// Returns the number of times that a packet is sent again.
  [[nodiscard]] std::uint8_t retry_count() const noexcept { return native_.retry_cnt; }
  /// Returns the number of retries after a receiver-not-ready (RNR) response; 7 is unlimited.
  [[nodiscard]] std::uint8_t rnr_retry_count() const noexcept { return native_.rnr_retry; }

  /// Returns true while a send queue in SQD still has requests in progress.
  [[nodiscard]] bool is_draining() const noexcept { return native_.sq_draining != 0; }
  /// Returns the state of path migration.
  [[nodiscard]] adverb::path_migration_state path_migration_state() const noexcept {
    return static_cast<adverb::path_migration_state>(native_.path_mig_state);
  }

  /// Returns the actual number of requests that each queue holds.
  [[nodiscard]] std::uint32_t max_send_wr() const noexcept { return native_.cap.max_send_wr; }
  /// Returns the actual number of receives that the queue holds.
  [[nodiscard]] std::uint32_t max_recv_wr() const noexcept { return native_.cap.max_recv_wr; }
  /// Returns the actual number of scatter/gather elements per request.
  [[nodiscard]] std::uint32_t max_send_sge() const noexcept { return native_.cap.max_send_sge; }
  /// Returns the actual number of scatter elements per receive.
  [[nodiscard]] std::uint32_t max_recv_sge() const noexcept { return native_.cap.max_recv_sge; }
  /// Returns the maximum size of inline data, in bytes.
  [[nodiscard]] std::uint32_t max_inline_data() const noexcept {
    return native_.cap.max_inline_data;
  }
  /// Returns true if every send generates a completion.
  [[nodiscard]] bool signals_all_sends() const noexcept { return initial_.sq_sig_all != 0; }

  [[nodiscard]] const ibv_qp_attr& native() const noexcept { return native_; }
  /// Returns the attributes of the creation, as a struct of the C API.
  [[nodiscard]] const ibv_qp_init_attr& native_initial() const noexcept { return initial_; }

 private:
  ibv_qp_attr native_{};
  ibv_qp_init_attr initial_{};
};

}  // namespace adverb::inline ADVERB_ABI
