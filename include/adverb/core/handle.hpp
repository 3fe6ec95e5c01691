// SPDX-License-Identifier: MIT
// Owning handles and references to C objects, with their operations in a common base.
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

/// Tag: takes over, or views, an object that the C API made.
struct adopt_t {
  explicit adopt_t() = default;
};
inline constexpr adopt_t adopt{};

namespace detail {
/// Stands for the function that receives the parents of an object.
inline constexpr auto take_parent = [](const void*) {};
/// Stands for the function that receives the parts of an object and their traits.
inline constexpr auto take_part = [](auto, const void*) {};
}  // namespace detail

/// The traits that an owner needs for its C object.
///   native_type                  the type of the C object
///   destroy_verb                 the name of the C function that destroys it
///   destroy(object)              calls it; returns 0 or an errno
///   for_each_parent(object, f)   calls f with each object that must outlive this one
///   describe(object, writer)     names it, as in "rxe0 qp 0x11"
/// Optional, if the errno of a failed destroy needs an explanation:
///   explain_destroy(description) adds the reason
/// Optional, if destroying it also destroys parts that can have children:
///   for_each_part(object, f)     calls f with the traits of each part, and the part
template <class Traits>
concept handle_traits = requires(typename Traits::native_type* object, text_writer& writer) {
  { Traits::destroy_verb } -> std::convertible_to<std::string_view>;
  { Traits::destroy(object) } noexcept -> std::same_as<int>;
  Traits::for_each_parent(object, detail::take_parent);
  { Traits::describe(object, writer) } noexcept;
};

namespace detail {

/// Names an object in a failure, through its traits.
template <handle_traits Traits>
[[nodiscard]] auto on_object(const typename Traits::native_type* object) noexcept {
  return [object](failure_description& description) {
    description.object([&](text_writer& writer) { Traits::describe(object, writer); });
  };
}

/// Reports EBUSY: the object still has live children.
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

/// A part that is destroyed together with an object and has live children.
struct part_in_use {
  const void* part = nullptr;
  child_counts children;

  explicit operator bool() const noexcept { return part != nullptr; }
};

/// Returns the first part with live children. `for_each_part` enumerates the parts.
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

/// Reports EBUSY: a part of the object still has live children.
template <class Parts>
[[gnu::cold]] void report_part_in_use(on_failure policy, std::string_view verb,
                                      const part_in_use& found, const Parts& for_each_part) {
  report_children(policy, verb, found.children, [&](failure_description& description) {
    for_each_part([&](auto traits, const auto* part) {
      if (part == found.part) on_object<decltype(traits)>(part)(description);
    });
  });
}

/// Adds an object to the child counts of its parents, or removes it from them.
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

/// Makes a call that may change an object's parents, and updates their child counts. Keeps the
/// errno of the call.
template <handle_traits Traits, class Call>
auto with_new_parents(const typename Traits::native_type* object, const Call& call) {
  unregister_from_parents<Traits>(object);
  const auto result = call();
  const int reason = errno;
  register_with_parents<Traits>(object);
  errno = reason;
  return result;
}

/// The pointer to a C object: the root of every base of operations. A base that holds more than the
/// pointer also has a constructor (native_type*, more...).
template <class Native>
class handle_base {
 public:
  using native_type = Native;

  constexpr handle_base() noexcept = default;
  constexpr explicit handle_base(Native* object) noexcept : object_{object} {}

  /// Returns the C object, or null if empty. An owner keeps ownership.
  [[nodiscard]] constexpr Native* native_handle() const noexcept { return object_; }
  [[nodiscard]] constexpr explicit operator bool() const noexcept { return object_ != nullptr; }

 protected:
  Native* object_ = nullptr;
};

/// A move-only owner that destroys its C object. Empty by default, and after a move or a release.
/// Move assignment first destroys the object that it held.
///
/// The destructor and move assignment report a failed destroy to the failure hook. They also report
/// an object with live children, and do not destroy it, because its children would dangle.
template <class Base, handle_traits Traits>
class [[nodiscard]] owner : public Base {
  using Base::object_;

