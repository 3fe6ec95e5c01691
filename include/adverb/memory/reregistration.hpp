// SPDX-License-Identifier: MIT
// Changes of a registered region, and its state after a failure.
#pragma once

#include <optional>
#include <string_view>

#include <infiniband/verbs.h>

#include <adverb/core/detail/missing_feature.hpp>
#include <adverb/memory/access.hpp>
#include <adverb/memory/protection_domain.hpp>
#include <adverb/memory/registrable_memory.hpp>

namespace adverb::inline ADVERB_ABI {

/// The changes of a region. Omitted members leave it unchanged.
struct reregistration {
  /// Another protection domain of the same device.
  protection_domain_ref domain = {};
  std::optional<access_rights> rights = {};
};

namespace detail {

/// A change of a region that is to be attempted.
struct reregistration_attempt {
  ibv_mr* region;
  /// Null if the memory does not change.
  const byte_range* memory;
  reregistration changes;
  access_rights rights;
  bool constant;
  /// Whether the region is zero_based now.
  bool zero_based;

  /// Explains why the change is not even attempted. Writes nothing if it can be.
  void explain(text_writer& writer) const noexcept;

  /// Calls ibv_rereg_mr, which needs zero for unchanged arguments.
  [[nodiscard]] int run() const noexcept;
};

/// The state of a region after ibv_rereg_mr, and its explanation.
struct reregistration_outcome {
  bool changed;
  bool usable;
  std::string_view words;
};

/// Returns the outcome for a result of ibv_rereg_mr and its errno.
[[nodiscard]] constexpr reregistration_outcome outcome_of_reregistration(int result,
                                                                         int error) noexcept {
  if (result == 0) return {.changed = true, .usable = true, .words = {}};
  // libibverbs reports the region as unusable in this case too, but nothing has changed it. The
  // code alone explains the missing feature.
  // See docs/decisions.md, "An unsupported re-registration keeps the region".
  if (is_unsupported(error)) return {.changed = false, .usable = true, .words = {}};
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

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/memory/impl/reregistration.ipp>
#endif
