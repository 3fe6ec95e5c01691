// SPDX-License-Identifier: MIT
// What a device can do, and how much of it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include <endian.h>
#include <infiniband/verbs.h>

#include <adverb/core/attributes.hpp>
#include <adverb/core/flags.hpp>

namespace adverb::inline ADVERB_ABI {

/// What a device can do at all.
enum class device_capability : std::uint64_t {
  resize_max_work_requests = IBV_DEVICE_RESIZE_MAX_WR,
  bad_pkey_counter = IBV_DEVICE_BAD_PKEY_CNTR,
  bad_queue_key_counter = IBV_DEVICE_BAD_QKEY_CNTR,
  raw_multicast = IBV_DEVICE_RAW_MULTI,
  automatic_path_migration = IBV_DEVICE_AUTO_PATH_MIG,
  change_physical_port = IBV_DEVICE_CHANGE_PHY_PORT,
  ud_address_port_enforced = IBV_DEVICE_UD_AV_PORT_ENFORCE,
  current_state_in_modify = IBV_DEVICE_CURR_QP_STATE_MOD,
  shutdown_port = IBV_DEVICE_SHUTDOWN_PORT,
  initialization_type = IBV_DEVICE_INIT_TYPE,
  port_active_event = IBV_DEVICE_PORT_ACTIVE_EVENT,
  system_image_guid = IBV_DEVICE_SYS_IMAGE_GUID,
  rc_receiver_not_ready_nak = IBV_DEVICE_RC_RNR_NAK_GEN,
  resize_shared_receive_queue = IBV_DEVICE_SRQ_RESIZE,
  notify_n_completions = IBV_DEVICE_N_NOTIFY_CQ,
  memory_windows = IBV_DEVICE_MEM_WINDOW,
  ud_ip_checksum = IBV_DEVICE_UD_IP_CSUM,
  extended_reliable_connections = IBV_DEVICE_XRC,
  memory_management_extensions = IBV_DEVICE_MEM_MGT_EXTENSIONS,
  memory_windows_type_2a = IBV_DEVICE_MEM_WINDOW_TYPE_2A,
  memory_windows_type_2b = IBV_DEVICE_MEM_WINDOW_TYPE_2B,
  rc_ip_checksum = IBV_DEVICE_RC_IP_CSUM,
  raw_ip_checksum = IBV_DEVICE_RAW_IP_CSUM,
  flow_steering = IBV_DEVICE_MANAGED_FLOW_STEERING,
};
template <>
inline constexpr bool is_flag<device_capability> = true;
using device_capabilities = flags<device_capability>;

[[nodiscard]] constexpr std::string_view flag_name(device_capability capability) noexcept {
  switch (capability) {
    case device_capability::resize_max_work_requests: return "resize_max_work_requests";
    case device_capability::bad_pkey_counter: return "bad_pkey_counter";
    case device_capability::bad_queue_key_counter: return "bad_queue_key_counter";
    case device_capability::raw_multicast: return "raw_multicast";
    case device_capability::automatic_path_migration: return "automatic_path_migration";
    case device_capability::change_physical_port: return "change_physical_port";
    case device_capability::ud_address_port_enforced: return "ud_address_port_enforced";
    case device_capability::current_state_in_modify: return "current_state_in_modify";
    case device_capability::shutdown_port: return "shutdown_port";
    case device_capability::initialization_type: return "initialization_type";
    case device_capability::port_active_event: return "port_active_event";
    case device_capability::system_image_guid: return "system_image_guid";
    case device_capability::rc_receiver_not_ready_nak: return "rc_receiver_not_ready_nak";
    case device_capability::resize_shared_receive_queue: return "resize_shared_receive_queue";
    case device_capability::notify_n_completions: return "notify_n_completions";
    case device_capability::memory_windows: return "memory_windows";
    case device_capability::ud_ip_checksum: return "ud_ip_checksum";
    case device_capability::extended_reliable_connections: return "extended_reliable_connections";
    case device_capability::memory_management_extensions: return "memory_management_extensions";
    case device_capability::memory_windows_type_2a: return "memory_windows_type_2a";
    case device_capability::memory_windows_type_2b: return "memory_windows_type_2b";
    case device_capability::rc_ip_checksum: return "rc_ip_checksum";
    case device_capability::raw_ip_checksum: return "raw_ip_checksum";
    case device_capability::flow_steering: return "flow_steering";
  }
  return {};
}

/// With whom the atomic operations of a device are atomic.
enum class atomicity : std::uint32_t {
  none = IBV_ATOMIC_NONE,
  within_device = IBV_ATOMIC_HCA,
  with_processor = IBV_ATOMIC_GLOB,
};

[[nodiscard]] constexpr text<48> to_text(atomicity kind) noexcept {
  constexpr std::array<std::string_view, 3> names{"none", "within the device",
                                                  "with the processor too"};
  const auto number = static_cast<std::uint32_t>(kind);
  return detail::name_or_number(number < names.size() ? names[number] : "", number);
}

/// A 64-bit globally unique identifier of a device, in host byte order.
enum class guid : std::uint64_t {};

/// "5054:00ff:fe12:3456".
[[nodiscard]] constexpr text<24> to_text(guid identifier) noexcept {
  const auto number = static_cast<std::uint64_t>(identifier);
  return text<24>{[&](text_writer& writer) {
    for (int shift = 48; shift >= 0; shift -= 16)
      writer.hexadecimal((number >> shift) & 0xffff, 4).put(shift != 0 ? ":" : "");
  }};
}

/// The limits and capabilities of a device: made by `context.query_device()`. Sizes are in bytes.
class device_attributes {
 public:
  device_attributes() noexcept = default;
  explicit device_attributes(const ibv_device_attr_ex& native) noexcept : native_{native} {}

