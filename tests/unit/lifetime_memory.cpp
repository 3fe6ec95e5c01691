// SPDX-License-Identifier: MIT
// The lifetime checker when memory runs out. Compiled alone: it replaces a function of the whole
// program.
#include <array>
#include <cstddef>
#include <new>

#include <adverb/core/detail/lifetime.hpp>
#include <support/catch.hpp>

namespace {

/// The allocations that do not throw and may still succeed.
constinit thread_local std::size_t left = static_cast<std::size_t>(-1);

struct without_memory {
  explicit without_memory(std::size_t first = 0) { left = first; }
  ~without_memory() { left = static_cast<std::size_t>(-1); }
};

template <class Allocate>
void* allocate(const Allocate& allocate_or_throw) noexcept {
  if (left == 0) return nullptr;
  --left;
  try {
    return allocate_or_throw();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

using adverb::object_kind;
using adverb::detail::lifetime_registry;
using adverb::detail::noted_parents;

/// More objects than the checker keeps removed records for, and than its first table has buckets.
using objects = std::array<char, 400>;

}  // namespace

void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return allocate([size] { return ::operator new(size); });
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return allocate([size] { return ::operator new[](size); });
}

TEST_CASE("objects that are made without memory are not counted, and the others are") {
  lifetime_registry& registry = lifetime_registry::instance();
  const objects parents{};
  const char counted = 0;
  registry.add_child(&counted, object_kind::queue_pair);
  {
    const without_memory none;
    for (const char& each : parents) registry.add_child(&each, object_kind::memory_region);
    registry.add_child(&counted, object_kind::queue_pair);
  }
  std::size_t lost = 0;
  for (const char& each : parents) lost += registry.children_of(&each).none() ? 1 : 0;
  // Removed records of other cases have room for some.
  CHECK(lost >= parents.size() - 64);
  CHECK(registry.children_of(&counted).of[static_cast<std::size_t>(object_kind::queue_pair)] == 2);

  // A child that was not counted is no harm when it is removed, before and behind one that was.
  registry.add_child(&parents[0], object_kind::memory_region);
  for (const char& each : parents) registry.remove_child(&each, object_kind::memory_region);
  for (const char& each : parents) registry.remove_child(&each, object_kind::memory_region);
  for (const char& each : parents) CHECK(registry.children_of(&each).none());
  registry.remove_child(&counted, object_kind::queue_pair);
  registry.remove_child(&counted, object_kind::queue_pair);
  CHECK(registry.children_of(&counted).none());
}

TEST_CASE("a table that cannot grow finds every object") {
  lifetime_registry& registry = lifetime_registry::instance();
  const objects parents{};
  // Memory for some records. The table grows three times, and one of these allocations may fail.
  for (std::size_t first = 0; first < parents.size(); ++first) {
    {
      const without_memory none{first};
      for (const char& each : parents) registry.add_child(&each, object_kind::queue_pair);
    }
    std::size_t found = 0;
    for (const char& each : parents) found += registry.children_of(&each).none() ? 0 : 1;
    for (const char& each : parents) registry.remove_child(&each, object_kind::queue_pair);
    REQUIRE(found + 3 >= first);
    for (const char& each : parents) REQUIRE(registry.children_of(&each).none());
  }
}

TEST_CASE("parents are noted as far as there is memory") {
  lifetime_registry& registry = lifetime_registry::instance();
  const std::array<const void*, 2> parents{&registry, &left};
  const char child = 0;
  {
    const without_memory none;
    registry.note_parents(&child, parents.data(), parents.size());
    CHECK(noted_parents{parents.data(), parents.size()}.empty());
    noted_parents list;
    list.push_back(&child);
    CHECK(list.empty());
  }
  CHECK(registry.take_noted_parents(&child).empty());
  registry.note_parents(&child, parents.data(), parents.size());
  {
    const without_memory none;
    CHECK(registry.noted_parents_of(&child).empty());
  }
  CHECK(registry.take_noted_parents(&child).size() == 2);
}

TEST_CASE("a completion queue without a record has no reserved entries") {
  lifetime_registry& registry = lifetime_registry::instance();
  const objects queues{};
  {
    const without_memory none;
    for (const char& each : queues) CHECK(registry.reserve(&each, 3, 8).fits);
  }
  for (const char& each : queues) registry.give_back(&each, 3);
  for (const char& each : queues) CHECK(registry.reserved(&each) == 0);
}
