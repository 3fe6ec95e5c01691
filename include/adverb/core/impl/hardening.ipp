// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include <adverb/core/detail/hardening.hpp>
#include <adverb/core/failure.hpp>

namespace adverb::inline ADVERB_ABI::detail {

[[gnu::noinline]] ADVERB_FUNC void end_program(
    const char* call, callable_ref<failure_description&> describe) noexcept {
  tell_failure_hook(failure{std::error_code{EINVAL, std::generic_category()}, call, describe});
  std::abort();
}

[[gnu::noinline]] ADVERB_FUNC void end_program_over(object_kind kind, const char* call) noexcept {
  end_program(call, empty_object{kind});
}

[[gnu::noinline]] ADVERB_FUNC void end_program_with(const char* call,
                                                    std::string_view sentence) noexcept {
  end_program(call, [&](failure_description& description) { description.explain(sentence); });
}

}  // namespace adverb::inline ADVERB_ABI::detail
