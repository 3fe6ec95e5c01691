// SPDX-License-Identifier: MIT
// The capabilities of a device.
#pragma once

#include <cstdint>
#include <string_view>

#include <infiniband/verbs.h>

#include <adverb/core/flags.hpp>
#include <adverb/core/transport.hpp>

namespace adverb::inline ADVERB_ABI {

/// The scope in which a device's atomic operations are atomic.
enum class atomicity : std::uint32_t {
  none = IBV_ATOMIC_NONE,
  within_device = IBV_ATOMIC_HCA,
  with_processor = IBV_ATOMIC_GLOB,
};

[[nodiscard]] constexpr static_string<48> to_text(atomicity kind) noexcept {
  constexpr std::string_view names = "none|within the device|with the processor too";
  const auto number = static_cast<std::uint32_t>(kind);
  return detail::listed_name_or_number(names, number);
}

/// An operand size of a device's atomic operations on PCI Express.
enum class pci_atomic_size : std::uint16_t {
  bytes_4 = IBV_PCI_ATOMIC_OPERATION_4_BYTE_SIZE_SUP,
  bytes_8 = IBV_PCI_ATOMIC_OPERATION_8_BYTE_SIZE_SUP,
  bytes_16 = IBV_PCI_ATOMIC_OPERATION_16_BYTE_SIZE_SUP,
};
template <>
inline constexpr bool is_flag<pci_atomic_size> = true;
/// A set of operand sizes.
using pci_atomic_sizes = flags<pci_atomic_size>;

[[nodiscard]] constexpr std::string_view flag_name(pci_atomic_size size) noexcept {
  switch (size) {
    case pci_atomic_size::bytes_4: return "bytes_4";
    case pci_atomic_size::bytes_8: return "bytes_8";
    case pci_atomic_size::bytes_16: return "bytes_16";
  }
  return {};
}

/// The PCI Express atomic operations of a device on host memory, by operand size. If the device has
/// them, its atomic operations are atomic with respect to the processor too.
struct pci_atomics {
  /// Operand sizes of fetch-and-add.
  pci_atomic_sizes fetch_and_add{};
  /// Operand sizes of swap.
  pci_atomic_sizes swap{};
  /// Operand sizes of compare-and-swap.
  pci_atomic_sizes compare_and_swap{};

  friend constexpr bool operator==(const pci_atomics&, const pci_atomics&) noexcept = default;
};

/// A hash function that distributes packets.
enum class hash_function : std::uint8_t {
  toeplitz = IBV_RX_HASH_FUNC_TOEPLITZ,
};
template <>
inline constexpr bool is_flag<hash_function> = true;
/// A set of hash functions.
using hash_functions = flags<hash_function>;

[[nodiscard]] constexpr std::string_view flag_name(hash_function function) noexcept {
  return function == hash_function::toeplitz ? "toeplitz" : "";
}

/// A packet field that takes part in the hash.
enum class hash_field : std::uint64_t {
  source_ipv4 = IBV_RX_HASH_SRC_IPV4,
  destination_ipv4 = IBV_RX_HASH_DST_IPV4,
  source_ipv6 = IBV_RX_HASH_SRC_IPV6,
  destination_ipv6 = IBV_RX_HASH_DST_IPV6,
  source_tcp_port = IBV_RX_HASH_SRC_PORT_TCP,
  destination_tcp_port = IBV_RX_HASH_DST_PORT_TCP,
  source_udp_port = IBV_RX_HASH_SRC_PORT_UDP,
  destination_udp_port = IBV_RX_HASH_DST_PORT_UDP,
  security_parameters_index = IBV_RX_HASH_IPSEC_SPI,
  /// Uses the fields of the inner packet of a tunnel.
  inner = std::uint64_t{1} << 31,  // IBV_RX_HASH_INNER: signed in some versions
};
template <>
inline constexpr bool is_flag<hash_field> = true;
/// A set of packet fields.
using hash_fields = flags<hash_field>;

[[nodiscard]] constexpr std::string_view flag_name(hash_field field) noexcept {
  switch (field) {
    case hash_field::source_ipv4: return "source_ipv4";
    case hash_field::destination_ipv4: return "destination_ipv4";
    case hash_field::source_ipv6: return "source_ipv6";
    case hash_field::destination_ipv6: return "destination_ipv6";
    case hash_field::source_tcp_port: return "source_tcp_port";
    case hash_field::destination_tcp_port: return "destination_tcp_port";
    case hash_field::source_udp_port: return "source_udp_port";
    case hash_field::destination_udp_port: return "destination_udp_port";
    case hash_field::security_parameters_index: return "security_parameters_index";
    case hash_field::inner: return "inner";
  }
  return {};
}

/// The support of a device for receive-side scaling.
struct receive_side_scaling {
  /// The transports whose queue pairs can be spread.
  transport_set transports{};
  /// The maximum number of indirection tables.
  std::uint32_t max_indirection_tables = 0;
  /// The maximum number of work queues in one table.
  std::uint32_t max_indirection_table_size = 0;
  /// The packet fields that can take part in the hash.
  hash_fields fields{};
  /// The hash functions.
  hash_functions functions{};

