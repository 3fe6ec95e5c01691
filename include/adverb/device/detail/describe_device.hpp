// SPDX-License-Identifier: MIT
// The names of devices and ports in failures.
#pragma once

#include <infiniband/verbs.h>

#include <adverb/core/failure.hpp>
#include <adverb/core/ids.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Writes "rxe0".
inline text_writer& put_device(text_writer& writer, const ibv_context* context) noexcept {
  return writer.put(context->device->name);
}

/// Names the device in a failure, "rxe0", or the port, "rxe0:1".
[[nodiscard]] inline auto on_device(const ibv_context* context) noexcept {
  return [context](failure_description& description) {
    description.object([&](text_writer& writer) { put_device(writer, context); });
  };
}
[[nodiscard]] inline auto on_port(const ibv_context* context, port_number port) noexcept {
  return [context, port](failure_description& description) {
    description.object(
        [&](text_writer& writer) { put_device(writer, context).put(":").put(port); });
  };
}

}  // namespace adverb::inline ADVERB_ABI::detail
