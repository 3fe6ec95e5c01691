// SPDX-License-Identifier: MIT
#include "counters.hpp"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include <dlfcn.h>
#include <pthread.h>

namespace {
#if defined(ADVERB_COUNTS_THREADS)
using counter = std::atomic<std::uint64_t>;
#else
// `run` would take the locked instruction of another one for a lock of the job.
using counter = std::uint64_t;
#endif
counter allocations;
counter locks;

/// The function of the C library that this program has replaced.
template <class Function>
Function* replaced(const char* name) noexcept {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}
}  // namespace

namespace counters {
counts so_far() noexcept { return {allocations, locks}; }
}  // namespace counters

extern "C" {

// glibc's names for programs that replace these functions: dlsym allocates, and would come back
// here.
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);

// operator new comes here too.
void* malloc(std::size_t size) noexcept {
  ++allocations;
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) noexcept {
  ++allocations;
  return __libc_calloc(count, size);
}
void* realloc(void* memory, std::size_t size) noexcept {
  ++allocations;
  return __libc_realloc(memory, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  ++allocations;
  return __libc_memalign(alignment, size);
}
void* memalign(std::size_t alignment, std::size_t size) noexcept {
  ++allocations;
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** out, std::size_t alignment, std::size_t size) noexcept {
  ++allocations;
  *out = __libc_memalign(alignment, size);
  return *out == nullptr ? ENOMEM : 0;
}

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  ++locks;
  return replaced<int(pthread_mutex_t*)>("pthread_mutex_lock")(mutex);
}
int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
  ++locks;
  return replaced<int(pthread_mutex_t*)>("pthread_mutex_trylock")(mutex);
}
int pthread_spin_lock(pthread_spinlock_t* lock) noexcept {
  ++locks;
  return replaced<int(pthread_spinlock_t*)>("pthread_spin_lock")(lock);
}
int pthread_spin_trylock(pthread_spinlock_t* lock) noexcept {
  ++locks;
  return replaced<int(pthread_spinlock_t*)>("pthread_spin_trylock")(lock);
}
int pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept {
  ++locks;
  return replaced<int(pthread_rwlock_t*)>("pthread_rwlock_rdlock")(lock);
}
int pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept {
  ++locks;
  return replaced<int(pthread_rwlock_t*)>("pthread_rwlock_wrlock")(lock);
}

}  // extern "C"
