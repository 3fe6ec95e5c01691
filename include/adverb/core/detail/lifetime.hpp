// SPDX-License-Identifier: MIT
// The lifetime checker: counts the live children of verbs objects, in a table beside the objects.
// It counts the children that adverb made. It costs a few hundred instructions when an object is
// made or destroyed, and nothing otherwise.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <new>
#include <string_view>

#include <pthread.h>

#include <adverb/core/object_kind.hpp>
#include <adverb/core/text.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// The base of a table that exists once in the program, including plugins loaded at run time if the
/// program exports it. `Table` is the derived class, whose visibility must be the default.
// See docs/decisions.md, "Programs export adverb to their plugins".
template <class Table>
class [[gnu::visibility("default")]] side_table {
 public:
  /// Returns the table of this program. Never destroyed, so that static objects may outlive main.
  [[nodiscard, gnu::noinline]] static Table& instance() noexcept {
    alignas(Table) static std::byte storage[sizeof(Table)];
    static Table* const table = new (storage) Table;
    return *table;
  }

 protected:
  /// Locks the table around fork(2). Otherwise a fork while another thread holds the lock would
  /// leave the table locked in the child.
  side_table() noexcept {
    pthread_mutex_init(&mutex_, nullptr);
    pthread_atfork([] { pthread_mutex_lock(&instance().mutex_); },
                   [] { pthread_mutex_unlock(&instance().mutex_); },
                   [] {
                     if constexpr (requires { instance().enter_child(); }) instance().enter_child();
                     pthread_mutex_unlock(&instance().mutex_);
                   });
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
  pthread_mutex_t mutex_;
};

/// Writes "1 queue pair", "2 queue pairs".
constexpr void put_count(text_writer& writer, std::uint32_t count, object_kind kind) noexcept {
  writer.decimal(count).put(" ");
  if (count == 1)
    writer.put(name_of(kind));
  else if (kind == object_kind::identifier)
    writer.put("connections or other rdma_cm identifiers");
  else if (kind == object_kind::device_memory)
    writer.put("device memories");
  else
    writer.put(name_of(kind)).put("s");
}

/// The number of live children of an object, by kind.
struct child_counts {
  std::array<std::uint32_t, object_kinds> of{};

  [[nodiscard]] constexpr bool none() const noexcept {
    // Without a branch for each, so that several are tested together.
    std::uint32_t any = 0;
    for (const std::uint32_t count : of) any |= count;
    return any == 0;
  }

  /// Writes "1 memory region, 2 queue pairs".
  constexpr void write_to(text_writer& writer) const noexcept {
    std::string_view separator;
    for (std::size_t kind = 0; kind < object_kinds; ++kind) {
      if (of[kind] == 0) continue;
      writer.put(separator);
      put_count(writer, of[kind], static_cast<object_kind>(kind));
      separator = ", ";
    }
  }
};

/// The parents of an object; null for none. If memory runs out, it has fewer. Not a std::vector,
/// because its layout depends on how a unit is compiled (_GLIBCXX_DEBUG), and all units share the
/// records that contain it.
class noted_parents {
 public:
  noted_parents() noexcept = default;
  noted_parents(const void* const* parents, std::size_t count) noexcept;
  noted_parents(std::initializer_list<const void*> parents) noexcept
      : noted_parents{parents.begin(), parents.size()} {}
  noted_parents(const noted_parents& other) noexcept : noted_parents{other.parents_, other.size_} {}
  noted_parents(noted_parents&& other) noexcept { swap(other); }
  noted_parents& operator=(noted_parents other) noexcept {
    swap(other);
    return *this;
  }
  ~noted_parents() { delete[] parents_; }

  [[gnu::cold]] void push_back(const void* parent) noexcept;

  [[nodiscard]] const void* const* data() const noexcept { return parents_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] const void* const* begin() const noexcept { return parents_; }
  [[nodiscard]] const void* const* end() const noexcept { return parents_ + size_; }