  friend constexpr bool operator==(const receive_side_scaling&,
                                   const receive_side_scaling&) noexcept = default;
};

/// A kind of registration with on-demand paging.
enum class paging_feature : std::uint64_t {
  /// A range of memory.
  explicit_registration = IBV_ODP_SUPPORT,
  /// The whole address space.
  implicit_registration = IBV_ODP_SUPPORT_IMPLICIT,
};
template <>
inline constexpr bool is_flag<paging_feature> = true;
/// A set of kinds of on-demand registration.
using paging_features = flags<paging_feature>;

[[nodiscard]] constexpr std::string_view flag_name(paging_feature feature) noexcept {
  switch (feature) {
    case paging_feature::explicit_registration: return "explicit_registration";
    case paging_feature::implicit_registration: return "implicit_registration";
  }
  return {};
}

/// An operation that may access on-demand memory whose pages are absent.
enum class paged_operation : std::uint32_t {
  send = IBV_ODP_SUPPORT_SEND,
  receive = IBV_ODP_SUPPORT_RECV,
  write = IBV_ODP_SUPPORT_WRITE,
  read = IBV_ODP_SUPPORT_READ,
  atomic = IBV_ODP_SUPPORT_ATOMIC,
  shared_receive = IBV_ODP_SUPPORT_SRQ_RECV,
  flush = 1 << 6,         // IBV_ODP_SUPPORT_FLUSH, of later rdma-core
  atomic_write = 1 << 7,  // IBV_ODP_SUPPORT_ATOMIC_WRITE, likewise
};
template <>
inline constexpr bool is_flag<paged_operation> = true;
/// A set of operations on on-demand memory.
using paged_operations = flags<paged_operation>;

[[nodiscard]] constexpr std::string_view flag_name(paged_operation operation) noexcept {
  switch (operation) {
    case paged_operation::send: return "send";
    case paged_operation::receive: return "receive";
    case paged_operation::write: return "write";
    case paged_operation::read: return "read";
    case paged_operation::atomic: return "atomic";
    case paged_operation::shared_receive: return "shared_receive";
    case paged_operation::flush: return "flush";
    case paged_operation::atomic_write: return "atomic_write";
  }
  return {};
}

/// The support of a device for on-demand paging.
struct on_demand_paging {
  /// The kinds of registration.
  paging_features features{};
  /// The operations of reliable connections.
  paged_operations rc{};
  /// The operations of unreliable connections.
  paged_operations uc{};
  /// The operations of unreliable datagrams.
  paged_operations ud{};
  /// The operations of extended reliable connections.
  paged_operations xrc{};

  /// Returns the operations of a transport; none if it cannot use on-demand memory.
  [[nodiscard]] constexpr paged_operations operations(transport service) const noexcept {
    switch (service) {
      case transport::rc: return rc;
      case transport::uc: return uc;
      case transport::ud: return ud;
      case transport::xrc_send:
      case transport::xrc_recv: return xrc;
      case transport::raw_packet:
      case transport::driver: break;
    }
    return {};
  }

  friend constexpr bool operator==(const on_demand_paging&,
                                   const on_demand_paging&) noexcept = default;
};

/// The limits of TCP segmentation offload (TSO), which cuts one message into packets.
struct segmentation_offload {
  /// The maximum message size in bytes; 0 if the device has no such offload.
  std::uint32_t max_message_size = 0;
  /// The transports that have the offload.
  transport_set transports{};

