// SPDX-License-Identifier: MIT
// The limits and capabilities of a device.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <infiniband/verbs.h>

#include <adverb/core/durations.hpp>
#include <adverb/core/ids.hpp>
#include <adverb/device/capabilities.hpp>
#include <adverb/device/gid.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI {

/// A reading of a device's clock, in ticks: from `context.device_time()`, or the timestamp of a
/// completion. Only the difference of two readings has a meaning.
enum class device_ticks : std::uint64_t {};

[[nodiscard]] constexpr static_string<24> to_text(device_ticks ticks) noexcept {
  return detail::decimal_text(static_cast<std::uint64_t>(ticks));
}

/// The frequency of a device's clock, and the mask at which it wraps around. Returned by
/// `device_attributes::clock()`.
class device_clock {
 public:
  /// Makes a clock of `kilohertz` kHz (not 0), whose readings have the bits of `mask`; 0 for all
  /// bits.
  constexpr device_clock(std::uint64_t kilohertz, std::uint64_t mask) noexcept
      : kilohertz_{kilohertz}, mask_{mask} {}

  /// Returns the frequency of the clock, in kHz.
  [[nodiscard]] constexpr std::uint64_t kilohertz() const noexcept { return kilohertz_; }

  /// Returns the time from one reading to a later one, rounded up to a `Duration`. The clock may
  /// wrap around once in between.
  template <duration_like Duration>
  [[nodiscard]] constexpr Duration elapsed(device_ticks from, device_ticks to) const noexcept {
    const std::uint64_t bits = mask_ == 0 ? ~std::uint64_t{0} : mask_;
    const std::uint64_t ticks =
        (static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from)) & bits;
    // In two steps, because the full product overflows after hours.
    const std::uint64_t nanoseconds =
        ticks / kilohertz_ * 1'000'000 + ticks % kilohertz_ * 1'000'000 / kilohertz_;
    return detail::round_up<Duration>(nanoseconds);
  }

  friend constexpr bool operator==(const device_clock&, const device_clock&) noexcept = default;

 private:
  std::uint64_t kilohertz_;
  std::uint64_t mask_;
};

/// The limits and capabilities of a device, from `context.query_device()`. Sizes are in bytes.
class device_attributes {
 public:
  device_attributes() noexcept = default;
  /// Copies the C API struct.
  explicit device_attributes(const ibv_device_attr_ex& native) noexcept : native_{native} {}

  /// Returns the version of the firmware, valid as long as this object.
  [[nodiscard]] std::string_view firmware_version() const noexcept ADVERB_LIFETIME_BOUND {
    return original().fw_ver;
  }
  /// Returns the global unique identifier (GUID) of the device.
  [[nodiscard]] adverb::guid node_guid() const noexcept {
    return detail::guid_from_network(original().node_guid);
  }
  /// Returns the global unique identifier (GUID) that the devices of one adapter share.
  [[nodiscard]] adverb::guid system_image_guid() const noexcept {
    return detail::guid_from_network(original().sys_image_guid);
  }
  /// Returns the vendor of the device, as an IEEE company identifier.
  [[nodiscard]] std::uint32_t vendor_id() const noexcept { return original().vendor_id; }
  /// Returns the vendor's number of this kind of device.
  [[nodiscard]] std::uint32_t vendor_part_id() const noexcept { return original().vendor_part_id; }
  /// Returns the version of the hardware.
  [[nodiscard]] std::uint32_t hardware_version() const noexcept { return original().hw_ver; }
  /// Returns the number of ports.
  [[nodiscard]] std::uint32_t physical_ports() const noexcept {
    // The original field has eight bits. Older providers leave the extended field 0.
    return native_.phys_port_cnt_ex != 0 ? native_.phys_port_cnt_ex : original().phys_port_cnt;
  }
  /// Returns the capabilities of the device.
  [[nodiscard]] device_capabilities capabilities() const noexcept {
    return device_capabilities::from_bits(original().device_cap_flags |
                                          native_.device_cap_flags_ex);
  }

