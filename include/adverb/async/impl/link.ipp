// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cerrno>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include <adverb/async/detail/link.hpp>
#include <adverb/async/device_loop.hpp>
#include <adverb/async/message.hpp>
#include <adverb/core/detail/dead_device.hpp>
#include <adverb/core/detail/errno_of.hpp>
#include <adverb/core/detail/hardening.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC std::error_code move_pair_to_error(ibv_qp* pair) noexcept {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  const int result = ibv_modify_qp(pair, &attributes, IBV_QP_STATE);
  return result == 0 ? std::error_code{} : errno_code(errno_of(result));
}

ADVERB_FUNC link::link(async::device_loop& loop, loop_device& device,
                       request_slots& requests) noexcept
    : idle_at{device.memory.given_back()},
      loop_{&loop},
      device_{&device},
      requests_{&requests},
      domain_{device.domain} {}

ADVERB_FUNC link::~link() {
  while (receive_block* const first = shared_ != nullptr ? inbox_.take() : nullptr) {
    inbox_.give_back(*first);
    static_cast<void>(shared_->take_back(*first));
  }
}

ADVERB_FUNC void link::fill(ibv_qp* pair, const async::connection_options& options,
                            on_failure policy) {
  pair_ = pair;
  domain_ = pair->pd;
  end_timeout_ = options.end_timeout;
  if (!options.shared)
    return receives_.create(*this, &complete_receive, pair, domain_, device_->queue,
                            options.receives, options.block_size, policy);
  if (pair->srq != device_->shared->queue().native_handle()) {
    policy.report(EINVAL, "async::connection", [&](failure_description& description) {
      on_object<queue_pair_traits>(pair)(description);
      description.explain(
          "its shared receive queue is not that of the loop: create it with "
          "device_loop::shared_receives");
    });
    return;
  }
  shared_ = device_->shared.get();
  shared_->add(static_cast<qp_number>(pair->qp_num), *this);
}

ADVERB_FUNC void link::open() noexcept {
  life_.connected();
  if (cause_.is_known()) return close(0);  // A request failed before.
  if (!life_.may_post()) return;
  is_ready_ = true;
  receives_.set_posts_again(shared_ == nullptr);
}

ADVERB_FUNC void link::expires_after(timeout limit) noexcept {
  deadline_ = async::device_loop::soon(limit);
  // A timer that is set for an earlier time is set again when it expires.
  if (is_ready_ && timer_.is_set() && timer_.time() <= deadline_) [[likely]]
    return;
  start_deadline();
}

ADVERB_FUNC void link::start_deadline() noexcept {
  is_overdue_ = false;
  if (!life_.has_deadline()) return;
  if (deadline_ == no_deadline) return timer_.stop();
  if (!timer_.is_set() || timer_.time() > deadline_) loop_->set_timer(timer_, deadline_);
}

ADVERB_FUNC void link::cancel_waits() noexcept {
  async::waiter_list& room = requests_->room();
  while (!room.empty()) {
    auto& first = static_cast<room_waiter&>(room.front());
    first.is_cancelled = true;
    cancelled_.take_first_of(room);
  }
  while (!inbox_.waiters().empty()) cancelled_.take_first_of(inbox_.waiters());
  while (!ends_.empty()) cancelled_.take_first_of(ends_);
  if (!cancelled_.empty()) schedule();
  if (attachment_ != nullptr) attachment_->cancel_waits();
}

ADVERB_FUNC void link::detach() noexcept {
  require(!life_.is_orphan(), "async::connection",
          "the connection is destroyed a second time: GCC 11 and 12 do that to the result of a "
          "co_await that initialises a member of an aggregate");
  loop_->count_ending();
  take_events();
  close(ECANCELED);
  life_.drop_handle();
}

ADVERB_FUNC std::string_view link::why_stalled() const noexcept {
  if (!life_.may_post()) return {};
  if (shared_ == nullptr && !receives_.is_any_posted() && inbox_.held() != 0)
    return "the program holds every block: the next message arrives when one is destroyed";
  if (shared_ != nullptr && shared_->is_exhausted())
    return "every shared block holds a message: the next one arrives when one is destroyed";
  if (!requests_->room().empty()) return "as many requests as max_send_wr allows are in progress";
  return {};
}

ADVERB_FUNC bool link::is_audible() const noexcept {
  return shared_ != nullptr ? !shared_->is_exhausted() : receives_.is_any_posted();
}

