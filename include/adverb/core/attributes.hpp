// SPDX-License-Identifier: MIT
// Attributes that not every compiler supports.
#pragma once

// Marks a result that refers to the object or parameter, so that Clang warns about temporaries.
#if defined(__clang__)
#define ADVERB_LIFETIME_BOUND [[clang::lifetimebound]]
#else
#define ADVERB_LIFETIME_BOUND
#endif
