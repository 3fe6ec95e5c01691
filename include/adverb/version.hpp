// SPDX-License-Identifier: MIT
// The version, the inline namespace that contains it, and attributes that not every compiler has.
#pragma once

// Marks a result that refers to the object or parameter, so that Clang warns about temporaries.
#if defined(__clang__)
#define ADVERB_LIFETIME_BOUND [[clang::lifetimebound]]
#else
#define ADVERB_LIFETIME_BOUND
#endif

// Marks a result that does not refer to the object, so that GCC does not warn about temporary
// references to C objects.
#if defined(__GNUC__) && __GNUC__ >= 14
#define ADVERB_NO_DANGLING [[gnu::no_dangling]]
#else
#define ADVERB_NO_DANGLING
#endif

/// The first number of the version.
#define ADVERB_VERSION_MAJOR 0
/// The second number of the version.
#define ADVERB_VERSION_MINOR 1
/// The third number of the version.
#define ADVERB_VERSION_PATCH 0

/// No checks.
#define ADVERB_HARDENING_NONE 0
/// The checks that cost little: reading fields of failed completions, posting to or polling empty
/// handles, blocks out of range.
#define ADVERB_HARDENING_FAST 1
/// Also checks writes and reads that exceed the remote buffer they name, prepared requests moved to
/// memory of another key, and posts of buffers whose region is gone or of another protection
/// domain.
#define ADVERB_HARDENING_DEBUG 2
/// @def ADVERB_HARDENING
/// The checks that a program performs on its use of the library: ADVERB_HARDENING_NONE,
/// ADVERB_HARDENING_FAST or ADVERB_HARDENING_DEBUG. A failed check ends the program with a message.
/// The default is DEBUG if the compiler does not optimise (`-O0`) and NDEBUG is not defined, else
/// FAST.
#if !defined(ADVERB_HARDENING)
#if defined(__OPTIMIZE__) || defined(NDEBUG)
#define ADVERB_HARDENING ADVERB_HARDENING_FAST
#else
#define ADVERB_HARDENING ADVERB_HARDENING_DEBUG
#endif
#endif

// Everything is declared in `adverb::inline ADVERB_ABI`, whose name contains the version, the
// hardening, whether exceptions are enabled, ADVERB_BOOST_ASIO and ADVERB_POISON_BLOCKS. Without
// it, a program that mixes these would silently use one body of each inline function in all of its
// translation units.
#if ADVERB_HARDENING == ADVERB_HARDENING_NONE
#define ADVERB_ABI_HARDENING v0_1_unchecked
#elif ADVERB_HARDENING == ADVERB_HARDENING_FAST
#define ADVERB_ABI_HARDENING v0_1
#elif ADVERB_HARDENING == ADVERB_HARDENING_DEBUG
#define ADVERB_ABI_HARDENING v0_1_debug
#else
#error "ADVERB_HARDENING is ADVERB_HARDENING_NONE, ADVERB_HARDENING_FAST or ADVERB_HARDENING_DEBUG"
#endif
#if defined(__cpp_exceptions)
#define ADVERB_ABI_EXCEPTIONS
#else
#define ADVERB_ABI_EXCEPTIONS _noexceptions
#endif
// The classes of <adverb/asio.hpp> depend on the library, and those of received messages on the
// poison.
#if defined(ADVERB_BOOST_ASIO)
#define ADVERB_ABI_ASIO _boost
#else
#define ADVERB_ABI_ASIO
#endif
#if defined(ADVERB_POISON_BLOCKS)
#define ADVERB_ABI_BLOCKS _poison
#else
#define ADVERB_ABI_BLOCKS
#endif
#define ADVERB_ABI_JOINED(first, second, third, fourth) first##second##third##fourth
#define ADVERB_ABI_JOIN(first, second, third, fourth) \
  ADVERB_ABI_JOINED(first, second, third, fourth)
#define ADVERB_ABI \
  ADVERB_ABI_JOIN(ADVERB_ABI_HARDENING, ADVERB_ABI_EXCEPTIONS, ADVERB_ABI_ASIO, ADVERB_ABI_BLOCKS)

// If every translation unit defines ADVERB_SEPARATE_COMPILATION, the headers only declare functions
// off the data path. One translation unit defines them: it includes <adverb/impl/src.hpp>.
// Virtual functions have ADVERB_FUNC in their class, too: one that is not declared inline there
// makes every translation unit define the class's table of virtual functions, and what that refers
// to.
#if defined(ADVERB_SEPARATE_COMPILATION)
#define ADVERB_FUNC
#else
#define ADVERB_FUNC inline
#endif
