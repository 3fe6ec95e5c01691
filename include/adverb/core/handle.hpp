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
/// Passed before a C object that adverb is to take over or to view.
inline constexpr adopt_t adopt{};

/// The traits that an owner needs for its C object.
///   native_type                  the type of the C object
///   destroy_verb                 the name of the C function that destroys it
///   destroy(object)              calls it; returns 0 or an errno
///   list_parents(object, list)   passes each object that must outlive this one to a parent_visitor
///   describe(object, writer)     names it, as in "rxe0 qp 0x11"
/// Optional, if the errno of a failed destroy needs an explanation:
///   explain_destroy(description) adds the reason
/// Optional, if destroying it also destroys parts that can have children:
///   for_each_part(object, f)     calls f with each part and its operations
template <class Traits>
concept handle_traits = requires(typename Traits::native_type* object, text_writer& writer,
                                 detail::parent_visitor& parents) {
  { Traits::destroy_verb } -> std::convertible_to<const char*>;
  { Traits::destroy(object) } noexcept -> std::same_as<int>;
  Traits::list_parents(object, parents);
  { Traits::describe(object, writer) } noexcept;
};

namespace detail {

struct object_operations;

/// An object that is destroyed together with another one.
struct object_part {
  const void* object = nullptr;
  const object_operations* operations = nullptr;
};
using part_visitor = callable_ref<object_part>;

/// The properties of a kind of object that the lifetime checker and the destructor of an owner
/// need: its traits as plain functions, so that all code on them is compiled once.
struct object_operations {
  const char* destroy_verb;
  object_kind kind;
  int (*destroy)(void* object) noexcept;
  list_parents_function list_parents;
  void (*describe)(const void* object, text_writer& writer) noexcept;
  /// Returns the opened device of an object; null if it has none.
  const ibv_context* (*device_of)(const void* object) noexcept;
  /// Null if the traits have none.
  void (*explain_destroy)(failure_description& description) noexcept;
  void (*for_each_part)(const void* object, part_visitor function) noexcept;
};

/// Converts the functions of a kind's traits to those of object_operations.
template <handle_traits Traits>
struct traits_as_operations {
  using native_type = typename Traits::native_type;

  static int destroy(void* object) noexcept {
    return Traits::destroy(static_cast<native_type*>(object));
  }
  static void list_parents(const void* object, parent_visitor& parents) noexcept {
    Traits::list_parents(static_cast<const native_type*>(object), parents);
  }
  [[gnu::cold]] static void describe(const void* object, text_writer& writer) noexcept {
    Traits::describe(static_cast<const native_type*>(object), writer);
  }
  [[gnu::cold]] static const ibv_context* device_of(const void* object) noexcept {
    [[maybe_unused]] const auto* const native = static_cast<const native_type*>(object);
    // The context of a rdma_cm_id is the program's.
    if constexpr (requires { native->verbs; })
      return native->verbs;
    else if constexpr (requires { native->context; })
      return native->context;
    else
      return nullptr;
  }
  static constexpr auto explain_destroy() noexcept -> void (*)(failure_description&) noexcept {
    if constexpr (requires { &Traits::explain_destroy; })
      return &Traits::explain_destroy;
    else
      return nullptr;
  }
  static constexpr auto for_each_part() noexcept -> void (*)(const void*, part_visitor) noexcept {
    if constexpr (requires { &Traits::for_each_part; })
      return [](const void* object, part_visitor function) noexcept {
        Traits::for_each_part(static_cast<const native_type*>(object), function);
      };
    else
      return nullptr;
  }
};

template <handle_traits Traits>
inline constexpr object_operations operations_for{Traits::destroy_verb,
                                                  kind_of<typename Traits::native_type>,
                                                  &traits_as_operations<Traits>::destroy,
                                                  &traits_as_operations<Traits>::list_parents,
                                                  &traits_as_operations<Traits>::describe,
                                                  &traits_as_operations<Traits>::device_of,
                                                  traits_as_operations<Traits>::explain_destroy(),
                                                  traits_as_operations<Traits>::for_each_part()};

/// Returns an object as a part of another one.
template <handle_traits Traits>
[[nodiscard]] object_part as_part(const typename Traits::native_type* object) noexcept {
  return {object, &operations_for<Traits>};
}

/// Names an object in a failure, through its traits.
struct object_name {
  const void* object;
  void (*describe)(const void* object, text_writer& writer) noexcept;

  void operator()(failure_description& description) const noexcept {
    description.object([this](text_writer& writer) { describe(object, writer); });
  }
};

/// The same for an object of a known kind, in one word, with its device.
template <handle_traits Traits>
struct known_object_name {
  const typename Traits::native_type* object;

  void operator()(failure_description& description) const noexcept {
    object_name{object, &traits_as_operations<Traits>::describe}(description);
    description.device(traits_as_operations<Traits>::device_of(object));
  }
};

template <handle_traits Traits>
[[nodiscard]] known_object_name<Traits> on_object(
    const typename Traits::native_type* object) noexcept {
  return {object};
}

/// Reports EBUSY: the object still has live children.
[[gnu::cold]] void report_children(on_failure policy, const char* verb,
                                   const child_counts& children, const object_name& describe);

/// A part that is destroyed together with an object and has live children.
struct part_in_use {
  object_part part;
  child_counts children;

