// SPDX-License-Identifier: MIT
#pragma once

#include <adverb/core/detail/check.hpp>
#include <adverb/core/detail/dead_device.hpp>
#include <adverb/core/handle.hpp>

namespace adverb::inline ADVERB_ABI::detail {

[[gnu::noinline]] ADVERB_FUNC void report_children(on_failure policy, const char* verb,
                                                   const child_counts& children,
                                                   const object_name& describe) {
  policy.report(EBUSY, verb, [&](failure_description& description) {
    describe(description);
    description.explain([&](text_writer& writer) {
      writer.put("still in use by ");
      children.write_to(writer);
      writer.put("; destroy these first");
    });
  });
}

ADVERB_FUNC part_in_use find_part_in_use(callable_ref<part_visitor> for_each_part) noexcept {
  part_in_use found;
  for_each_part([&](object_part part) {
    if (part.object == nullptr || found) return;
    const child_counts children = lifetime_registry::instance().children_of(part.object);
    if (!children.none()) found = {part, children};
  });
  return found;
}

ADVERB_FUNC void report_part_in_use(on_failure policy, const char* verb, const part_in_use& found) {
  report_children(policy, verb, found.children,
                  {found.part.object, found.part.operations->describe});
}

[[gnu::noinline]] ADVERB_FUNC void register_with_parents(
    const void* object, const object_operations& operations) noexcept {
  lifetime_registry::instance().add(object, operations.kind, operations.list_parents);
}

ADVERB_FUNC void unregister_from_parents(const void* object,
                                         const object_operations& operations) noexcept {
  lifetime_registry::instance().remove(object, operations.kind, operations.list_parents);
}

ADVERB_FUNC present_parents parents_of(const void* object,
                                       const object_operations& operations) noexcept {
  return lifetime_registry::instance().parents_of(object, operations.list_parents);
}

ADVERB_FUNC void replace_parents(const void* object, const object_operations& operations,
                                 const present_parents& before) noexcept {
  register_with_parents(object, operations);
  for (const void* const parent : before)
    lifetime_registry::instance().remove_child(parent, operations.kind);
}

/// Registers an object that was not destroyed after all.
[[gnu::cold, gnu::noinline]] ADVERB_FUNC void register_again(
    const void* object, const object_operations& operations,
    const noted_parents& parents) noexcept {
  lifetime_registry::instance().note_parents(object, parents.data(), parents.size());
  register_with_parents(object, operations);
}

/// Returns true if a destroy failed because the kernel destroys the object with its device, or has
/// done so.
// See docs/decisions.md, "A device that has gone takes its objects along".
[[gnu::cold, gnu::noinline]] ADVERB_FUNC bool goes_with_device(const void* object,
                                                               const object_operations& operations,
                                                               int result) noexcept {
  // The connection manager is another device of the kernel, which stays.
  if (operations.kind == object_kind::identifier) return false;
  if (has_gone_with_device(result)) return true;
  const ibv_context* const device = operations.device_of(object);
  return device != nullptr && is_dead(device);
}

ADVERB_FUNC bool destroy_object(void* object, const object_operations& operations,
                                on_failure policy) {
  lifetime_registry& registry = lifetime_registry::instance();
  // A child of fork(2) leaves them alone: its destroys would end them for its parent.
  if (registry.is_of_parent_process(object)) [[unlikely]]
    return true;
  const object_name name{object, operations.describe};
  // Taken before the destroy: afterwards another thread's object may have the same address.
  noted_parents stored;
  while (!registry.remove_unused(object, operations.kind, operations.list_parents, stored)) {
    const child_counts children = registry.children_of(object);
    // Another thread may have destroyed the last child meanwhile.
    if (children.none()) continue;
    report_children(policy, operations.destroy_verb, children, name);
    return false;
  }
  if (operations.for_each_part != nullptr) {
    // Only after unregistering, because an object may be a child of its own parts.
    const part_in_use found =
        find_part_in_use([&](part_visitor visitor) { operations.for_each_part(object, visitor); });
    if (found) {
      register_again(object, operations, stored);
      report_part_in_use(policy, operations.destroy_verb, found);
      return false;
    }
  }
  const int result = operations.destroy(object);
  if (result == 0 || goes_with_device(object, operations, result)) return true;
  register_again(object, operations, stored);
  return check_returned(policy, operations.destroy_verb, result,
                        [&](failure_description& description) {
                          name(description);
                          if (operations.explain_destroy != nullptr)
                            operations.explain_destroy(description);
                        });
}

[[gnu::noinline]] ADVERB_FUNC void destroy_or_tell(void* object,
                                                   const object_operations& operations) noexcept {
  destroy_object(object, operations, to_failure_hook{});
}

ADVERB_FUNC void forget_object(const void* object, const object_operations& operations) noexcept {
  unregister_from_parents(object, operations);
  lifetime_registry::instance().take_noted_parents(object);
}

[[gnu::noinline]] ADVERB_FUNC void report_empty(on_failure policy, const char* verb,
                                                object_kind kind) {
  policy.report(EINVAL, verb, empty_object{kind});
}

}  // namespace adverb::inline ADVERB_ABI::detail
