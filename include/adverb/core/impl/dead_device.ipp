// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>

#include <infiniband/verbs.h>
#include <poll.h>
#include <unistd.h>

#include <adverb/core/detail/dead_device.hpp>
#include <adverb/core/detail/errno_of.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC bool is_dead(const ibv_context* context) noexcept {
  ibv_port_attr ignored{};
  const int result = ibv_query_port(const_cast<ibv_context*>(context), 1, &ignored);
  return result != 0 && errno_of(result) == EIO;
}

ADVERB_FUNC void explain_dead_device(text_writer& writer, const ibv_context* context) {
  if (!is_dead(context)) return;
  // The kernel closes the events of a removed device. A device that is back may have the same path.
  pollfd events{context->async_fd, 0, 0};
  const bool is_closed = ::poll(&events, 1, 0) == 1 && (events.revents & POLLERR) != 0;
  const bool is_removed =
      is_closed || (::access(context->device->dev_path, F_OK) == -1 && errno == ENOENT);
  writer.put(is_removed ? "the device was removed"
                        : "ibv_query_port fails with EIO, too; possible causes: the device was "
                          "removed, or it has failed");
}

}  // namespace adverb::inline ADVERB_ABI::detail