  friend constexpr bool operator==(const segmentation_offload&,
                                   const segmentation_offload&) noexcept = default;
};

/// The limits of packet pacing, the send rate limit of a queue pair, in kbit/s; all 0 if
/// unsupported.
struct packet_pacing {
  /// The lowest rate, in kbit/s.
  std::uint32_t min_rate = 0;
  /// The highest rate, in kbit/s.
  std::uint32_t max_rate = 0;
  /// The transports that have rate limits.
  transport_set transports{};

  friend constexpr bool operator==(const packet_pacing&, const packet_pacing&) noexcept = default;
};

/// A capability of a device for raw packets.
enum class raw_packet_capability : std::uint32_t {
  vlan_stripping = IBV_RAW_PACKET_CAP_CVLAN_STRIPPING,
  scatter_frame_checksum = IBV_RAW_PACKET_CAP_SCATTER_FCS,
  ip_checksum = IBV_RAW_PACKET_CAP_IP_CSUM,
  delay_drop = IBV_RAW_PACKET_CAP_DELAY_DROP,
};
template <>
inline constexpr bool is_flag<raw_packet_capability> = true;
/// A set of capabilities for raw packets.
using raw_packet_capabilities = flags<raw_packet_capability>;

[[nodiscard]] constexpr std::string_view flag_name(raw_packet_capability capability) noexcept {
  switch (capability) {
    case raw_packet_capability::vlan_stripping: return "vlan_stripping";
    case raw_packet_capability::scatter_frame_checksum: return "scatter_frame_checksum";
    case raw_packet_capability::ip_checksum: return "ip_checksum";
    case raw_packet_capability::delay_drop: return "delay_drop";
  }
  return {};
}

/// The connections for which a device matches tags.
enum class tag_matching_capability : std::uint32_t {
  rc = IBV_TM_CAP_RC,
};
template <>
inline constexpr bool is_flag<tag_matching_capability> = true;
/// A set of capabilities for tag matching.
using tag_matching_capabilities = flags<tag_matching_capability>;

[[nodiscard]] constexpr std::string_view flag_name(tag_matching_capability capability) noexcept {
  return capability == tag_matching_capability::rc ? "rc" : "";
}

/// The limits of shared receive queues that match tags; all 0 if unsupported.
struct tag_matching_limits {
  /// The maximum size of the header of a rendezvous request, in bytes.
  std::uint32_t max_rendezvous_header_size = 0;
  /// The maximum number of tagged buffers in the list of one queue.
  std::uint32_t max_tags = 0;
  /// The maximum number of operations in progress on a list.
  std::uint32_t max_operations = 0;
  /// The maximum number of scatter/gather elements of a tagged buffer.
  std::uint32_t max_sge = 0;
  /// The kinds of messages that the device matches.
  tag_matching_capabilities capabilities{};

  friend constexpr bool operator==(const tag_matching_limits&,
                                   const tag_matching_limits&) noexcept = default;
};

/// The limits of completion moderation, which delays a completion queue's events; all 0 if
/// unsupported.
struct completion_moderation_limits {
  /// In completions.
  std::uint16_t max_count = 0;
  /// In microseconds.
  std::uint16_t max_period = 0;

  friend constexpr bool operator==(const completion_moderation_limits&,
                                   const completion_moderation_limits&) noexcept = default;
};

/// A capability of a device.
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
  rc_rnr_nak = IBV_DEVICE_RC_RNR_NAK_GEN,
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
  raw_scatter_frame_checksum = IBV_DEVICE_RAW_SCATTER_FCS,
  pci_write_end_padding = IBV_DEVICE_PCI_WRITE_END_PADDING,
  flush_global = std::uint64_t{1} << 38,      // IBV_DEVICE_FLUSH_GLOBAL, of later rdma-core
  flush_persistent = std::uint64_t{1} << 39,  // IBV_DEVICE_FLUSH_PERSISTENT, likewise
  atomic_write = std::uint64_t{1} << 40,      // IBV_DEVICE_ATOMIC_WRITE, likewise
};
template <>
inline constexpr bool is_flag<device_capability> = true;
/// A set of capabilities of a device.
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
    case device_capability::rc_rnr_nak: return "rc_rnr_nak";
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
    case device_capability::raw_scatter_frame_checksum: return "raw_scatter_frame_checksum";
    case device_capability::pci_write_end_padding: return "pci_write_end_padding";
    case device_capability::flush_global: return "flush_global";
    case device_capability::flush_persistent: return "flush_persistent";
    case device_capability::atomic_write: return "atomic_write";
  }
  return {};
}

}  // namespace adverb::inline ADVERB_ABI
