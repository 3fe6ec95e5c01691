// SPDX-License-Identifier: MIT
// What owns a C object and what only refers to one. The operations of both are written once, in a
// base that they share.
#pragma once

#include <cerrno>
#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <adverb/core/detail/check.hpp>
#include <adverb/core/detail/hardening.hpp>
#include <adverb/core/detail/lifetime.hpp>

namespace adverb::inline ADVERB_ABI {

/// Tag: take over, or view, something that the C API made.
struct adopt_t {
  explicit adopt_t() = default;
};
inline constexpr adopt_t adopt{};

namespace detail {
/// Stands for what is called with the parents of an object.
inline constexpr auto take_parent = [](const void*) {};
/// Stands for what is called with the parts of one, and their traits.
inline constexpr auto take_part = [](auto, const void*) {};
}  // namespace detail

/// What an owner has to know of its C object.
///   native_type                  the type of the C object
///   destroy_verb                 the name of the C function that destroys it
///   destroy(object)              calls it; returns 0 or an errno
///   for_each_parent(object, f)   calls f with each object that must outlive this one
///   describe(object, writer)     names it, as in "rxe0 qp 0x11"
/// and, if there is more to say than the errno of a destroy that failed:
///   explain_destroy(description) says why
/// and, if others are destroyed with it that programs can make something from:
///   for_each_part(object, f)     calls f with the traits of each, and it
template <class Traits>
concept handle_traits = requires(typename Traits::native_type* object, text_writer& writer) {
  { Traits::destroy_verb } -> std::convertible_to<std::string_view>;
  { Traits::destroy(object) } noexcept -> std::same_as<int>;
  Traits::for_each_parent(object, detail::take_parent);
  { Traits::describe(object, writer) } noexcept;
};

namespace detail {

/// Names an object in a failure, as its traits do.
template <handle_traits Traits>
[[nodiscard]] auto on_object(const typename Traits::native_type* object) noexcept {
  return [object](failure_description& description) {
    description.object([&](text_writer& writer) { Traits::describe(object, writer); });
  };
}

/// Reports an object that cannot be destroyed, because others that were made from it live still.
[[gnu::cold]] inline void report_children(on_failure policy, std::string_view verb,
                                          const child_counts& children,
                                          callable_ref<failure_description&> describe) {
  policy.report(EBUSY, verb, [&](failure_description& description) {
    describe(description);
    description.explain([&](text_writer& writer) {
      writer.put("still in use by ");
      children.write_to(writer);
      writer.put("; destroy these first");
    });
  });
}

/// What is destroyed together with an object, and has others that stand on it.
struct part_in_use {
  const void* part = nullptr;
  child_counts children;

  explicit operator bool() const noexcept { return part != nullptr; }
};

/// Finds the first of the parts that `for_each_part` calls its function with.
template <class Parts>
[[nodiscard]] part_in_use find_part_in_use(const Parts& for_each_part) noexcept {
  part_in_use found;
  for_each_part([&](auto, const auto* part) {
    if (part == nullptr || found) return;
    const child_counts children = lifetime_registry::instance().children_of(part);
    if (!children.none()) found = {part, children};
  });
  return found;
}

/// Reports that it cannot be destroyed with the others.
template <class Parts>
[[gnu::cold]] void report_part_in_use(on_failure policy, std::string_view verb,
                                      const part_in_use& found, const Parts& for_each_part) {
  report_children(policy, verb, found.children, [&](failure_description& description) {
    for_each_part([&](auto traits, const auto* part) {
      if (part == found.part) on_object<decltype(traits)>(part)(description);
    });
  });
}

/// Counts an object as the child of what it stands on, or no longer.
template <handle_traits Traits>
void register_with_parents(const typename Traits::native_type* object) noexcept {
  Traits::for_each_parent(object, [](const void* parent) {
    if (parent != nullptr)
      lifetime_registry::instance().add_child(parent, kind_of<typename Traits::native_type>);
  });
}
template <handle_traits Traits>
void unregister_from_parents(const typename Traits::native_type* object) noexcept {
  Traits::for_each_parent(object, [](const void* parent) {
    if (parent != nullptr)
      lifetime_registry::instance().remove_child(parent, kind_of<typename Traits::native_type>);
  });
}

/// Makes a call that may give an object other parents, and counts it as their child afterwards. The
/// errno that the call left is kept.
template <handle_traits Traits, class Call>
auto with_new_parents(const typename Traits::native_type* object, const Call& call) {
  unregister_from_parents<Traits>(object);
  const auto result = call();
  const int reason = errno;
  register_with_parents<Traits>(object);
  errno = reason;
  return result;
}

/// The pointer to a C object: the root of every base of operations. One with more than the pointer
/// has a constructor (native_type*, more...) too.
template <class Native>
class handle_base {
 public:
  using native_type = Native;

  constexpr handle_base() noexcept = default;
  constexpr explicit handle_base(Native* object) noexcept : object_{object} {}

  /// The C object, or null when empty. An owner keeps owning it.
  [[nodiscard]] constexpr Native* native_handle() const noexcept { return object_; }
  [[nodiscard]] constexpr explicit operator bool() const noexcept { return object_ != nullptr; }

 protected:
  Native* object_ = nullptr;
};

/// Owns a C object and destroys it: move-only. Empty by default and after being moved from or
/// released. Move assignment destroys what was held, at once.
///
/// A destroy that fails in the destructor or in a move assignment is told to the failure hook, and
/// so is an object that still has live children: it is left alone, because destroying it would
/// leave them dangling.
template <class Base, handle_traits Traits>
class [[nodiscard]] owner : public Base {
  using Base::object_;