  [[nodiscard]] std::string_view firmware_version() const noexcept ADVERB_LIFETIME_BOUND {
    return original().fw_ver;
  }
  [[nodiscard]] adverb::guid node_guid() const noexcept { return to_guid(original().node_guid); }
  [[nodiscard]] adverb::guid system_image_guid() const noexcept {
    return to_guid(original().sys_image_guid);
  }
  [[nodiscard]] std::uint32_t vendor_id() const noexcept { return original().vendor_id; }
  [[nodiscard]] std::uint32_t vendor_part_id() const noexcept { return original().vendor_part_id; }
  [[nodiscard]] std::uint32_t hardware_version() const noexcept { return original().hw_ver; }
  [[nodiscard]] std::uint32_t physical_ports() const noexcept { return original().phys_port_cnt; }
  [[nodiscard]] device_capabilities capabilities() const noexcept {
    return device_capabilities::from_bits(original().device_cap_flags |
                                          native_.device_cap_flags_ex);
  }

  [[nodiscard]] std::uint64_t max_memory_region_size() const noexcept {
    return original().max_mr_size;
  }
  /// The page sizes that the device supports: bit n stands for 2^n bytes.
  [[nodiscard]] std::uint64_t page_sizes() const noexcept { return original().page_size_cap; }
  [[nodiscard]] std::uint32_t max_memory_regions() const noexcept { return at(original().max_mr); }
  [[nodiscard]] std::uint32_t max_memory_windows() const noexcept { return at(original().max_mw); }
  [[nodiscard]] std::uint32_t max_protection_domains() const noexcept {
    return at(original().max_pd);
  }

  [[nodiscard]] std::uint32_t max_queue_pairs() const noexcept { return at(original().max_qp); }
  /// The most work requests that one queue of a pair holds.
  [[nodiscard]] std::uint32_t max_work_requests() const noexcept {
    return at(original().max_qp_wr);
  }
  /// The most elements in the scatter/gather list of a request.
  [[nodiscard]] std::uint32_t max_sge() const noexcept { return at(original().max_sge); }
  /// The same for an RDMA read.
  [[nodiscard]] std::uint32_t max_sge_of_read() const noexcept { return at(original().max_sge_rd); }
  /// The most reads and atomics that one pair has in progress as the responder.
  [[nodiscard]] std::uint32_t max_destination_read_atomic() const noexcept {
    return at(original().max_qp_rd_atom);
  }
  /// The most reads and atomics that one pair has in progress as the requester.
  [[nodiscard]] std::uint32_t max_initiator_read_atomic() const noexcept {
    return at(original().max_qp_init_rd_atom);
  }
  /// The most reads and atomics that the whole device has in progress as the responder.
  [[nodiscard]] std::uint32_t max_responder_resources() const noexcept {
    return at(original().max_res_rd_atom);
  }
  [[nodiscard]] adverb::atomicity atomicity() const noexcept {
    return static_cast<adverb::atomicity>(original().atomic_cap);
  }

  [[nodiscard]] std::uint32_t max_completion_queues() const noexcept {
    return at(original().max_cq);
  }
  /// The most entries in one completion queue.
  [[nodiscard]] std::uint32_t max_completion_queue_entries() const noexcept {
    return at(original().max_cqe);
  }

  [[nodiscard]] std::uint32_t max_shared_receive_queues() const noexcept {
    return at(original().max_srq);
  }
  [[nodiscard]] std::uint32_t max_shared_receive_queue_requests() const noexcept {
    return at(original().max_srq_wr);
  }
  [[nodiscard]] std::uint32_t max_shared_receive_queue_sge() const noexcept {
    return at(original().max_srq_sge);
  }

  [[nodiscard]] std::uint32_t max_address_handles() const noexcept { return at(original().max_ah); }
  [[nodiscard]] std::uint32_t max_multicast_groups() const noexcept {
    return at(original().max_mcast_grp);
  }
  [[nodiscard]] std::uint32_t max_queue_pairs_per_multicast_group() const noexcept {
    return at(original().max_mcast_qp_attach);
  }
  [[nodiscard]] std::uint32_t max_multicast_attachments() const noexcept {
    return at(original().max_total_mcast_qp_attach);
  }
  [[nodiscard]] std::uint32_t max_pkeys() const noexcept { return original().max_pkeys; }
  /// The code of the longest delay between a packet and its acknowledgement, 4.096 us * 2^code.
  [[nodiscard]] std::uint8_t local_acknowledge_delay_code() const noexcept {
    return original().local_ca_ack_delay;
  }

  [[nodiscard]] const ibv_device_attr_ex& native() const noexcept { return native_; }

 private:
  [[nodiscard]] const ibv_device_attr& original() const noexcept { return native_.orig_attr; }
  // The C API has these limits as int; none is negative.
  [[nodiscard]] static std::uint32_t at(int limit) noexcept {
    return static_cast<std::uint32_t>(limit);
  }
  [[nodiscard]] static adverb::guid to_guid(__be64 number) noexcept {
    return static_cast<adverb::guid>(be64toh(number));
  }

  ibv_device_attr_ex native_{};
};

}  // namespace adverb::inline ADVERB_ABI
