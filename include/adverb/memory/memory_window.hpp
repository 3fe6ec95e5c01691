// SPDX-License-Identifier: MIT
// Memory windows: access of peers to a part of a region, granted and taken back without
// registering anything.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <system_error>
#include <utility>

#include <infiniband/verbs.h>

#include <adverb/memory/memory_region.hpp>
#include <adverb/memory/window_binding.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

struct memory_window_traits {
  using native_type = ibv_mw;
  static constexpr std::string_view destroy_verb = "ibv_dealloc_mw";
  static int destroy(ibv_mw* window) noexcept { return ibv_dealloc_mw(window); }
  template <class Function>
  static void for_each_parent(const ibv_mw* window, const Function& function) noexcept {
    function(window->pd);
  }
  static void describe(const ibv_mw* window, text_writer& writer) noexcept {
    put_device(writer, window->context).put(" mw ").put(static_cast<rkey>(window->rkey));
  }
};

/// Reports (through the policy) why a window cannot be bound so. True when it can.
inline bool check_window(on_failure policy, std::string_view verb, const window_request& request) {
  if (!check_present(policy, verb, request.window) ||
      !check_present(policy, verb, request.region.native_handle()))
    return false;
  return check_returned(policy, verb, request.error(), [&](failure_description& description) {
    on_object<memory_window_traits>(request.window)(description);
    description.explain([&](text_writer& writer) { request.put_problems(writer); });
  });
}

/// Says why a window could not be allocated.
inline void explain_allocation(failure_description& description, context_ref context,
                               window_type type) {
  description.explain([&](text_writer& writer) {
    std::error_code unknown;
    const device_attributes device = context.query_device(unknown);
    if (unknown) return;
    const bool has_type_2 = device.capabilities().intersects(
        device_capability::memory_windows_type_2a | device_capability::memory_windows_type_2b);
    if (device.max_memory_windows() > 0 && type == window_type::two && !has_type_2) {
      put_device(writer, context.native_handle()).put(" has no memory windows of type 2");
    } else if (description.code() == std::errc::not_enough_memory) {
      writer.put("the device allows ").decimal(device.max_memory_windows());
      writer.put(" memory windows in all");
    }
  });
}

/// Refuses (EINVAL) a window of the C API that is of another type. True when it fits.
inline bool check_type(on_failure policy, const ibv_mw* window, window_type type) {
  constexpr std::string_view verb = "memory window adoption";
  if (!check_present(policy, verb, window)) return false;
  const auto found = static_cast<window_type>(window->type);
  return check_returned(policy, verb, found == type ? 0 : EINVAL,
                        [&](failure_description& description) {
                          on_object<memory_window_traits>(window)(description);
                          description.explain([&](text_writer& writer) {
                            writer.put("it is of ").put(found).put(", not of ").put(type);
                          });
                        });
}

/// What can be done with a memory window, whether it is owned or referred to.
template <window_type Type>
class memory_window_base : public handle_base<ibv_mw> {
 public:
  using handle_base::handle_base;

  static constexpr window_type type = Type;

  [[nodiscard]] context_ref context() const noexcept { return native_handle()->context; }
  [[nodiscard]] protection_domain_ref protection_domain() const noexcept {
    return native_handle()->pd;
  }
  /// The key of the last bind that was posted.
  [[nodiscard]] rkey key() const noexcept { return static_cast<rkey>(native_handle()->rkey); }

  /// A binding of a window of type 2 to `length` bytes of the region from `offset`, under the next
  /// key of the window. Nothing is bound before it is posted:
  ///
  ///     const auto grant = window.prepare(region, 0, 4096);
  ///     pair.post(bind_window(grant), send(inline_data{grant.remote().encode()}));
  ///
  /// The next key follows from that of the last bind that was posted. So post a binding, once,
  /// before the next one of this window is prepared; and post `local_invalidate` of the one before
  /// it, unless the peer has invalidated that.
  ///
  /// Reports EACCES when the region was not registered with window_bind, or lacks local_write and
  /// the window is to grant writing; EPERM for a region of another protection domain; ERANGE for
  /// bytes outside the region; EINVAL for no bytes, for a zero_based region, and for an address
  /// that atomics cannot use. Not thread safe. Wraps: ibv_inc_rkey(3).
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

  /// Gives the window back the key that it had before a bind or unbind that completed with an
  /// error: the `previous_key()` of that bind, the `key()` of what was to be unbound. Without it
  /// the window and the device disagree, and later binds fail too.
  void restore_key(rkey key) const noexcept {
    native_handle()->rkey = static_cast<std::uint32_t>(key);
  }
};

}  // namespace detail

template <window_type Type>
class memory_window;

/// Refers to a memory window of this type that something else keeps alive: as cheap as the pointer,
/// to be passed by value.
template <window_type Type>
class memory_window_ref : public detail::reference_to<detail::memory_window_base<Type>> {
  using operations = detail::reference_to<detail::memory_window_base<Type>>;

 public:
  memory_window_ref() noexcept = default;
  memory_window_ref(const memory_window<Type>& window) noexcept
      : operations{window.native_handle()} {}
  /// An owner that is about to die cannot be referred to.
  memory_window_ref(const memory_window<Type>&&) = delete;

  /// Views a window of the C API. Refuses (EINVAL) one of the other type.
  memory_window_ref(adopt_t, ibv_mw* window, on_failure policy = throwing{})
      : operations{detail::check_type(policy, window, Type) ? window : nullptr} {}
};

/// A memory window: it gives peers access to a part of a region, through a key of its own, and
/// takes it back, without the cost of registering. Allocated it is bound to nothing:
///
///     memory_window<window_type::two> window{domain};
///     const auto grant = window.prepare<std::byte, access_right::remote_write>(region, 0, 4096);
///     pair.post(bind_window(grant), send(inline_data{grant.remote().encode()}));
///     …
///     pair.post(local_invalidate(grant).signaled());
///
/// Destroying it ends the access too. The region must outlive what is bound to it, and so must the
/// queue pair that bound a window of type 2: on Soft-RoCE, destroying that pair first takes 50
/// seconds and leaves the window with a pair that is gone.
template <window_type Type>
class [[nodiscard]] memory_window
    : public detail::owner<detail::memory_window_base<Type>, detail::memory_window_traits> {
  using operations = detail::owner<detail::memory_window_base<Type>, detail::memory_window_traits>;

 public:
  memory_window() noexcept = default;

  /// Wraps: ibv_alloc_mw(3), ibv_dealloc_mw(3).
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

  /// Takes over a window of the C API. Refuses (EINVAL) one of the other type, which then stays the
  /// caller's.
  memory_window(adopt_t, ibv_mw* window, on_failure policy = throwing{})
      : operations{adverb::adopt, detail::check_type(policy, window, Type) ? window : nullptr} {}
};

}  // namespace adverb::inline ADVERB_ABI
