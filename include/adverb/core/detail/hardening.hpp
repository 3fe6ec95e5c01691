// SPDX-License-Identifier: MIT
// Checks against invalid accesses, at the level of ADVERB_HARDENING.
#pragma once

#include <string_view>

#include <adverb/core/failure.hpp>
#include <adverb/core/object_kind.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Returns whether a level's checks are compiled in: ADVERB_HARDENING_FAST, ADVERB_HARDENING_DEBUG.
[[nodiscard]] consteval bool hardened(int level) noexcept { return ADVERB_HARDENING >= level; }

/// Reports a programming error to the failure hook and aborts the program. Calls `describe` with a
/// failure_description.
[[noreturn, gnu::cold]] void end_program(const char* call,
                                         callable_ref<failure_description&> describe) noexcept;

/// Explains "the queue pair is empty: moved from, closed, or never created".
struct empty_object {
  object_kind kind;

  void operator()(failure_description& description) const noexcept {
    description.explain("the {} is empty: moved from, closed, or never created", {name_of(kind)});
  }
};

/// Reports an empty object to the failure hook and aborts the program.
[[noreturn, gnu::cold]] void end_program_over(object_kind kind, const char* call) noexcept;

/// Reports a sentence to the failure hook and aborts the program.
[[noreturn, gnu::cold]] void end_program_with(const char* call, std::string_view sentence) noexcept;

/// Aborts the program if `object` is null, where no error can be reported.
template <class Native>
[[gnu::always_inline]] inline void require_present(const char* call,
                                                   const Native* object) noexcept {
  if constexpr (hardened(ADVERB_HARDENING_FAST))
    if (object == nullptr) [[unlikely]]
      end_program_over(kind_of<Native>, call);
}

/// Ends the program with a sentence, unless `holds`, where no error can be reported.
[[gnu::always_inline]] inline void require(bool holds, const char* call,
                                           std::string_view sentence) noexcept {
  if constexpr (hardened(ADVERB_HARDENING_FAST))
    if (!holds) [[unlikely]]
      end_program_with(call, sentence);
}

}  // namespace adverb::inline ADVERB_ABI::detail

#if defined(__SANITIZE_THREAD__)
#define ADVERB_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ADVERB_THREAD_SANITIZER 1
#endif
#endif

#if defined(ADVERB_THREAD_SANITIZER)
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#endif

namespace adverb::inline ADVERB_ABI::detail {

/// Call before a post: the thread's earlier actions come before the completions of `queue`.
inline void before_post_to([[maybe_unused]] void* queue) noexcept {
#if defined(ADVERB_THREAD_SANITIZER)
  if (queue != nullptr) __tsan_release(queue);
#endif
}

/// Call after completions were taken off `queue`.
inline void after_poll_of([[maybe_unused]] void* queue) noexcept {
#if defined(ADVERB_THREAD_SANITIZER)
  __tsan_acquire(queue);
#endif
}

}  // namespace adverb::inline ADVERB_ABI::detail

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/core/impl/hardening.ipp>
#endif