ADVERB_FUNC async::message link::no_message(const char* verb, on_failure policy) const {
  policy.clear();
  if (!life_.is_orderly(cause_.is_known())) report(verb, policy);
  return {};
}

ADVERB_FUNC void link::report(const char* verb, on_failure policy) const {
  if (life_.has_deadline() && !cause_.is_known()) return report_cancelled(policy, verb);
  if (cause_.is_known() || life_.end() != link_end::timed_out)
    return cause_.report(cause_.number() != 0 ? cause_.number() : ECONNRESET, verb, policy);
  policy.report(ECONNRESET, verb, [](failure_description& description) {
    description.explain("the peer did not confirm the end in time");
  });
}

ADVERB_FUNC void link::report_end(on_failure policy) const {
  constexpr const char* verb = "rdma_disconnect";
  if (cause_.number() == ENODEV) return report(verb, policy);
  if (life_.end() == link_end::pending) return report_cancelled(policy, verb);
  if (life_.end() != link_end::timed_out) return policy.clear();
  if (device_->is_lost) return cause_.report(ENODEV, verb, policy);
  policy.report(ETIMEDOUT, verb, [](failure_description& description) {
    description.explain(
        "the end was not confirmed in time; possible causes: the peer or the device does not "
        "answer");
  });
}

ADVERB_FUNC void link::abandon(void* waiting) noexcept {
  requests_->for_each_taken([&](request_slot& each) {
    if (each.waiting == waiting) each.waiting = nullptr;
  });
  close(ECANCELED);
}

ADVERB_FUNC bool link::make_ready() noexcept {
  note_late_start();
  is_ready_ = life_.may_post() && requests_->room().empty();
  return is_ready_;
}

ADVERB_FUNC void link::note_late_start() noexcept {
  if (is_overdue_) close(ETIMEDOUT);
}

ADVERB_FUNC void link::close(int cause) noexcept {
  if (cause == EIO && is_dead(device_->context.native_handle())) cause = ENODEV;
  if (cause != 0 && life_.end() != link_end::confirmed) cause_.record(cause);
  is_ready_ = false;
  receives_.set_posts_again(false);
  if (life_.has_deadline()) {
    life_.close();
    set_end_timer(deadline::now());
  }
  schedule();
}

ADVERB_FUNC void link::peer_ended() noexcept {
  close(0);
  life_.peer_ended();
  if (is_iwarp() && life_.is_ending()) set_end_timer(deadline::now());
}

ADVERB_FUNC void link::peer_was_silent() noexcept {
  close(0);
  life_.peer_was_silent();
}

ADVERB_FUNC void link::note_failure(const completion& each, const receive_block* block) noexcept {
  const bool is_over = life_.end() == link_end::confirmed;
  const bool is_receive = block != nullptr;
  if (each.status() == completion_status::flushed) {
    if (!is_over && life_.has_deadline() && (!is_iwarp() || ends_alone())) note_failed_pair();
  } else if (is_receive || !is_over) {
    // A message that failed to arrive is missing, although the peer has ended the stream since.
    cause_.record_failure([&](on_failure policy) {
      report_status(
          policy, each.status(), each.id(), each.vendor_error(),
          [&](text_writer& writer) { writer.put("qp ").put(each.queue_pair()).put(" "); },
          is_receive ? block->memory.size() : 0);
    });
  }
  // The connection that is being established must be disconnected.
  if (life_.phase() != link_phase::connecting) close(0);
}

ADVERB_FUNC void link::note_dead_peer() noexcept {
  cause_.record_failure([](on_failure policy) {
    policy.report(ETIMEDOUT, "async::connection", [](failure_description& description) {
      description.explain(
          "no heartbeat of the peer came within dead_after; possible causes: its process is "
          "stopped, "
          "its loop is busy or does not run, or the network is down");
    });
  });
  close(0);
}

ADVERB_FUNC void link::note_failed_pair() noexcept {
  cause_.record_failure([&](on_failure policy) {
    policy.report(ECONNRESET, "async::connection", [&](failure_description& description) {
      if (pair_ != nullptr) on_object<queue_pair_traits>(pair_)(description);
      description.explain(
          "the queue pair went to ERR before the connection ended; possible causes: the peer "
          "accessed memory without the right, the device failed, or the program moved it "
          "(async::device_events reports the event of the device)");
    });
  });
}

