// SPDX-License-Identifier: MIT
#include "allocations/replaced_new.hpp"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

#include <malloc.h>

namespace {

using replaced_new::without_memory;

/// The allocations that succeed before the first one that fails, in a new thread.
constinit std::atomic<std::size_t> left_at_start{without_memory::endless};

constinit thread_local std::size_t allocations = 0;
/// Allocations that succeed before the first one that fails.
thread_local std::size_t left = left_at_start;
/// Allocations that fail after these.
constinit thread_local std::size_t to_fail = without_memory::endless;
constinit thread_local std::size_t failures = 0;

constinit std::atomic<std::size_t> in_use{0};
constinit std::atomic<std::size_t> bytes{0};

/// The size of a block with the bytes that malloc needs itself.
std::size_t size_of(void* whole) noexcept {
  return ::malloc_usable_size(whole) + sizeof(std::size_t);
}

/// Stands before each block, which stays as aligned as malloc makes it.
struct alignas(std::max_align_t) mark {
  void* whole;
  bool is_counted;
};

void* allocate(std::size_t size, bool is_counted,
               std::size_t alignment = alignof(std::max_align_t)) noexcept {
  ++allocations;
  if (left != 0) {
    if (left != without_memory::endless) --left;
  } else if (to_fail != 0) {
    if (to_fail != without_memory::endless) --to_fail;
    ++failures;
    return nullptr;
  }
  std::size_t room = sizeof(mark) + alignment + size;
  void* const whole = std::malloc(room);
  if (whole == nullptr) return nullptr;
  bytes += size_of(whole);
  if (is_counted) ++in_use;
  room -= sizeof(mark);
  void* block = static_cast<std::byte*>(whole) + sizeof(mark);
  std::align(alignment, size, block, room);
  new (static_cast<std::byte*>(block) - sizeof(mark)) mark{whole, is_counted};
  return block;
}

void* allocate_or_throw(std::size_t size,
                        std::align_val_t alignment = std::align_val_t{alignof(std::max_align_t)}) {
  if (void* const block = allocate(size, true, static_cast<std::size_t>(alignment))) return block;
  throw std::bad_alloc{};
}

void release(void* block) noexcept {
  if (block == nullptr) return;
  const mark found = static_cast<mark*>(block)[-1];
  bytes -= size_of(found.whole);
  if (found.is_counted) --in_use;
  std::free(found.whole);
}

}  // namespace

// The address sanitizer has each form that is not replaced.
void* operator new(std::size_t size) { return allocate_or_throw(size); }
void* operator new[](std::size_t size) { return allocate_or_throw(size); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate_or_throw(size, alignment);
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return allocate_or_throw(size, alignment);
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return allocate(size, false);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return allocate(size, false);
}
void operator delete(void* block) noexcept { release(block); }
void operator delete[](void* block) noexcept { release(block); }
void operator delete(void* block, std::size_t) noexcept { release(block); }
void operator delete[](void* block, std::size_t) noexcept { release(block); }
void operator delete(void* block, std::align_val_t) noexcept { release(block); }
void operator delete[](void* block, std::align_val_t) noexcept { release(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { release(block); }
void operator delete[](void* block, std::size_t, std::align_val_t) noexcept { release(block); }

namespace replaced_new {

std::size_t allocated() noexcept { return allocations; }
std::size_t blocks_in_use() noexcept { return in_use; }
std::size_t bytes_in_use() noexcept { return bytes; }

without_memory::without_memory(std::size_t before, std::size_t count) noexcept {
  failures = 0;
  left = before;
  to_fail = count;
}
void without_memory::end() noexcept { left = endless; }
std::size_t without_memory::failed() noexcept { return failures; }

threads_without_memory::threads_without_memory() noexcept { left_at_start = 0; }
threads_without_memory::~threads_without_memory() { left_at_start = without_memory::endless; }

}  // namespace replaced_new
