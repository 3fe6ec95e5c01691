// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

#include <adverb/core/detail/check.hpp>
#include <adverb/device/device.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Explains ENOSYS, which libibverbs reports whenever it cannot read this file.
[[gnu::cold]] ADVERB_FUNC void explain_no_list(failure_description& description) noexcept {
  constexpr const char* version = "/sys/class/infiniband_verbs/abi_version";
  const int opened = ::open(version, O_RDONLY | O_CLOEXEC);
  const int number = opened == -1 ? errno : 0;
  if (opened != -1) ::close(opened);
  if (number == EMFILE || number == ENFILE)
    description.explain("too many files are open {} to open {}: see {}",
                        {number == EMFILE ? "in this process" : "in the system", version,
                         number == EMFILE ? "\"ulimit -n\"" : "fs.file-max"});
  else if (opened != -1)
    description.explain("possible causes: libibverbs does not support the number in {}", {version});
  else if (number == ENOENT && ::access("/sys/class", F_OK) == 0)
    description.explain(
        "the kernel has no RDMA support: load the driver of the device and ib_uverbs");
  else
    description.explain("opening {} fails with {}", {version, errno_name(number)});
}

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI {

ADVERB_FUNC std::optional<std::uint32_t> device_ref::index() const noexcept {
  const int number = ibv_get_device_index(checked_handle());
  if (number < 0) return std::nullopt;
  return static_cast<std::uint32_t>(number);
}

ADVERB_FUNC device_list::device_list(on_failure policy) {
  int count = 0;
  devices_ = detail::check_pointer(
      policy, "ibv_get_device_list", [&] { return ibv_get_device_list(&count); },
      [](failure_description& description) {
        if (detail::is_code(description.code(), std::errc::function_not_supported))
          detail::explain_no_list(description);
      });
  size_ = static_cast<std::size_t>(count);
}

ADVERB_FUNC device_list& device_list::operator=(device_list&& other) noexcept {
  if (this != &other) {
    free();
    devices_ = std::exchange(other.devices_, nullptr);
    size_ = std::exchange(other.size_, 0);
  }
  return *this;
}

ADVERB_FUNC device_ref device_list::find(std::string_view name) const noexcept {
  for (const device_ref device : *this)
    if (device.name() == name) return device;
  return {};
}

}  // namespace adverb::inline ADVERB_ABI
