// SPDX-License-Identifier: MIT
// The operator new of the program, which counts its blocks and can fail.
#pragma once

#include <cstddef>

namespace replaced_new {

/// Returns the number of allocations of this thread so far.
[[nodiscard]] std::size_t allocated() noexcept;

/// Returns the number of blocks of all threads that are allocated now. The blocks that were
/// requested with std::nothrow do not count: the tables of the library, which live as long as the
/// program, are made of them.
[[nodiscard]] std::size_t blocks_in_use() noexcept;

/// Returns the number of bytes of malloc that all blocks use now.
[[nodiscard]] std::size_t bytes_in_use() noexcept;

/// Has allocations of this thread fail as long as it lives. One at a time.
class without_memory {
 public:
  static constexpr std::size_t endless = static_cast<std::size_t>(-1);

  /// The first `before` allocations succeed, and the next `count` fail.
  explicit without_memory(std::size_t before = 0, std::size_t count = endless) noexcept;
  without_memory(const without_memory&) = delete;
  without_memory& operator=(const without_memory&) = delete;
  ~without_memory() { end(); }

  /// Has the next allocations succeed.
  static void end() noexcept;
  /// Returns the number of allocations that have failed since the last object was made.
  [[nodiscard]] static std::size_t failed() noexcept;
};

/// Has every allocation of the threads that start from now on fail as long as it lives.
struct threads_without_memory {
  threads_without_memory() noexcept;
  threads_without_memory(const threads_without_memory&) = delete;
  threads_without_memory& operator=(const threads_without_memory&) = delete;
  ~threads_without_memory();
};

}  // namespace replaced_new
