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

/// "there are: mlx5_0, rxe0", or what to do when there is none.
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

/// An open device. Everything made from it has to be destroyed before it.
class [[nodiscard]] context : public detail::owner<detail::context_base, detail::context_traits> {
 public:
  using owner::owner;

  /// Opens a device of a device_list. Wraps: ibv_open_device(3).
  explicit context(device_ref device, on_failure policy = throwing{})
      : owner{adopt, open(device, policy)} {}

  /// Another context on what a process has open: `command_file_descriptor()` of its context, sent
  /// over a socket (SCM_RIGHTS) or inherited. What was made there can be imported into it. Takes a
  /// copy of the descriptor. Wraps: ibv_import_device(3).
  [[nodiscard]] static context import(int command_file_descriptor, on_failure policy = throwing{}) {
    const int copy = copy_descriptor(command_file_descriptor, policy);
    if (copy == -1) return {};
    return context{adopt, import_copy(copy, policy)};
  }

 private:
  /// A copy that belongs to the C library; -1 when the descriptor is none of a device. This is
  /// looked at here, because afterwards a failure would not tell whose the copy is.
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
          // With these the C library has not handed the descriptor on; whoever it hands it to
          // closes it when they fail.
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

/// Opens the device of that name; an empty name opens the first one of the machine. When there is
/// no such device, the error (ENODEV) lists those that there are.
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
