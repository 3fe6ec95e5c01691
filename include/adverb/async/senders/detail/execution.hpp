// SPDX-License-Identifier: MIT
// The library of senders: <execution>, or the one that ADVERB_EXECUTION names.
#pragma once

#include <version>

#include <adverb/version.hpp>

#if !defined(ADVERB_EXECUTION)
#if !defined(__cpp_lib_senders)
#error "<adverb/senders.hpp> needs the senders of <execution>, or ADVERB_EXECUTION: their namespace"
#endif
#include <execution>
#include <stop_token>
#define ADVERB_EXECUTION std::execution
namespace adverb::inline ADVERB_ABI::detail::execution {
using namespace ::std;
}
#endif

namespace adverb::inline ADVERB_ABI::detail {

/// The names of the library of senders.
namespace execution {
using namespace ADVERB_EXECUTION;
}  // namespace execution

}  // namespace adverb::inline ADVERB_ABI::detail