 public:
  using native_type = typename Traits::native_type;
  using owner_traits = Traits;

  owner() noexcept = default;

  /// Takes over an object of the C API (or none, when null).
  template <class... More>
    requires std::constructible_from<Base, native_type*, More...>
  owner(adopt_t, native_type* object, const More&... more) noexcept : Base{object, more...} {
    if (object_ != nullptr) register_with_parents<Traits>(object_);
  }

  owner(owner&& other) noexcept : Base{other} { other.object_ = nullptr; }
  owner& operator=(owner&& other) noexcept {
    if (this != &other) {
      destroy_or_tell();
      Base::operator=(other);
      other.object_ = nullptr;
    }
    return *this;
  }
  ~owner() { destroy_or_tell(); }

  /// Gives up the C object without destroying it.
  [[nodiscard]] native_type* release() noexcept {
    if (object_ != nullptr) {
      unregister_from_parents<Traits>(object_);
      lifetime_registry::instance().take_noted_parents(object_);
    }
    return std::exchange(object_, nullptr);
  }

  /// Destroys the object now and reports an error. A failed close leaves the handle as it was: it
  /// can be closed again once the reason is gone. Closing an empty handle does nothing.
  // See docs/decisions.md, "A failed close keeps the object".
  void close(on_failure policy = throwing{}) {
    policy.clear();
    if (object_ == nullptr) return;
    const child_counts children = lifetime_registry::instance().children_of(object_);
    if (!children.none()) {
      report_children(policy, Traits::destroy_verb, children, on_object<Traits>(object_));
      return;
    }
    unregister_from_parents<Traits>(object_);
    if constexpr (requires { Traits::for_each_part(object_, take_part); }) {
      // Now, because an object may stand on its own parts.
      const auto parts = [this](const auto& function) { Traits::for_each_part(object_, function); };
      if (const part_in_use found = find_part_in_use(parts)) {
        register_with_parents<Traits>(object_);
        report_part_in_use(policy, Traits::destroy_verb, found, parts);
        return;
      }
    }
    // Taken before it is destroyed: once it is, another thread's object may have its address.
    const auto noted = lifetime_registry::instance().take_noted_parents(object_);
    const int result = Traits::destroy(object_);
    if (result == 0) {
      object_ = nullptr;
      return;
    }
    lifetime_registry::instance().note_parents(object_, noted.data(), noted.size());
    register_with_parents<Traits>(object_);
    check_returned(policy, Traits::destroy_verb, result, [&](failure_description& description) {
      on_object<Traits>(object_)(description);
      if constexpr (requires { Traits::explain_destroy(description); })
        Traits::explain_destroy(description);
    });
  }

 protected:
  template <class, handle_traits>
  friend class owner;

  /// Takes the object of an owner with other operations: those of another state.
  template <class Other>
  explicit owner(owner<Other, Traits>&& other) noexcept
      : Base{std::exchange(other.object_, nullptr)} {}

  /// Makes a call that may give the object other parents, and counts it as their child afterwards.
  /// The errno that the call left is kept.
  template <class Call>
  auto with_new_parents(const Call& call) {
    return adverb::detail::with_new_parents<Traits>(object_, call);
  }

 private:
  void destroy_or_tell() noexcept { close(to_failure_hook{}); }
};

/// What was made from an owner: not to be had of one that is about to die.
template <class Handle>
concept owning = requires { typename Handle::owner_traits; };

/// Refers to a C object that something else keeps alive: as cheap as the pointer, to be passed by
/// value. Made from an owner, from another reference, or from the pointer of the C API. Null by
/// default.
template <class Base>
class reference_to : public Base {
 public:
  constexpr reference_to() noexcept = default;
  constexpr reference_to(typename Base::native_type* object) noexcept
    requires std::constructible_from<Base, typename Base::native_type*>
      : Base{object} {}
  template <std::derived_from<Base> Handle>
  constexpr reference_to(const Handle& handle) noexcept : Base{handle} {}
  /// An owner that is about to die cannot be referred to.
  template <std::derived_from<Base> Handle>
    requires owning<Handle>
  reference_to(const Handle&&) = delete;

  /// True when both refer to the same object, or to none.
  friend constexpr bool operator==(const reference_to& one, const reference_to& other) noexcept {
    return one.native_handle() == other.native_handle();
  }
};

}  // namespace detail

/// Refers to a C object of which nothing more is known than its type: a queue pair in whatever
/// state, a shared receive queue of whatever kind.
template <class Native>
using reference = detail::reference_to<detail::handle_base<Native>>;

namespace detail {

/// Reports an object that is needed and is not there, instead of handing null to a C call. True
/// when it is there.
template <class Native>
bool check_present(on_failure policy, std::string_view verb, const Native* object) {
  if (object != nullptr) [[likely]]
    return true;
  policy.report(EINVAL, verb, explain_empty<Native>);
  return false;
}

/// Makes an object with a C call; null when that fails. `parents` are what the call needs.
template <class Create, class Describe, class... Parents>
[[nodiscard]] auto make_object(on_failure policy, std::string_view verb, const Create& create,
                               const Describe& describe, const Parents&... parents)
    -> decltype(create()) {
  if (!(check_present(policy, verb, parents.native_handle()) && ...)) return nullptr;
  return check_pointer(policy, verb, create, describe);
}

/// The same, owned from its first moment.
template <class Handle, class... Arguments>
[[nodiscard]] Handle make_handle(on_failure policy, const Arguments&... arguments) {
  return Handle{adopt, make_object(policy, arguments...)};
}

}  // namespace detail
}  // namespace adverb::inline ADVERB_ABI
