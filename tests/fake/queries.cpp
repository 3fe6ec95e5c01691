// SPDX-License-Identifier: MIT
// The queries of an open device.
#include <array>
#include <cerrno>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include <adverb/device/context.hpp>
#include <support/catch.hpp>
#include <support/reported.hpp>

#include "fake.hpp"
#include "log.hpp"

namespace {

namespace called = fake::called;
using adverb::gid_index;
using adverb::pkey_index;
using adverb::port_number;

}  // namespace

TEST_CASE("query_device calls ibv_query_device_ex", "[ibv_query_device_ex]") {
  fake::machine machine;
  const adverb::context context = adverb::open_device();
  CHECK(context.query_device().max_queue_pairs() == 1024);
  CHECK_THAT(machine.lines<called::query_device>(), is_log("ibv_query_device_ex"));
}

TEST_CASE("queries use the old calls on an old provider", "[ibv_query_device][ibv_query_port]") {
  fake::machine machine;
  machine.devices[0].extended_queries = false;
  const adverb::context context = adverb::open_device();
  CHECK(context.query_device().max_queue_pairs() == 1024);
  CHECK(machine.line() == "ibv_query_device");
  CHECK(context.query_port(port_number{1}).active_mtu() == adverb::mtu::bytes_1024);
  CHECK(context.query_port(port_number{1}).is_ethernet());
  CHECK(machine.line() == "ibv_query_port (the old function) port_num=1");
}

TEST_CASE("query_device falls back to ibv_query_device without the extended query",
          "[ibv_query_device]") {
  fake::machine machine;
  const adverb::context context = adverb::open_device();
  machine.fail<called::query_device>(EOPNOTSUPP);
  CHECK(context.query_device().max_queue_pairs() == 1024);
  CHECK_THAT(machine.lines<called::query_device>(),
             is_log("ibv_query_device_ex\nibv_query_device"));
}

TEST_CASE("query_device reports a failed query") {
  fake::machine machine;
  const adverb::context context = adverb::open_device();
  const adverb::failure why =
      reported([&] { machine.fail<called::query_device>(ENODEV); },
               [&](auto&&... policy) { (void)context.query_device(policy...); });
  CHECK(std::string{why.what()} == "ibv_query_device_ex on fake0: ENODEV (No such device)");
}

TEST_CASE("query_port returns the attributes of the port", "[ibv_query_port]") {
  fake::machine machine;
  const adverb::context context = adverb::open_device();
  const adverb::port_attributes port = context.query_port(port_number{1});
  CHECK(port.state() == adverb::port_state::active);
  CHECK(port.active_mtu() == adverb::mtu::bytes_1024);
  CHECK(machine.line() == "ibv_query_port port_num=1");
}

TEST_CASE("query_port of a missing port fails and lists the ports") {
  fake::machine machine;
  const adverb::context context = adverb::open_device();
  const auto query = [&](auto&&... policy) { (void)context.query_port(port_number{3}, policy...); };
  CHECK(std::string{reported(query).what()} ==
        "ibv_query_port on fake0:3: EINVAL (Invalid argument); "
        "the device has one port, number 1");
  machine.devices[0].attributes.phys_port_cnt = 2;
  CHECK(reported(query).explanation() == "the device has ports 1 to 2");
}

TEST_CASE("query_port of an existing port fails without an explanation") {
  fake::machine machine;
  const adverb::context context = adverb::open_device();
  const adverb::failure why =
      reported([&] { machine.fail<called::query_port>(EIO); },
               [&](auto&&... policy) { (void)context.query_port(port_number{1}, policy...); });
  CHECK(std::string{why.what()} == "ibv_query_port on fake0:1: EIO (Input/output error)");
}

