// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>

#include <adverb/cm/queue_drain.hpp>
#include <adverb/request/detail/queue_traits.hpp>

namespace adverb::inline ADVERB_ABI::cm {

ADVERB_FUNC bool queue_drain::enter_error(on_failure policy) const {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  return detail::check_returned(policy, "ibv_modify_qp",
                                ibv_modify_qp(pair_, &attributes, IBV_QP_STATE),
                                detail::on_object<detail::queue_pair_traits>(pair_));
}

ADVERB_FUNC void queue_drain::look_up_sizes(on_failure policy) {
  if (pair_->context->device->transport_type == IBV_TRANSPORT_IWARP) return;
  ibv_qp_attr attributes{};
  ibv_qp_init_attr initial{};
  if (!detail::check_returned(policy, "ibv_query_qp",
                              ibv_query_qp(pair_, &attributes, IBV_QP_CAP, &initial),
                              detail::on_object<detail::queue_pair_traits>(pair_)))
    return;
  if (initial.cap.max_send_wr != 0) send_.await();
  if (initial.cap.max_recv_wr != 0 && pair_->srq == nullptr) receive_.await();
}

ADVERB_FUNC bool queue_drain::mark_ends(on_failure policy) {
  if (!send_.is_to_be_posted() && !receive_.is_to_be_posted()) return true;
  ibv_send_wr last_send{};
  last_send.opcode = IBV_WR_SEND;
  last_send.send_flags = IBV_SEND_SIGNALED;
  return send_.post_to<detail::send_queue>(pair_, last_send, policy) &&
         receive_.post_to<detail::receive_queue>(pair_, ibv_recv_wr{}, policy) &&
         enter_error(policy);
}

ADVERB_FUNC bool queue_drain::arm(on_failure policy) const {
  for (ibv_cq* const each : {pair_->recv_cq, pair_->send_cq})
    if (each->channel != nullptr &&
        !detail::check_returned(policy, "ibv_req_notify_cq", ibv_req_notify_cq(each, 0),
                                detail::on_object<detail::completion_queue_traits>(each)))
      return false;
  return true;
}

ADVERB_FUNC void queue_drain::report_late(timeout limit, on_failure policy) const {
  policy.report(ETIMEDOUT, "connection::drain", [&](failure_description& description) {
    detail::on_object<detail::queue_pair_traits>(pair_)(description);
    description.explain("the {} queue was not flushed within {}",
                        {send_.is_awaited() ? "send" : "receive", limit});
  });
}

ADVERB_FUNC void queue_drain::report_woken(on_failure policy) const {
  policy.report(ECANCELED, "connection::drain", [&](failure_description& description) {
    detail::on_object<detail::queue_pair_traits>(pair_)(description);
    description.explain(detail::woken_by_descriptor);
  });
}

}  // namespace adverb::inline ADVERB_ABI::cm
