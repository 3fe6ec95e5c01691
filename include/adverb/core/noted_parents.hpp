// SPDX-License-Identifier: MIT
// The parents of objects whose C structs do not name them: noted when the object is made, in a
// table beside the objects, so that the lifetime checker counts it like every other child.
#pragma once

#include <cstddef>
#include <new>
#include <unordered_map>
#include <utility>
#include <vector>

#include <pthread.h>

#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// The table. Thread safe.
class [[gnu::visibility("default")]] noted_parents {
 public:
  /// The one of this program. Never destroyed, so that objects of static storage may outlive main.
  [[nodiscard]] static noted_parents& instance() noexcept {
    alignas(noted_parents) static std::byte storage[sizeof(noted_parents)];
    static noted_parents* const table = new (storage) noted_parents;
    return *table;
  }

  /// Remembers them until they are noted anew or forgotten. Running out of memory for an entry ends
  /// the program.
  void note(const void* child, std::vector<const void*> parents) noexcept {
    pthread_mutex_lock(&mutex_);
    parents_.insert_or_assign(child, std::move(parents));
    pthread_mutex_unlock(&mutex_);
  }

  void forget(const void* child) noexcept {
    pthread_mutex_lock(&mutex_);
    parents_.erase(child);
    pthread_mutex_unlock(&mutex_);
  }

  template <class Function>
  void for_each(const void* child, const Function& function) noexcept {
    for (const void* parent : parents_of(child)) function(parent);
  }

 private:
  [[nodiscard]] std::vector<const void*> parents_of(const void* child) noexcept {
    pthread_mutex_lock(&mutex_);
    const auto found = parents_.find(child);
    std::vector<const void*> parents =
        found == parents_.end() ? std::vector<const void*>{} : found->second;
    pthread_mutex_unlock(&mutex_);
    return parents;
  }

  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  std::unordered_map<const void*, std::vector<const void*>> parents_;
};

/// Passes on what making an object gave, and notes its parents when there is one.
template <class Native>
[[nodiscard]] Native* with_parents(Native* made, std::vector<const void*> parents) noexcept {
  if (made != nullptr) noted_parents::instance().note(made, std::move(parents));
  return made;
}

/// Passes on what destroying an object gave, and forgets its parents when it is gone.
[[nodiscard]] inline int without_parents(const void* object, int result) noexcept {
  if (result == 0) noted_parents::instance().forget(object);
  return result;
}

}  // namespace adverb::inline ADVERB_ABI::detail
