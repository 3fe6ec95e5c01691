// SPDX-License-Identifier: MIT
#pragma once

#include <adverb/device/async_event.hpp>
#include <adverb/device/detail/explain_device.hpp>

namespace adverb::inline ADVERB_ABI {

ADVERB_FUNC async_event& async_event::operator=(async_event&& other) noexcept {
  if (this != &other) {
    acknowledge();
    context_ = other.context_;
    native_ = other.native_;
    pending_ = std::exchange(other.pending_, false);
  }
  return *this;
}

ADVERB_FUNC std::optional<port_number> async_event::port() const noexcept {
  if (subject() != async_event_subject::port) return std::nullopt;
  return static_cast<port_number>(native_.element.port_num);
}

ADVERB_FUNC void async_event::write_to(text_writer& writer) const noexcept {
  writer.put(type()).put(" on ");
  detail::put_device(writer, context_);
  if (const auto number = port()) writer.put(":").put(*number);
  if (const auto pair = queue_pair())
    writer.put(" qp ").put(qp_number{pair.native_handle()->qp_num});
  if (const auto queue = completion_queue())
    writer.put(" cq ").decimal(queue.native_handle()->handle);
  if (const auto queue = srq()) writer.put(" srq ").decimal(queue.native_handle()->handle);
  if (const auto queue = work_queue())
    writer.put(" wq ").put(work_queue_number{queue.native_handle()->wq_num});
}

}  // namespace adverb::inline ADVERB_ABI
