// SPDX-License-Identifier: MIT
// The attributes of a device in the extended query, read from a C struct in which each field
// differs; and the names of every capability.
#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include <adverb/device/device_attributes.hpp>
#include <adverb/device/port.hpp>
#include <support/catch.hpp>

namespace {

using namespace adverb;

constexpr std::uint32_t set_of(ibv_qp_type type) { return 1U << type; }

/// The names of the bits of a set, all different; the count of them.
template <class Flag>
std::size_t count_names() {
  using bits_type = typename flags<Flag>::bits_type;
  std::set<std::string_view> names;
  std::size_t count = 0;
  for (bits_type bit = 1; bit != 0; bit = static_cast<bits_type>(bit << 1)) {
    const std::string_view name = flag_name(static_cast<Flag>(bit));
    if (name.empty()) continue;
    ++count;
    CHECK(names.insert(name).second);
  }
  return count;
}

}  // namespace

TEST_CASE("each extended attribute is read from its own field") {
  ibv_device_attr_ex native{};
  native.orig_attr.phys_port_cnt = 1;
  native.orig_attr.max_raw_ipv6_qp = 2;
  native.orig_attr.max_raw_ethy_qp = 3;
  native.orig_attr.max_ee = 4;
  native.orig_attr.max_ee_rd_atom = 5;
  native.orig_attr.max_ee_init_rd_atom = 6;
  native.orig_attr.max_rdd = 7;
  native.orig_attr.max_fmr = 8;
  native.orig_attr.max_map_per_fmr = 9;
  native.odp_caps.general_caps = IBV_ODP_SUPPORT;
  native.odp_caps.per_transport_caps = {IBV_ODP_SUPPORT_SEND, IBV_ODP_SUPPORT_RECV,
                                        IBV_ODP_SUPPORT_WRITE};
  native.xrc_odp_caps = IBV_ODP_SUPPORT_SRQ_RECV;
  native.completion_timestamp_mask = 0xffff;
  native.hca_core_clock = 1000;
  native.device_cap_flags_ex = IBV_DEVICE_RAW_SCATTER_FCS;
  native.orig_attr.device_cap_flags = IBV_DEVICE_MEM_WINDOW;
  native.tso_caps = {10, set_of(IBV_QPT_UD)};
  native.rss_caps.supported_qpts = set_of(IBV_QPT_RAW_PACKET);
  native.rss_caps.max_rwq_indirection_tables = 11;
  native.rss_caps.max_rwq_indirection_table_size = 12;
  native.rss_caps.rx_hash_fields_mask = 0x8000'0001;
  native.rss_caps.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ;
  native.max_wq_type_rq = 13;
  native.packet_pacing_caps = {14, 15, set_of(IBV_QPT_RC)};
  native.raw_packet_caps = IBV_RAW_PACKET_CAP_IP_CSUM;
  native.tm_caps = {16, 17, IBV_TM_CAP_RC, 18, 19};
  native.cq_mod_caps = {20, 21};
  native.max_dm_size = 22;
  native.pci_atomic_caps = {1, 2, 4};
  native.phys_port_cnt_ex = 300;

  const device_attributes device{native};
  CHECK(device.physical_ports() == 300);
  CHECK(device.max_raw_ipv6_queue_pairs() == 2);
  CHECK(device.max_raw_ethertype_queue_pairs() == 3);
  CHECK(device.max_ee_contexts() == 4);
  CHECK(device.max_ee_destination_read_atomic() == 5);
  CHECK(device.max_ee_initiator_read_atomic() == 6);
  CHECK(device.max_reliable_datagram_domains() == 7);
  CHECK(device.max_fast_memory_regions() == 8);
  CHECK(device.max_maps_per_fast_memory_region() == 9);

  const on_demand_paging paging = device.on_demand_paging();
  CHECK(paging.features == paging_feature::explicit_registration);
  CHECK(paging.operations(transport::rc) == paged_operation::send);
  CHECK(paging.operations(transport::uc) == paged_operation::receive);
  CHECK(paging.operations(transport::ud) == paged_operation::write);
  CHECK(paging.operations(transport::xrc_send) == paged_operation::shared_receive);
  CHECK(paging.operations(transport::xrc_recv) == paged_operation::shared_receive);
  CHECK(paging.operations(transport::raw_packet).empty());
  CHECK(paging.operations(transport::driver).empty());

  CHECK(device.completion_timestamp_mask() == 0xffff);
  REQUIRE(device.clock());
  CHECK(*device.clock() == device_clock{1000, 0xffff});
  CHECK(device.capabilities() ==
        (device_capability::memory_windows | device_capability::raw_scatter_frame_checksum));

  CHECK(device.segmentation_offload() ==
        segmentation_offload{10, transport_set::from_bits(set_of(IBV_QPT_UD))});
  CHECK(device.receive_side_scaling() ==
        receive_side_scaling{transport_set::from_bits(set_of(IBV_QPT_RAW_PACKET)), 11, 12,
                             hash_field::source_ipv4 | hash_field::inner, hash_function::toeplitz});
  CHECK(device.max_work_queues() == 13);
  CHECK(device.packet_pacing() ==
        packet_pacing{14, 15, transport_set::from_bits(set_of(IBV_QPT_RC))});
  CHECK(device.raw_packets() == raw_packet_capability::ip_checksum);
  CHECK(device.tag_matching() == tag_matching_limits{16, 17, 18, 19, tag_matching_capability::rc});
  CHECK(device.completion_moderation() == completion_moderation_limits{20, 21});
  CHECK(device.max_device_memory_size() == 22);
  CHECK(device.pci_atomics() ==
        pci_atomics{pci_atomic_size::bytes_4, pci_atomic_size::bytes_8, pci_atomic_size::bytes_16});
}

