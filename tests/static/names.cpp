// SPDX-License-Identifier: MIT
// The text of every enumerator, and of numbers that this version has no name for.
#include <cstddef>
#include <string_view>

#include <adverb/completion/extended_completion_queue.hpp>
#include <adverb/memory/memory_region.hpp>
#include <adverb/memory/memory_window.hpp>
#include <adverb/queue/completion_counter.hpp>

namespace {

using std::string_view;
using namespace adverb;

static_assert(string_view{to_text(port_state::no_change)} == "no change");
static_assert(string_view{to_text(port_state::down)} == "down");
static_assert(string_view{to_text(port_state::initializing)} == "initializing");
static_assert(string_view{to_text(port_state::armed)} == "armed");
static_assert(string_view{to_text(port_state::active)} == "active");
static_assert(string_view{to_text(port_state::active_deferred)} == "active (deferred)");
static_assert(string_view{to_text(port_state{6})} == "unknown (6)");

static_assert(string_view{to_text(link_layer::unspecified)} == "unspecified");
static_assert(string_view{to_text(link_layer::infiniband)} == "InfiniBand");
static_assert(string_view{to_text(link_layer::ethernet)} == "Ethernet");
static_assert(string_view{to_text(link_layer{3})} == "unknown (3)");

static_assert(bytes_of(mtu::bytes_256) == 256 && bytes_of(mtu::bytes_512) == 512);
static_assert(bytes_of(mtu::bytes_1024) == 1024 && bytes_of(mtu::bytes_2048) == 2048);
static_assert(bytes_of(mtu::bytes_4096) == 4096);
static_assert(bytes_of(mtu{0}) == 0 && bytes_of(mtu{6}) == 0);
static_assert(string_view{to_text(mtu::bytes_256)} == "256 bytes");
static_assert(string_view{to_text(mtu::bytes_4096)} == "4096 bytes");

static_assert(string_view{to_text(gid_type::infiniband)} == "InfiniBand");
static_assert(string_view{to_text(gid_type::roce_v1)} == "RoCE v1");
static_assert(string_view{to_text(gid_type::roce_v2)} == "RoCE v2");
static_assert(string_view{to_text(gid_type{3})} == "unknown (3)");

static_assert(string_view{to_text(transport_type::unknown)} == "unknown");
static_assert(string_view{to_text(transport_type::infiniband)} == "InfiniBand");
static_assert(string_view{to_text(transport_type::iwarp)} == "iWARP");
static_assert(string_view{to_text(transport_type::usnic)} == "usNIC");
static_assert(string_view{to_text(transport_type::usnic_udp)} == "usNIC UDP");
static_assert(string_view{to_text(transport_type::unspecified)} == "unspecified");
static_assert(string_view{to_text(transport_type{5})} == "unknown (5)");

static_assert(string_view{to_text(atomicity::none)} == "none");
static_assert(string_view{to_text(atomicity::within_device)} == "within the device");
static_assert(string_view{to_text(atomicity::with_processor)} == "with the processor too");
static_assert(string_view{to_text(atomicity{3})} == "unknown (3)");

static_assert(string_view{to_text(window_type::one)} == "type 1");
static_assert(string_view{to_text(window_type::two)} == "type 2");
static_assert(string_view{to_text(window_type{3})} == "unknown (3)");

static_assert(string_view{to_text(guid{0x5054'00ff'fe12'3456})} == "5054:00ff:fe12:3456");
static_assert(string_view{to_text(guid{})} == "0000:0000:0000:0000");

static_assert(string_view{to_text(completion_opcode::send)} == "send");
static_assert(string_view{to_text(completion_opcode::write)} == "write");
static_assert(string_view{to_text(completion_opcode::read)} == "read");
static_assert(string_view{to_text(completion_opcode::compare_and_swap)} == "compare and swap");
static_assert(string_view{to_text(completion_opcode::fetch_and_add)} == "fetch and add");
static_assert(string_view{to_text(completion_opcode::bind_window)} == "bind window");
static_assert(string_view{to_text(completion_opcode::local_invalidate)} == "local invalidate");
static_assert(string_view{to_text(completion_opcode::tcp_segmentation)} == "TCP segmentation");
static_assert(string_view{to_text(completion_opcode::flush)} == "flush");
static_assert(string_view{to_text(completion_opcode::atomic_write)} == "atomic write");
static_assert(string_view{to_text(completion_opcode::receive)} == "receive");
static_assert(string_view{to_text(completion_opcode::receive_write_with_immediate)} ==
              "receive of write with immediate");
static_assert(string_view{to_text(completion_opcode::tag_addition)} == "tag addition");
static_assert(string_view{to_text(completion_opcode::tag_deletion)} == "tag deletion");
static_assert(string_view{to_text(completion_opcode::tag_synchronization)} ==
              "tag synchronization");
static_assert(string_view{to_text(completion_opcode::receive_tagged)} ==
              "receive with tag matching");
static_assert(string_view{to_text(completion_opcode::receive_without_tag)} ==
              "receive without tag");
static_assert(string_view{to_text(completion_opcode::driver_1)} == "driver 1");
static_assert(string_view{to_text(completion_opcode::driver_2)} == "driver 2");
static_assert(string_view{to_text(completion_opcode::driver_3)} == "driver 3");
static_assert(static_cast<int>(completion_opcode::driver_1) == IBV_WC_DRIVER1);
static_assert(string_view{to_text(completion_opcode{77})} == "unknown (77)");

static_assert(string_view{to_text(standard_completion_fields)} ==
              "byte_length|immediate|queue_pair|source_queue_pair|source_lid|service_level|"
              "path_bits");
static_assert(string_view{to_text(completion_field::timestamp | completion_field::vlan |
                                  completion_field::flow_tag | completion_field::tag_matching |
                                  completion_field::wall_clock)} ==
              "timestamp|vlan|flow_tag|tag_matching|wall_clock");
static_assert(string_view{to_text(completion_fields::from_bits(1U << 12))} == "0x1000");
static_assert(string_view{to_text(device_ticks{12345})} == "12345");
static_assert(string_view{to_text(wall_clock_nanoseconds{12345})} == "12345");
static_assert(string_view{to_text(vlan_tag{0x64})} == "0x0064");
static_assert(string_view{to_text(flow_tag{0xabc})} == "0xabc");
static_assert(string_view{to_text(protection_domain_handle{7})} == "7");
static_assert(string_view{to_text(memory_region_handle{8})} == "8");
static_assert(string_view{to_text(device_memory_handle{9})} == "9");

static_assert(string_view{to_text(completion_status_class::success)} == "success");
static_assert(string_view{to_text(completion_status_class::local)} == "local");
static_assert(string_view{to_text(completion_status_class::remote)} == "remote");
static_assert(string_view{to_text(completion_status_class::transport)} == "transport");
static_assert(string_view{to_text(completion_status_class::flushed)} == "flushed");
static_assert(string_view{to_text(completion_status_class{9})} == "unknown (9)");

static_assert(name_of(object_kind::context) == "context");
static_assert(name_of(object_kind::protection_domain) == "protection domain");
static_assert(name_of(object_kind::thread_domain) == "thread domain");
static_assert(name_of(object_kind::memory_region) == "memory region");
static_assert(name_of(object_kind::memory_window) == "memory window");
static_assert(name_of(object_kind::device_memory) == "device memory");
static_assert(name_of(object_kind::provider_buffer) == "provider buffer");
static_assert(name_of(object_kind::dma_handle) == "DMA handle");
static_assert(name_of(object_kind::completion_counter) == "completion counter");
static_assert(name_of(object_kind::completion_channel) == "completion channel");
static_assert(name_of(object_kind::completion_queue) == "completion queue");
static_assert(name_of(object_kind::address_handle) == "address handle");
static_assert(name_of(object_kind::xrc_domain) == "XRC domain");
static_assert(name_of(object_kind::shared_receive_queue) == "shared receive queue");
static_assert(name_of(object_kind::work_queue) == "work queue");
static_assert(name_of(object_kind::indirection_table) == "indirection table");
static_assert(name_of(object_kind::counters) == "counter set");
static_assert(name_of(object_kind::flow_action) == "flow action");
static_assert(name_of(object_kind::flow) == "flow");
static_assert(name_of(object_kind::queue_pair) == "queue pair");
static_assert(name_of(object_kind::multicast_attachment) == "multicast attachment");
static_assert(name_of(object_kind::completion_reservation) == "completion reservation");

static_assert(string_view{to_text(hinted_memory::persistent_memory)} == "persistent_memory");
static_assert(string_view{to_text(counted_completions::work_requests)} == "work_requests");
static_assert(string_view{to_text(counted_completions::bytes)} == "bytes");
static_assert(string_view{to_text(counted_operation::send | counted_operation::remote_write)} ==
              "send|remote_write");
static_assert(string_view{to_text(counted_operations::from_bits(1U << 9U))} == "0x200");

static_assert(detail::kind_of<ibv_context> == object_kind::context);
static_assert(detail::kind_of<ibv_pd> == object_kind::protection_domain);
static_assert(detail::kind_of<ibv_td> == object_kind::thread_domain);
static_assert(detail::kind_of<ibv_mr> == object_kind::memory_region);
static_assert(detail::kind_of<ibv_mw> == object_kind::memory_window);
static_assert(detail::kind_of<ibv_dm> == object_kind::device_memory);
static_assert(detail::kind_of<ibv_comp_channel> == object_kind::completion_channel);
static_assert(detail::kind_of<ibv_cq> == object_kind::completion_queue);
static_assert(detail::kind_of<ibv_ah> == object_kind::address_handle);
static_assert(detail::kind_of<ibv_xrcd> == object_kind::xrc_domain);
static_assert(detail::kind_of<ibv_srq> == object_kind::shared_receive_queue);
static_assert(detail::kind_of<ibv_wq> == object_kind::work_queue);
static_assert(detail::kind_of<ibv_rwq_ind_table> == object_kind::indirection_table);
static_assert(detail::kind_of<ibv_counters> == object_kind::counters);
static_assert(detail::kind_of<ibv_flow_action> == object_kind::flow_action);
static_assert(detail::kind_of<ibv_flow> == object_kind::flow);
static_assert(detail::kind_of<ibv_qp> == object_kind::queue_pair);
static_assert(detail::kind_of<ibv_cq_ex> == object_kind::completion_queue);

// Every kind has a place in the table of live children.
static_assert(name_of(static_cast<object_kind>(detail::object_kinds)) == "object");
static_assert(name_of(static_cast<object_kind>(detail::object_kinds - 1)) != "object");

// Each optional verb stands in the table once, in order, before its feature. One pass: Clang 14
// limits the steps of an evaluation.
constexpr bool verbs_are_in_order() {
  string_view rest = detail::optional_verbs;
  string_view before;
  while (!rest.empty()) {
    const string_view verb = detail::take_listed_name(rest);
    if (verb <= before || detail::take_listed_name(rest).empty()) return false;
    before = verb;
  }
  return before == "ibv_set_ece";
}
static_assert(verbs_are_in_order());
static_assert(detail::feature_of("ibv_alloc_dm") == "device memory");
static_assert(detail::feature_of("ibv_advise_mr") == "advice about memory (on-demand paging)");
static_assert(detail::feature_of("ibv_set_ece") == "enhanced connection establishment (ECE)");
static_assert(detail::feature_of("ibv_alloc_pd").empty() && detail::feature_of("").empty());

}  // namespace
