// SPDX-License-Identifier: MIT
// Descriptors that a loop watches.
#pragma once

#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::async {

/// A descriptor to watch. Whoever runs the loop calls `ready` when it is readable. Not thread safe.
class event_source {
 public:
  /// Makes a source of a descriptor, which it does not own.
  explicit event_source(int file_descriptor) noexcept : file_descriptor_{file_descriptor} {}
  /// Returns the descriptor.
  [[nodiscard]] int file_descriptor() const noexcept { return file_descriptor_; }
  /// Takes what has happened. Returns false if more is left: call it again, even if the descriptor
  /// is not readable.
  virtual bool ready() = 0;

 protected:
  event_source(const event_source&) = default;
  event_source& operator=(const event_source&) = default;
  ~event_source() = default;

 private:
  int file_descriptor_;
};

}  // namespace adverb::inline ADVERB_ABI::async
