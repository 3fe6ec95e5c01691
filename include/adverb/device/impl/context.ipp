// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>

#include <sys/stat.h>
#include <unistd.h>

#include <adverb/device/context.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC void put_device_names(text_writer& writer, const device_list& devices) noexcept {
  if (devices.empty()) {
    writer.put(
        "this machine has no RDMA device; \"rdma link add rxe0 type rxe netdev IF\" creates a "
        "software device");
    return;
  }
  std::string_view separator = "available: ";
  for (const device_ref device : devices) {
    writer.put(separator).put(device.name());
    separator = ", ";
  }
}

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI {

ADVERB_FUNC context context::import(int command_file_descriptor, on_failure policy) {
  const int copy = copy_descriptor(command_file_descriptor, policy);
  if (copy == -1) return {};
  return context{adopt, import_copy(copy, policy)};
}

ADVERB_FUNC int context::copy_descriptor(int command_file_descriptor, on_failure policy) {
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
        if (detail::is_code(description.code(), std::errc::invalid_argument) ||
            detail::is_code(description.code(), std::errc::bad_file_descriptor))
          description.explain("the descriptor does not refer to a device");
      });
  return copy;
}

ADVERB_FUNC ibv_context* context::import_copy(int copy, on_failure policy) {
  return detail::check_pointer(
      policy, "ibv_import_device",
      [&] {
        ibv_context* const imported = ibv_import_device(copy);
        // If it fails with one of these errnos, the C library has not passed the descriptor on. Any
        // function that it passes it to closes it on failure.
        const int reason = errno;
        if (imported == nullptr && (reason == ENODEV || reason == EOPNOTSUPP)) ::close(copy);
        errno = reason;
        return imported;
      },
      [](failure_description& description) {
        if (detail::is_code(description.code(), std::errc::no_such_device))
          description.explain("the descriptor does not refer to a device of this machine");
      });
}

ADVERB_FUNC ibv_context* context::open(device_ref device, on_failure policy) {
  const auto describe = [&](failure_description& description) {
    if (!device) {
      description.explain("the device is empty: it was not found");
      return;
    }
    description.object("{}", {device.name()});
    if (detail::is_code(description.code(), std::errc::permission_denied))
      description.explain("no access to its device file in /dev/infiniband");
  };
  if (!device) {
    policy.report(ENODEV, "ibv_open_device", describe);
    return nullptr;
  }
  return detail::check_pointer(
      policy, "ibv_open_device", [&] { return ibv_open_device(device.native_handle()); }, describe);
}

ADVERB_FUNC context open_device(std::string_view name, on_failure policy) {
  const device_list devices{policy};
  if (policy.failed()) return {};
  const device_ref found = name.empty() && !devices.empty() ? devices[0] : devices.find(name);
  if (!found) {
    policy.report(ENODEV, "ibv_open_device", [&](failure_description& description) {
      if (!name.empty()) description.object("{}", {name});
      description.explain([&](text_writer& writer) { detail::put_device_names(writer, devices); });
    });
    return {};
  }
  return context{found, policy};
}

}  // namespace adverb::inline ADVERB_ABI
