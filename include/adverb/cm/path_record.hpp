// SPDX-License-Identifier: MIT
// A path between two ports, as the subnet administrator returns it.
#pragma once

#include <cstdint>

#include <infiniband/sa.h>

#include <adverb/core/ids.hpp>
#include <adverb/device/gid.hpp>
#include <adverb/device/port_link.hpp>
#include <adverb/device/rate.hpp>

namespace adverb::inline ADVERB_ABI::cm {

/// A path from a local port to a port of the peer. An identifier returns its own once the route is
/// resolved. A program that got a path elsewhere can set it (`set_path`).
struct path_record {
  /// GID of the local port.
  adverb::gid source{};
  /// GID of the peer's port.
  adverb::gid destination{};
  /// LID of the local port.
  lid source_lid{};
  /// LID of the peer's port.
  lid destination_lid{};
  /// 20 bits.
  std::uint32_t flow_label = 0;
  /// Hop limit of the GRH.
  std::uint8_t hop_limit = 0;
  /// Traffic class of the GRH.
  std::uint8_t traffic_class = 0;
  /// True if the peer can answer on the same path.
  bool is_reversible = true;
  /// Partition key.
  adverb::pkey pkey{0xffff};
  /// Service level.
  adverb::service_level service_level{};
  /// MTU of the path.
  adverb::mtu mtu = adverb::mtu::bytes_1024;
  /// Static rate of the path.
  adverb::rate rate = adverb::rate::unlimited;
  /// The maximum time of a packet on the path: 4.096 us * 2^code.
  std::uint8_t packet_life_time_code = 0;
  /// The preference among several paths; lower is better.
  std::uint8_t preference = 0;

  /// Copies the C API struct.
  [[nodiscard]] static path_record from_native(const ibv_sa_path_rec& native) noexcept;

  /// Returns the C API struct, as the first path, for both directions.
  [[nodiscard]] ibv_path_data native() const noexcept;

  friend bool operator==(const path_record&, const path_record&) noexcept = default;
};

}  // namespace adverb::inline ADVERB_ABI::cm

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/cm/impl/path_record.ipp>
#endif
