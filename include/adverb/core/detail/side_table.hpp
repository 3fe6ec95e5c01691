// SPDX-License-Identifier: MIT
// Tables beside the objects of the C API, for data that their structs have no room for.
#pragma once

#include <cstddef>
#include <new>

#include <pthread.h>

#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// The base of a table that exists once in the program, including plugins loaded at run time. A
/// plugin that Clang compiled and that was loaded with RTLD_LOCAL has a table of its own. `Table`
/// is the derived class, whose visibility must be the default.
template <class Table>
class [[gnu::visibility("default")]] side_table {
 public:
  /// Returns the table of this program. Never destroyed, so that static objects may outlive main.
  [[nodiscard]] static Table& instance() noexcept {
    alignas(Table) static std::byte storage[sizeof(Table)];
    static Table* const table = new (storage) Table;
    return *table;
  }

 protected:
  /// Locks the table around fork(2). Otherwise a fork while another thread holds the lock would
  /// leave the table locked in the child.
  side_table() noexcept {
    constexpr auto let_in = [] { pthread_mutex_unlock(&instance().mutex_); };
    pthread_atfork([] { pthread_mutex_lock(&instance().mutex_); }, let_in, let_in);
  }

  /// Locks the table while it exists.
  class lock {
   public:
    explicit lock(side_table& table) noexcept : table_{table} {
      pthread_mutex_lock(&table_.mutex_);
    }
    ~lock() { pthread_mutex_unlock(&table_.mutex_); }
    lock(const lock&) = delete;
    lock& operator=(const lock&) = delete;

   private:
    side_table& table_;
  };

 private:
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

}  // namespace adverb::inline ADVERB_ABI::detail
