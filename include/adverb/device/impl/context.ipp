// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>

#include <sys/stat.h>
#include <unistd.h>

#include <adverb/device/context.hpp>
#include <adverb/device/detail/device_files.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC void explain_not_found(problem_list& problems, const device_list& devices,
                                   std::string_view name) {
  if (!devices.empty())
    problems.add([&](text_writer& writer) {
      std::string_view separator = "available: ";
      for (const device_ref device : devices) {
        writer.put(separator).put(device.name());
        separator = ", ";
      }
    });
  device_file_problems files{problems};
  explain_unlisted_devices(files, devices, name);
  files.finish();
}

ADVERB_FUNC context open_any(const device_list& devices, on_failure policy) {
  if (devices.size() == 1) return context{devices[0], policy};
  context opened;
  std::error_code first;
  const static_string<160> outcomes{[&](text_writer& writer) {
    for (const device_ref device : devices) {
      std::error_code code;
      opened = context{device, code};
      if (opened) return;
      writer.put(first ? ", " : "").put("{} ({})", {device.name(), errno_name(code.value())});
      if (!first) first = code;
    }
  }};
  if (opened)
    policy.clear();
  else
    policy.report(first, "ibv_open_device", [&](failure_description& description) {
      description.explain([&](text_writer& writer) {
        problem_list problems{writer};
        problems.add("no device can be opened: {}", {outcomes.view()});
        explain_closed_devices(problems);
      });
    });
  return opened;
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
    description.object("{}", {device.name()}).explain([&](text_writer& writer) {
      detail::problem_list problems{writer};
      detail::explain_closed_devices(problems, device.name());
    });
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
  if (name.empty() && !devices.empty()) return detail::open_any(devices, policy);
  const device_ref found = devices.find(name);
  if (!found) {
    policy.report(ENODEV, "ibv_open_device", [&](failure_description& description) {
      if (!name.empty()) description.object("{}", {name});
      description.explain([&](text_writer& writer) {
        detail::problem_list problems{writer};
        detail::explain_not_found(problems, devices, name);
      });
    });
    return {};
  }
  return context{found, policy};
}

}  // namespace adverb::inline ADVERB_ABI