ADVERB_FUNC void link::return_block(receive_block& block) noexcept {
  if (shared_ != nullptr) {
    const post_result posted = shared_->take_back(block);
    if (!posted) close(posted.code().value());
  }
  // The link may wait for this message to be destroyed.
  if (!life_.may_post()) schedule();
}

ADVERB_FUNC void link::schedule() noexcept { loop_->schedule(*this); }

ADVERB_FUNC bool link::advance_scheduled(async::waiter& which) {
  which.leave();
  link& self = *static_cast<scheduled_link&>(which).owner;
  if (self.advance()) self.loop_->destroy(self);
  return true;
}

ADVERB_FUNC bool link::advance() {
  schedule_unless_done rest{*this};
  cancelled_.resume_present();
  if (life_.next(load()) == link_action::enter_error) {
    // A link that was never filled has no queue pair.
    const std::error_code failed = pair_ != nullptr ? move_to_error() : std::error_code{};
    // Messages that have come are in the completion queue. If each receive has one, none is
    // flushed.
    device_->poll_all();
    life_.entered_error();
    // The peer has its time from the disconnect on, which the loop may not have sent at once.
    end_time_ = 0;
    set_end_timer(deadline::now());
    if (device_->is_dead(failed)) device_->lose();
  }
  if (device_->is_lost && life_.phase() == link_phase::draining) {
    life_.released();
    end_requests();
  }
  if (life_.phase() == link_phase::draining && ends_alone() && !load().is_posted) life_.flushed();
  if (has_no_more_messages()) inbox_.waiters().resume();
  if (life_.has_ended()) ends_.resume();
  requests_->room().resume();
  const auto can_be_destroyed = [this] {
    return life_.next(load()) == link_action::destroy && !is_awaited();
  };
  if (can_be_destroyed()) release_queue_pair();
  rest.is_done();
  return can_be_destroyed();
}

ADVERB_FUNC void link::end_with_loop() noexcept {
  close(ECANCELED);
  attachment_.reset();
  release_queue_pair();
}

ADVERB_FUNC void link::release_queue_pair() noexcept {
  if (pair_ == nullptr) return;
  life_.released();
  const auto number = static_cast<qp_number>(pair_->qp_num);
  destroy_queue_pair();
  pair_ = nullptr;
  if (shared_ != nullptr) shared_->remove(number);
  end_requests();
}

ADVERB_FUNC void link::end_requests() noexcept {
  // Some devices leave the completions of a destroyed queue pair in its completion queue.
  device_->poll_all();
  receives_.release();
  requests_->for_each_taken([&](request_slot& each) {
    ibv_wc flushed{};
    flushed.wr_id = reinterpret_cast<std::uintptr_t>(static_cast<async::operation*>(&each));
    flushed.status = IBV_WC_WR_FLUSH_ERR;
    loop_->call_and_keep_exception([&] { each.complete(completion{flushed}); });
  });
}

ADVERB_FUNC void link::set_end_timer(std::int64_t now) noexcept {
  if (end_time_ == 0) end_time_ = later_by(now, end_timeout_);
  // soft-iWARP never flushes a receive that was posted after its end.
  const std::int64_t flush = now + longest_flush;
  loop_->set_timer(timer_, is_iwarp() ? std::min(flush, end_time_) : end_time_);
}

ADVERB_FUNC void link::check_time(timer& which) {
  link& self = *static_cast<link_timer&>(which).owner;
  const std::int64_t now = deadline::now();
  if (self.life_.has_deadline())
    self.check_deadline(now);
  else
    self.check_end(now);
}

ADVERB_FUNC void link::check_deadline(std::int64_t now) {
  if (deadline_ == no_deadline) return;
  // A busy loop has not passed on what had arrived in time.
  if (deadline_ <= now) device_->poll_all();
  if (!life_.has_deadline() || deadline_ == no_deadline) return;
  if (deadline_ > now) return loop_->set_timer(timer_, deadline_);
  if (is_awaited() || requests_->is_any_in_progress()) return close(ETIMEDOUT);
  is_overdue_ = true;
  is_ready_ = false;
}

