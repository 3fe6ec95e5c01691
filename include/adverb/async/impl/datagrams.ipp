// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <variant>

#include <adverb/async/datagrams.hpp>
#include <adverb/core/detail/lack_of_memory.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC joining_group::~joining_group() { link_->remove(*this); }

ADVERB_FUNC bool joining_group::start_join(const cm::socket_address& group,
                                           const cm::multicast_options& options) {
  if (!link_->is_open()) return false;
  const cm::datagram_endpoint* const endpoint = link_->managed();
  if (endpoint == nullptr) {
    on_failure{why_}.report(EINVAL, "rdma_join_multicast", [](failure_description& description) {
      description.explain("the queue pair was created without librdmacm: attach it to the group");
    });
    return false;
  }
  if (!has_memory_for([&] {
        link_->add(*this);
        join_ = endpoint->start_join(group, options, why_);
      }))
    report_lack_of_memory(why_, "rdma_join_multicast");
  if (why_) return false;
  link_->end_waiters().push_back(*this);
  return true;
}

ADVERB_FUNC bool joining_group::take_event(cm::event& happened) {
  if (!join_.is_about(happened)) return false;
  if (!has_memory_for([&] { membership_ = join_.finish(happened, why_); }))
    report_lack_of_memory(why_, "rdma_join_multicast");
  go_on();
  return true;
}

ADVERB_FUNC cm::multicast_membership joining_group::take_membership(on_failure policy) {
  link_->remove(*this);
  if (why_)
    policy.report(why_);
  else if (!membership_)
    link_->report("rdma_join_multicast", policy);
  else
    policy.clear();
  return std::move(membership_);
}

ADVERB_FUNC bool resolving_peer::start_resolve(const cm::socket_address& address) {
  if (!link_->is_open()) return false;
  const auto begin = [&] {
    auto start = started::create(link_->loop().channel(), why_);
    if (why_) return;
    set_event_target(start, this);
    start.start_resolve_address(address, {.timeout = options_.timeout}, why_);
    if (!why_) at_ = std::move(start);
  };
  if (!has_memory_for(begin)) report_lack_of_memory(why_, "async::datagram_endpoint::resolve");
  if (why_) return false;
  link_->end_waiters().push_back(*this);
  return true;
}

ADVERB_FUNC void resolving_peer::handle(cm::event& happened) {
  if (!has_memory_for([&] { advance(happened); }))
    report_lack_of_memory(why_, "async::datagram_endpoint::resolve");
  if (peer_ || why_) go_on();
}

ADVERB_FUNC void resolving_peer::advance(cm::event& happened) {
  if (auto* const start = std::get_if<started>(&at_)) {
    auto resolved = start->finish(happened, why_);
    if (resolved)
      at_.emplace<near>(std::move(resolved)).start_resolve_route(options_.timeout, why_);
  } else if (auto* const half = std::get_if<near>(&at_)) {
    auto resolved = half->finish(happened, why_);
    if (resolved)
      at_.emplace<far>(std::move(resolved)).start_resolve_peer(link_->domain(), options_, why_);
  } else if (auto* const whole = std::get_if<far>(&at_)) {
    peer_ = whole->finish(happened, why_);
  }
}

ADVERB_FUNC cm::datagram_peer resolving_peer::take_peer(on_failure policy) {
  // No later event finds this operation. Its identifier stays, because one of its events may be
  // handled now.
  std::visit(
      [](auto& each) {
        if constexpr (requires { each.identifier(); }) set_event_target(each, nullptr);
      },
      at_);
  if (why_)
    policy.report(why_);
  else if (!peer_)
    link_->report("async::datagram_endpoint::resolve", policy);
  else
    policy.clear();
  return std::move(peer_);
}

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC void datagram_link::create(const cm::socket_address& address,
                                       const async::connection_options& options,
                                       on_failure policy) {
  auto made = cm::datagram_endpoint::create(loop().channel(), address,
                                            {.send_cq = device().queue,
                                             .recv_cq = device().queue,
                                             .max_send_wr = options.max_send_wr,
                                             .max_recv_wr = options.receives,
                                             .max_send_sge = options.max_send_sge,
                                             .max_inline_data = options.max_inline_data},
                                            device().domain, policy);
  if (!made) return;
  set_event_target(made, this);
  const engine pair = made.queue_pair();
  holder_ = std::move(made);
  start(pair, options, policy);
}

