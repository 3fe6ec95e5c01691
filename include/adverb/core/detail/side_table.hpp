// SPDX-License-Identifier: MIT
// Tables beside the objects of the C API, for what their structs have no room for.
#pragma once

#include <cstddef>
#include <new>

#include <pthread.h>

#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// The base of a table of which there is one in the program, plugins that were loaded at run time
/// included; but one of its own in each plugin that Clang compiled and that was loaded with
/// RTLD_LOCAL. `Table` is the class itself, whose visibility has to be the default.
template <class Table>
class [[gnu::visibility("default")]] side_table {
 public:
  /// The one of this program. Never destroyed, so that objects of static storage may outlive main.
  [[nodiscard]] static Table& instance() noexcept {
    alignas(Table) static std::byte storage[sizeof(Table)];
    static Table* const table = new (storage) Table;
    return *table;
  }

 protected:
  /// A process that forks while another thread is in the table would leave it locked in the child.
  side_table() noexcept {
    constexpr auto let_in = [] { pthread_mutex_unlock(&instance().mutex_); };
    pthread_atfork([] { pthread_mutex_lock(&instance().mutex_); }, let_in, let_in);
  }

  /// Keeps other threads out of the table.
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
