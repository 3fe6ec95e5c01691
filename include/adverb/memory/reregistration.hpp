// SPDX-License-Identifier: MIT
// Changing a region that is registered: what can be changed, and what is left when it fails.
#pragma once

#include <cerrno>
#include <optional>
#include <string_view>

#include <infiniband/verbs.h>

#include <adverb/memory/access.hpp>
#include <adverb/memory/protection_domain.hpp>

namespace adverb::inline ADVERB_ABI {

/// What a region is given anew; what is left out stays.
struct reregistration {
  /// Another domain of the same device.
  protection_domain_ref domain = {};
  std::optional<access_rights> rights = {};
};

namespace detail {

/// What is left of a region after ibv_rereg_mr, and the words for it.
struct reregistration_outcome {
  bool changed;
  bool usable;
  std::string_view words;
};

/// Of the number that it returned, and of errno.
[[nodiscard]] constexpr reregistration_outcome outcome_of_reregistration(int result,
                                                                         int error) noexcept {
  if (result == 0) return {.changed = true, .usable = true, .words = {}};
  // libibverbs calls the region unusable then too, but nothing has touched it; what is lacking is
  // said by the code.
  if (error == EOPNOTSUPP || error == ENOSYS)
    return {.changed = false, .usable = true, .words = {}};
  switch (result) {
    case IBV_REREG_MR_ERR_INPUT:
      return {.changed = false, .usable = true, .words = "the region is as it was"};
    case IBV_REREG_MR_ERR_DONT_FORK_NEW:
      return {.changed = false,
              .usable = true,
              .words = "the new memory could not be kept from forks; the region is as it was"};
    case IBV_REREG_MR_ERR_DO_FORK_OLD:
      return {.changed = true,
              .usable = true,
              .words = "the region is changed, and only the old memory is still kept from forks"};
    case IBV_REREG_MR_ERR_CMD_AND_DO_FORK_NEW:
      return {.changed = false,
              .usable = false,
              .words =
                  "the region must not be used any more, only destroyed, and the new memory is "
                  "still kept from forks"};
    default:
      return {.changed = false,
              .usable = false,
              .words = "the region must not be used any more, only destroyed"};
  }
}

}  // namespace detail
}  // namespace adverb::inline ADVERB_ABI