ADVERB_FUNC void datagram_link::take_over(adverb::queue_pair<transport::ud>&& pair,
                                          const async::connection_options& options,
                                          on_failure policy) {
  const engine taken = pair;
  holder_ = std::move(pair);
  start(taken, options, policy);
}

ADVERB_FUNC void datagram_link::start(engine pair, async::connection_options options,
                                      on_failure policy) {
  const queue_pair_attributes attributes = pair.query(policy);
  if (policy.failed()) return;
  port_ = attributes.port();
  queue_key_ = attributes.queue_key();
  sends_.create(pair, options.max_send_wr, policy);
  if (policy.failed()) return;
  options.block_size += static_cast<std::uint32_t>(grh_size);
  options.shared = false;
  fill(pair.native_handle(), options, policy);
  if (!policy.failed()) open();
}

ADVERB_FUNC datagram_link::engine datagram_link::queue_pair() const noexcept {
  std::error_code none;
  return queue_pair_ref<transport::ud, qp_state::any>{adopt, pair(), none}.as<qp_state::rts>();
}

ADVERB_FUNC cm::datagram_target datagram_link::sender_of(const async::datagram& received,
                                                         on_failure policy) const {
  const completion& arrived = received.received();
  cm::datagram_parameters there;
  there.address = address_of_sender(device().context, port_, arrived, received.header(), policy);
  if (policy.failed()) return {};
  there.queue_pair_number = received.fields().source_queue_pair();
  there.queue_key = queue_key_;
  return {domain(), there, policy};
}

ADVERB_FUNC void datagram_link::handle(cm::event& happened) {
  cm::datagram_endpoint* const endpoint = managed();
  if (endpoint == nullptr) return;
  endpoint->note(happened);
  if (happened.type() == cm::event_type::device_removal) return close(ENODEV);
  for (joining_group* const each : joining_)
    if (each->take_event(happened)) return;
}

ADVERB_FUNC std::error_code datagram_link::move_to_error() noexcept {
  return move_pair_to_error(pair());
}

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI::async {

ADVERB_FUNC datagram_endpoint::datagram_endpoint(device_loop& loop,
                                                 const cm::socket_address& address,
                                                 const connection_options& options,
                                                 on_failure policy) {
  if (!loop.has_channel(policy)) return;
  // Shows which device the address is on.
  const cm::identifier bound =
      cm::identifier::create(loop.channel(), cm::port_space::udp, nullptr, policy);
  if (policy.failed()) return;
  bound.bind(address.with_port(0), policy);
  if (policy.failed()) return;
  if (!bound.context()) {
    // Reports that no device has the address.
    static_cast<void>(cm::datagram_endpoint::create(loop.channel(), address, {}, {}, policy));
    return;
  }
  datagram_endpoint made;
  made.link_ = loop.add_link<detail::datagram_link>(bound.context(), options, policy);
  if (made.link_ == nullptr) return;
  made.link_->create(address, options, policy);
  if (!policy.failed()) *this = std::move(made);
}

ADVERB_FUNC datagram_endpoint::datagram_endpoint(device_loop& loop,
                                                 adverb::queue_pair<transport::ud> pair,
                                                 const connection_options& options,
                                                 on_failure policy) {
  if (!detail::is_on_queue_of(loop, pair.native_handle(), policy)) return;
  datagram_endpoint made;
  made.link_ = loop.add_link<detail::datagram_link>(pair.context(), options, policy);
  if (made.link_ == nullptr) return;
  made.link_->take_over(std::move(pair), options, policy);
  if (!policy.failed()) *this = std::move(made);
}

ADVERB_FUNC void datagram_endpoint::detach() noexcept {
  if (link_ != nullptr) link_->detach();
}

}  // namespace adverb::inline ADVERB_ABI::async
