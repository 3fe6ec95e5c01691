// SPDX-License-Identifier: MIT
// An open device.
#pragma once

#include <cerrno>
#include <string_view>

#include <fcntl.h>
#include <infiniband/verbs.h>
#include <sys/stat.h>
#include <unistd.h>

#include <adverb/core/handle.hpp>
#include <adverb/device/context_ref.hpp>
#include <adverb/device/device.hpp>
#include <adverb/fwd.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

struct context_traits {
  using native_type = ibv_context;
  static constexpr std::string_view destroy_verb = "ibv_close_device";
  static int destroy(ibv_context* context) noexcept { return ibv_close_device(context); }
  template <class Function>
  static void for_each_parent(const ibv_context*, const Function&) noexcept {}
  static void describe(const ibv_context* context, text_writer& writer) noexcept {
    put_device(writer, context);
  }
};

/// Writes "there are: mlx5_0, rxe0", or advice if there is no device.
inline void put_device_names(text_writer& writer, const device_list& devices) noexcept {
  if (devices.empty()) {
    writer.put(
        "this machine has no RDMA device; \"rdma link add rxe0 type rxe netdev IF\" makes a "
        "software one");
    return;
  }
  std::string_view separator = "there are: ";
  for (const device_ref device : devices) {
    writer.put(separator).put(device.name());
    separator = ", ";
  }
}

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
  [[nodiscard]] static context import(int command_file_descriptor, on_failure policy = throwing{}) {
    const int copy = copy_descriptor(command_file_descriptor, policy);
    if (copy == -1) return {};
    return context{adopt, import_copy(copy, policy)};
  }

 private:
  /// Returns a copy for the C library, or -1 if the descriptor is not that of a device. The check
  /// comes first, because a later failure does not show who owns the copy.
  static int copy_descriptor(int command_file_descriptor, on_failure policy) {
    int copy = -1;
    detail::check_minus_one(
        policy, "ibv_import_device",
        [&] {
          struct stat status{};
          if (::fstat(command_file_descriptor, &status) == -1) return -1;
          if (!S_ISCHR(status.st_mode)) {
            errno = EINVAL;
            return -1;
          }
          copy = ::fcntl(command_file_descriptor, F_DUPFD_CLOEXEC, 0);
          return copy;
        },
        [](failure_description& description) {
          if (description.code() == std::errc::invalid_argument ||
              description.code() == std::errc::bad_file_descriptor)
            description.explain("the descriptor is not that of a device");
        });
    return copy;
  }

  static ibv_context* import_copy(int copy, on_failure policy) {
    return detail::check_pointer(
        policy, "ibv_import_device",
        [&] {
          ibv_context* const imported = ibv_import_device(copy);
          // With these errnos the C library has not passed the descriptor on. Any function that it
          // passes it to closes it on failure.
          const int reason = errno;
          if (imported == nullptr && (reason == ENODEV || reason == EOPNOTSUPP)) ::close(copy);
          errno = reason;
          return imported;
        },
        [](failure_description& description) {
          if (description.code() == std::errc::no_such_device)
            description.explain("the descriptor is not that of a device of this machine");
        });
  }

  static ibv_context* open(device_ref device, on_failure policy) {
    const auto describe = [&](failure_description& description) {
      if (!device) {
        description.explain("the device is empty: it was not found");
        return;
      }
      description.object([&](text_writer& writer) { writer.put(device.name()); });
      if (description.code() == std::errc::permission_denied)
        description.explain("no access to its device file in /dev/infiniband");
    };
    if (!device) {
      policy.report(ENODEV, "ibv_open_device", describe);
      return nullptr;
    }
    return detail::check_pointer(
        policy, "ibv_open_device", [&] { return ibv_open_device(device.native_handle()); },
        describe);
  }
};

/// Opens the device named `name`; an empty name opens the first device of the machine. Fails with
/// ENODEV if there is no such device; the error lists the existing devices.
[[nodiscard]] inline context open_device(std::string_view name = {},
                                         on_failure policy = throwing{}) {
  const device_list devices{policy};
  if (policy.failed()) return {};
  const device_ref found = name.empty() && !devices.empty() ? devices[0] : devices.find(name);
  if (!found) {
    policy.report(ENODEV, "ibv_open_device", [&](failure_description& description) {
      if (!name.empty()) description.object([&](text_writer& writer) { writer.put(name); });
      description.explain([&](text_writer& writer) { detail::put_device_names(writer, devices); });
    });
    return {};
  }
  return context{found, policy};
}

}  // namespace adverb::inline ADVERB_ABI
