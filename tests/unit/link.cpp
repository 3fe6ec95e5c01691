// SPDX-License-Identifier: MIT
// Links: widths, speeds, sizes of packets and states, by the codes of the C API.
#include <cstdint>
#include <optional>
#include <string>

#include <infiniband/verbs.h>

#include <adverb/device/device.hpp>
#include <adverb/device/port.hpp>
#include <support/catch.hpp>

using adverb::link_speed;
using adverb::link_width;
using adverb::mtu;

TEST_CASE("mtu_of returns the largest MTU that does not exceed the bytes") {
  CHECK(adverb::mtu_of(0) == std::nullopt);
  CHECK(adverb::mtu_of(255) == std::nullopt);
  CHECK(adverb::mtu_of(256) == mtu::bytes_256);
  CHECK(adverb::mtu_of(1500) == mtu::bytes_1024);
  CHECK(adverb::mtu_of(4095) == mtu::bytes_2048);
  CHECK(adverb::mtu_of(4096) == mtu::bytes_4096);
  CHECK(adverb::mtu_of(std::uint64_t{1} << 40) == mtu::bytes_4096);
  for (const mtu size :
       {mtu::bytes_256, mtu::bytes_512, mtu::bytes_1024, mtu::bytes_2048, mtu::bytes_4096})
    CHECK(adverb::mtu_of(bytes_of(size)) == size);
}

TEST_CASE("lanes_of returns the lanes of each width") {
  CHECK(lanes_of(link_width{1}) == 1);
  CHECK(lanes_of(link_width{2}) == 4);
  CHECK(lanes_of(link_width{4}) == 8);
  CHECK(lanes_of(link_width{8}) == 12);
  CHECK(lanes_of(link_width{16}) == 2);
  CHECK(lanes_of(link_width{3}) == 0);
  CHECK(to_string(link_width::lanes_12) == "12x");
  CHECK(to_string(link_width{3}) == "unknown (3)");
}

TEST_CASE("each link speed has a name and the megabits of a lane") {
  CHECK(megabits_of(link_speed{1}) == 2'500);
  CHECK(megabits_of(link_speed{2}) == 5'000);
  CHECK(megabits_of(link_speed{4}) == 10'000);
  CHECK(megabits_of(link_speed{8}) == 10'000);
  CHECK(megabits_of(link_speed{16}) == 14'000);
  CHECK(megabits_of(link_speed{32}) == 25'000);
  CHECK(megabits_of(link_speed{64}) == 50'000);
  CHECK(megabits_of(link_speed{128}) == 100'000);
  CHECK(megabits_of(link_speed{256}) == 200'000);
  CHECK(megabits_of(link_speed{3}) == 0);
  CHECK(to_string(link_speed::sdr) == "SDR");
  CHECK(to_string(link_speed::fdr10) == "FDR10");
  CHECK(to_string(link_speed::xdr) == "XDR");
  CHECK(to_string(link_speed{3}) == "unknown (3)");
}

TEST_CASE("a link with an unknown width or speed has no rate") {
  ibv_port_attr native{};
  native.active_width = 3;
  native.active_speed = 32;
  CHECK(adverb::port_attributes{native}.link_megabits() == 0);
}

TEST_CASE("physical port states have names") {
  using adverb::physical_state;
  CHECK(to_string(physical_state::no_change) == "no change");
  CHECK(to_string(physical_state::polling) == "polling");
  CHECK(to_string(physical_state::link_up) == "link up");
  CHECK(to_string(physical_state::test) == "test");
  CHECK(to_string(physical_state{8}) == "unknown (8)");
}

TEST_CASE("names of port states match those of the C library if it uses the field's terms",
          "[ibv_port_state_str]") {
  using adverb::port_state;
  for (const port_state state : {port_state::down, port_state::armed, port_state::active})
    CHECK(to_string(state) == ibv_port_state_str(static_cast<ibv_port_state>(state)));
}

TEST_CASE("a port needs a global route on Ethernet or with IBV_QPF_GRH_REQUIRED") {
  ibv_port_attr native{};
  native.link_layer = IBV_LINK_LAYER_INFINIBAND;
  CHECK_FALSE(adverb::port_attributes{native}.needs_global_route());
  native.flags = IBV_QPF_GRH_REQUIRED;
  CHECK(adverb::port_attributes{native}.needs_global_route());
  native.flags = 0;
  native.link_layer = IBV_LINK_LAYER_ETHERNET;
  CHECK(adverb::port_attributes{native}.needs_global_route());
}

TEST_CASE("names of node types match those of the C library", "[ibv_node_type_str]") {
  for (int number = -1; number <= 7; ++number) {
    if (number == 0) continue;
    CAPTURE(number);
    CHECK(to_string(static_cast<adverb::node_type>(number)) ==
          ibv_node_type_str(static_cast<ibv_node_type>(number)));
  }
  CHECK(to_string(static_cast<adverb::node_type>(8)) == "unknown (8)");
}
