// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <utility>

#include <adverb/core/detail/lifetime.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC noted_parents::noted_parents(const void* const* parents, std::size_t count)
    : parents_{count == 0 ? nullptr : new const void*[count]}, size_{count}, capacity_{count} {
  for (std::size_t index = 0; index < count; ++index) parents_[index] = parents[index];
}

ADVERB_FUNC void noted_parents::push_back(const void* parent) {
  if (size_ == capacity_) {
    noted_parents larger;
    larger.capacity_ = 2 * capacity_ + 4;
    larger.parents_ = new const void*[larger.capacity_];
    for (const void* const each : *this) larger.parents_[larger.size_++] = each;
    swap(larger);
  }
  parents_[size_++] = parent;
}

ADVERB_FUNC void noted_parents::swap(noted_parents& other) noexcept {
  parents_ = std::exchange(other.parents_, parents_);
  size_ = std::exchange(other.size_, size_);
  capacity_ = std::exchange(other.capacity_, capacity_);
}

ADVERB_FUNC live_object* live_objects::find(const void* address) const noexcept {
  live_object* object = bucket_of(address);
  while (object != nullptr && object->address != address) object = object->next_in_bucket;
  return object;
}

ADVERB_FUNC live_object& live_objects::find_or_add(const void* address) {
  if (live_object* const found = find(address)) return *found;
  if (size_ == bucket_count()) grow();
  live_object*& bucket = bucket_of(address);
  bucket = new live_object{address, bucket};
  ++size_;
  return *bucket;
}

ADVERB_FUNC void live_objects::remove(live_object* object) noexcept {
  live_object** link = &bucket_of(object->address);
  while (*link != object) link = &(*link)->next_in_bucket;
  *link = object->next_in_bucket;
  delete object;
  --size_;
}

ADVERB_FUNC live_object*& live_objects::bucket_of(const void* address) const noexcept {
  // The multiplier is 2^64 divided by the golden ratio. It spreads addresses, whose last bits are
  // alike, over the first bits of the product.
  const std::uint64_t spread = reinterpret_cast<std::uintptr_t>(address) * 0x9e3779b97f4a7c15U;
  return buckets_[spread >> (64 - bits_)];
}

ADVERB_FUNC void live_objects::grow() {
  live_object** const smaller = buckets_;
  const std::size_t count = bucket_count();
  buckets_ = new live_object*[2 * count]{};
  ++bits_;
  for (std::size_t index = 0; index < count; ++index) {
    live_object* object = smaller[index];
    while (object != nullptr) {
      live_object* const next = object->next_in_bucket;
      live_object*& bucket = bucket_of(object->address);
      object->next_in_bucket = bucket;
      bucket = object;
      object = next;
    }
  }
  delete[] smaller;
}

ADVERB_FUNC void lifetime_registry::add_child(const void* parent, object_kind kind) noexcept {
  const lock guard{*this};
  ++objects_.find_or_add(parent).children.of[static_cast<std::size_t>(kind)];
}

ADVERB_FUNC void lifetime_registry::remove_child(const void* parent, object_kind kind) noexcept {
  const lock guard{*this};
  if (live_object* const found = objects_.find(parent)) remove_child(*found, kind);
}

ADVERB_FUNC void lifetime_registry::remove_child(live_object& parent, object_kind kind) noexcept {
  std::uint32_t& count = parent.children.of[static_cast<std::size_t>(kind)];
  // Zero if C code has changed the object's parent since it was counted.
  if (count == 0) return;
  --count;
  if (parent.empty()) objects_.remove(&parent);
}

ADVERB_FUNC lifetime_registry::reservation lifetime_registry::reserve(
    const void* queue, std::size_t entries, std::size_t capacity) noexcept {
  const lock guard{*this};
  live_object* const found = objects_.find(queue);
  const std::size_t before = found == nullptr ? 0 : found->reserved;
  if (before > capacity || entries > capacity - before) return {false, before};
  live_object& record = found == nullptr ? objects_.find_or_add(queue) : *found;
  record.reserved += entries;
  ++record.children.of[static_cast<std::size_t>(object_kind::completion_reservation)];
  return {true, before};
}

ADVERB_FUNC void lifetime_registry::give_back(const void* queue, std::size_t entries) noexcept {
  const lock guard{*this};
  live_object* const found = objects_.find(queue);
  if (found == nullptr) return;
  found->reserved -= entries < found->reserved ? entries : found->reserved;
  remove_child(*found, object_kind::completion_reservation);
}

ADVERB_FUNC std::size_t lifetime_registry::reserved(const void* queue) noexcept {
  const lock guard{*this};
  const live_object* const found = objects_.find(queue);
  return found == nullptr ? 0 : found->reserved;
}

ADVERB_FUNC child_counts lifetime_registry::children_of(const void* parent) noexcept {
  const lock guard{*this};
  const live_object* const found = objects_.find(parent);
  return found == nullptr ? child_counts{} : found->children;
}

ADVERB_FUNC void lifetime_registry::note_parents(const void* child, const void* const* parents,
                                                 std::size_t count) noexcept {
  if (count == 0) return;
  const lock guard{*this};
  objects_.find_or_add(child).parents = noted_parents{parents, count};
}

ADVERB_FUNC noted_parents lifetime_registry::noted_parents_of(const void* child) noexcept {
  const lock guard{*this};
  const live_object* const found = objects_.find(child);
  return found == nullptr ? noted_parents{} : found->parents;
}

ADVERB_FUNC noted_parents lifetime_registry::take_noted_parents(const void* child) noexcept {
  const lock guard{*this};
  live_object* const found = objects_.find(child);
  if (found == nullptr) return {};
  noted_parents taken = std::exchange(found->parents, {});
  if (found->empty()) objects_.remove(found);
  return taken;
}

}  // namespace adverb::inline ADVERB_ABI::detail
