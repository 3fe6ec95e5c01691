// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>

#include <adverb/async/device_loop.hpp>
#include <adverb/async/link.hpp>

namespace adverb::inline ADVERB_ABI::async {

ADVERB_FUNC link::link(device_loop& loop, detail::loop_device& device) noexcept
    : loop_{&loop}, device_{&device} {}

ADVERB_FUNC void link::prepare(queue_pair_ref<transport::rc, qp_state::any> pair,
                               const link_options& options, on_failure policy) {
  window_ = send_window<queue_pair_ref<transport::rc, qp_state::rts>>{
      pair.as<qp_state::rts>(), {.size = options.max_send_wr}, policy};
  if (!policy.failed()) fill(pair.native_handle(), options, policy);
}

ADVERB_FUNC void link::fill(ibv_qp* pair, const link_options& options, on_failure policy) {
  pair_ = pair;
  end_timeout_ = options.end_timeout;
  slots_.reserve(options.max_send_wr);
  for (std::uint32_t each = 0; each < options.max_send_wr; ++each) {
    slots_.emplace_back(*this).next_free = free_slots_;
    free_slots_ = &slots_.back();
  }
  if (options.shared) return share(policy);
  for_receives_ = completion_reservation{device_->queue, options.receives, policy};
  if (policy.failed()) return;
  memory_ = {domain(), options.receives, options.block_size, policy};
  if (policy.failed()) return;
  blocks_.reserve(options.receives);
  for (std::uint32_t each = 0; each < options.receives; ++each)
    post_receive(blocks_.emplace_back(*this, memory_[each]));
  if (reason_ != 0) report("ibv_post_recv", policy);
}

ADVERB_FUNC void link::share(on_failure policy) {
  if (pair_->srq != device_->shared->queue().native_handle()) {
    policy.report(EINVAL, "async::connection", [&](failure_description& description) {
      detail::on_object<detail::queue_pair_traits>(pair_)(description);
      description.explain(
          "its shared receive queue is not that of the loop: create it with "
          "device_loop::shared_receives");
    });
    return;
  }
  shared_ = device_->shared.get();
  shared_->add(static_cast<qp_number>(pair_->qp_num), *this);
}

ADVERB_FUNC link::~link() {
  while (arrived_first_ != nullptr && shared_ != nullptr) {
    detail::receive_block& first = *arrived_first_;
    arrived_first_ = first.next;
    if constexpr (detail::poisons_blocks) detail::poison(message::bytes_of(first));
    static_cast<void>(shared_->post(first));
  }
}

ADVERB_FUNC void link::take_over(adverb::queue_pair<transport::rc>&& pair,
                                 const link_options& options, on_failure policy) {
  const queue_pair_ref<transport::rc> taken = pair;
  holder_ = std::move(pair);
  prepare(taken, options, policy);
  if (policy.failed()) return;
  open_without_peer();
}

ADVERB_FUNC void link::open_without_peer() noexcept {
  was_connected_ = true;
  has_no_peer_ = true;
  state_ = state::open;
  posts_again_ = shared_ == nullptr;
}

ADVERB_FUNC void link::open(cm::connection<>&& connection) noexcept {
  was_connected_ = true;
  peer_ended_ = connection.has_ended();
  const auto& held = holder_.emplace<cm::connection<>>(std::move(connection));
  held.identifier().native_handle()->context = static_cast<detail::async_event_target*>(this);
  if (state_ == state::opening) {
    state_ = state::open;
    posts_again_ = shared_ == nullptr;
  }
  if (peer_ended_) end(ECONNRESET);
}

ADVERB_FUNC void link::expires_after(timeout limit) noexcept {
  if (limit.is_endless()) {
    deadline_ = 0;
    return;
  }
  deadline_ = device_loop::now() + limit.count();
  if (!is_timed_) loop_->keep_time(*this);
}

ADVERB_FUNC void link::cancel_waits() noexcept {
  waits_cancelled_ = true;
  loop_->care_for(*this);
}

ADVERB_FUNC message link::take_message(on_failure policy) {
  policy.clear();
  if (detail::receive_block* const first = arrived_first_; first != nullptr) [[likely]] {
    arrived_first_ = first->next;
    return message{*first};
  }
  const bool is_orderly = peer_ended_ && !has_no_peer_ && reason_ == ECONNRESET && why_ == nullptr;
  if (!is_orderly) report("async::connection::next", policy);
  return {};
}

ADVERB_FUNC void link::report_end(on_failure policy) const {
  if (!peer_ended_) return report("rdma_disconnect", policy);
  if (!has_given_up_) return policy.clear();
  policy.report(ETIMEDOUT, "rdma_disconnect", [](failure_description& description) {
    description.explain("the peer or the device did not answer within end_timeout");
  });
}

ADVERB_FUNC void link::report(std::string_view verb, on_failure policy) const {
  if (why_ != nullptr) return policy.report(*why_);
  const bool cancelled = state_ == state::open || reason_ == ECANCELED;
  const int number = cancelled ? ECANCELED : reason_ != 0 ? reason_ : ECONNRESET;
  policy.report(number, verb, [&](failure_description& description) {
    switch (number) {
      case ECANCELED: description.explain("the program has cancelled it"); break;
      case ETIMEDOUT: description.explain("the deadline of the connection has passed"); break;
      case ENODEV: description.explain("the device was removed"); break;
      case ECONNRESET: description.explain("the connection has ended"); break;
      default: break;
    }
  });
}

ADVERB_FUNC send_window_result link::refuse_post() const noexcept {
  const int number = state_ == state::open ? 0 : reason_ != 0 ? reason_ : ECONNRESET;
  return number == 0 ? full() : post_result{pair_, number, 0, detail::posted_to::send_queue};
}
ADVERB_FUNC send_window_result link::full() const noexcept {
  return post_result{pair_, static_cast<int>(window_.outstanding()), window_.size(),
                     detail::posted_to::full_send_window};
}

ADVERB_FUNC void link::abandon(void* waiting) noexcept {
  for (detail::request_slot& each : slots_)
    if (each.is_taken() && each.waiting == waiting) each.waiting = nullptr;
  end(ECANCELED);
}
ADVERB_FUNC void link::abandon() noexcept {
  is_abandoned_ = true;
  loop_->count_ending();
  // The operation that connected it may have gone.
  std::visit(
      [this](auto& each) {
        if constexpr (requires { each.identifier(); })
          if (each)
            each.identifier().native_handle()->context =
                static_cast<detail::async_event_target*>(this);
      },
      holder_);
  if (state_ == state::opening) state_ = state::ending;
  end(ECANCELED);
}

ADVERB_FUNC void link::give_back_elsewhere(detail::receive_block& block) noexcept {
  const post_result posted = shared_ != nullptr ? shared_->post(block) : post_result{};
  if (!posted)
    end(posted.code().value());
  else if (state_ != state::open)
    end(ECANCELED);  // Has the loop look whether it can be destroyed.
}

ADVERB_FUNC void link::end(int reason) noexcept {
  posts_again_ = false;
  if (reason_ == 0 && why_ == nullptr) reason_ = reason;
  if (state_ != state::ending) {
    state_ = state::ending;
    ending_since_ = device_loop::now();
    if (!is_timed_) loop_->keep_time(*this);
  }
  loop_->care_for(*this);
}

ADVERB_FUNC void link::note_failure(const completion& each) noexcept {
  if (each.status() != completion_status::flushed && why_ == nullptr && reason_ == 0) {
    why_ = std::make_unique<failure>();
    each.check(*why_);
  }
  end(0);
}

ADVERB_FUNC void link::handle(cm::event& happened) {
  cm::connection<>* const connection = established();
  if (connection == nullptr) return;
  connection->note(happened);
  if (!connection->has_ended()) return;
  if (happened.type() == cm::event_type::device_removal && why_ == nullptr) reason_ = ENODEV;
  peer_ended_ = true;
  end(ECONNRESET);
}

ADVERB_FUNC void link::enter_error() {
  // Fails if the other side was faster; the queue pair is in ERR in any case.
  std::error_code ignored;
  if (established() != nullptr) established()->start_disconnect(ignored);
  if (has_no_peer_) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_ERR;
    static_cast<void>(ibv_modify_qp(pair_, &attributes, IBV_QP_STATE));
  }
  // Nothing of a shared receive queue is flushed: what has arrived is in the completion queue.
  if (shared_ != nullptr) device_->poll_all();
  // Not before: if a handler throws, the next `care` polls again.
  entered_error_ = true;
}

