// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <system_error>

#include <netdb.h>

#include <adverb/cm/lookup_error.hpp>

namespace adverb::inline ADVERB_ABI::detail {

class [[gnu::visibility("default")]] lookup_category_type final : public std::error_category {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "getaddrinfo"; }
  [[nodiscard]] std::string message(int value) const override { return ::gai_strerror(value); }
  [[nodiscard]] std::error_condition default_error_condition(int value) const noexcept override {
    switch (static_cast<cm::lookup_error>(value)) {
      case cm::lookup_error::try_again: return std::errc::resource_unavailable_try_again;
      case cm::lookup_error::family_not_supported: return std::errc::address_family_not_supported;
      case cm::lookup_error::out_of_memory: return std::errc::not_enough_memory;
      default: return {value, *this};
    }
  }
};

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI::cm {

ADVERB_FUNC const std::error_category& lookup_category() noexcept {
  // A category is identified by its address, so there is one, of default visibility.
  static const detail::lookup_category_type category;
  return category;
}

}  // namespace adverb::inline ADVERB_ABI::cm
