// SPDX-License-Identifier: MIT
// Memory windows: grant and revoke a peer's access to a part of a region without a registration.
#pragma once

#include <cstddef>
#include <cstdint>

#include <infiniband/verbs.h>

#include <adverb/memory/window_binding.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

struct memory_window_traits {
  using native_type = ibv_mw;
  static constexpr const char* destroy_verb = "ibv_dealloc_mw";
  static int destroy(ibv_mw* window) noexcept { return ibv_dealloc_mw(window); }
  static void list_parents(const ibv_mw* window, parent_visitor& parents) noexcept {
    parents.add(window->pd);
  }
  [[gnu::cold]] static void describe(const ibv_mw* window, text_writer& writer) noexcept;
};

/// Reports, through the policy, the reasons why a window cannot be bound. Returns true if it can.
bool check_window(on_failure policy, const char* verb, const window_request& request);

/// Explains why a window could not be allocated.
[[gnu::cold]] void explain_allocation(failure_description& description, context_ref context,
                                      window_type type);

/// Reports EINVAL if a window of the C API is of another type. Returns true if it matches.
bool check_type(on_failure policy, const ibv_mw* window, window_type type);

/// The operations of a memory window, whether it is owned or referred to.
template <window_type Type>
class memory_window_base : public handle_base<ibv_mw> {
 public:
  using handle_base::handle_base;

  /// The type of the window.
  static constexpr window_type type = Type;

  /// Returns the context that the object belongs to.
  [[nodiscard]] context_ref context() const noexcept { return checked_handle()->context; }
  /// Returns the protection domain that the object was created in.
  [[nodiscard]] protection_domain_ref protection_domain() const noexcept {
    return checked_handle()->pd;
  }
  /// Returns the key of the last posted bind.
  [[nodiscard]] rkey key() const noexcept { return static_cast<rkey>(checked_handle()->rkey); }

  /// Prepares a binding of a type 2 window to `length` bytes of the region from `offset`. The
  /// binding has the next key of the window. It takes effect when it is posted:
  ///
  ///     const auto grant = window.prepare(region, 0, 4096);
  ///     pair.post(bind_window(grant), send(inline_data{grant.remote().encode()}));
  ///
  /// The next key follows from that of the last posted bind. Post each binding once, before the
  /// next one of this window is prepared. First post `local_invalidate` of the previous binding,
  /// unless the peer has invalidated it.
  ///
  /// Fails with EACCES if the region was registered without window_bind, or without local_write and
  /// the window grants writing; with EPERM if the region is of another protection domain; with
  /// ERANGE if the bytes exceed the region; with EINVAL for no bytes, for a zero_based region, and
  /// for an address misaligned for atomics. Not thread safe. Wraps: ibv_inc_rkey(3).
  template <class T = std::byte,
            access_rights Rights = access_right::remote_read | access_right::remote_write>
  window_binding<Type, T, Rights> prepare(memory_region_ref region, std::size_t offset,
                                          std::size_t length,
                                          on_failure policy = throwing{}) const {
    static_assert(Type == window_type::two,
                  "a window of type 1 is bound by a call: queue_pair.bind(window, region, ...)");
    ibv_mw* const window = native_handle();
    const detail::window_request request{window, region, offset, length, Rights};
    if (!detail::check_window(policy, "memory_window::prepare", request)) return {};
    return {adopt, window, request.native(), static_cast<rkey>(ibv_inc_rkey(window->rkey)), key()};
  }

  /// Restores the key that the window had before a bind or unbind that completed with an error.
  /// `key` is the `previous_key()` of the failed bind, or the `key()` of the binding that was to be
  /// unbound. Without this call the window and the device disagree, and later binds fail too.
  void restore_key(rkey key) const noexcept {
    checked_handle()->rkey = static_cast<std::uint32_t>(key);
  }
};

}  // namespace detail

template <window_type Type>
class memory_window;

/// A non-owning reference to a memory window of this type, which must outlive the reference. It is
/// the size of a pointer; pass it by value.
template <window_type Type>
class memory_window_ref : public detail::reference_to<detail::memory_window_base<Type>> {
  using operations = detail::reference_to<detail::memory_window_base<Type>>;

 public:
  memory_window_ref() noexcept = default;
  memory_window_ref(const memory_window<Type>& window) noexcept
      : operations{window.native_handle()} {}
  /// Deleted: the reference would outlive a temporary owner.
  memory_window_ref(const memory_window<Type>&&) = delete;

  /// Views a window of the C API. Fails with EINVAL if it is of the other type.
  memory_window_ref(adopt_t, ibv_mw* window, on_failure policy = throwing{})
      : operations{detail::check_type(policy, window, Type) ? window : nullptr} {}
};

/// A memory window: grants peers access to a part of a region through its own key, and revokes it,
/// without the cost of a registration. A new window is not bound:
///
///     memory_window<window_type::two> window{domain};
///     const auto grant = window.prepare<std::byte, access_right::remote_write>(region, 0, 4096);
///     pair.post(bind_window(grant), send(inline_data{grant.remote().encode()}));
///     …
///     pair.post(local_invalidate(grant).signaled());
///
/// Destroying the window revokes the access too. The region must outlive the windows bound to it. A
/// queue pair must outlive the type 2 windows that it bound: on Soft-RoCE, destroying it first
/// takes 50 seconds, and then the window grants nothing and can be deallocated.
template <window_type Type>
class [[nodiscard]] memory_window
    : public detail::owner<detail::memory_window_base<Type>, detail::memory_window_traits> {
  using operations = detail::owner<detail::memory_window_base<Type>, detail::memory_window_traits>;

 public:
  memory_window() noexcept = default;

  /// Allocates a window. Wraps: ibv_alloc_mw(3), ibv_dealloc_mw(3).
  explicit memory_window(protection_domain_ref domain, on_failure policy = throwing{})
      : operations{adverb::adopt,
                   detail::make_object(
                       policy, "ibv_alloc_mw",
                       [&] {
                         return ibv_alloc_mw(domain.native_handle(),
                                             static_cast<ibv_mw_type>(Type));
                       },
                       [&](failure_description& description) {
                         detail::on_device(domain.native_handle()->context)(description);
                         detail::explain_allocation(description, domain.context(), Type);
                       },
                       domain)} {}

  /// Takes ownership of a window of the C API. Fails with EINVAL if it is of the other type; the
  /// caller then keeps it.
  memory_window(adopt_t, ibv_mw* window, on_failure policy = throwing{})
      : operations{adverb::adopt, detail::check_type(policy, window, Type) ? window : nullptr} {}
};

}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/memory/impl/memory_window.ipp>
#endif
