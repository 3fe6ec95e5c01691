// SPDX-License-Identifier: MIT
// Sets of transports: bit by bit what the C library reads from them.
#include <cstdint>

#include <infiniband/verbs.h>

#include <adverb/core/transport.hpp>
#include <support/catch.hpp>

using adverb::transport;
using adverb::transport_set;

TEST_CASE("transport_set::contains matches the C library", "[ibv_is_qpt_supported]") {
  for (std::uint32_t bit = 0; bit < 31; ++bit) {
    const std::uint32_t bits = std::uint32_t{1} << bit;
    for (const transport service :
         {transport::rc, transport::uc, transport::ud, transport::raw_packet, transport::xrc_send,
          transport::xrc_recv}) {
      CAPTURE(bit, to_string(service));
      CHECK(transport_set::from_bits(bits).contains(service) ==
            (ibv_is_qpt_supported(bits, static_cast<ibv_qp_type>(service)) != 0));
    }
  }
}

TEST_CASE("a transport_set never contains the driver transport") {
  CHECK_FALSE(transport_set::from_bits(~0U).contains(transport::driver));
}

TEST_CASE("to_string of a transport_set writes the names of its transports") {
  CHECK(to_string(transport_set{}) == "none");
  CHECK(transport_set{}.empty());
  const auto two = transport_set::from_bits(1U << IBV_QPT_RC | 1U << IBV_QPT_RAW_PACKET);
  CHECK(to_string(two) == "RC, raw packet");
  CHECK(two.bits() == 0x104);
  CHECK(two == transport_set::from_bits(0x104));
  CHECK(to_string(transport_set::from_bits(1U << 30)) == "unknown (30)");
}
