// SPDX-License-Identifier: MIT
// Name lookup errors, and their error category.
#pragma once

#include <string>
#include <system_error>

#include <netdb.h>

#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::cm {

/// The errors of getaddrinfo(3). A std::error_code enum: compares with std::errc where one fits.
enum class lookup_error : int {
  host_not_found = EAI_NONAME,
  service_not_found = EAI_SERVICE,
  /// No name server answered.
  try_again = EAI_AGAIN,
  name_server_failed = EAI_FAIL,
  family_not_supported = EAI_FAMILY,
  socket_type_not_supported = EAI_SOCKTYPE,
  invalid_flags = EAI_BADFLAGS,
  out_of_memory = EAI_MEMORY,
  system_error = EAI_SYSTEM,
  overflow = EAI_OVERFLOW,
#if defined(EAI_NODATA)
  /// The host exists but has no address (of the requested family).
  no_address = EAI_NODATA,
  no_address_of_family = EAI_ADDRFAMILY,
#endif
};

}  // namespace adverb::inline ADVERB_ABI::cm

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

// The address of a category is its identity, so there is one object, of default visibility.
[[gnu::visibility("default")]] inline const lookup_category_type lookup_category_instance;

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI::cm {

/// Returns the error category of `lookup_error`.
[[nodiscard]] inline const std::error_category& lookup_category() noexcept {
  return detail::lookup_category_instance;
}

[[nodiscard]] inline std::error_code make_error_code(lookup_error error) noexcept {
  return {static_cast<int>(error), lookup_category()};
}

}  // namespace adverb::inline ADVERB_ABI::cm

template <>
struct std::is_error_code_enum<adverb::cm::lookup_error> : std::true_type {};
