// SPDX-License-Identifier: MIT
// Lists what the RDMA devices of this machine are and can do: a readable ibv_devinfo.
#include <array>
#include <cinttypes>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include <net/if.h>

#include <adverb/adverb.hpp>

#include "common/command_line.hpp"

namespace {

using adverb::device_attributes;
using adverb::port_attributes;

// Text of values.

std::string shown(std::unsigned_integral auto number) { return std::to_string(number); }
std::string shown(std::string_view text) { return std::string{text}; }
std::string shown(const adverb::has_text auto& value) { return to_string(value); }

constexpr int name_width = 38;

/// The bits of a set, one below the other.
template <class Flag>
std::string shown(adverb::flags<Flag> set) {
  const std::string next_line = '\n' + std::string(4 + name_width + 1, ' ');
  std::string text = to_string(set);
  for (std::size_t bar = text.find('|'); bar != std::string::npos; bar = text.find('|', bar))
    text.replace(bar, 1, next_line);
  return text;
}

/// A line: its name, and the function that returns its value.
template <class Source>
struct row {
  const char* name;
  std::string (*value)(const Source&);
};

// Values that consist of several parts.

/// Returns the sizes whose bits are set: "2^12 2^21".
std::string page_sizes(const device_attributes& device) {
  std::string list;
  for (unsigned power = 0; power < 64; ++power)
    if ((device.page_sizes() >> power & 1) != 0)
      list += (list.empty() ? "2^" : " 2^") + std::to_string(power);
  return list;
}

std::string base16(std::uint64_t number) {
  std::array<char, 24> text{};
  std::snprintf(text.data(), text.size(), "0x%" PRIx64, number);
  return text.data();
}

std::string device_index(const adverb::context& device) {
  const auto index = device.device().index();
  return index ? std::to_string(*index) : "none";
}

std::string clock_rate(const device_attributes& device) {
  const auto clock = device.clock();
  return clock ? std::to_string(clock->kilohertz()) + " kHz" : "none";
}

std::string link(const port_attributes& port) {
  return shown(port.active_width()) + " " + shown(port.active_speed()) + ", " +
         shown(port.link_megabits()) + " Mbit/s";
}

std::string packet_size(const port_attributes& port) {
  return shown(port.active_mtu()) + " of " + shown(port.max_mtu());
}

constexpr row<adverb::context> context_rows[] = {
    {"node type", [](auto& d) { return shown(d.device().node_type()); }},
    {"transport", [](auto& d) { return shown(d.device().transport_type()); }},
    {"character device", [](auto& d) { return shown(d.device().character_device()); }},
    {"index", [](auto& d) { return device_index(d); }},
    {"completion vectors", [](auto& d) { return shown(d.completion_vectors()); }},
};

constexpr row<device_attributes> identity_rows[] = {
    {"firmware", [](auto& d) { return shown(d.firmware_version()); }},
    {"node GUID", [](auto& d) { return shown(d.node_guid()); }},
    {"system image GUID", [](auto& d) { return shown(d.system_image_guid()); }},
    {"vendor", [](auto& d) { return base16(d.vendor_id()); }},
    {"part", [](auto& d) { return shown(d.vendor_part_id()); }},
    {"hardware version", [](auto& d) { return base16(d.hardware_version()); }},
    {"ports", [](auto& d) { return shown(d.physical_ports()); }},
};

constexpr row<device_attributes> capability_rows[] = {
    {"device", [](auto& d) { return shown(d.capabilities()); }},
    {"page sizes", [](auto& d) { return page_sizes(d); }},
    {"atomic operations", [](auto& d) { return shown(d.atomicity()); }},
    {"PCI fetch and add", [](auto& d) { return shown(d.pci_atomics().fetch_and_add); }},
    {"PCI swap", [](auto& d) { return shown(d.pci_atomics().swap); }},
    {"PCI compare and swap", [](auto& d) { return shown(d.pci_atomics().compare_and_swap); }},
    {"raw packets", [](auto& d) { return shown(d.raw_packets()); }},
    {"clock", [](auto& d) { return clock_rate(d); }},
    {"completion timestamp mask", [](auto& d) { return base16(d.completion_timestamp_mask()); }},
    {"code of the acknowledge delay",
     [](auto& d) { return shown(d.local_acknowledge_delay_code()); }},
};

constexpr row<device_attributes> paging_rows[] = {
    {"on-demand paging", [](auto& d) { return shown(d.on_demand_paging().features); }},
    {"of RC", [](auto& d) { return shown(d.on_demand_paging().rc); }},
    {"of UC", [](auto& d) { return shown(d.on_demand_paging().uc); }},
    {"of UD", [](auto& d) { return shown(d.on_demand_paging().ud); }},
    {"of XRC", [](auto& d) { return shown(d.on_demand_paging().xrc); }},
};

constexpr row<device_attributes> offload_rows[] = {
    {"segmentation of messages",
     [](auto& d) { return shown(d.segmentation_offload().transports); }},
    {"bytes in such a message",
     [](auto& d) { return shown(d.segmentation_offload().max_message_size); }},
    {"receive-side scaling", [](auto& d) { return shown(d.receive_side_scaling().transports); }},
    {"hash functions", [](auto& d) { return shown(d.receive_side_scaling().functions); }},
    {"hash fields", [](auto& d) { return shown(d.receive_side_scaling().fields); }},
    {"indirection tables",
     [](auto& d) { return shown(d.receive_side_scaling().max_indirection_tables); }},
    {"work queues in a table",
     [](auto& d) { return shown(d.receive_side_scaling().max_indirection_table_size); }},
    {"work queues for receiving", [](auto& d) { return shown(d.max_work_queues()); }},
    {"packet pacing", [](auto& d) { return shown(d.packet_pacing().transports); }},
    {"kbit/s, at least", [](auto& d) { return shown(d.packet_pacing().min_rate); }},
    {"kbit/s, at most", [](auto& d) { return shown(d.packet_pacing().max_rate); }},
    {"tag matching", [](auto& d) { return shown(d.tag_matching().capabilities); }},
    {"tags", [](auto& d) { return shown(d.tag_matching().max_tags); }},
    {"operations on tags", [](auto& d) { return shown(d.tag_matching().max_operations); }},
    {"elements in a tagged receive", [](auto& d) { return shown(d.tag_matching().max_sge); }},
    {"bytes in a rendezvous header",
     [](auto& d) { return shown(d.tag_matching().max_rendezvous_header_size); }},
    {"moderated completions", [](auto& d) { return shown(d.completion_moderation().max_count); }},
    {"microseconds of moderation",
     [](auto& d) { return shown(d.completion_moderation().max_period); }},
};

constexpr row<device_attributes> limit_rows[] = {
    {"queue pairs", [](auto& d) { return shown(d.max_queue_pairs()); }},
    {"work requests in a queue", [](auto& d) { return shown(d.max_work_requests()); }},
    {"elements in a work request", [](auto& d) { return shown(d.max_sge()); }},
    {"elements in an RDMA read", [](auto& d) { return shown(d.max_sge_of_read()); }},
    {"reads and atomics at once, to a pair",
     [](auto& d) { return shown(d.max_destination_read_atomic()); }},
    {"reads and atomics at once, from a pair",
     [](auto& d) { return shown(d.max_initiator_read_atomic()); }},
    {"reads and atomics at once, in all",
     [](auto& d) { return shown(d.max_responder_resources()); }},
    {"completion queues", [](auto& d) { return shown(d.max_completion_queues()); }},
    {"completions in a queue", [](auto& d) { return shown(d.max_completion_queue_entries()); }},
    {"memory regions", [](auto& d) { return shown(d.max_memory_regions()); }},
    {"bytes in a memory region", [](auto& d) { return shown(d.max_memory_region_size()); }},
    {"memory windows", [](auto& d) { return shown(d.max_memory_windows()); }},
    {"bytes of device memory", [](auto& d) { return shown(d.max_device_memory_size()); }},
    {"protection domains", [](auto& d) { return shown(d.max_protection_domains()); }},
    {"address handles", [](auto& d) { return shown(d.max_address_handles()); }},
    {"shared receive queues", [](auto& d) { return shown(d.max_shared_receive_queues()); }},
    {"receives in a shared queue",
     [](auto& d) { return shown(d.max_shared_receive_queue_requests()); }},
    {"elements in a shared receive",
     [](auto& d) { return shown(d.max_shared_receive_queue_sge()); }},
    {"multicast groups", [](auto& d) { return shown(d.max_multicast_groups()); }},
    {"queue pairs in a multicast group",
     [](auto& d) { return shown(d.max_queue_pairs_per_multicast_group()); }},
    {"multicast attachments", [](auto& d) { return shown(d.max_multicast_attachments()); }},
    {"raw IPv6 queue pairs", [](auto& d) { return shown(d.max_raw_ipv6_queue_pairs()); }},
    {"raw Ethertype queue pairs", [](auto& d) { return shown(d.max_raw_ethertype_queue_pairs()); }},
    {"partition keys", [](auto& d) { return shown(d.max_pkeys()); }},
    {"EE contexts", [](auto& d) { return shown(d.max_ee_contexts()); }},
    {"reads and atomics, to an EE context",
     [](auto& d) { return shown(d.max_ee_destination_read_atomic()); }},
    {"reads and atomics, from an EE context",
     [](auto& d) { return shown(d.max_ee_initiator_read_atomic()); }},
    {"reliable datagram domains", [](auto& d) { return shown(d.max_reliable_datagram_domains()); }},
    {"fast memory regions", [](auto& d) { return shown(d.max_fast_memory_regions()); }},
    {"maps of a fast memory region",
     [](auto& d) { return shown(d.max_maps_per_fast_memory_region()); }},
};

constexpr row<port_attributes> port_rows[] = {
    {"state", [](auto& d) { return shown(d.state()); }},
    {"physical state", [](auto& d) { return shown(d.physical_state()); }},
    {"link layer", [](auto& d) { return shown(d.link_layer()); }},
    {"MTU", [](auto& d) { return packet_size(d); }},
    {"link", [](auto& d) { return link(d); }},
    {"LID", [](auto& d) { return shown(d.lid()); }},
    {"partition keys", [](auto& d) { return shown(d.pkey_table_length()); }},
    {"GIDs, at most", [](auto& d) { return shown(d.gid_table_length()); }},
};

constexpr row<port_attributes> more_port_rows[] = {
    {"capabilities", [](auto& d) { return shown(d.capabilities()); }},
    {"largest message", [](auto& d) { return shown(d.max_message_size()); }},
    {"LID mask control", [](auto& d) { return shown(d.lid_mask_control()); }},
    {"LID of the subnet manager", [](auto& d) { return shown(d.subnet_manager_lid()); }},
    {"service level of the subnet manager",
     [](auto& d) { return shown(d.subnet_manager_service_level()); }},
    {"code of the subnet timeout", [](auto& d) { return shown(d.subnet_timeout_code()); }},
    {"initialization type reply", [](auto& d) { return shown(d.initialization_type_reply()); }},
    {"virtual lanes", [](auto& d) { return shown(d.virtual_lanes()); }},
    {"packets with a bad partition key", [](auto& d) { return shown(d.bad_pkey_counter()); }},
    {"packets with a bad queue key",
     [](auto& d) { return shown(d.queue_key_violation_counter()); }},
};

void print(const char* name, const std::string& value) {
  std::printf("    %-*s %s\n", name_width, name, value.c_str());
}

template <class Source, std::size_t Count>
void print(const row<Source> (&rows)[Count], const Source& source) {
  for (const row<Source>& each : rows) print(each.name, each.value(source));
}

std::string interface_of(const adverb::gid_entry& entry) {
  std::array<char, IF_NAMESIZE> name{};
  if (::if_indextoname(entry.network_interface(), name.data()) == nullptr) return {};
  return std::string{" on "} + name.data();
}

void show_port(const adverb::context& device, adverb::port_number number, bool everything) {
  const port_attributes port = device.query_port(number);
  std::printf("  port %s\n", to_string(number).c_str());
  print(port_rows, port);
  print("first partition key", to_string(device.pkey(number, adverb::pkey_index{0})));
  for (const adverb::gid_entry& entry : device.gid_table())
    if (entry.port() == number)
      print(("GID " + to_string(entry.index())).c_str(),
            to_string(entry.gid()) + ", " + to_string(entry.type()) + interface_of(entry));
  if (everything) print(more_port_rows, port);
}

void show(const adverb::context& device, bool everything) {
  const device_attributes attributes = device.query_device();
  std::printf("%s\n", std::string{device.device().name()}.c_str());
  print(context_rows, device);
  print(identity_rows, attributes);
  for (std::uint32_t port = 1; port <= attributes.physical_ports(); ++port)
    show_port(device, static_cast<adverb::port_number>(port), everything);
  if (!everything) return;
  std::printf("  capabilities\n");
  print(capability_rows, attributes);
  print(paging_rows, attributes);
  print(offload_rows, attributes);
  std::printf("  at most\n");
  print(limit_rows, attributes);
}

void show_devices(const std::string& name, bool everything) {
  const adverb::device_list devices;
  // If there is no such device, the exception lists those that exist.
  if (!name.empty() || devices.empty()) return show(adverb::open_device(name), everything);
  for (const adverb::device_ref device : devices) show(adverb::context{device}, everything);
}

}  // namespace

int main(int argc, char** argv) {
  examples::command_line arguments{
      "Lists the RDMA devices of this machine, with their attributes and capabilities.", "devices"};
  std::string name;
  bool everything = false;
  arguments.add_text("DEVICE", name, "Only this one");
  arguments.add_flag("-v,--verbose", everything, "Every attribute, capability and limit");
  return examples::run(arguments, argc, argv, [&] { show_devices(name, everything); });
}