 private:
  void swap(noted_parents& other) noexcept;

  const void** parents_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

/// The parents of an object whose parents change. No allocation, because an object whose parents
/// of before are forgotten keeps them alive. An identifier, which has the most, has ten.
class present_parents {
 public:
  void add(const void* parent) noexcept {
    if (size_ != most) all_[size_++] = parent;
  }
  [[nodiscard]] const void* const* begin() const noexcept { return all_; }
  [[nodiscard]] const void* const* end() const noexcept { return all_ + size_; }

 private:
  static constexpr std::size_t most = 16;

  const void* all_[most]{};
  std::size_t size_ = 0;
};

/// The record of one object. A completion queue with reserved entries has reservations as children.
/// It exists while it holds something: C can destroy the object without a word.
struct live_object {
  const void* address = nullptr;
  live_object* next_in_bucket = nullptr;
  child_counts children{};
  /// The sum of `children`.
  std::uint32_t all_children = 0;
  noted_parents parents{};
  /// The reserved entries of a completion queue.
  std::size_t reserved = 0;
  /// A child of fork(2) has made the object.
  bool is_of_child = false;

  void add_child(object_kind kind) noexcept {
    ++children.of[static_cast<std::size_t>(kind)];
    ++all_children;
  }
  void remove_child(object_kind kind) noexcept {
    std::uint32_t& count = children.of[static_cast<std::size_t>(kind)];
    // Zero if C code has changed the object's parent since it was counted.
    if (count == 0) return;
    --count;
    --all_children;
  }

  [[nodiscard]] bool holds_nothing() const noexcept {
    return all_children == 0 && reserved == 0 && parents.empty() && !is_of_child;
  }
};

/// A hash table of records, without `<unordered_map>`, which would be a tenth of the library's
/// include cost. Lives as long as the program. Keeps some removed records, which are empty, for the
/// next objects.
class live_objects {
 public:
  /// Returns the record of an object, or null.
  [[nodiscard]] live_object* find(const void* address) const noexcept;

  [[nodiscard]] live_object& find_or_add(const void* address) noexcept {
    live_object* const found = find(address);
    return found != nullptr ? *found : add(address);
  }

  void remove(live_object* object) noexcept;

  /// Marks no object as one of a child of fork(2).
  void leave_to_parent() noexcept;

  /// Takes a child away, and removes the record if it holds nothing more.
  void remove_child(live_object& object, object_kind kind) noexcept {
    object.remove_child(kind);
    if (object.holds_nothing()) remove(&object);
  }

 private:
  /// Returns a record that is never found again if memory runs out.
  [[nodiscard, gnu::cold]] live_object& add(const void* address) noexcept;

  [[nodiscard]] std::size_t bucket_count() const noexcept { return std::size_t{1} << bits_; }

  [[nodiscard]] live_object*& bucket_of(const void* address) const noexcept {
    // The multiplier is 2^64 divided by the golden ratio. It spreads addresses, whose last bits are
    // alike, over the first bits of the product.
    const std::uint64_t spread = reinterpret_cast<std::uintptr_t>(address) * 0x9e3779b97f4a7c15U;
    return buckets_[spread >> (64 - bits_)];
  }

  /// Stays as it is if memory runs out.
  void grow() noexcept;

  static constexpr unsigned first_bits = 6;
  unsigned bits_ = first_bits;
  std::size_t size_ = 0;
  live_object* first_buckets_[std::size_t{1} << first_bits]{};
  live_object** buckets_ = first_buckets_;
  /// Takes what belongs to an object without a record. Nothing reads it.
  live_object lost_{};
  static constexpr std::size_t max_spare = 64;
  live_object* spare_ = nullptr;
  std::size_t spare_count_ = 0;
};

/// Receives the parents of an object from its traits. Runs under the lock of the table.
class parent_visitor {
 public:
  /// Adds a parent, unless it is null.
  void add(const void* parent) noexcept;
  /// Adds the parents that are stored for an object, because its C struct does not name them.
  void add_noted_of(const void* child) noexcept;

