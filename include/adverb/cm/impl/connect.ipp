// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <system_error>

#include <adverb/cm/connect.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC bool has_words(const cm::rejection& rejection) noexcept {
  const auto bytes = rejection.private_data.bytes();
  return std::any_of(bytes.begin(), bytes.end(),
                     [](std::byte each) { return each != std::byte{}; });
}

ADVERB_FUNC bool failed_attempts::note(const cm::socket_address& to, const failure& why,
                                       attempt_lacks missing,
                                       const std::optional<cm::rejection>& rejection) {
  if (why.code() == std::errc::connection_refused) missing = attempt_lacks::consent;
  if (rejection && seems_program_s(*rejection)) {
    missing = has_words(*rejection) ? attempt_lacks::permission_to_go_on : attempt_lacks::consent;
    rejecting_family_ = to.family();
  }
  if (why.code() == std::errc::interrupted || why.code() == std::errc::operation_canceled)
    missing = attempt_lacks::permission_to_go_on;
  if (!told_ || missing > missing_) {
    told_ = why;
    missing_ = missing;
  }
  return missing != attempt_lacks::permission_to_go_on;
}

}  // namespace adverb::inline ADVERB_ABI::detail
