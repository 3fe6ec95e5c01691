// SPDX-License-Identifier: MIT
// Automatic path migration: an alternate path to the same peer.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include <infiniband/verbs.h>

#include <adverb/core/durations.hpp>
#include <adverb/queue/address.hpp>

namespace adverb::inline ADVERB_ABI {

/// An alternate path to the same peer, used when the first one fails.
struct alternate_path {
  adverb::address address{};
  adverb::pkey_index pkey_index{};
  /// About 67 ms by default.
  adverb::acknowledge_timeout acknowledge_timeout = adverb::acknowledge_timeout::from_code(14);
};

/// The migration state of a queue pair with an alternate path.
enum class path_migration_state : std::uint32_t {
  /// Uses the alternate path; set by hand, migrates to it.
  migrated = IBV_MIG_MIGRATED,
  /// Asks the peer to arm the migration again.
  rearm = IBV_MIG_REARM,
  /// Uses the first path, ready to migrate.
  armed = IBV_MIG_ARMED,
};

[[nodiscard]] constexpr static_string<48> to_text(path_migration_state state) noexcept {
  constexpr std::array<std::string_view, 3> names{"migrated", "rearm", "armed"};
  const auto number = static_cast<std::uint32_t>(state);
  return detail::name_or_number(number < names.size() ? names[number] : "", number);
}

}  // namespace adverb::inline ADVERB_ABI
