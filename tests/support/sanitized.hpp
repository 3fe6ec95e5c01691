// SPDX-License-Identifier: MIT
// A constant that is true in a program with the address sanitizer, which slows it down several
// times.
#pragma once

namespace test_support {

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ADVERB_TEST_IS_SANITIZED true
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define ADVERB_TEST_IS_SANITIZED true
#endif
#if defined(ADVERB_TEST_IS_SANITIZED)
inline constexpr bool is_sanitized = true;
#else
inline constexpr bool is_sanitized = false;
#endif

}  // namespace test_support
