// SPDX-License-Identifier: MIT
// The GID that is used if the program names none.
#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <adverb/device/context_ref.hpp>
#include <support/catch.hpp>
#include <support/reported.hpp>

#include "fake.hpp"

namespace {

namespace called = fake::called;
using adverb::port_number;

constexpr ibv_gid link_local{.raw = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
constexpr ibv_gid global{.raw = {0x20, 0x01, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
constexpr ibv_gid empty{};
const ibv_gid mapped = fake::ipv4_gid(10, 0, 0, 1);

constexpr std::uint32_t infiniband = IBV_GID_TYPE_IB;
constexpr std::uint32_t v1 = IBV_GID_TYPE_ROCE_V1;
constexpr std::uint32_t v2 = IBV_GID_TYPE_ROCE_V2;

ibv_gid_entry entry(const ibv_gid& gid, std::uint32_t type) {
  ibv_gid_entry made{};
  made.gid = gid;
  made.gid_type = type;
  made.port_num = 1;
  return made;
}

/// Adds more entries than are read without asking the port for their number.
void add_many(fake::port& port) {
  port.gids.resize(port.gids.size() + 64, port.gids[0]);
  port.attributes.gid_tbl_len = 128;
}

/// The index of the entry that is chosen from a table, which is numbered here.
std::optional<int> chosen(std::vector<ibv_gid_entry> table) {
  for (std::uint32_t index = 0; index < table.size(); ++index) table[index].gid_index = index;
  fake::machine machine;
  machine.devices[0].ports[0].gids = std::move(table);
  const adverb::context context = adverb::open_device();
  const auto found = adverb::choose_gid(context, port_number{1});
  if (!found) return std::nullopt;
  return static_cast<int>(found->index());
}

}  // namespace

TEST_CASE("choose_gid prefers RoCE v2 over IPv4, then v2 over IPv6, then v1") {
  CHECK(chosen({entry(mapped, v1), entry(global, v1), entry(global, v2), entry(mapped, v2)}) == 3);
  CHECK(chosen({entry(mapped, v1), entry(global, v2), entry(global, v1)}) == 1);
  CHECK(chosen({entry(link_local, v1), entry(mapped, v1), entry(link_local, v2)}) == 1);
}

TEST_CASE("choose_gid returns a link-local GID only if there is no other") {
  CHECK(chosen({entry(link_local, v2), entry(mapped, v1)}) == 1);
  CHECK(chosen({entry(link_local, v1), entry(link_local, v2)}) == 1);
  CHECK(chosen({entry(link_local, v1)}) == 0);
}

TEST_CASE("choose_gid never returns an empty entry") {
  CHECK(chosen({entry(empty, v2), entry(link_local, v1)}) == 1);
  CHECK_FALSE(chosen({entry(empty, v2)}));
  CHECK_FALSE(chosen({}));
}

TEST_CASE("choose_gid returns the first of equal entries") {
  CHECK(chosen({entry(mapped, v2), entry(mapped, v2)}) == 0);
  CHECK(chosen({entry(link_local, infiniband), entry(global, infiniband)}) == 0);
}

TEST_CASE("choose_gid ignores the entries of other ports") {
  fake::machine machine;
  fake::device& device = machine.devices[0];
  device.ports.push_back(device.ports[0]);
  device.attributes.phys_port_cnt = 2;
  for (ibv_gid_entry& each : device.ports[1].gids) each.port_num = 2;
  device.ports[0].gids.clear();
  const adverb::context context = adverb::open_device();
  CHECK_FALSE(adverb::choose_gid(context, port_number{1}));
  const auto found = adverb::choose_gid(context, port_number{2});
  REQUIRE(found);
  CHECK(found->port() == port_number{2});
}

TEST_CASE("choose_gid returns the GIDs of the first 255 ports of a device with 300 ports") {
  fake::machine machine;
  fake::device& device = machine.devices[0];
  device.ports.resize(300, device.ports[0]);
  device.attributes.phys_port_cnt = 44;  // 300 in the 8 bits of the older structure
  device.extended.phys_port_cnt_ex = 300;
  for (std::uint32_t port = 1; port <= 300; ++port)
    for (ibv_gid_entry& each : device.ports[port - 1].gids) each.port_num = port;
  device.ports[0].gids.clear();  // GIDs of port 257, whose low bits are 1, do not count as those of
                                 // port 1.
  const adverb::context context = adverb::open_device();
  CHECK_FALSE(adverb::choose_gid(context, port_number{1}));
  CHECK(adverb::choose_gid(context, port_number{255})->port() == port_number{255});
  std::vector<adverb::gid_entry> room(300 * device.ports[1].gids.size());
  for (const adverb::gid_entry& each : context.gid_table(room))
    CHECK(each.native().port_num <= 255);
}

TEST_CASE("choose_gid works for a port if the query of another port fails") {
  fake::machine machine;
  fake::device& device = machine.devices[0];
  device.ports.push_back(device.ports[0]);
  device.attributes.phys_port_cnt = 2;
  for (ibv_gid_entry& each : device.ports[1].gids) each.port_num = 2;
  add_many(device.ports[1]);
  const adverb::context context = adverb::open_device();
  machine.fail<called::query_port>(EIO);
  CHECK(adverb::choose_gid(context, port_number{2})->port() == port_number{2});
}

TEST_CASE("choose_gid reports a failed port query") {
  fake::machine machine;
  add_many(machine.devices[0].ports[0]);
  const adverb::context context = adverb::open_device();
  const adverb::failure why = reported(
      [&] { machine.fail<called::query_port>(EIO); },
      [&](auto&&... policy) { (void)adverb::choose_gid(context, port_number{1}, policy...); });
  CHECK(why.verb() == "ibv_query_port");
}

TEST_CASE("choose_gid reports a failed query of the GID table") {
  fake::machine machine;
  const adverb::context context = adverb::open_device();
  const adverb::failure why = reported(
      [&] { machine.fail<called::query_gid_table>(ENOMEM); },
      [&](auto&&... policy) { (void)adverb::choose_gid(context, port_number{1}, policy...); });
  CHECK(why.verb() == "ibv_query_gid_table");
}