ADVERB_FUNC bool link::is_idle() const noexcept {
  return busy_ == 0 && posted_ == 0 && (peer_ended_ || !was_connected_) && messages_.empty() &&
         room_.empty() && ends_.empty();
}

ADVERB_FUNC void link::need_care() noexcept { loop_->care_for(*this); }

ADVERB_FUNC bool link::care() {
  needs_care_ = false;
  rest_for_settle rest{*this};
  if (waits_cancelled_) {
    room_.resume_present();
    messages_.resume_present();
    ends_.resume_present();
    waits_cancelled_ = false;
  }
  if (state_ == state::ending) {
    if (!entered_error_) enter_error();
    if (is_flushed()) {
      peer_ended_ = true;
      if (reason_ == 0 && why_ == nullptr) reason_ = ECONNRESET;
    }
    if (has_let_go_) let_go();
    if (has_no_more_messages()) messages_.resume();
    // One whose queue pair has failed may still be established.
    if (peer_ended_ || (!was_connected_ && reason_ != 0)) ends_.resume();
  }
  room_.resume();
  const bool can_let_go =
      is_abandoned_ && entered_error_ && held_ <= unclaimed() && (is_idle() || !was_connected_);
  if (can_let_go) let_go();
  rest.is_done();
  return can_let_go && messages_.empty() && room_.empty() && ends_.empty();
}

