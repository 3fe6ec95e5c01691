// SPDX-License-Identifier: MIT
// Memory of the operations of a loop, for those that follow.
#pragma once

#include <cstddef>
#include <new>
#include <utility>

#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Memory of operations that have ended, for those that follow. The blocks of a connection's steps
/// are alike, so that a send takes that of a wait for messages. Not thread safe.
class block_cache {
 public:
  block_cache() = default;
  block_cache(const block_cache&) = delete;
  block_cache& operator=(const block_cache&) = delete;
  ~block_cache() {
    for (free_block* each : free_)
      while (each != nullptr) ::operator delete(std::exchange(each, each->next));
  }

  [[nodiscard]] void* allocate(std::size_t bytes) {
    const std::size_t size = class_of(bytes);
    if (size >= classes) return ::operator new(bytes);
    if (free_block* const first = free_[size]) {
      free_[size] = first->next;
      return first;
    }
    return ::operator new((size + 1) * granule);
  }
  void deallocate(void* block, std::size_t bytes) noexcept {
    const std::size_t size = class_of(bytes);
    if (size >= classes) return ::operator delete(block);
    free_[size] = new (block) free_block{free_[size]};
  }

 private:
  struct free_block {
    free_block* next;
  };
  static constexpr std::size_t granule = 512;
  static constexpr std::size_t classes = 8;
  static constexpr std::size_t class_of(std::size_t bytes) noexcept {
    return (bytes - 1) / granule;
  }
  free_block* free_[classes] = {};
};

/// Allocates the memory of operations in a cache.
template <class T>
struct cache_allocator {
  using value_type = T;

  explicit cache_allocator(block_cache& cache) noexcept : blocks{&cache} {}
  template <class Other>
  cache_allocator(const cache_allocator<Other>& other) noexcept : blocks{other.blocks} {}

  [[nodiscard]] T* allocate(std::size_t count) const {
    return static_cast<T*>(blocks->allocate(count * sizeof(T)));
  }
  void deallocate(T* memory, std::size_t count) const noexcept {
    blocks->deallocate(memory, count * sizeof(T));
  }
  template <class Other>
  [[nodiscard]] friend bool operator==(const cache_allocator& left,
                                       const cache_allocator<Other>& right) noexcept {
    return left.blocks == right.blocks;
  }

  block_cache* blocks;
};

/// A handler of the loop itself, with memory from its cache: Asio keeps the memory of two ended
/// operations only.
template <class Function>
struct cached_handler {
  using allocator_type = cache_allocator<std::byte>;

  cached_handler(block_cache& cache, Function run) noexcept : blocks{&cache}, function{run} {}
  [[nodiscard]] allocator_type get_allocator() const noexcept { return allocator_type{*blocks}; }
  template <class... Given>
  void operator()(const Given&... given) {
    function(given...);
  }

  block_cache* blocks;
  Function function;
};

}  // namespace adverb::inline ADVERB_ABI::detail
