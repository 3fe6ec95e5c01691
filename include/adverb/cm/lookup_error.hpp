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

/// Returns the error category of `lookup_error`.
[[nodiscard, gnu::visibility("default")]] const std::error_category& lookup_category() noexcept;

[[nodiscard]] inline std::error_code make_error_code(lookup_error error) noexcept {
  return {static_cast<int>(error), lookup_category()};
}

}  // namespace adverb::inline ADVERB_ABI::cm

template <>
struct std::is_error_code_enum<adverb::cm::lookup_error> : std::true_type {};

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/cm/impl/lookup_error.ipp>
#endif
