// SPDX-License-Identifier: MIT
// Tells the thread sanitizer what it cannot see: that a completion, polled by one thread, comes
// after the post of its request by another, although a device stands between them.
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

/// Before a post: what this thread did so far comes before the completions of `queue`.
inline void before_post_to([[maybe_unused]] void* queue) noexcept {
#if defined(ADVERB_THREAD_SANITIZER)
  if (queue != nullptr) __tsan_release(queue);
#endif
}

/// After completions were taken off `queue`.
inline void after_poll_of([[maybe_unused]] void* queue) noexcept {
#if defined(ADVERB_THREAD_SANITIZER)
  __tsan_acquire(queue);
#endif
}

}  // namespace adverb::inline ADVERB_ABI::detail
