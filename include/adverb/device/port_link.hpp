// SPDX-License-Identifier: MIT
// The link of a port: layer, packet size, lanes and speed.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <infiniband/verbs.h>

#include <adverb/core/text.hpp>

namespace adverb::inline ADVERB_ABI {

/// The link layer of a port.
enum class link_layer : std::uint8_t {
  unspecified = IBV_LINK_LAYER_UNSPECIFIED,
  infiniband = IBV_LINK_LAYER_INFINIBAND,
  ethernet = IBV_LINK_LAYER_ETHERNET,
};

[[nodiscard]] constexpr static_string<48> to_text(link_layer layer) noexcept {
  constexpr std::string_view names = "unspecified|InfiniBand|Ethernet";
  const auto number = static_cast<std::uint8_t>(layer);
  return detail::listed_name_or_number(names, number);
}

/// The maximum transmission unit (MTU): the largest payload of a packet, one of five sizes.
enum class mtu : std::uint8_t {
  bytes_256 = IBV_MTU_256,
  bytes_512 = IBV_MTU_512,
  bytes_1024 = IBV_MTU_1024,
  bytes_2048 = IBV_MTU_2048,
  bytes_4096 = IBV_MTU_4096,
};

/// Returns the size in bytes; 0 for an invalid value.
[[nodiscard]] constexpr std::uint32_t bytes_of(mtu size) noexcept {
  const auto code = static_cast<std::uint8_t>(size);
  return code >= IBV_MTU_256 && code <= IBV_MTU_4096 ? 128U << code : 0;
}

/// Formats an MTU: "1024 bytes".
[[nodiscard]] constexpr static_string<48> to_text(mtu size) noexcept {
  return static_string<48>{
      [&](text_writer& writer) { writer.decimal(bytes_of(size)).put(" bytes"); }};
}

/// Returns the largest MTU that is not above `bytes`; nothing below 256.
[[nodiscard]] constexpr std::optional<mtu> mtu_of(std::uint64_t bytes) noexcept {
  std::optional<mtu> found;
  for (auto code = static_cast<std::uint8_t>(IBV_MTU_256); code <= IBV_MTU_4096; ++code)
    if (bytes_of(mtu{code}) <= bytes) found = mtu{code};
  return found;
}

/// The number of lanes of a link.
enum class link_width : std::uint8_t {
  lanes_1 = 1,
  lanes_2 = 16,
  lanes_4 = 2,
  lanes_8 = 4,
  lanes_12 = 8,
};

/// Returns the number of lanes; 0 for an invalid value.
[[nodiscard]] constexpr std::uint32_t lanes_of(link_width width) noexcept {
  switch (width) {
    case link_width::lanes_1: return 1;
    case link_width::lanes_2: return 2;
    case link_width::lanes_4: return 4;
    case link_width::lanes_8: return 8;
    case link_width::lanes_12: return 12;
  }
  return 0;
}

/// Formats a link width: "4x".
[[nodiscard]] constexpr static_string<48> to_text(link_width width) noexcept {
  if (lanes_of(width) == 0) return detail::name_or_number("", static_cast<std::uint8_t>(width));
  return static_string<48>{[&](text_writer& writer) { writer.decimal(lanes_of(width)).put("x"); }};
}

/// The generation of a link, which determines the speed of one lane.
enum class link_speed : std::uint32_t {
  sdr = 1,
  ddr = 2,
  qdr = 4,
  fdr10 = 8,
  fdr = 16,
  edr = 32,
  hdr = 64,
  ndr = 128,
  xdr = 256,
};

namespace detail {

struct link_speed_description {
  std::string_view name;
  std::uint32_t megabits = 0;
};

[[nodiscard]] constexpr link_speed_description describe(link_speed speed) noexcept {
  switch (speed) {
    case link_speed::sdr: return {"SDR", 2'500};
    case link_speed::ddr: return {"DDR", 5'000};
    case link_speed::qdr: return {"QDR", 10'000};
    case link_speed::fdr10: return {"FDR10", 10'000};
    case link_speed::fdr: return {"FDR", 14'000};
    case link_speed::edr: return {"EDR", 25'000};
    case link_speed::hdr: return {"HDR", 50'000};
    case link_speed::ndr: return {"NDR", 100'000};
    case link_speed::xdr: return {"XDR", 200'000};
  }
  return {};
}

}  // namespace detail

/// Returns the nominal speed of one lane in Mbit/s; 0 for an invalid value.
[[nodiscard]] constexpr std::uint32_t megabits_of(link_speed speed) noexcept {
  return detail::describe(speed).megabits;
}

/// Formats a link speed: "EDR".
[[nodiscard]] constexpr static_string<48> to_text(link_speed speed) noexcept {
  return detail::name_or_number(detail::describe(speed).name, static_cast<std::uint32_t>(speed));
}

/// The physical state of a port's link.
enum class physical_state : std::uint8_t {
  no_change = 0,
  sleep = 1,
  polling = 2,
  disabled = 3,
  training = 4,
  link_up = 5,
  link_error_recovery = 6,
  test = 7,
};

[[nodiscard]] constexpr static_string<48> to_text(physical_state state) noexcept {
  constexpr std::string_view names =
      "no change|sleep|polling|disabled|training|link up|link error recovery|test";
  const auto number = static_cast<std::uint8_t>(state);
  return detail::listed_name_or_number(names, number);
}

}  // namespace adverb::inline ADVERB_ABI
