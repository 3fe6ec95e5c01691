// SPDX-License-Identifier: MIT
// Bindings of memory windows, and their checks.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <infiniband/verbs.h>

#include <adverb/core/detail/narrowed.hpp>
#include <adverb/memory/memory_region_ref.hpp>
#include <adverb/memory/remote_buffer.hpp>

namespace adverb::inline ADVERB_ABI {

/// The type of a memory window, which determines how it is bound and invalidated.
enum class window_type : std::uint32_t {
  /// Bound and unbound by a call: `queue_pair.bind(window, …)`. Every queue pair of the protection
  /// domain may use it.
  one = IBV_MW_TYPE_1,
  /// Bound by a work request, `bind_window(…)`. Invalidated by a work request of this side or of
  /// the peer: `local_invalidate(…)`, `send_with_invalidate(…)`. Only the queue pair that bound it
  /// may use it.
  two = IBV_MW_TYPE_2,
};

[[nodiscard]] constexpr static_string<48> to_text(window_type type) noexcept {
  const auto name = [&]() -> std::string_view {
    switch (type) {
      case window_type::one: return "type 1";
      case window_type::two: return "type 2";
    }
    return {};
  };
  return detail::name_or_number(name(), static_cast<std::uint32_t>(type));
}

namespace detail {
/// The rights that a window can grant to a peer: fewer than a region can.
inline constexpr access_rights window_rights =
    access_right::remote_read | access_right::remote_write | access_right::remote_atomic;
}  // namespace detail

/// A binding of a memory window to a part of a region. `remote()` returns the buffer for the peer.
/// For a type 1 window, `queue_pair.bind` returns a binding that is in effect. For a type 2 window,
/// `memory_window.prepare` returns a binding that takes effect when `bind_window(…)` is posted.
///
/// A value that refers to the window and to the region: both must exist when it is posted or
/// unbound. Empty by default, and if it could not be made.
template <window_type Type, class T = std::byte,
          access_rights Rights = access_right::remote_read | access_right::remote_write>
class [[nodiscard]] window_binding {
  static_assert(!(Rights & detail::window_rights).empty() &&
                    (detail::window_rights | access_right::zero_based).contains(Rights),
                "a window grants one or more of remote_read, remote_write and remote_atomic, "
                "optionally with zero_based");
  static_assert(Type == window_type::two || !Rights.contains(access_right::zero_based),
                "only a window of type 2 can be zero_based");

 public:
  /// The type of the window.
  static constexpr window_type type = Type;

  constexpr window_binding() noexcept = default;
  /// Makes a binding of a C API window from its parts, unchecked.
  constexpr window_binding(adopt_t, ibv_mw* window, const ibv_mw_bind_info& info, rkey key,
                           rkey previous_key) noexcept
      : window_{window}, info_{info}, key_{key}, previous_key_{previous_key} {}

  [[nodiscard]] constexpr explicit operator bool() const noexcept { return window_ != nullptr; }

  /// Returns the buffer for the peer. Through a zero_based window, the peer addresses the memory
  /// from 0 on. Valid for the peer once the bind is done. A send that is posted to the same queue
  /// pair after the bind arrives in time.
  [[nodiscard]] constexpr remote_buffer<T, Rights - access_right::zero_based> remote()
      const noexcept {
    return {adopt, Rights.contains(access_right::zero_based) ? 0 : info_.addr,
            detail::narrowed<std::size_t>(info_.length / sizeof(T)), key_};
  }
  /// Returns the key of the window once it is bound.
  [[nodiscard]] constexpr rkey key() const noexcept { return key_; }
  /// Returns the previous key of the window, to be restored if the bind fails.
  [[nodiscard]] constexpr rkey previous_key() const noexcept { return previous_key_; }

  /// Returns the C object of the window.
  [[nodiscard]] constexpr ibv_mw* native_window() const noexcept { return window_; }
  [[nodiscard]] constexpr const ibv_mw_bind_info& native() const noexcept { return info_; }

 private:
  ibv_mw* window_ = nullptr;
  ibv_mw_bind_info info_{};
  rkey key_{};
  rkey previous_key_{};
};

namespace detail {

/// A bind to check before it is posted. The device would report an error completion without the
/// reason; this check explains the problem at the call.
struct window_request {
  const ibv_mw* window;
  memory_region_ref region;
  std::size_t offset;
  std::size_t length;
  access_rights rights;
  /// The protection domain of the queue pair, if known.
  const ibv_pd* queue_pair_domain = nullptr;

  /// Calls `found(errno, write)` for each problem.
  template <class Found>
  void for_each_problem(const Found& found) const {
    const access_rights writing = rights & writing_rights;
    const access_rights granted = region.rights();
    const ibv_pd* const region_domain = region.native_handle()->pd;

    if (!are_one(region_domain, window->pd))
      found(EPERM, [&](text_writer& writer) { put_domains(writer, "region", region_domain); });
    if (queue_pair_domain != nullptr && !are_one(queue_pair_domain, window->pd))
      found(EPERM,
            [&](text_writer& writer) { put_domains(writer, "queue pair", queue_pair_domain); });
    if (!granted.contains(access_right::window_bind))
      found(EACCES, [&](text_writer& writer) {
        writer.put("the region was registered with ").put(granted).put(", without window_bind");
      });
    if (!writing.empty() && !granted.contains(access_right::local_write))
      found(EACCES, [&](text_writer& writer) {
        writer.put(writing).put(" through a window needs local_write of the region, which was ");
        writer.put("registered with ").put(granted);
      });
    if (granted.contains(access_right::zero_based))
      found(EINVAL,
            [](text_writer& writer) { writer.put("a zero_based region takes no windows"); });
    if (length == 0)
      found(EINVAL, [](text_writer& writer) { writer.put("a window needs at least one byte"); });
    if (const byte_extent extent{offset, length}; !extent.is_inside(region.size()))
      found(ERANGE,
            [&](text_writer& writer) { extent.put_outside(writer, region.size(), "region"); });
    if (!is_aligned_for(rights, address()))
      found(EINVAL, [](text_writer& writer) { writer.put(unaligned_for_atomics); });
  }

  /// Returns the errno of the first problem, or 0.
  [[nodiscard]] int error() const;

  [[gnu::cold]] void put_problems(text_writer& writer) const;

  [[nodiscard]] std::uint64_t address() const noexcept { return region.device_address() + offset; }

  [[nodiscard]] ibv_mw_bind_info native() const noexcept {
    return {region.native_handle(), address(), length, rights.bits()};
  }

 private:
  /// Returns whether objects of the two domains work together. A parent domain has the number of
  /// the domain that it extends.
  [[nodiscard]] static bool are_one(const ibv_pd* domain, const ibv_pd* other) noexcept {
    return domain->context == other->context && domain->handle == other->handle;
  }

  [[gnu::cold]] void put_domains(text_writer& writer, std::string_view name,
                                 const ibv_pd* domain) const;
};

}  // namespace detail
}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/memory/impl/window_binding.ipp>
#endif
