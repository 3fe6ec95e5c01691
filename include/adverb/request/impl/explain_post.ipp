// SPDX-License-Identifier: MIT
#pragma once

#include <adverb/request/detail/explain_post.hpp>
#include <adverb/request/detail/queue_traits.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC void name_posted_to(failure_description& description, posted_to queue,
                                const void* object) noexcept {
  switch (queue) {
    case posted_to::send_queue:
    case posted_to::extended_send_queue:
    case posted_to::receive_queue:
    case posted_to::send_window:
    case posted_to::full_send_window:
      return on_object<queue_pair_traits>(static_cast<const ibv_qp*>(object))(description);
    case posted_to::shared_receive_queue:
    case posted_to::tag_list:
      return on_object<shared_receive_queue_traits>(static_cast<const ibv_srq*>(object))(
          description);
    case posted_to::work_queue:
      return on_object<work_queue_traits>(static_cast<const ibv_wq*>(object))(description);
  }
}

/// Writes the possible reasons of a refusal, with "or" between them, except those that the shape
/// of the request rules out.
class refusal_reasons {
 public:
  /// Without a query the values of the options are unknown.
  refusal_reasons(text_writer& writer, request_shape shape, bool known) noexcept
      : writer_{writer}, shape_{shape}, known_{known} {}

  [[gnu::cold]] void put(std::string_view reason) noexcept {
    writer_.put(is_first_ ? "possible causes: " : ", or ").put(reason);
    is_first_ = false;
  }
  /// Writes "the queue is full (max_recv_wr is 1)": the exceeded limit and its option.
  [[gnu::cold]] void put(std::string_view reason, std::string_view option,
                         std::uint32_t value) noexcept {
    put(reason);
    writer_.put(" (").put(option);
    if (known_) writer_.put(" is ").decimal(value);
    writer_.put(")");
  }
  [[gnu::cold]] void put_elements(std::string_view option, std::uint32_t value) noexcept {
    const bool fits = shape_ == request_shape::one_element && !(known_ && value == 0);
    if (shape_ != request_shape::no_elements && !fits)
      put("the request has too many elements", option, value);
  }
  [[gnu::cold]] void put_no_elements() noexcept {
    if (shape_ == request_shape::no_elements)
      put("the receive has no elements, which soft-iWARP refuses");
  }

 private:
  text_writer& writer_;
  request_shape shape_;
  bool known_;
  bool is_first_ = true;
};

/// The capacity of the queues of a queue pair, if it can be queried.
struct queue_pair_room {
  bool known;
  ibv_qp_cap cap;
};
[[nodiscard, gnu::cold]] ADVERB_FUNC queue_pair_room room_of(ibv_qp* pair) noexcept {
  ibv_qp_attr now{};
  ibv_qp_init_attr made_with{};
  const bool known = ibv_query_qp(pair, &now, IBV_QP_CAP, &made_with) == 0;
  return {known, now.cap};
}

[[gnu::cold]] ADVERB_FUNC void explain_full_send_queue(text_writer& writer, ibv_qp* pair,
                                                       request_shape shape) noexcept {
  const queue_pair_room room = room_of(pair);
  const ibv_qp_cap& cap = room.cap;
  refusal_reasons reasons{writer, shape, room.known};
  const auto put_inline_data = [&] {
    reasons.put("the request has too much inline data", "max_inline_data", cap.max_inline_data);
  };
  if (pair->context->device->transport_type == IBV_TRANSPORT_IWARP)
    reasons.put(
        "the device lacks the operation (iWARP has no immediate data, and soft-iWARP no atomics)");
  if (shape == request_shape::inline_data) put_inline_data();
  reasons.put("the queue is full", "max_send_wr", cap.max_send_wr);
  reasons.put_elements("max_send_sge", cap.max_send_sge);
  if (shape == request_shape::unknown) put_inline_data();
  reasons.put("its operation does not allow its length");
  writer.put("; unsignaled requests leave the queue when a later signaled one completes");
}

[[gnu::cold]] ADVERB_FUNC void explain_full_receive_queue(text_writer& writer, ibv_qp* pair,
                                                          request_shape shape) noexcept {
  const auto [known, cap] = room_of(pair);
  refusal_reasons reasons{writer, shape, known};
  reasons.put_no_elements();
  reasons.put("the queue is full", "max_recv_wr", cap.max_recv_wr);
  reasons.put_elements("max_recv_sge", cap.max_recv_sge);
}

[[gnu::cold]] ADVERB_FUNC void explain_full_shared_receive_queue(text_writer& writer,
                                                                 ibv_srq* queue,
                                                                 request_shape shape) noexcept {
  ibv_srq_attr now{};
  const bool known = ibv_query_srq(queue, &now) == 0;
  refusal_reasons reasons{writer, shape, known};
  reasons.put_no_elements();
  reasons.put("the queue is full", "max_wr", now.max_wr);
  reasons.put_elements("max_sge", now.max_sge);
}

ADVERB_FUNC void explain_refusal(text_writer& writer, posted_to queue, const void* object,
                                 request_shape shape) noexcept {
  const auto pair = [&] { return static_cast<ibv_qp*>(const_cast<void*>(object)); };
  switch (queue) {
    case posted_to::send_queue:
    case posted_to::extended_send_queue: return explain_full_send_queue(writer, pair(), shape);
    case posted_to::receive_queue:
      if (pair()->srq == nullptr) return explain_full_receive_queue(writer, pair(), shape);
      writer.put("the pair has no receive queue: post to its shared receive queue");
      return;
    case posted_to::shared_receive_queue:
      return explain_full_shared_receive_queue(
          writer, static_cast<ibv_srq*>(const_cast<void*>(object)), shape);
    case posted_to::work_queue: {
      refusal_reasons reasons{writer, shape, false};
      reasons.put("the queue is full", "max_wr", 0);
      reasons.put_elements("max_sge", 0);
      return;
    }
    case posted_to::tag_list:
      writer.put(
          "possible causes: the list is full, too many operations are in progress, or the next one "
          "has too many elements");
      return;
    case posted_to::send_window:
    case posted_to::full_send_window:
      writer.put(
          "no completion can make room; possible causes: the chain is longer than the window, or "
          "no "
          "request in progress is signaled");
  }
}

}  // namespace adverb::inline ADVERB_ABI::detail
