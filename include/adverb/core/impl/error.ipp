// SPDX-License-Identifier: MIT
#pragma once

#include <cstdlib>

#include <adverb/core/error.hpp>

namespace adverb::inline ADVERB_ABI {

ADVERB_FUNC error::error(const adverb::failure& why) : std::system_error{why.code()}, why_{why} {}

[[gnu::noinline]] ADVERB_FUNC void detail::fail(const failure& why) {
#if defined(__cpp_exceptions)
  throw error{why};
#else
  tell_failure_hook(why);
  std::abort();
#endif
}

[[gnu::noinline]] ADVERB_FUNC void on_failure::clear_target(on_failure to) noexcept {
  if (to.way_ == way::code)
    to.code_->clear();
  else
    to.whole() = failure{};
}

[[gnu::noinline]] ADVERB_FUNC void on_failure::report_known(on_failure to, const failure& known) {
  switch (to.way_) {
    case way::raise: detail::fail(known);
    case way::tell: detail::tell_failure_hook(known); break;
    case way::code: *to.code_ = known.code(); break;
    case way::failure: to.whole() = known; break;
  }
}

[[gnu::noinline]] ADVERB_FUNC void on_failure::report_code(
    on_failure to, std::error_code code, const char* verb,
    detail::callable_ref<failure_description&> describe) {
  if (to.way_ == way::code)
    *to.code_ = code;
  else
    report_known(to, failure{code, verb, describe});
}

[[gnu::noinline]] ADVERB_FUNC void on_failure::report_errno(
    on_failure to, int number, const char* verb,
    detail::callable_ref<failure_description&> describe) {
  report_code(to, detail::errno_code(number), verb, describe);
}

}  // namespace adverb::inline ADVERB_ABI
