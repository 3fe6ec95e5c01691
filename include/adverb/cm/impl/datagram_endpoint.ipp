// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <string_view>

#include <adverb/cm/datagram_endpoint.hpp>

namespace adverb::inline ADVERB_ABI::cm {

ADVERB_FUNC datagram_endpoint datagram_endpoint::create(event_channel_ref channel,
                                                        const socket_address& address,
                                                        const queue_pair_options& options,
                                                        protection_domain_ref domain,
                                                        on_failure policy) {
  if (!detail::check_present(policy, "rdma_create_id", channel.native_handle())) return {};
  return created(channel, address, options, domain, policy);
}

ADVERB_FUNC queue_pair_ref<transport::ud> datagram_endpoint::queue_pair() const noexcept {
  return session_.id.queue_pair<transport::ud>().as<qp_state::rts>();
}

ADVERB_FUNC multicast_membership datagram_endpoint::join(const socket_address& group,
                                                         const multicast_options& options,
                                                         on_failure policy) const {
  constexpr const char* verb = "rdma_join_multicast";
  if (!session_.can_wait(verb, policy)) return {};
  multicast_join joining = start_join(group, options, policy);
  if (policy.failed()) return {};
  return session_.wait(options.timeout, verb, policy, [&] { return joining.finish(policy); });
}

ADVERB_FUNC multicast_join datagram_endpoint::start_join(const socket_address& group,
                                                         const multicast_options& options,
                                                         on_failure policy) const {
  if (groups_ == nullptr) groups_ = std::make_shared<detail::group_list>();
  return {session_.id, session_.channel, groups_, group, options, policy};
}

ADVERB_FUNC std::optional<event> datagram_endpoint::next_event(on_failure policy) const {
  std::optional<event> next = session_.next_event("rdma_get_cm_event", policy);
  if (next) note(*next);
  return next;
}

ADVERB_FUNC void datagram_endpoint::note(const event& happened) const noexcept {
  if (groups_ != nullptr && happened.identifier() == session_.id) groups_->note(happened);
}

ADVERB_FUNC datagram_endpoint datagram_endpoint::created(event_channel_ref channel,
                                                         const socket_address& address,
                                                         const queue_pair_options& options,
                                                         protection_domain_ref domain,
                                                         on_failure policy) {
  auto session = detail::cm_session::create(channel, port_space_of(transport::ud), policy);
  if (!session.id) return {};
  session.id.bind(address, policy);
  if (policy.failed()) return {};
  if (!session.id.context()) {
    policy.report(EADDRNOTAVAIL, "rdma_create_qp", [&](failure_description& description) {
      detail::on_object<detail::identifier_traits>(session.id.native_handle())(description);
      description.explain(
          address.is_any() ? "the address is a wildcard: a queue pair needs that of one interface"
                           : "no RDMA device has this address: none has a loopback address");
    });
    return {};
  }
  return make(std::move(session), options, domain, policy);
}

ADVERB_FUNC datagram_endpoint datagram_endpoint::make(detail::cm_session&& session,
                                                      const queue_pair_options& options,
                                                      protection_domain_ref domain,
                                                      on_failure policy) {
  session.id.create_queue_pair<transport::ud>(options, domain, policy);
  if (policy.failed()) return {};
  return datagram_endpoint{std::move(session)};
}

}  // namespace adverb::inline ADVERB_ABI::cm
