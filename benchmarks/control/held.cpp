// SPDX-License-Identifier: MIT
// Lets callgrind collect only while the program holds a mutex. Replacements of the functions of the
// C library report when that begins and ends.
#include <dlfcn.h>
#include <pthread.h>
#include <valgrind/callgrind.h>

namespace {

using function = int(pthread_mutex_t*);
function* replaced(const char* name) noexcept {
  return reinterpret_cast<function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  static function* const lock = replaced("pthread_mutex_lock");
  const int result = lock(mutex);
  CALLGRIND_TOGGLE_COLLECT;
  return result;
}
int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  static function* const unlock = replaced("pthread_mutex_unlock");
  CALLGRIND_TOGGLE_COLLECT;
  return unlock(mutex);
}

}  // extern "C"
