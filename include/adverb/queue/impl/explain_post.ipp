// SPDX-License-Identifier: MIT
#pragma once

#include <adverb/queue/detail/explain_post.hpp>
#include <adverb/queue/detail/queue_traits.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC void put_posted_to(text_writer& writer, posted_to queue, const void* object) noexcept {
  switch (queue) {
    case posted_to::send_queue:
    case posted_to::extended_send_queue:
    case posted_to::receive_queue:
    case posted_to::send_window:
    case posted_to::full_send_window:
      return queue_pair_traits::describe(static_cast<const ibv_qp*>(object), writer);
    case posted_to::shared_receive_queue:
    case posted_to::tag_list:
      return shared_receive_queue_traits::describe(static_cast<const ibv_srq*>(object), writer);
    case posted_to::work_queue:
      return work_queue_traits::describe(static_cast<const ibv_wq*>(object), writer);
  }
}

ADVERB_FUNC void put_exhausted(text_writer& writer, std::string_view what, std::string_view option,
                               bool known, std::uint32_t value) noexcept {
  writer.put(what).put(" (").put(option);
  if (known) writer.put(" is ").decimal(value);
  writer.put(")");
}

ADVERB_FUNC void put_full(text_writer& writer, bool known, std::string_view requests_option,
                          std::uint32_t requests, std::string_view elements_option,
                          std::uint32_t elements) noexcept {
  put_exhausted(writer, "the queue is full", requests_option, known, requests);
  put_exhausted(writer, ", or the next request has too many elements", elements_option, known,
                elements);
}

ADVERB_FUNC queue_pair_room room_of(ibv_qp* pair) noexcept {
  ibv_qp_attr now{};
  ibv_qp_init_attr made_with{};
  const bool known = ibv_query_qp(pair, &now, IBV_QP_CAP, &made_with) == 0;
  return {known, now.cap};
}

ADVERB_FUNC void explain_full_send_queue(text_writer& writer, ibv_qp* pair) noexcept {
  const auto [known, cap] = room_of(pair);
  put_full(writer, known, "max_send_wr", cap.max_send_wr, "max_send_sge", cap.max_send_sge);
  put_exhausted(writer, ", too much inline data", "max_inline_data", known, cap.max_inline_data);
  writer.put(
      ", or a length that its operation does not allow; unsignaled requests leave the queue ");
  writer.put("when a later signaled one completes");
}

ADVERB_FUNC void explain_full_receive_queue(text_writer& writer, ibv_qp* pair) noexcept {
  const auto [known, cap] = room_of(pair);
  put_full(writer, known, "max_recv_wr", cap.max_recv_wr, "max_recv_sge", cap.max_recv_sge);
  put_no_elements(writer);
}

ADVERB_FUNC void explain_full_shared_receive_queue(text_writer& writer, ibv_srq* queue) noexcept {
  ibv_srq_attr now{};
  const bool known = ibv_query_srq(queue, &now) == 0;
  put_full(writer, known, "max_wr", now.max_wr, "max_sge", now.max_sge);
  put_no_elements(writer);
}

ADVERB_FUNC void explain_refusal(text_writer& writer, posted_to queue,
                                 const void* object) noexcept {
  const auto pair = [&] { return static_cast<ibv_qp*>(const_cast<void*>(object)); };
  switch (queue) {
    case posted_to::send_queue:
    case posted_to::extended_send_queue: return explain_full_send_queue(writer, pair());
    case posted_to::receive_queue:
      if (pair()->srq == nullptr) return explain_full_receive_queue(writer, pair());
      writer.put("the pair has no receive queue: post to its shared receive queue");
      return;
    case posted_to::shared_receive_queue:
      return explain_full_shared_receive_queue(writer,
                                               static_cast<ibv_srq*>(const_cast<void*>(object)));
    case posted_to::work_queue:
      writer.put("the queue is full (max_wr), or the next request has too many elements (max_sge)");
      return;
    case posted_to::tag_list:
      writer.put(
          "the list is full, or too many operations are in progress, or the next one has too many "
          "elements");
      return;
    case posted_to::send_window:
    case posted_to::full_send_window:
      writer.put(
          "no completion can make room: the chain is longer than the window, or no request in "
          "progress is signaled");
  }
}

}  // namespace adverb::inline ADVERB_ABI::detail
