// SPDX-License-Identifier: MIT
// Failed allocations where an exception would not reach the operation that waits.
#pragma once

#include <cerrno>
#include <new>

#include <adverb/core/error.hpp>
#include <adverb/core/failure.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Calls a function. Returns false if it threw std::bad_alloc.
template <class Function>
[[nodiscard]] bool has_memory_for(const Function& function) {
#if defined(__cpp_exceptions)
  try {
    function();
  } catch (const std::bad_alloc&) {
    return false;
  }
#else
  function();
#endif
  return true;
}

/// Reports that an allocation failed.
[[gnu::cold]] inline void report_lack_of_memory(on_failure policy, const char* verb) {
  policy.report(ENOMEM, verb, [](failure_description& description) {
    description.explain("an allocation of the program's memory failed");
  });
}

}  // namespace adverb::inline ADVERB_ABI::detail