  /// Returns the maximum size of a memory region, in bytes.
  [[nodiscard]] std::uint64_t max_memory_region_size() const noexcept {
    return original().max_mr_size;
  }
  /// Returns the page sizes that the device supports: bit n stands for 2^n bytes.
  [[nodiscard]] std::uint64_t page_sizes() const noexcept { return original().page_size_cap; }
  /// Returns the maximum number of memory regions.
  [[nodiscard]] std::uint32_t max_memory_regions() const noexcept { return at(original().max_mr); }
  /// Returns the maximum number of memory windows.
  [[nodiscard]] std::uint32_t max_memory_windows() const noexcept { return at(original().max_mw); }
  /// Returns the maximum number of protection domains.
  [[nodiscard]] std::uint32_t max_protection_domains() const noexcept {
    return at(original().max_pd);
  }

  /// Returns the maximum number of queue pairs.
  [[nodiscard]] std::uint32_t max_queue_pairs() const noexcept { return at(original().max_qp); }
  /// Returns the maximum number of work requests in one queue of a queue pair.
  [[nodiscard]] std::uint32_t max_work_requests() const noexcept {
    return at(original().max_qp_wr);
  }
  /// Returns the maximum number of scatter/gather elements in a work request.
  [[nodiscard]] std::uint32_t max_sge() const noexcept { return at(original().max_sge); }
  /// Returns the maximum number of scatter/gather elements in an RDMA read.
  [[nodiscard]] std::uint32_t max_sge_of_read() const noexcept { return at(original().max_sge_rd); }
  /// Returns the maximum reads and atomics in progress at one queue pair as the responder.
  [[nodiscard]] std::uint32_t max_destination_read_atomic() const noexcept {
    return at(original().max_qp_rd_atom);
  }
  /// Returns the maximum reads and atomics in progress at one queue pair as the requester.
  [[nodiscard]] std::uint32_t max_initiator_read_atomic() const noexcept {
    return at(original().max_qp_init_rd_atom);
  }
  /// Returns the maximum reads and atomics in progress at the whole device as the responder.
  [[nodiscard]] std::uint32_t max_responder_resources() const noexcept {
    return at(original().max_res_rd_atom);
  }
  /// Returns the scope in which atomic operations are atomic.
  [[nodiscard]] adverb::atomicity atomicity() const noexcept {
    return static_cast<adverb::atomicity>(original().atomic_cap);
  }
  /// Returns the atomic operations on PCI Express.
  [[nodiscard]] adverb::pci_atomics pci_atomics() const noexcept;

  /// Returns the maximum number of completion queues.
  [[nodiscard]] std::uint32_t max_completion_queues() const noexcept {
    return at(original().max_cq);
  }
  /// Returns the maximum number of entries in one completion queue.
  [[nodiscard]] std::uint32_t max_completion_queue_entries() const noexcept {
    return at(original().max_cqe);
  }

  /// Returns the maximum number of shared receive queues.
  [[nodiscard]] std::uint32_t max_shared_receive_queues() const noexcept {
    return at(original().max_srq);
  }
  /// Returns the maximum number of receives in one shared receive queue.
  [[nodiscard]] std::uint32_t max_shared_receive_queue_requests() const noexcept {
    return at(original().max_srq_wr);
  }
  /// Returns the maximum number of scatter elements of a receive in a shared receive queue.
  [[nodiscard]] std::uint32_t max_shared_receive_queue_sge() const noexcept {
    return at(original().max_srq_sge);
  }

  /// Returns the maximum number of address handles.
  [[nodiscard]] std::uint32_t max_address_handles() const noexcept { return at(original().max_ah); }
  /// Returns the maximum number of multicast groups.
  [[nodiscard]] std::uint32_t max_multicast_groups() const noexcept {
    return at(original().max_mcast_grp);
  }
  /// Returns the maximum number of queue pairs in one multicast group.
  [[nodiscard]] std::uint32_t max_queue_pairs_per_multicast_group() const noexcept {
    return at(original().max_mcast_qp_attach);
  }
  /// Returns the maximum number of queue pairs in all multicast groups together.
  [[nodiscard]] std::uint32_t max_multicast_attachments() const noexcept {
    return at(original().max_total_mcast_qp_attach);
  }
  /// Returns the maximum number of raw IPv6 queue pairs.
  [[nodiscard]] std::uint32_t max_raw_ipv6_queue_pairs() const noexcept {
    return at(original().max_raw_ipv6_qp);
  }
  /// Returns the maximum number of raw Ethertype queue pairs.
  [[nodiscard]] std::uint32_t max_raw_ethertype_queue_pairs() const noexcept {
    return at(original().max_raw_ethy_qp);
  }

