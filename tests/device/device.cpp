// SPDX-License-Identifier: MIT
// Attributes of the real device.
#include <algorithm>
#include <string>

#include <support/reported.hpp>

#include "support.hpp"

using namespace adverb;

TEST_CASE("Devices can be listed, found by name and opened",
          "[ibv_get_device_list][ibv_free_device_list][ibv_get_device_name][ibv_open_device]"
          "[ibv_close_device]") {
  const device_list devices;
  REQUIRE(!devices.empty());
  const std::string name{devices[0].name()};
  CHECK(devices.find(name) == devices[0]);
  CHECK(!devices.find("no_such_device"));
  const context first = open_device();
  const context named = open_device(name);
  CHECK(first.device().name() == name);
  CHECK(named.device().name() == name);
  CHECK(first.native_handle() != named.native_handle());
}

TEST_CASE("open_device with an unknown name fails and lists the devices") {
  const failure why = reported([](auto&&... policy) {
    const context none = open_device("no_such_device", policy...);
    CHECK(!none);
  });
  CHECK(why.code() == std::errc::no_such_device);
  CHECK(why.object() == "no_such_device");
  CHECK(why.explanation().find("available: ") == 0);
  CHECK(why.explanation().find(device_list{}[0].name()) != std::string_view::npos);
}

TEST_CASE("query_device returns nonzero limits", "[ibv_query_device_ex]") {
  const context device = open_device();
  const device_attributes limits = device.query_device();
  CHECK(limits.physical_ports() >= 1);
  CHECK(limits.max_queue_pairs() > 0);
  CHECK(limits.max_work_requests() > 0);
  CHECK(limits.max_sge() > 0);
  CHECK(limits.max_completion_queue_entries() > 0);
  CHECK(limits.max_memory_region_size() > 0);
  CHECK(limits.max_destination_read_atomic() > 0);
  CHECK(device.completion_vectors() >= 1);
  CHECK(limits.native().orig_attr.phys_port_cnt == limits.physical_ports());
}

TEST_CASE("The first port is active", "[ibv_query_port]") {
  const port_attributes port = open_device().query_port(first_port);
  CHECK(port.state() == port_state::active);
  CHECK(bytes_of(port.active_mtu()) >= 256);
  CHECK(port.active_mtu() <= port.max_mtu());
  CHECK(port.gid_table_length() > 0);
  CHECK(port.pkey_table_length() > 0);
}

TEST_CASE("A query of a missing port fails and lists the ports") {
  const context device = open_device();
  for (const port_number port : {port_number{0}, port_number{99}}) {
    const failure why =
        reported([&](auto&&... policy) { (void)device.query_port(port, policy...); });
    CHECK(why.verb() == "ibv_query_port");
    CHECK(why.code() == std::errc::invalid_argument);
    if (device.query_device().physical_ports() == 1)
      CHECK(why.explanation() == "the device has one port, number 1");
  }
}

TEST_CASE("The GID table agrees with single queries of its entries",
          "[ibv_query_gid_table][ibv_query_gid_ex][ibv_query_gid]") {
  const context device = open_device();
  const std::vector<gid_entry> table = device.gid_table();
  REQUIRE(!table.empty());
  for (const gid_entry& entry : table) {
    CHECK(!entry.gid().is_empty());
    CHECK(device.gid(entry.port(), entry.index()) == entry.gid());
    const auto single = device.gid_entry(entry.port(), entry.index());
    REQUIRE(single);
    CHECK(single->gid() == entry.gid());
    CHECK(single->type() == entry.type());
    CHECK(single->network_interface() == entry.network_interface());
  }
}

TEST_CASE("An empty index of the GID table returns none and an empty GID",
          "[ibv_query_gid_ex][ibv_query_gid]") {
  const context device = open_device();
  const auto table = device.gid_table();
  const auto last = static_cast<gid_index>(
      std::min<std::uint32_t>(device.query_port(first_port).gid_table_length() - 1, 255));
  for (const gid_entry& entry : table) REQUIRE(entry.index() != last);
  CHECK(!device.gid_entry(first_port, last));
  CHECK(device.gid(first_port, last).is_empty());
}

TEST_CASE("choose_gid returns a GID of the table, link-local only if all are") {
  const context device = open_device();
  const auto chosen = choose_gid(device, first_port);
  REQUIRE(chosen);
  CHECK(device.gid(first_port, chosen->index()) == chosen->gid());
  if (chosen->gid().is_link_local())
    for (const gid_entry& entry : device.gid_table()) CHECK(entry.gid().is_link_local());
}

TEST_CASE("pkey returns the first partition key and fails beyond the table", "[ibv_query_pkey]") {
  const context device = open_device();
  CHECK(device.pkey(first_port, pkey_index{0}) == pkey{0xffff});
  const auto beyond = static_cast<pkey_index>(device.query_port(first_port).pkey_table_length());
  const failure why =
      reported([&](auto&&... policy) { (void)device.pkey(first_port, beyond, policy...); });
  CHECK(why.verb() == "ibv_query_pkey");
}

TEST_CASE("A device list identifies a device without opening it",
          "[ibv_get_device_index][ibv_get_device_guid]") {
  const device_list devices;
  const device_ref first = devices[0];
  CHECK(first.node_guid() == context{first}.query_device().node_guid());
  CHECK(first.node_guid() != guid{});
  CHECK(first.index());
  CHECK(to_string(first.node_type()) == ibv_node_type_str(first.native_handle()->node_type));
}

