// SPDX-License-Identifier: MIT
// Checks against invalid accesses, at the level of ADVERB_HARDENING.
#pragma once

#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include <adverb/core/failure.hpp>
#include <adverb/core/failure_hook.hpp>
#include <adverb/core/object_kind.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Returns whether a level's checks are compiled in: ADVERB_HARDENING_FAST, ADVERB_HARDENING_DEBUG.
[[nodiscard]] consteval bool hardened(int level) noexcept { return ADVERB_HARDENING >= level; }

/// Reports a programming error to the failure hook and aborts the program. Calls `describe` with a
/// failure_description.
template <class Describe>
[[noreturn, gnu::cold, gnu::noinline]] void end_program(std::string_view call,
                                                        Describe describe) noexcept {
  tell_failure_hook(failure{std::error_code{EINVAL, std::generic_category()}, call, describe});
  std::abort();
}

/// Explains "the queue pair is empty: moved from, closed, or never made".
template <class Native>
void explain_empty(failure_description& description) noexcept {
  description.explain([](text_writer& writer) {
    writer.put("the ").put(name_of(kind_of<Native>));
    writer.put(" is empty: moved from, closed, or never made");
  });
}

/// Aborts the program if `object` is null, where no error can be reported.
template <class Native>
[[gnu::always_inline]] inline void require_present(std::string_view call,
                                                   const Native* object) noexcept {
  if constexpr (hardened(ADVERB_HARDENING_FAST))
    if (object == nullptr) [[unlikely]]
      end_program(call, explain_empty<Native>);
}

}  // namespace adverb::inline ADVERB_ABI::detail