TEST_CASE("a device without extended attributes returns empty values") {
  ibv_device_attr_ex native{};
  native.orig_attr.phys_port_cnt = 2;
  const device_attributes device{native};
  CHECK(device.physical_ports() == 2);
  CHECK_FALSE(device.clock());
  CHECK(device.on_demand_paging() == on_demand_paging{});
  CHECK(device.segmentation_offload().transports.empty());
  CHECK(device.pci_atomics() == pci_atomics{});
}

TEST_CASE("every capability has a unique name") {
  CHECK(count_names<device_capability>() == 29);
  CHECK(count_names<port_capability>() == 32);
  CHECK(count_names<paging_feature>() == 2);
  CHECK(count_names<paged_operation>() == 8);
  CHECK(count_names<hash_field>() == 10);
  CHECK(count_names<hash_function>() == 1);
  CHECK(count_names<raw_packet_capability>() == 4);
  CHECK(count_names<tag_matching_capability>() == 1);
  CHECK(count_names<pci_atomic_size>() == 3);
}

TEST_CASE("capabilities that the oldest headers lack have the kernel's numbers") {
  CHECK(static_cast<std::uint64_t>(device_capability::flush_global) == 1ULL << 38);
  CHECK(static_cast<std::uint64_t>(device_capability::flush_persistent) == 1ULL << 39);
  CHECK(static_cast<std::uint64_t>(device_capability::atomic_write) == 1ULL << 40);
  CHECK(static_cast<std::uint64_t>(port_capability::link_speed_ndr) >> 32 ==
        IBV_PORT_LINK_SPEED_NDR_SUP);
}

TEST_CASE("elapsed converts clock ticks to time and rounds up") {
  using namespace std::chrono_literals;
  using std::chrono::microseconds;
  using std::chrono::nanoseconds;
  constexpr device_clock slow{1000, 0};  // One tick a microsecond.
  STATIC_REQUIRE(slow.elapsed<nanoseconds>(device_ticks{5}, device_ticks{8}) == 3us);
  CHECK(slow.kilohertz() == 1000);
  constexpr device_clock fast{156'250, 0};  // One tick in 6.4 ns.
  CHECK(fast.elapsed<nanoseconds>(device_ticks{0}, device_ticks{10}) == 64ns);
  CHECK(fast.elapsed<microseconds>(device_ticks{0}, device_ticks{10}) == 1us);
  // A year does not overflow.
  constexpr std::uint64_t year = std::uint64_t{365} * 24 * 3600 * 156'250'000;
  CHECK(fast.elapsed<std::chrono::hours>(device_ticks{0}, device_ticks{year}) == 365 * 24h);
  CHECK(to_string(device_ticks{77}) == "77");
}

TEST_CASE("elapsed is correct if the clock wrapped around once") {
  using namespace std::chrono_literals;
  constexpr device_clock narrow{1000, 0xffff};
  CHECK(narrow.elapsed<std::chrono::nanoseconds>(device_ticks{0xfff0}, device_ticks{0x10}) == 32us);
  constexpr device_clock wide{1000, 0};
  CHECK(wide.elapsed<std::chrono::nanoseconds>(device_ticks{~std::uint64_t{0}}, device_ticks{1}) ==
        2us);
}
