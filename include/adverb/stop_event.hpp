// SPDX-License-Identifier: MIT
// Wakes a wait when a stop is requested from a std::stop_token.
#pragma once

#include <cerrno>
#include <cstdint>
#include <stop_token>
#include <utility>

#include <sys/eventfd.h>
#include <unistd.h>

#include <adverb/core/detail/check.hpp>
#include <adverb/core/timeout.hpp>

namespace adverb::inline ADVERB_ABI {

/// A file descriptor that becomes readable when a stop is requested:
///
///     const stop_event stopped{token};
///     while (!token.stop_requested()) {
///       const auto found =
///           queue.wait(batch, timeout::endless().woken_by(stopped.file_descriptor())); …
///     }
///
/// The descriptor stays readable, so every later wait ends at once. Any number of threads can use
/// one object. It can be neither copied nor moved.
class stop_event {
 public:
  /// Creates the descriptor and registers with the token. Wraps: eventfd(2).
  explicit stop_event(std::stop_token token, on_failure policy = throwing{})
      : file_{policy}, callback_{std::move(token), announced_attributes{file_.descriptor}} {}
  stop_event(const stop_event&) = delete;
  stop_event& operator=(const stop_event&) = delete;
  ~stop_event() = default;

  /// Returns the descriptor, or -1 if it could not be created.
  [[nodiscard]] int file_descriptor() const noexcept { return file_.descriptor; }

 private:
  struct event_file {
    explicit event_file(on_failure policy) {
      detail::check_minus_one(
          policy, "eventfd", [&] { return descriptor = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); },
          [](const failure_description&) {});
    }
    event_file(const event_file&) = delete;
    event_file& operator=(const event_file&) = delete;
    ~event_file() {
      if (descriptor != -1) ::close(descriptor);
    }
    int descriptor = -1;
  };
  struct announced_attributes {
    int descriptor;
    void operator()() const noexcept {
      const std::uint64_t one = 1;
      static_cast<void>(::write(descriptor, &one, sizeof one) == sizeof one);
    }
  };

  // In this order, because the callback writes to the file.
  event_file file_;
  std::stop_callback<announced_attributes> callback_;
};

}  // namespace adverb::inline ADVERB_ABI
