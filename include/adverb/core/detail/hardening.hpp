// SPDX-License-Identifier: MIT
// How much a program checks where it would otherwise read what is not there: ADVERB_HARDENING.
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

/// Whether the checks of a level are compiled in: ADVERB_HARDENING_FAST, ADVERB_HARDENING_DEBUG.
[[nodiscard]] consteval bool hardened(int level) noexcept { return ADVERB_HARDENING >= level; }

/// Ends a program that is wrong, with a sentence: `describe` is called with a failure_description.
template <class Describe>
[[noreturn, gnu::cold, gnu::noinline]] void end_program(std::string_view call,
                                                        Describe describe) noexcept {
  tell_failure_hook(failure{std::error_code{EINVAL, std::generic_category()}, call, describe});
  std::abort();
}

/// "the queue pair is empty: moved from, closed, or never made".
template <class Native>
void explain_empty(failure_description& description) noexcept {
  description.explain([](text_writer& writer) {
    writer.put("the ").put(name_of(kind_of<Native>));
    writer.put(" is empty: moved from, closed, or never made");
  });
}

/// Ends a program that uses an empty handle where nothing can be reported.
template <class Native>
[[gnu::always_inline]] inline void require_present(std::string_view call,
                                                   const Native* object) noexcept {
  if constexpr (hardened(ADVERB_HARDENING_FAST))
    if (object == nullptr) [[unlikely]]
      end_program(call, explain_empty<Native>);
}

}  // namespace adverb::inline ADVERB_ABI::detail
