// SPDX-License-Identifier: MIT
// An open device.
#pragma once

#include <cerrno>
#include <cstdint>
#include <string_view>

#include <fcntl.h>
#include <infiniband/verbs.h>

#include <adverb/core/detail/check.hpp>
#include <adverb/core/handle.hpp>
#include <adverb/device/context_ref.hpp>
#include <adverb/device/detail/atomic_limits.hpp>
#include <adverb/device/detail/explain_device.hpp>
#include <adverb/device/device.hpp>
#include <adverb/fwd.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

struct context_traits {
  using native_type = ibv_context;
  static constexpr const char* destroy_verb = "ibv_close_device";
  static int destroy(ibv_context* context) noexcept {
    forget_limits_of(context);
    return ibv_close_device(context);
  }
  static void list_parents(const ibv_context*, parent_visitor&) noexcept {}
  static void describe(const ibv_context* context, text_writer& writer) noexcept {
    put_device(writer, context);
  }
};

}  // namespace detail

/// An open device. It must outlive everything that is made from it.
class [[nodiscard]] context : public detail::owner<detail::context_base, detail::context_traits> {
 public:
  using owner::owner;

  /// Opens a device of a device_list. Wraps: ibv_open_device(3).
  explicit context(device_ref device, on_failure policy = throwing{})
      : owner{adopt, open(device, policy)} {}

  /// Imports a device that another process has open, as a new context. `command_file_descriptor` is
  /// that of the other process's context, sent over a socket (SCM_RIGHTS) or inherited. The
  /// function copies the descriptor. Objects of that context can be imported into the new one.
  /// Wraps: ibv_import_device(3).
  [[nodiscard]] static context import(int command_file_descriptor, on_failure policy = throwing{});

 private:
  /// Returns a copy for the C library, or -1 if the descriptor is not that of a device. The check
  /// comes first, because a later failure does not show who owns the copy.
  static int copy_descriptor(int command_file_descriptor, on_failure policy);

  static ibv_context* import_copy(int copy, on_failure policy);

  static ibv_context* open(device_ref device, on_failure policy);
};

/// Opens the device named `name`; an empty name opens the first device that can be opened. Fails
/// with ENODEV if there is no such device. The error lists the devices that exist, and the state of
/// the device files that cannot be opened.
[[nodiscard]] context open_device(std::string_view name = {}, on_failure policy = throwing{});
/// Opens the first device that can be opened.
[[nodiscard]] inline context open_device(on_failure policy) { return open_device({}, policy); }

/// The support of the process for fork() while memory is registered.
enum class fork_support_status : std::uint32_t {
  /// Not supported: after a fork, a write may give the process a copy that the device does not see.
  disabled = IBV_FORK_DISABLED,
  /// Supported: registered pages are kept out of the child.
  enabled = IBV_FORK_ENABLED,
  /// Supported: the kernel copies such pages for the child at once. Takes precedence.
  unneeded = IBV_FORK_UNNEEDED,
};

[[nodiscard]] constexpr static_string<48> to_text(fork_support_status status) noexcept {
  constexpr std::string_view names = "disabled|enabled|unneeded";
  const auto number = static_cast<std::uint32_t>(status);
  return detail::listed_name_or_number(names, number);
}

/// Returns the fork support of the process. Wraps: ibv_is_fork_initialized(3).
[[nodiscard]] inline fork_support_status fork_support() noexcept {
  return static_cast<fork_support_status>(ibv_is_fork_initialized());
}

/// Lets the process fork while memory is registered, also through system(3) and popen(3). Every
/// registration then takes a little longer, and registered pages are missing in children. Call it
/// before the first registration: a later call fails with EINVAL, even if fork support is unneeded.
/// A repeated call succeeds.
///
/// A child must not use the objects of its parent. Their destructors do nothing there, so that
/// exit(3) does no harm; with an event loop, leave by _exit(2). Wraps: ibv_fork_init(3).
inline void initialize_fork_support(on_failure policy = throwing{}) {
  detail::check_returned(policy, "ibv_fork_init", ibv_fork_init(),
                         [](failure_description& description) {
                           if (detail::is_code(description.code(), std::errc::invalid_argument))
                             description.explain("the process already registered memory");
                         });
}

}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/device/impl/context.ipp>
#endif
