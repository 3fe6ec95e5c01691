// SPDX-License-Identifier: MIT
// What the two ends of a connection agree on beyond the specification.
#pragma once

#include <cstdint>

#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI {

/// Enhanced connection establishment (ECE): options of the vendor that both ends of a connection
/// have. Query them on one side, hand them to the peer, set there what both support.
struct ece {
  /// The IEEE number of the vendor (OUI); 0 for none.
  std::uint32_t vendor_id = 0;
  /// As that vendor defines them.
  std::uint32_t options = 0;

  friend bool operator==(const ece&, const ece&) noexcept = default;
};

}  // namespace adverb::inline ADVERB_ABI
