// SPDX-License-Identifier: MIT
// Listens to the failure hook for as long as it lives.
#pragma once

#include <string>
#include <vector>

#include <adverb/core/failure.hpp>

/// The failures that the failure hook got since this was made. One at a time.
class told_failures {
 public:
  told_failures() : before_{adverb::set_failure_hook(&listen)} { messages_.clear(); }
  ~told_failures() { adverb::set_failure_hook(before_); }
  told_failures(const told_failures&) = delete;
  told_failures& operator=(const told_failures&) = delete;

  [[nodiscard]] const std::vector<std::string>& messages() const noexcept { return messages_; }

 private:
  static void listen(const adverb::failure& why) noexcept { messages_.emplace_back(why.what()); }

  static inline std::vector<std::string> messages_;
  adverb::failure_hook before_;
};
