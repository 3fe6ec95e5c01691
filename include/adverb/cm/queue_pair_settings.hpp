// SPDX-License-Identifier: MIT
// What a connection manager wants the queue pair of a connection to be set to.
#pragma once

#include <infiniband/verbs.h>

#include <adverb/queue/attribute.hpp>

namespace adverb::inline ADVERB_ABI::cm {

/// The attributes of one transition of a queue pair: made by `identifier::settings_for`. On iWARP,
/// where the kernel connects the pair, nothing may be left to set.
struct queue_pair_settings {
  /// Which of the values mean something.
  qp_attributes given{};
  /// As ibv_modify_qp(3) takes them.
  ibv_qp_attr values{};
};

}  // namespace adverb::inline ADVERB_ABI::cm
