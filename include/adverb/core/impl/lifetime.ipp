// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <new>
#include <utility>

#include <adverb/core/detail/lifetime.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC noted_parents::noted_parents(const void* const* parents, std::size_t count) noexcept
    : parents_{count == 0 ? nullptr : new(std::nothrow) const void*[count]},
      size_{parents_ == nullptr ? 0 : count},
      capacity_{size_} {
  for (std::size_t index = 0; index < size_; ++index) parents_[index] = parents[index];
}

[[gnu::noinline]] ADVERB_FUNC void noted_parents::push_back(const void* parent) noexcept {
  if (size_ == capacity_) {
    noted_parents larger;
    larger.capacity_ = 2 * capacity_ + 4;
    larger.parents_ = new (std::nothrow) const void*[larger.capacity_];
    if (larger.parents_ == nullptr) return;
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

[[gnu::noinline]] ADVERB_FUNC live_object& live_objects::add(const void* address) noexcept {
  if (size_ == bucket_count()) grow();
  live_object* made = spare_;
  if (made != nullptr) {
    spare_ = made->next_in_bucket;
    --spare_count_;
  } else {
    made = new (std::nothrow) live_object;
    if (made == nullptr) return lost_;
  }
  live_object*& bucket = bucket_of(address);
  made->address = address;
  made->next_in_bucket = bucket;
  bucket = made;
  ++size_;
  return *made;
}

[[gnu::noinline]] ADVERB_FUNC void live_objects::remove(live_object* object) noexcept {
  live_object** link = &bucket_of(object->address);
  while (*link != object) link = &(*link)->next_in_bucket;
  *link = object->next_in_bucket;
  --size_;
  if (spare_count_ == max_spare) {
    delete object;
    return;
  }
  object->next_in_bucket = spare_;
  object->reserved = 0;
  object->is_of_child = false;
  spare_ = object;
  ++spare_count_;
}

ADVERB_FUNC void live_objects::leave_to_parent() noexcept {
  for (std::size_t index = 0; index < bucket_count(); ++index)
    for (live_object* each = buckets_[index]; each != nullptr; each = each->next_in_bucket)
      each->is_of_child = false;
}

ADVERB_FUNC void live_objects::grow() noexcept {
  live_object** const smaller = buckets_;
  const std::size_t count = bucket_count();
  live_object** const larger = new (std::nothrow) live_object*[2 * count]{};
  if (larger == nullptr) return;
  buckets_ = larger;
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
  if (smaller != first_buckets_) delete[] smaller;
}

ADVERB_FUNC void parent_visitor::add(const void* parent) noexcept {
  if (parent == nullptr) return;
  switch (task_) {
    case task::count: objects_.find_or_add(parent).add_child(kind_); break;
    case task::discount:
      if (live_object* const found = objects_.find(parent)) objects_.remove_child(*found, kind_);
      break;
    case task::list: list_->add(parent); break;
  }
}

ADVERB_FUNC void parent_visitor::add_noted_of(const void* child) noexcept {
  const live_object* const found = objects_.find(child);
  if (found == nullptr) return;
  for (const void* const parent : found->parents) add(parent);
}

ADVERB_FUNC void lifetime_registry::add_child(const void* parent, object_kind kind) noexcept {
  const lock guard{*this};
  objects_.find_or_add(parent).add_child(kind);
}

ADVERB_FUNC void lifetime_registry::remove_child(const void* parent, object_kind kind) noexcept {
  const lock guard{*this};
  if (live_object* const found = objects_.find(parent)) objects_.remove_child(*found, kind);
}

ADVERB_FUNC void lifetime_registry::add(const void* object, object_kind kind,
                                        list_parents_function list) noexcept {
  parent_visitor visitor{objects_, parent_visitor::task::count, kind};
  const lock guard{*this};
  list(object, visitor);
  if (is_child_) [[unlikely]]
    objects_.find_or_add(object).is_of_child = true;
}

ADVERB_FUNC void lifetime_registry::remove(const void* object, object_kind kind,
                                           list_parents_function list) noexcept {
  parent_visitor visitor{objects_, parent_visitor::task::discount, kind};
  const lock guard{*this};
  list(object, visitor);
}

ADVERB_FUNC bool lifetime_registry::remove_unused(const void* object, object_kind kind,
                                                  list_parents_function list,
                                                  noted_parents& stored) noexcept {
  parent_visitor visitor{objects_, parent_visitor::task::discount, kind};
  const lock guard{*this};
  live_object* const found = objects_.find(object);
  if (found != nullptr && found->all_children != 0) return false;
  list(object, visitor);
  if (found != nullptr) {
    stored = std::move(found->parents);
    objects_.remove(found);
  }
  return true;
}

ADVERB_FUNC present_parents lifetime_registry::parents_of(const void* object,
                                                          list_parents_function list) noexcept {
  present_parents found;
  parent_visitor visitor{objects_, found};
  const lock guard{*this};
  list(object, visitor);
  return found;
}

[[gnu::noinline]] ADVERB_FUNC lifetime_registry::reservation lifetime_registry::reserve(
    const void* queue, std::size_t entries, std::size_t capacity) noexcept {
  const lock guard{*this};
  live_object* const found = objects_.find(queue);
  const std::size_t before = found == nullptr ? 0 : found->reserved;
  if (before > capacity || entries > capacity - before) return {false, before};
  live_object& record = found == nullptr ? objects_.find_or_add(queue) : *found;
  record.reserved += entries;
  record.add_child(object_kind::completion_reservation);
  return {true, before};
}

[[gnu::noinline]] ADVERB_FUNC void lifetime_registry::give_back(const void* queue,
                                                                std::size_t entries) noexcept {
  const lock guard{*this};
  live_object* const found = objects_.find(queue);
  if (found == nullptr) return;
  found->reserved -= entries < found->reserved ? entries : found->reserved;
  objects_.remove_child(*found, object_kind::completion_reservation);
}

ADVERB_FUNC std::size_t lifetime_registry::reserved(const void* queue) noexcept {
  const lock guard{*this};
  const live_object* const found = objects_.find(queue);
  return found == nullptr ? 0 : found->reserved;
}

[[gnu::noinline]] ADVERB_FUNC child_counts
lifetime_registry::children_of(const void* parent) noexcept {
  const lock guard{*this};
  const live_object* const found = objects_.find(parent);
  return found == nullptr ? child_counts{} : found->children;
}

ADVERB_FUNC bool lifetime_registry::is_of_parent_process(const void* object) noexcept {
  if (!is_child_) [[likely]]
    return false;
  const lock guard{*this};
  const live_object* const found = objects_.find(object);
  return found == nullptr || !found->is_of_child;
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
  noted_parents taken = std::move(found->parents);
  found->is_of_child = false;
  if (found->holds_nothing()) objects_.remove(found);
  return taken;
}

}  // namespace adverb::inline ADVERB_ABI::detail