 public:
  using native_type = typename Traits::native_type;
  using owner_traits = Traits;

  owner() noexcept = default;

  /// Takes ownership of an object of the C API; null makes an empty owner.
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

  /// Returns the C object and gives up ownership without destroying it.
  [[nodiscard]] native_type* release() noexcept {
    if (object_ != nullptr) {
      unregister_from_parents<Traits>(object_);
      lifetime_registry::instance().take_noted_parents(object_);
    }
    return std::exchange(object_, nullptr);
  }

  /// Destroys the object now. Fails with EBUSY if it has live children. If it fails, the handle
  /// keeps the object, and a later close can succeed. Does nothing if the handle is empty.
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
      // Only after unregistering, because an object may be a child of its own parts.
      const auto parts = [this](const auto& function) { Traits::for_each_part(object_, function); };
      if (const part_in_use found = find_part_in_use(parts)) {
        register_with_parents<Traits>(object_);
        report_part_in_use(policy, Traits::destroy_verb, found, parts);
        return;
      }
    }
    // Taken before the destroy: afterwards another thread's object may have the same address.
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

  /// Takes the object of an owner with other operations, for instance those of another state.
  template <class Other>
  explicit owner(owner<Other, Traits>&& other) noexcept
      : Base{std::exchange(other.object_, nullptr)} {}

  /// Makes a call that may change the object's parents, and updates their child counts. Keeps the
  /// errno of the call.
  template <class Call>
  auto with_new_parents(const Call& call) {
    return adverb::detail::with_new_parents<Traits>(object_, call);
  }

 private:
  void destroy_or_tell() noexcept { close(to_failure_hook{}); }
};

/// A type that owns its C object. A reference to a temporary one is a compile error.
template <class Handle>
concept owning = requires { typename Handle::owner_traits; };

/// A non-owning reference to a C object, to be passed by value; null by default. Converts from an
/// owner, from another reference, and from a pointer of the C API. The object must outlive it.
template <class Base>
class reference_to : public Base {
 public:
  constexpr reference_to() noexcept = default;
  constexpr reference_to(typename Base::native_type* object) noexcept
    requires std::constructible_from<Base, typename Base::native_type*>
      : Base{object} {}
  template <std::derived_from<Base> Handle>
  constexpr reference_to(const Handle& handle) noexcept : Base{handle} {}
  /// Deleted: the reference would outlive a temporary owner.
  template <std::derived_from<Base> Handle>
    requires owning<Handle>
  reference_to(const Handle&&) = delete;

  /// Returns true if both refer to the same object, or both are null.
  friend constexpr bool operator==(const reference_to& one, const reference_to& other) noexcept {
    return one.native_handle() == other.native_handle();
  }
};

}  // namespace detail

/// A reference to a C object by its C type only: a queue pair in any state, a shared receive queue
/// of any kind.
template <class Native>
using reference = detail::reference_to<detail::handle_base<Native>>;

namespace detail {

/// Reports EINVAL if a required object is null, so that no C call gets it. Returns true if it is
/// present.
template <class Native>
bool check_present(on_failure policy, std::string_view verb, const Native* object) {
  if (object != nullptr) [[likely]]
    return true;
  policy.report(EINVAL, verb, explain_empty<Native>);
  return false;
}

/// Creates an object with a C call. Returns null if the call fails or one of `parents` is null.
template <class Create, class Describe, class... Parents>
[[nodiscard]] auto make_object(on_failure policy, std::string_view verb, const Create& create,
                               const Describe& describe, const Parents&... parents)
    -> decltype(create()) {
  if (!(check_present(policy, verb, parents.native_handle()) && ...)) return nullptr;
  return check_pointer(policy, verb, create, describe);
}

/// Creates an object with a C call and returns its owner; empty on failure.
template <class Handle, class... Arguments>
[[nodiscard]] Handle make_handle(on_failure policy, const Arguments&... arguments) {
  return Handle{adopt, make_object(policy, arguments...)};
}

}  // namespace detail
}  // namespace adverb::inline ADVERB_ABI
