// SPDX-License-Identifier: MIT
// The text of every enumerator, and of numbers that this version has no name for.
#include <string_view>

#include <adverb/completion/completion_queue.hpp>
#include <adverb/memory/memory_region.hpp>

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
static_assert(string_view{to_text(completion_opcode{77})} == "unknown (77)");

static_assert(name_of(object_kind::context) == "context");
static_assert(name_of(object_kind::protection_domain) == "protection domain");
static_assert(name_of(object_kind::memory_region) == "memory region");
static_assert(name_of(object_kind::completion_channel) == "completion channel");
static_assert(name_of(object_kind::completion_queue) == "completion queue");
static_assert(name_of(object_kind::address_handle) == "address handle");
static_assert(name_of(object_kind::queue_pair) == "queue pair");

static_assert(detail::kind_of<ibv_context> == object_kind::context);
static_assert(detail::kind_of<ibv_pd> == object_kind::protection_domain);
static_assert(detail::kind_of<ibv_mr> == object_kind::memory_region);
static_assert(detail::kind_of<ibv_comp_channel> == object_kind::completion_channel);
static_assert(detail::kind_of<ibv_cq> == object_kind::completion_queue);
static_assert(detail::kind_of<ibv_ah> == object_kind::address_handle);
static_assert(detail::kind_of<ibv_qp> == object_kind::queue_pair);

// Every kind has a place in the table of live children.
static_assert(name_of(static_cast<object_kind>(detail::object_kinds)) == "object");
static_assert(name_of(static_cast<object_kind>(detail::object_kinds - 1)) != "object");

}  // namespace
