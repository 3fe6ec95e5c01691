// SPDX-License-Identifier: MIT
// Tells what the RDMA devices of this machine are and can do: ibv_devinfo -v, to be read.
#include <array>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <string>

#include <net/if.h>

#include <adverb/adverb.hpp>

#include "common/run.hpp"

namespace {

void row(const char* name, const std::string& value) {
  std::printf("    %-38s %s\n", name, value.c_str());
}
void row(const char* name, std::uint64_t value) { row(name, std::to_string(value)); }

/// The sizes whose bits are set: "2^12 2^21".
std::string page_sizes(std::uint64_t bits) {
  std::string list;
  for (unsigned power = 0; power < 64; ++power)
    if ((bits >> power & 1) != 0) list += (list.empty() ? "2^" : " 2^") + std::to_string(power);
  return list;
}

void show_identity(const adverb::device_attributes& device) {
  row("firmware", std::string{device.firmware_version()});
  row("node GUID", to_string(device.node_guid()));
  row("system image GUID", to_string(device.system_image_guid()));
  row("vendor, part, hardware version", std::to_string(device.vendor_id()) + ", " +
                                            std::to_string(device.vendor_part_id()) + ", " +
                                            std::to_string(device.hardware_version()));
  row("ports", device.physical_ports());
}

void show_limits(const adverb::device_attributes& device) {
  std::printf("  at most\n");
  row("queue pairs", device.max_queue_pairs());
  row("work requests in a queue", device.max_work_requests());
  row("elements in a work request", device.max_sge());
  row("elements in an RDMA read", device.max_sge_of_read());
  row("reads and atomics at once, to a pair", device.max_destination_read_atomic());
  row("reads and atomics at once, from a pair", device.max_initiator_read_atomic());
  row("reads and atomics at once, in all", device.max_responder_resources());
  row("completion queues", device.max_completion_queues());
  row("completions in a queue", device.max_completion_queue_entries());
  row("memory regions", device.max_memory_regions());
  row("bytes in a memory region", device.max_memory_region_size());
  row("memory windows", device.max_memory_windows());
  row("protection domains", device.max_protection_domains());
  row("address handles", device.max_address_handles());
  row("shared receive queues", device.max_shared_receive_queues());
  row("receives in a shared queue", device.max_shared_receive_queue_requests());
  row("elements in a shared receive", device.max_shared_receive_queue_sge());
  row("multicast groups", device.max_multicast_groups());
  row("queue pairs in a multicast group", device.max_queue_pairs_per_multicast_group());
  row("multicast attachments", device.max_multicast_attachments());
  row("partition keys", device.max_pkeys());
}

void show_capabilities(const adverb::device_attributes& device) {
  std::printf("  capabilities\n");
  row("atomic operations", to_string(device.atomicity()));
  row("page sizes", page_sizes(device.page_sizes()));
  for (unsigned bit = 0; bit < 32; ++bit) {
    const auto capability = static_cast<adverb::device_capability>(1U << bit);
    if (device.capabilities().contains(capability))
      std::printf("    %s\n", to_string(adverb::device_capabilities{capability}).c_str());
  }
}

std::string interface_of(const adverb::gid_entry& entry) {
  std::array<char, IF_NAMESIZE> name{};
  if (::if_indextoname(entry.network_interface(), name.data()) == nullptr) return {};
  return std::string{" on "} + name.data();
}

void show_port(const adverb::context& device, adverb::port_number number) {
  const adverb::port_attributes port = device.query_port(number);
  std::printf("  port %s\n", to_string(number).c_str());
  row("state", to_string(port.state()));
  row("link layer", to_string(port.link_layer()));
  row("MTU", to_string(port.active_mtu()) + " of " + to_string(port.max_mtu()));
  row("link",
      std::to_string(port.active_lanes()) + " x " + std::to_string(port.lane_rate()) + " Mbit/s");
  row("largest message", port.max_message_size());
  row("LID", to_string(port.lid()));
  row("LID of the subnet manager", to_string(port.subnet_manager_lid()));
  row("virtual lanes", port.virtual_lanes());
  row("partition keys", port.pkey_table_length());
  row("first partition key", to_string(device.pkey(number, adverb::pkey_index{0})));
  row("GIDs, at most", port.gid_table_length());
  for (const adverb::gid_entry& entry : device.gid_table())
    if (entry.port() == number)
      row(("GID " + to_string(entry.index())).c_str(),
          to_string(entry.gid()) + ", " + to_string(entry.type()) + interface_of(entry));
}

void show(const adverb::context& device) {
  const adverb::device_attributes attributes = device.query_device();
  std::printf("%s (%s, %s)\n", std::string{device.device().name()}.c_str(),
              to_string(device.device().transport_type()).c_str(),
              std::string{device.device().character_device()}.c_str());
  show_identity(attributes);
  for (std::uint32_t port = 1; port <= attributes.physical_ports(); ++port)
    show_port(device, static_cast<adverb::port_number>(port));
  show_capabilities(attributes);
  show_limits(attributes);
}

void show_devices(const std::string& name) {
  const adverb::device_list devices;
  // With nothing to be found, this says what there is.
  if (!name.empty() || devices.empty()) return show(adverb::open_device(name));
  for (const adverb::device_ref device : devices) show(adverb::context{device});
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Tells what the RDMA devices of this machine are and can do.", "devices"};
  std::string name;
  app.add_option("DEVICE", name, "Only this one");
  return examples::run(app, argc, argv, [&] { show_devices(name); });
}