TEST_CASE("gid_table fails if the span is too small", "[ibv_query_gid_table]") {
  const context device = open_device();
  std::vector<gid_entry> room = device.gid_table();
  REQUIRE(room.size() > 1);
  CHECK(device.gid_table(std::span{room}).size() == room.size());
  const failure why = reported([&](auto&&... policy) {
    const bool empty = device.gid_table(std::span{room}.first(1), policy...).empty();
    CHECK(empty);
  });
  CHECK(why.code() == std::errc::invalid_argument);
  CHECK(why.explanation() == "the table has more entries than fit: there is room for 1");
}

TEST_CASE("gid_entry fails if the port does not exist") {
  const context device = open_device();
  const failure why = reported(
      [&](auto&&... policy) { (void)device.gid_entry(port_number{99}, gid_index{0}, policy...); });
  CHECK(why.verb() == "ibv_query_gid_ex");
}

TEST_CASE("find_pkey returns the index of a partition key, or none if it is missing",
          "[ibv_get_pkey_index]") {
  const context device = open_device();
  CHECK(device.find_pkey(first_port, pkey{0xffff}) == pkey_index{0});
  CHECK(!device.find_pkey(first_port, pkey{0x1234}));
  const failure why = reported(
      [&](auto&&... policy) { (void)device.find_pkey(port_number{99}, pkey{0xffff}, policy...); });
  CHECK(why.verb() == "ibv_query_port");
}

TEST_CASE("The first port reports its link width and speed") {
  const port_attributes port = open_device().query_port(first_port);
  CHECK(port.physical_state() == physical_state::link_up);
  CHECK(lanes_of(port.active_width()) >= 1);
  CHECK(port.link_megabits() > 0);
  CHECK(port.needs_global_route() == port.is_ethernet());
}

TEST_CASE("device_time returns an advancing clock or fails with EOPNOTSUPP",
          "[ibv_query_rt_values_ex][optional]") {
  const context device = open_device();
  failure why;
  const device_ticks before = device.device_time(why);
  if (why) {
    CHECK(why.code() == std::errc::operation_not_supported);
    CHECK(why.explanation() == std::string{device.device().name()} + " has no readable clock");
    return tell_skip("the clock of a device", why.explanation());
  }
  const auto clock = device.query_device().clock();
  REQUIRE(clock);
  std::this_thread::sleep_for(std::chrono::milliseconds{10});
  const auto elapsed = clock->elapsed<std::chrono::milliseconds>(before, device.device_time());
  CHECK(elapsed >= std::chrono::milliseconds{9});
  CHECK(elapsed < std::chrono::seconds{10});
}

TEST_CASE("A context imports a device or explains that it cannot",
          "[ibv_import_device][optional]") {
  const context device = open_device();
  failure why;
  const context imported = context::import(device.command_file_descriptor(), why);
  if (why) {
    CHECK(!imported);
    CHECK(why.code() == std::errc::operation_not_supported);
    CHECK(why.explanation() == "the device has no import of devices");
    // The descriptor is still that of the device.
    CHECK(protection_domain{device});
    return tell_skip("import of a device", why.explanation());
  }
  CHECK(imported.query_device().node_guid() == device.query_device().node_guid());
}

TEST_CASE("port_megabits returns the speed or fails with EOPNOTSUPP",
          "[ibv_query_port_speed][optional]") {
  const context device = open_device();
  failure why;
  const std::uint64_t speed = device.port_megabits(first_port, why);
  if (why) {
    CHECK(why.code() == std::errc::operation_not_supported);
    return tell_skip("the speed of a port", why.explanation());
  }
  CHECK(speed > 0);
}

TEST_CASE("An address on the local Ethernet resolves to a MAC address",
          "[ibv_resolve_eth_l2_from_gid][optional]") {
  const context device = open_device();
  const auto own = choose_gid(device, first_port);
  REQUIRE(own);
  if (!device.query_port(first_port).is_ethernet())
    return tell_skip("the MAC address of a neighbour", "the link is no Ethernet");
  const address way{.route = global_route{.destination = own->gid(), .source = own->index()}};
  const ethernet_destination found = resolve_ethernet(device, way);
  CHECK(!found.vlan);
  INFO(to_string(found));
  CHECK(to_string(found).size() == 17U);
}

TEST_CASE("resolve_ethernet fails if the port does not exist") {
  const context device = open_device();
  const address way{.port = port_number{200},
                    .route = global_route{.destination = gid{}, .source = gid_index{0}}};
  const failure why =
      reported([&](auto&&... policy) { (void)resolve_ethernet(device, way, policy...); });
  CHECK(why.code() == std::errc::invalid_argument);
  CHECK(why.explanation().find("the device has ") == 0);
}

TEST_CASE("resolve_ethernet fails if no host has the address", "[optional]") {
  const context device = open_device();
  const auto own = choose_gid(device, first_port);
  REQUIRE(own);
  if (!device.query_port(first_port).is_ethernet())
    return tell_skip("the MAC address of a neighbour", "the link is no Ethernet");
  const bool is_ipv4 = own->gid().is_ipv4_mapped();
  constexpr gid of_ipv4{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 203, 0, 113, 9}};
  constexpr gid of_ipv6{{0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x99}};
  const auto why_not = [&](const gid& to) {
    const address way{.route = global_route{.destination = to, .source = own->index()}};
    const failure why =
        reported([&](auto&&... policy) { (void)resolve_ethernet(device, way, policy...); });
    CHECK(why.verb() == "ibv_resolve_eth_l2_from_gid");
    INFO(why.what());
    return std::string{why.explanation()};
  };
  CHECK(why_not(is_ipv4 ? of_ipv4 : of_ipv6)
            .starts_with(is_ipv4 ? "no neighbour was found on the route to ::ffff:203.0.113.9"
                                 : "no neighbour was found on the route to 2001:db8::99"));
  CHECK(why_not(is_ipv4 ? of_ipv6 : of_ipv4).find("of another address family than the peer's") !=
        std::string::npos);
}
