// SPDX-License-Identifier: MIT
// Ports, GIDs and P_Keys that there are, and those that there are not.
#include <cerrno>
#include <vector>

#include "place.hpp"

using namespace adverb;

TEST_CASE("ibv_query_port accepts ports from 1 to the number of ports", "[ibv_query_port]") {
  const bench bench;
  const auto asked = [&](unsigned port) {
    ibv_port_attr found{};
    return ibv_query_port(bench.device.native_handle(), static_cast<std::uint8_t>(port), &found);
  };
  const unsigned ports = bench.device.query_device().physical_ports();
  CHECK(asked(0) == EINVAL);
  for (unsigned port = 1; port <= ports; ++port) CHECK(asked(port) == 0);
  CHECK(asked(ports + 1) == EINVAL);
}

TEST_CASE("ibv_query_gid_ex returns 0, ENODATA if the entry is empty, or EINVAL beyond the table",
          "[ibv_query_gid_ex]") {
  const bench bench;
  const auto asked = [&](std::uint32_t port, std::uint32_t index) {
    ibv_gid_entry found{};
    return ibv_query_gid_ex(bench.device.native_handle(), port, index, &found, 0);
  };
  const auto length =
      static_cast<std::uint32_t>(bench.device.query_port(first_port).native().gid_tbl_len);
  CHECK(asked(1, 0) == 0);
  CHECK(asked(1, length - 1) == ENODATA);
  CHECK(asked(1, length) == EINVAL);
  CHECK(asked(9, 0) == EINVAL);
}

TEST_CASE("ibv_query_gid returns a zero GID for an empty entry", "[ibv_query_gid]") {
  const bench bench;
  ibv_context* const device = bench.device.native_handle();
  const int length = bench.device.query_port(first_port).native().gid_tbl_len;
  ibv_gid found{};
  CHECK(ibv_query_gid(device, 1, 0, &found) == 0);
  CHECK(!gid{found}.is_empty());
  CHECK(ibv_query_gid(device, 1, length - 1, &found) == 0);
  CHECK(gid{found}.is_empty());
  CHECK(ibv_query_gid(device, 1, length, &found) == -1);
  CHECK(ibv_query_gid(device, 9, 0, &found) == -1);
}

TEST_CASE("ibv_query_gid_table returns the number of entries, or -EINVAL if they do not fit",
          "[ibv_query_gid_table]") {
  const bench bench;
  ibv_context* const device = bench.device.native_handle();
  std::vector<ibv_gid_entry> entries(100);
  const ssize_t count = ibv_query_gid_table(device, entries.data(), entries.size(), 0);
  REQUIRE(count > 1);
  const auto exactly = static_cast<std::size_t>(count);
  CHECK(ibv_query_gid_table(device, entries.data(), exactly, 0) == count);
  CHECK(ibv_query_gid_table(device, entries.data(), exactly - 1, 0) == -EINVAL);
}

TEST_CASE("ibv_query_pkey returns the P_Key or fails beyond the table", "[ibv_query_pkey]") {
  const bench bench;
  ibv_context* const device = bench.device.native_handle();
  const int length = bench.device.query_port(first_port).native().pkey_tbl_len;
  __be16 found{};
  CHECK(ibv_query_pkey(device, 1, 0, &found) == 0);
  CHECK(found == 0xffff);
  CHECK(ibv_query_pkey(device, 1, length, &found) == -1);
  CHECK(ibv_query_pkey(device, 9, 0, &found) == -1);
}