TEST_CASE("gid returns the GID at a port and index, or an empty one", "[ibv_query_gid]") {
  fake::machine machine;
  const adverb::context context = adverb::open_device();
  CHECK(context.gid(port_number{1}, gid_index{2}) == adverb::gid{fake::ipv4_gid(10, 0, 0, 1)});
  CHECK(context.gid(port_number{1}, gid_index{5}).is_empty());
  CHECK_THAT(machine.lines<called::query_gid>(), is_log(R"(
    ibv_query_gid port_num=1 index=2
    ibv_query_gid port_num=1 index=5)"));
}

TEST_CASE("gid fails with EINVAL beyond the table") {
  fake::machine machine;
  const adverb::context context = adverb::open_device();
  const adverb::failure why = reported([&](auto&&... policy) {
    const bool empty = context.gid(port_number{1}, gid_index{8}, policy...).is_empty();
    CHECK(empty);
  });
  CHECK(std::string{why.what()} == "ibv_query_gid on fake0:1: EINVAL (Invalid argument)");
}

TEST_CASE("gid_entry returns the entry, or none if it is empty", "[ibv_query_gid_ex]") {
  fake::machine machine;
  const adverb::context context = adverb::open_device();
  const auto entry = context.gid_entry(port_number{1}, gid_index{2});
  REQUIRE(entry);
  CHECK(entry->type() == adverb::gid_type::roce_v2);
  CHECK(entry->index() == gid_index{2});

  std::error_code code = std::make_error_code(std::errc::io_error);
  CHECK_FALSE(context.gid_entry(port_number{1}, gid_index{5}, code));
  CHECK_FALSE(code);
  machine.fail<called::query_gid_ex>(-ENODATA);
  CHECK_FALSE(context.gid_entry(port_number{1}, gid_index{2}));

  const adverb::failure why = reported(
      [&](auto&&... policy) { (void)context.gid_entry(port_number{2}, gid_index{0}, policy...); });
  CHECK(std::string{why.what()} == "ibv_query_gid_ex on fake0:2: EINVAL (Invalid argument)");
}

TEST_CASE("gid_table returns the entries of all ports", "[ibv_query_gid_table]") {
  fake::machine machine;
  fake::device& device = machine.devices[0];
  device.ports.push_back(device.ports[0]);
  for (ibv_gid_entry& entry : device.ports[1].gids) entry.port_num = 2;
  device.attributes.phys_port_cnt = 2;
  const adverb::context context = adverb::open_device();

  const std::vector<adverb::gid_entry> table = context.gid_table();
  REQUIRE(table.size() == 6);
  CHECK(table[0].port() == port_number{1});
  CHECK(table[5].port() == port_number{2});
  CHECK(table[5].gid().is_ipv4_mapped());
  CHECK(machine.line() == "ibv_query_gid_table max_entries=16");
}

TEST_CASE("gid_table fills a span, and fails if it is too small", "[ibv_query_gid_table]") {
  fake::machine machine;
  const adverb::context context = adverb::open_device();
  std::array<adverb::gid_entry, 4> room;
  const std::span<adverb::gid_entry> found = context.gid_table(room);
  CHECK(found.data() == room.data());
  REQUIRE(found.size() == 3);
  CHECK(found[2].index() == gid_index{2});
  CHECK(machine.line() == "ibv_query_gid_table max_entries=4");

  const adverb::failure why = reported([&](auto&&... policy) {
    const bool empty = context.gid_table(std::span{room}.first(2), policy...).empty();
    CHECK(empty);
  });
  CHECK(std::string{why.what()} ==
        "ibv_query_gid_table on fake0: EINVAL (Invalid argument); "
        "the table has more entries than fit: there is room for 2");
}

TEST_CASE("gid_table reports a failed query") {
  fake::machine machine;
  const adverb::context context = adverb::open_device();
  const auto read = [&](auto&&... policy) {
    const bool empty = context.gid_table(policy...).empty();
    CHECK(empty);
  };
  CHECK(
      std::string{reported([&] { machine.fail<called::query_gid_table>(ENOMEM); }, read).what()} ==
      "ibv_query_gid_table on fake0: ENOMEM (Cannot allocate memory)");
  CHECK(reported([&] { machine.fail<called::query_device>(EIO); }, read).verb() ==
        "ibv_query_device_ex");
  CHECK(reported([&] { machine.fail<called::query_port>(EIO); }, read).verb() == "ibv_query_port");
}

TEST_CASE("pkey returns the key in host byte order", "[ibv_query_pkey]") {
  fake::machine machine;
  machine.devices[0].ports[0].pkeys = {0xffff, 0x8123};
  const adverb::context context = adverb::open_device();
  CHECK(context.pkey(port_number{1}, pkey_index{1}) == adverb::pkey{0x8123});
  const adverb::failure why = reported([&](auto&&... policy) {
    const adverb::pkey none = context.pkey(port_number{1}, pkey_index{2}, policy...);
    CHECK(none == adverb::pkey{0});
  });
  CHECK(std::string{why.what()} == "ibv_query_pkey on fake0:1: EINVAL (Invalid argument)");
}

TEST_CASE("a context reference has the queries of its owner") {
  fake::machine machine;
  const adverb::context context = adverb::open_device();
  const adverb::context_ref reference = context;
  CHECK(reference.device() == context.device());
  CHECK(reference.query_device().physical_ports() == 1);
  CHECK(adverb::context_ref{context.native_handle()}.completion_vectors() == 4);
}
