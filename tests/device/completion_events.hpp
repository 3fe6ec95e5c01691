// SPDX-License-Identifier: MIT
// Pairs whose completion queues have channels.
#pragma once

#include <poll.h>

#include "support.hpp"

/// Returns whether an event comes within this time.
[[nodiscard]] inline bool readable(const adverb::completion_channel& channel, int milliseconds) {
  pollfd waiting{.fd = channel.file_descriptor(), .events = POLLIN, .revents = 0};
  return ::poll(&waiting, 1, milliseconds) == 1;
}

[[nodiscard]] inline loopback_options<adverb::transport::rc> with_channels() {
  loopback_options<adverb::transport::rc> options;
  options.with_channels = true;
  return options;
}
