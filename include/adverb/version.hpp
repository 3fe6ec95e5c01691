// SPDX-License-Identifier: MIT
// The version, and the inline namespace that carries it.
#pragma once

#define ADVERB_VERSION_MAJOR 0
#define ADVERB_VERSION_MINOR 1
#define ADVERB_VERSION_PATCH 0

// How much a program checks where it would otherwise read what is not there:
//
//   ADVERB_HARDENING_NONE   nothing
//   ADVERB_HARDENING_FAST   fields of completions that failed, posts and polls of empty handles,
//                           blocks out of range
//   ADVERB_HARDENING_DEBUG  writes and reads longer than the remote buffer that they name, too
//
// What is found ends the program with a sentence. Unless it is defined, it is FAST where NDEBUG is
// defined, else DEBUG.
#define ADVERB_HARDENING_NONE 0
#define ADVERB_HARDENING_FAST 1
#define ADVERB_HARDENING_DEBUG 2
#if !defined(ADVERB_HARDENING)
#if defined(NDEBUG)
#define ADVERB_HARDENING ADVERB_HARDENING_FAST
#else
#define ADVERB_HARDENING ADVERB_HARDENING_DEBUG
#endif
#endif

// Everything lives in `adverb::inline ADVERB_ABI`. It names the version, the hardening, and whether
// exceptions are on: a program that mixes these would otherwise get one body of each inline
// function for all of its translation units, silently.
#if ADVERB_HARDENING == ADVERB_HARDENING_NONE
#define ADVERB_ABI_HARDENING v0_1_unchecked
#elif ADVERB_HARDENING == ADVERB_HARDENING_FAST
#define ADVERB_ABI_HARDENING v0_1
#elif ADVERB_HARDENING == ADVERB_HARDENING_DEBUG
#define ADVERB_ABI_HARDENING v0_1_debug
#else
#error "ADVERB_HARDENING is ADVERB_HARDENING_NONE, ADVERB_HARDENING_FAST or ADVERB_HARDENING_DEBUG"
#endif
#define ADVERB_ABI_WITHOUT_EXCEPTIONS_OF(name) name##_noexceptions
#define ADVERB_ABI_WITHOUT_EXCEPTIONS(name) ADVERB_ABI_WITHOUT_EXCEPTIONS_OF(name)
#if defined(__cpp_exceptions)
#define ADVERB_ABI ADVERB_ABI_HARDENING
#else
#define ADVERB_ABI ADVERB_ABI_WITHOUT_EXCEPTIONS(ADVERB_ABI_HARDENING)
#endif
