// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>

#include <adverb/async/reliable_connection.hpp>
#include <adverb/core/detail/lack_of_memory.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC bool is_on_queue_of(async::device_loop& loop, const ibv_qp* pair, on_failure policy) {
  const completion_queue_ref queue = loop.queue(pair->context, policy);
  if (policy.failed()) return false;
  if (pair->send_cq == queue.native_handle() && pair->recv_cq == queue.native_handle()) return true;
  policy.report(EINVAL, "device_loop::queue", [&](failure_description& description) {
    on_object<queue_pair_traits>(pair)(description);
    description.explain(
        "its completion queues are not that of the loop: create it with device_loop::queue");
  });
  return false;
}

ADVERB_FUNC connecting::~connecting() {
  if (link_ != nullptr) link_->detach();
}

ADVERB_FUNC queue_pair_options connecting::pair_options() const noexcept {
  const loop_device& device = link_->device();
  return {.send_cq = device.queue,
          .recv_cq = device.queue,
          .srq = options_.shared ? device.shared->queue() : shared_receive_queue_ref{},
          .max_send_wr = options_.max_send_wr,
          .max_recv_wr = options_.shared ? 0 : options_.receives,
          .max_send_sge = options_.max_send_sge,
          .max_inline_data = options_.max_inline_data};
}

ADVERB_FUNC bool connecting::connect_to(const cm::socket_address& address) {
  if (!loop_->has_channel(why_)) return false;
  auto start = started::create(loop_->channel(), why_);
  if (!start) return false;
  set_event_target(start, this);
  start.start_resolve_address(address, {}, why_);
  if (why_) return false;
  at_ = std::move(start);
  return true;
}

ADVERB_FUNC bool connecting::accept(request&& requested) {
  bool is_started = false;
  // An exception would leave the loop, because an event may have resumed this.
  if (!has_memory_for([&] { is_started = start_accept(std::move(requested)); }))
    report_lack_of_memory(why_, "async::connection");
  // The program may keep a request that was not accepted.
  if (!is_started) set_event_target(requested, nullptr);
  return is_started;
}

ADVERB_FUNC bool connecting::start_accept(request&& requested) {
  set_event_target(requested, this);
  link_ = loop_->add_link<reliable_link>(requested.context(), options_, why_);
  if (link_ == nullptr) return false;
  prepare(*link_, &requested.private_data(), options_.connection.private_data, why_);
  if (why_) return false;
  auto ready = requested.create_queue_pair(pair_options(), link_->device().domain, why_);
  if (!ready) return false;
  auto& held = link_->hold(std::move(ready), options_, why_);
  if (!why_) held.start_accept(options_.connection, why_);
  if (why_) return false;
  wait_for_peer();
  return true;
}

ADVERB_FUNC void connecting::prepare(reliable_link& link, const cm::private_data* of_peer,
                                     cm::private_data& data, on_failure policy) {
  const bool is_offered = of_peer != nullptr && heartbeat_offer::of(*of_peer).has_value();
  const bool is_wanted = !options_.dead_after.is_endless();
  if (of_peer != nullptr && is_wanted && !is_offered) return note_missing_heartbeats("rdma_accept");
  if (!is_offered && !is_wanted) return;
  const heartbeat* const added = link.add_heartbeat(options_.dead_after, policy);
  if (added == nullptr) return;
  const std::size_t size = of_peer != nullptr ? cm::max_accept_data : cm::max_request_data;
  data = added->offer().behind(data, size, policy);
}

ADVERB_FUNC void connecting::note_missing_heartbeats(const char* verb) {
  on_failure{why_}.report(EPROTO, verb, [](failure_description& description) {
    description.explain(
        "this side has set dead_after, but the peer has sent no place for heartbeats; possible "
        "causes: it has not set dead_after, or is no async::connection");
  });
}

// The end of the link, which its deadline may be, ends the wait.
ADVERB_FUNC void connecting::wait_for_peer() {
  link_->end_waiters().push_back(*this);
  link_->expires_after(options_.connect_timeout);
}

ADVERB_FUNC void connecting::stop_waiting_for_peer() {
  if (link_ == nullptr || !is_waiting()) return;
  leave();
  const bool accepts = link_->side<reliable_link::accepting_side>() != nullptr;
  link_->report(accepts ? "rdma_accept" : "rdma_connect", why_);
}

// Destroys no identifier, because this may run while one of its events is handled.
ADVERB_FUNC void connecting::leave_events() noexcept {
  std::visit(
      [](auto& each) {
        if constexpr (requires { each.identifier(); }) set_event_target(each, nullptr);
      },
      at_);
  if (why_ && link_ != nullptr) std::exchange(link_, nullptr)->detach();
}

ADVERB_FUNC void connecting::handle(cm::event& happened) {
  bool is_done = false;
  // An exception would leave the loop, and nothing would resume this.
  if (!has_memory_for([&] { is_done = advance(happened); }))
    report_lack_of_memory(why_, "async::connection");
  if (!is_done && !why_) return;
  leave();
  go_on();
}

ADVERB_FUNC bool connecting::advance(cm::event& happened) {
  using resolved = cm::connector<transport::rc, cm::step::address_resolved>;
  if (auto* const start = std::get_if<started>(&at_)) {
    auto near = start->finish(happened, why_);
    if (!near) return false;
    auto& held = at_.emplace<resolved>(std::move(near));
    held.start_resolve_route(seconds{2}, why_);
  } else if (auto* const near = std::get_if<resolved>(&at_)) {
    auto far = near->finish(happened, why_);
    if (!far) return false;
    link_ = loop_->add_link<reliable_link>(far.context(), options_, why_);
    if (link_ == nullptr) return false;
    prepare(*link_, nullptr, options_.connection.private_data, why_);
    if (why_) return false;
    auto ready = far.create_queue_pair(pair_options(), link_->device().domain, why_);
    at_ = std::monostate{};
    if (!ready) return false;
    auto& held = link_->hold(std::move(ready), options_, why_);
    if (!why_) held.start_connect(options_.connection, why_);
    if (!why_) wait_for_peer();
  } else if (link_ != nullptr) {
    cm::connection<> made;
    if (auto* const active = link_->side<reliable_link::connecting_side>()) {
      made = active->finish(happened, why_);
      if (rejection_ != nullptr && active->rejection()) *rejection_ = active->rejection();
    } else if (auto* const passive = link_->side<reliable_link::accepting_side>()) {
      made = passive->finish(happened, why_);
    }
    if (!made) return false;
    link_->connected(std::move(made));
    if (link_->misses_heartbeats()) note_missing_heartbeats("rdma_connect");
    return !why_;
  }
  return false;
}

ADVERB_FUNC async::connection connecting::take_connection(on_failure policy) {
  leave_events();
  if (why_) {
    policy.report(why_);
    return {};
  }
  policy.clear();
  return async::connection{*std::exchange(link_, nullptr)};
}

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI::async {

ADVERB_FUNC connection::connection(device_loop& loop, adverb::queue_pair<transport::rc> pair,
                                   const connection_options& options, on_failure policy) {
  if (!detail::is_on_queue_of(loop, pair.native_handle(), policy)) return;
  auto* const made = loop.add_link<detail::reliable_link>(pair.context(), options, policy);
  if (made == nullptr) return;
  connection taken{*made};
  made->take_over(std::move(pair), options, policy);
  if (!policy.failed()) *this = std::move(taken);
}

}  // namespace adverb::inline ADVERB_ABI::async