  explicit operator bool() const noexcept { return part.object != nullptr; }
};

/// Returns the first part with live children.
[[nodiscard]] part_in_use find_part_in_use(callable_ref<part_visitor> for_each_part) noexcept;

/// Reports EBUSY: a part of the object still has live children.
[[gnu::cold]] void report_part_in_use(on_failure policy, const char* verb,
                                      const part_in_use& found);

/// Adds an object to the child counts of its parents, or removes it from them.
void register_with_parents(const void* object, const object_operations& operations) noexcept;
void unregister_from_parents(const void* object, const object_operations& operations) noexcept;

/// Destroys an object, unless it or a part of it has live children. Returns true if it is
/// destroyed.
bool destroy_object(void* object, const object_operations& operations, on_failure policy);

/// The same for destructors, which pass a failure to the failure hook.
void destroy_or_tell(void* object, const object_operations& operations) noexcept;

/// Removes an object from the child counts without destroying it.
void forget_object(const void* object, const object_operations& operations) noexcept;

/// Returns the parents with which an object is registered.
[[nodiscard]] present_parents parents_of(const void* object,
                                         const object_operations& operations) noexcept;

/// Registers an object with its present parents, and removes it from those of before.
void replace_parents(const void* object, const object_operations& operations,
                     const present_parents& before) noexcept;

/// Makes a call that may change an object's parents, and updates their child counts. The call may
/// block: meanwhile the object counts as a child of its parents of before. Keeps the errno of the
/// call.
template <handle_traits Traits, class Call>
auto with_new_parents(const typename Traits::native_type* object, const Call& call) {
  const present_parents before = parents_of(object, operations_for<Traits>);
  const auto result = call();
  const int reason = errno;
  replace_parents(object, operations_for<Traits>, before);
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
  /// Refers to an object of the C API.
  constexpr explicit handle_base(Native* object) noexcept : object_{object} {}

  /// Returns the C object, or null if empty. An owner keeps ownership.
  [[nodiscard]] constexpr Native* native_handle() const noexcept { return object_; }
  [[nodiscard]] constexpr explicit operator bool() const noexcept { return object_ != nullptr; }

 protected:
  /// Makes the base empty after its object went elsewhere. A base that holds values of the object
  /// hides it, and forgets them too.
  constexpr void forget() noexcept { object_ = nullptr; }

  /// Returns the C object for a function that cannot fail. Ends the program if there is none.
  [[nodiscard]] Native* checked_handle(const char* call = __builtin_FUNCTION()) const noexcept {
    require_present(call, object_);
    return object_;
  }

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
    requires std::is_constructible_v<Base, native_type*, More...>
  owner(adopt_t, native_type* object, const More&... more) noexcept : Base{object, more...} {
    if (object_ != nullptr) register_with_parents(object_, operations_for<Traits>);
  }

  owner(owner&& other) noexcept : Base{other} { other.forget(); }
  owner& operator=(owner&& other) noexcept {
    if (this != &other) {
      destroy_or_tell();
      Base::operator=(other);
      other.forget();
    }
    return *this;
  }
  ~owner() { destroy_or_tell(); }

  /// Returns the C object and gives up ownership without destroying it.
  [[nodiscard]] native_type* release() noexcept {
    if (object_ != nullptr) forget_object(object_, operations_for<Traits>);
    return take(*this);
  }

  /// Destroys the object now. Fails with EBUSY if it has live children. If it fails, the handle
  /// keeps the object, and a later close can succeed. Does nothing if the handle is empty. Succeeds
  /// if the kernel has destroyed the object with its device (EIO). In a child of fork(2) it only
  /// empties the handle of an object that the parent has made.
  // See docs/decisions.md, "A failed close keeps the object".
  void close(on_failure policy = throwing{}) {
    policy.clear();
    if (object_ != nullptr && destroy_object(object_, operations_for<Traits>, policy))
      this->forget();
  }

 protected:
  template <class, handle_traits>
  friend class owner;

  /// Takes the object of an owner with other operations, for instance those of another state.
  template <class Other>
  explicit owner(owner<Other, Traits>&& other) noexcept : Base{take(other)} {}

  /// Makes a call that may change the object's parents, and updates their child counts. Keeps the
  /// errno of the call.
  template <class Call>
  auto with_new_parents(const Call& call) {
    return adverb::detail::with_new_parents<Traits>(object_, call);
  }

 private:
  template <class Owner>
  static native_type* take(Owner& from) noexcept {
    native_type* const object = from.object_;
    from.forget();
    return object;
  }
  void destroy_or_tell() noexcept {
    if (object_ != nullptr) adverb::detail::destroy_or_tell(object_, operations_for<Traits>);
  }
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
  /// Refers to an object of the C API.
  constexpr reference_to(typename Base::native_type* object) noexcept
    requires std::is_constructible_v<Base, typename Base::native_type*>
      : Base{object} {}
  /// Refers to the object of an owner or of another reference.
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

/// Reports EINVAL: a required object is null.
[[gnu::cold]] void report_empty(on_failure policy, const char* verb, object_kind kind);

/// Reports EINVAL if a required object is null, so that no C call gets it. Returns true if it is
/// present.
template <class Native>
bool check_present(on_failure policy, const char* verb, const Native* object) {
  if (object != nullptr) [[likely]]
    return true;
  report_empty(policy, verb, kind_of<Native>);
  return false;
}

/// Creates an object with a C call. Returns null if the call fails or one of `parents` is null.
template <class Create, class... Parents>
[[nodiscard]] auto make_object(on_failure policy, const char* verb, const Create& create,
                               describe_failure describe, const Parents&... parents)
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

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/core/impl/handle.ipp>
#endif
