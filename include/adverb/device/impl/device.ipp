// SPDX-License-Identifier: MIT
#pragma once

#include <adverb/core/detail/check.hpp>
#include <adverb/device/device.hpp>

namespace adverb::inline ADVERB_ABI {

ADVERB_FUNC std::optional<std::uint32_t> device_ref::index() const noexcept {
  const int number = ibv_get_device_index(device_);
  if (number < 0) return std::nullopt;
  return static_cast<std::uint32_t>(number);
}

ADVERB_FUNC device_list::device_list(on_failure policy) {
  int count = 0;
  devices_ = detail::check_pointer(
      policy, "ibv_get_device_list", [&] { return ibv_get_device_list(&count); },
      [](failure_description& description) {
        if (detail::is_code(description.code(), std::errc::function_not_supported))
          description.explain(
              "the kernel has no RDMA support: load the driver of the device and ib_uverbs");
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
