// SPDX-License-Identifier: MIT
// Annotations for the thread sanitizer: the post of a request comes before its completion.
// The sanitizer cannot see this order if one thread posts and another polls, because a device
// stands between them.
#pragma once

#include <adverb/version.hpp>

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
