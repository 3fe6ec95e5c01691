// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <system_error>
#include <utility>

#include <adverb/memory/memory_region.hpp>
#include <adverb/memory/memory_window.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC void memory_window_traits::describe(const ibv_mw* window,
                                                text_writer& writer) noexcept {
  put_device(writer, window->context).put(" mw ").put(static_cast<rkey>(window->rkey));
}

ADVERB_FUNC bool check_window(on_failure policy, const char* verb, const window_request& request) {
  if (!check_present(policy, verb, request.window) ||
      !check_present(policy, verb, request.region.native_handle()))
    return false;
  return check_returned(policy, verb, request.error(), [&](failure_description& description) {
    on_object<memory_window_traits>(request.window)(description);
    description.explain([&](text_writer& writer) { request.put_problems(writer); });
  });
}

ADVERB_FUNC void explain_allocation(failure_description& description, context_ref context,
                                    window_type type) {
  description.explain([&](text_writer& writer) {
    std::error_code unknown;
    const device_attributes device = context.query_device(unknown);
    if (unknown) return;
    const bool has_type_2 = device.capabilities().intersects(
        device_capability::memory_windows_type_2a | device_capability::memory_windows_type_2b);
    if (device.max_memory_windows() > 0 && type == window_type::two && !has_type_2) {
      put_device(writer, context.native_handle()).put(" has no memory windows of type 2");
    } else if (is_code(description.code(), std::errc::not_enough_memory)) {
      writer.put("the device allows ").decimal(device.max_memory_windows());
      writer.put(" memory windows in all");
    }
  });
}

ADVERB_FUNC bool check_type(on_failure policy, const ibv_mw* window, window_type type) {
  constexpr const char* verb = "memory window adoption";
  if (!check_present(policy, verb, window)) return false;
  const auto found = static_cast<window_type>(window->type);
  return check_returned(policy, verb, found == type ? 0 : EINVAL,
                        [&](failure_description& description) {
                          on_object<memory_window_traits>(window)(description);
                          description.explain("it is of {}, not of {}", {found, type});
                        });
}

}  // namespace adverb::inline ADVERB_ABI::detail