ADVERB_FUNC void link::check_end(std::int64_t now) {
  // A handler that threw has kept it from entering ERR.
  if (life_.phase() == link_phase::closing) return loop_->set_timer(timer_, now + 1);
  if (life_.phase() != link_phase::draining) return;
  if (now < end_time_ && !(is_iwarp() && life_.end() == link_end::confirmed))
    return loop_->set_timer(timer_, end_time_);
  // A loop that did not run for a while has not passed on what had arrived in time.
  device_->poll_all();
  if (life_.phase() != link_phase::draining) return;
  // In the next turn, after the descriptors.
  if (!std::exchange(is_last_turn_, true)) return loop_->set_timer(timer_, now + 1);
  release_queue_pair();
  schedule();
}

ADVERB_FUNC link_load link::load() noexcept {
  return {.is_posted = requests_->is_any_in_progress() || receives_.is_any_posted(),
          .is_awaited = is_awaited(),
          .is_held = inbox_.held() != 0};
}

ADVERB_FUNC bool link::is_awaited() noexcept {
  return !inbox_.waiters().empty() || !requests_->room().empty() || !ends_.empty() ||
         !cancelled_.empty();
}

ADVERB_FUNC bool link::is_iwarp() const noexcept { return detail::is_iwarp(device_->context); }

ADVERB_FUNC void reliable_link::prepare(queue_pair_ref<transport::rc, qp_state::any> pair,
                                        const async::connection_options& options,
                                        on_failure policy) {
  sends_.create(pair.as<qp_state::rts>(), options.max_send_wr, policy);
  if (!policy.failed()) fill(pair.native_handle(), options, policy);
}

ADVERB_FUNC void reliable_link::take_over(adverb::queue_pair<transport::rc>&& pair,
                                          const async::connection_options& options,
                                          on_failure policy) {
  if (!options.dead_after.is_endless()) {
    policy.report(EINVAL, "async::connection_options", [](failure_description& description) {
      description.explain("dead_after needs a connection of librdmacm");
    });
    return;
  }
  const queue_pair_ref<transport::rc> taken = pair;
  holder_ = std::move(pair);
  prepare(taken, options, policy);
  if (!policy.failed()) open();
}

ADVERB_FUNC void reliable_link::connected(cm::connection<>&& connection) noexcept {
  const bool has_ended = connection.has_ended();
  const bool is_accepting = side<accepting_side>() != nullptr;
  const std::optional<heartbeat_offer> offer = heartbeat_offer::of(connection.private_data());
  holder_.emplace<cm::connection<>>(std::move(connection));
  take_events();
  expires_after(timeout::endless());
  open();
  if (has_ended) return peer_ended();
  if (heartbeat_ != nullptr && offer) heartbeat_->begin(*offer, is_accepting && is_iwarp());
}

ADVERB_FUNC heartbeat* reliable_link::add_heartbeat(timeout dead_after, on_failure policy) {
  heartbeat_ = std::make_unique<heartbeat>(*this, domain(), dead_after, policy);
  if (policy.failed()) heartbeat_.reset();
  return heartbeat_.get();
}

ADVERB_FUNC void reliable_link::take_events() noexcept {
  std::visit(
      [this](auto& each) {
        if constexpr (requires { each.identifier(); }) set_event_target(each, this);
      },
      holder_);
}

ADVERB_FUNC void reliable_link::handle(cm::event& happened) {
  cm::connection<>* const connection = established();
  if (connection == nullptr) return;
  connection->note(happened);
  if (!connection->has_ended()) return;
  if (happened.type() == cm::event_type::device_removal) close(ENODEV);
  // The kernel moves no queue pair of InfiniBand or RoCE to ERR because the peer disconnects.
  std::error_code ignored;
  if (is_open() && !is_iwarp() &&
      queue_pair_ref<transport::rc, qp_state::any>{queue_pair()}.query(ignored).state() ==
          qp_state::error)
    note_failed_pair();
  if (happened.type() == cm::event_type::disconnected && happened.status() != 0)
    return peer_was_silent();
  peer_ended();
}

ADVERB_FUNC send_window_result reliable_link::refuse_post() noexcept {
  if (is_open()) return sends_.full(pair());
  const int number = cause_.number() != 0 ? cause_.number() : ECONNRESET;
  return post_result{pair(), number, 0, posted_to::send_queue};
}

ADVERB_FUNC std::error_code reliable_link::move_to_error() noexcept {
  // Fails if the other side was faster; the queue pair is in ERR in any case.
  std::error_code failed;
  if (established() != nullptr) established()->start_disconnect(failed);
  if (ends_alone()) failed = move_pair_to_error(pair());
  sends_.end_refused(queue_pair());
  return failed;
}

}  // namespace adverb::inline ADVERB_ABI::detail
