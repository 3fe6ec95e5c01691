// SPDX-License-Identifier: MIT
// What the real device says of itself.
#include <string>

#include <support/reported.hpp>

#include "support.hpp"

using namespace adverb;

TEST_CASE("The devices of this machine can be listed, found by name, and opened",
          "[ibv_get_device_list][ibv_free_device_list][ibv_open_device]") {
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

TEST_CASE("A device that is not there is reported with those that are") {
  const failure why = reported([](auto&&... policy) {
    const context none = open_device("no_such_device", policy...);
    CHECK(!none);
  });
  CHECK(why.code() == std::errc::no_such_device);
  CHECK(why.object() == "no_such_device");
  CHECK(why.explanation().find("there are: ") == 0);
  CHECK(why.explanation().find(device_list{}[0].name()) != std::string_view::npos);
}

TEST_CASE("A device has limits that a program can live with", "[ibv_query_device_ex]") {
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

TEST_CASE("A port that does not exist is refused with those that do") {
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

TEST_CASE("The GID table agrees with its entries, asked for one by one",
          "[ibv_query_gid][ibv_query_gid_ex][ibv_query_gid_table]") {
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

TEST_CASE("An index of the GID table at which nothing is gives nothing") {
  const context device = open_device();
  const auto table = device.gid_table();
  const auto last = static_cast<gid_index>(
      std::min<std::uint32_t>(device.query_port(first_port).gid_table_length() - 1, 255));
  for (const gid_entry& entry : table) REQUIRE(entry.index() != last);
  CHECK(!device.gid_entry(first_port, last));
  CHECK(device.gid(first_port, last).is_empty());
}

TEST_CASE("The GID that is chosen is in the table, and link-local only if all are") {
  const context device = open_device();
  const auto chosen = choose_gid(device, first_port);
  REQUIRE(chosen);
  CHECK(device.gid(first_port, chosen->index()) == chosen->gid());
  if (chosen->gid().is_link_local())
    for (const gid_entry& entry : device.gid_table()) CHECK(entry.gid().is_link_local());
}

TEST_CASE("The first partition key is there, and one beyond the table is not", "[ibv_query_pkey]") {
  const context device = open_device();
  CHECK(device.pkey(first_port, pkey_index{0}) == pkey{0xffff});
  const auto beyond = static_cast<pkey_index>(device.query_port(first_port).pkey_table_length());
  const failure why =
      reported([&](auto&&... policy) { (void)device.pkey(first_port, beyond, policy...); });
  CHECK(why.verb() == "ibv_query_pkey");
}
