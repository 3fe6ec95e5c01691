// SPDX-License-Identifier: MIT
// Attributes that not every compiler has.
#pragma once

// Marks what a returned object refers to, so that the compiler can tell when that is a temporary.
#if defined(__clang__)
#define ADVERB_LIFETIME_BOUND [[clang::lifetimebound]]
#else
#define ADVERB_LIFETIME_BOUND
#endif
