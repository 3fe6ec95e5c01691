// SPDX-License-Identifier: MIT
#pragma once

#include <adverb/device/device_attributes.hpp>

namespace adverb::inline ADVERB_ABI {

ADVERB_FUNC adverb::pci_atomics device_attributes::pci_atomics() const noexcept {
  const ibv_pci_atomic_caps& sizes = native_.pci_atomic_caps;
  return {.fetch_and_add = pci_atomic_sizes::from_bits(sizes.fetch_add),
          .swap = pci_atomic_sizes::from_bits(sizes.swap),
          .compare_and_swap = pci_atomic_sizes::from_bits(sizes.compare_swap)};
}

ADVERB_FUNC adverb::on_demand_paging device_attributes::on_demand_paging() const noexcept {
  const ibv_odp_caps& paging = native_.odp_caps;
  return {.features = paging_features::from_bits(paging.general_caps),
          .rc = paged_operations::from_bits(paging.per_transport_caps.rc_odp_caps),
          .uc = paged_operations::from_bits(paging.per_transport_caps.uc_odp_caps),
          .ud = paged_operations::from_bits(paging.per_transport_caps.ud_odp_caps),
          .xrc = paged_operations::from_bits(native_.xrc_odp_caps)};
}

ADVERB_FUNC std::optional<device_clock> device_attributes::clock() const noexcept {
  if (native_.hca_core_clock == 0) return std::nullopt;
  return device_clock{native_.hca_core_clock, native_.completion_timestamp_mask};
}

ADVERB_FUNC adverb::segmentation_offload device_attributes::segmentation_offload() const noexcept {
  return {.max_message_size = native_.tso_caps.max_tso,
          .transports = transport_set::from_bits(native_.tso_caps.supported_qpts)};
}

ADVERB_FUNC adverb::receive_side_scaling device_attributes::receive_side_scaling() const noexcept {
  const ibv_rss_caps& scaling = native_.rss_caps;
  return {.transports = transport_set::from_bits(scaling.supported_qpts),
          .max_indirection_tables = scaling.max_rwq_indirection_tables,
          .max_indirection_table_size = scaling.max_rwq_indirection_table_size,
          .fields = hash_fields::from_bits(scaling.rx_hash_fields_mask),
          .functions = hash_functions::from_bits(scaling.rx_hash_function)};
}

ADVERB_FUNC adverb::packet_pacing device_attributes::packet_pacing() const noexcept {
  const ibv_packet_pacing_caps& pacing = native_.packet_pacing_caps;
  return {.min_rate = pacing.qp_rate_limit_min,
          .max_rate = pacing.qp_rate_limit_max,
          .transports = transport_set::from_bits(pacing.supported_qpts)};
}

ADVERB_FUNC tag_matching_limits device_attributes::tag_matching() const noexcept {
  const ibv_tm_caps& matching = native_.tm_caps;
  return {.max_rendezvous_header_size = matching.max_rndv_hdr_size,
          .max_tags = matching.max_num_tags,
          .max_operations = matching.max_ops,
          .max_sge = matching.max_sge,
          .capabilities = tag_matching_capabilities::from_bits(matching.flags)};
}

}  // namespace adverb::inline ADVERB_ABI