 private:
  friend class lifetime_registry;

  enum class task { count, discount, list };

  live_objects& objects_;
  task task_;
  object_kind kind_{};
  present_parents* list_ = nullptr;

  parent_visitor(live_objects& objects, task what, object_kind kind) noexcept
      : objects_{objects}, task_{what}, kind_{kind} {}
  parent_visitor(live_objects& objects, present_parents& list) noexcept
      : objects_{objects}, task_{task::list}, list_{&list} {}
};

/// Passes the parents of an object to a visitor.
using list_parents_function = void (*)(const void* object, parent_visitor& parents) noexcept;

/// The table of the lifetime checker. Thread safe. If memory for an entry runs out, the children of
/// that object are not counted, and only the kernel refuses to destroy it before them.
class [[gnu::visibility("default")]] lifetime_registry : public side_table<lifetime_registry> {
 public:
  void add_child(const void* parent, object_kind kind) noexcept;

  void remove_child(const void* parent, object_kind kind) noexcept;

  /// Adds an object to the child counts of its parents, or removes it from them.
  void add(const void* object, object_kind kind, list_parents_function list) noexcept;
  void remove(const void* object, object_kind kind, list_parents_function list) noexcept;
  /// Removes an object that is to be destroyed, with its stored parents, which move to `stored`.
  /// Returns false, and changes nothing, if it has live children.
  [[nodiscard]] bool remove_unused(const void* object, object_kind kind, list_parents_function list,
                                   noted_parents& stored) noexcept;
  [[nodiscard]] present_parents parents_of(const void* object, list_parents_function list) noexcept;

  [[nodiscard]] child_counts children_of(const void* parent) noexcept;

  /// Returns true in a child of fork(2) if its parent made the object.
  [[nodiscard]] bool is_of_parent_process(const void* object) noexcept;

  struct reservation {
    bool fits;
    /// Entries reserved by others.
    std::size_t reserved_before;
  };
  /// Adds a reservation to a completion queue of `capacity` entries, if enough are left.
  reservation reserve(const void* queue, std::size_t entries, std::size_t capacity) noexcept;
  /// Removes a reservation.
  void give_back(const void* queue, std::size_t entries) noexcept;
  /// Returns the reserved entries of a completion queue.
  [[nodiscard]] std::size_t reserved(const void* queue) noexcept;

  /// Stores the parents of an object until they are replaced or taken.
  void note_parents(const void* child, const void* const* parents, std::size_t count) noexcept;
  [[nodiscard]] noted_parents noted_parents_of(const void* child) noexcept;
  /// Returns the stored parents of an object and removes them.
  noted_parents take_noted_parents(const void* child) noexcept;

 private:
  friend side_table<lifetime_registry>;

  /// In a child of fork(2). The objects that are there belong to its parent.
  void enter_child() noexcept {
    is_child_ = true;
    objects_.leave_to_parent();
  }

  live_objects objects_;
  bool is_child_ = false;
};

/// Returns `made`, and stores the parents that its C struct does not name. The type of `parents`
/// needs no allocation, which could throw after the object was made.
// Two names, because the compiler would compare every list of parents with all conversions to an
// overload's range parameter.
// See docs/decisions.md, "Parents that the C struct does not name".
template <class Native>
[[nodiscard]] Native* with_parents(Native* made,
                                   std::initializer_list<const void*> parents) noexcept {
  if (made != nullptr)
    lifetime_registry::instance().note_parents(made, parents.begin(), parents.size());
  return made;
}
template <class Native>
[[nodiscard]] Native* with_parents_of(Native* made, const noted_parents& parents) noexcept {
  if (made != nullptr)
    lifetime_registry::instance().note_parents(made, parents.data(), parents.size());
  return made;
}

}  // namespace adverb::inline ADVERB_ABI::detail

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/core/impl/lifetime.ipp>
#endif