  /// Returns the size of the P_Key tables.
  [[nodiscard]] std::uint32_t max_pkeys() const noexcept { return original().max_pkeys; }
  /// Returns the code of the longest delay from packet to acknowledgement, 4.096 us * 2^code.
  [[nodiscard]] std::uint8_t local_acknowledge_delay_code() const noexcept {
    return original().local_ca_ack_delay;
  }

  // Fields of the extended query: all 0 if the provider does not support it.

  /// Returns the support for on-demand paging (ODP).
  [[nodiscard]] adverb::on_demand_paging on_demand_paging() const noexcept;
  /// Returns the clock of `context.device_time()` and of completion timestamps, if the device
  /// reports its frequency.
  [[nodiscard]] std::optional<device_clock> clock() const noexcept;
  /// Returns the mask of the bits in a completion timestamp; 0 if completions have none.
  [[nodiscard]] std::uint64_t completion_timestamp_mask() const noexcept {
    return native_.completion_timestamp_mask;
  }
  /// Returns the limits of TCP segmentation offload.
  [[nodiscard]] adverb::segmentation_offload segmentation_offload() const noexcept;
  /// Returns the support for receive-side scaling.
  [[nodiscard]] adverb::receive_side_scaling receive_side_scaling() const noexcept;
  /// Returns the maximum number of work queues for receiving.
  [[nodiscard]] std::uint32_t max_work_queues() const noexcept { return native_.max_wq_type_rq; }
  /// Returns the limits of packet pacing.
  [[nodiscard]] adverb::packet_pacing packet_pacing() const noexcept;
  /// Returns the capabilities for raw packets.
  [[nodiscard]] raw_packet_capabilities raw_packets() const noexcept {
    return raw_packet_capabilities::from_bits(native_.raw_packet_caps);
  }
  /// Returns the limits of tag matching.
  [[nodiscard]] tag_matching_limits tag_matching() const noexcept;
  /// Returns the limits of completion moderation.
  [[nodiscard]] completion_moderation_limits completion_moderation() const noexcept {
    return {.max_count = native_.cq_mod_caps.max_cq_count,
            .max_period = native_.cq_mod_caps.max_cq_period};
  }
  /// Returns the total device memory that can be allocated, in bytes.
  [[nodiscard]] std::uint64_t max_device_memory_size() const noexcept {
    return native_.max_dm_size;
  }

  // Reliable datagrams and fast memory regions, from older specifications and kernels.

  /// Returns the maximum number of end-to-end contexts.
  [[nodiscard]] std::uint32_t max_ee_contexts() const noexcept { return at(original().max_ee); }
  /// Returns the maximum reads and atomics in progress at one end-to-end context as the responder.
  [[nodiscard]] std::uint32_t max_ee_destination_read_atomic() const noexcept {
    return at(original().max_ee_rd_atom);
  }
  /// Returns the maximum reads and atomics in progress at one end-to-end context as the requester.
  [[nodiscard]] std::uint32_t max_ee_initiator_read_atomic() const noexcept {
    return at(original().max_ee_init_rd_atom);
  }
  /// Returns the maximum number of reliable datagram domains.
  [[nodiscard]] std::uint32_t max_reliable_datagram_domains() const noexcept {
    return at(original().max_rdd);
  }
  /// Returns the maximum number of fast memory regions.
  [[nodiscard]] std::uint32_t max_fast_memory_regions() const noexcept {
    return at(original().max_fmr);
  }
  /// Returns the maximum number of mappings of one fast memory region.
  [[nodiscard]] std::uint32_t max_maps_per_fast_memory_region() const noexcept {
    return at(original().max_map_per_fmr);
  }

  [[nodiscard]] const ibv_device_attr_ex& native() const noexcept { return native_; }

 private:
  [[nodiscard]] const ibv_device_attr& original() const noexcept { return native_.orig_attr; }
  // The C API has these limits as int; none is negative.
  [[nodiscard]] static std::uint32_t at(int limit) noexcept {
    return static_cast<std::uint32_t>(limit);
  }

  ibv_device_attr_ex native_{};
};

}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/device/impl/device_attributes.ipp>
#endif