ADVERB_FUNC void link::tick(std::int64_t now) {
  if (state_ != state::ending) {
    if (deadline_ != 0 && deadline_ <= now && is_anything_waiting()) end(ETIMEDOUT);
    return;
  }
  if (has_let_go_) return;
  const std::int64_t passed = now - ending_since_;
  // soft-iWARP never flushes a receive that was posted after its end.
  const bool is_flushed_by_now =
      peer_ended_ && passed >= longest_flush && detail::is_iwarp(device_->context);
  if (!is_flushed_by_now) {
    if (passed < end_timeout_.count()) return;
    // The device or the peer does not answer.
    if (reason_ == 0 && why_ == nullptr) reason_ = ECONNRESET;
    peer_ended_ = has_given_up_ = true;
  }
  // Without its queue pair the device uses no memory.
  loop_->care_for(*this);
  let_go();
}

ADVERB_FUNC void link::let_go() {
  if (!std::exchange(has_let_go_, true)) {
    const auto number = pair_ != nullptr ? static_cast<qp_number>(pair_->qp_num) : qp_number{};
    holder_ = std::monostate{};
    pair_ = nullptr;
    if (shared_ != nullptr) shared_->remove(number);
  } else if (posted_ == 0 && busy_ == 0) {
    return;
  }
  // Some devices leave the completions of a destroyed queue pair in its completion queue.
  device_->poll_all();
  posted_ = 0;
  for (detail::request_slot& each : slots_) {
    if (!each.is_taken()) continue;
    ibv_wc flushed{};
    flushed.wr_id = reinterpret_cast<std::uintptr_t>(static_cast<operation*>(&each));
    flushed.status = IBV_WC_WR_FLUSH_ERR;
    each.complete(completion{flushed});
  }
}

}  // namespace adverb::inline ADVERB_ABI::async
