// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <system_error>

#include <adverb/cm/detail/explain_call.hpp>
#include <adverb/cm/multicast_membership.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC joined_group* group_list::add() {
  groups_.push_back(std::make_unique<joined_group>());
  return groups_.back().get();
}

ADVERB_FUNC void group_list::remove(const joined_group* group) noexcept {
  std::erase_if(groups_, [&](const auto& each) { return each.get() == group; });
}

ADVERB_FUNC void group_list::note(const cm::event& happened) noexcept {
  if (happened.type() != cm::event_type::multicast_error) return;
  for (const auto& each : groups_)
    if (each.get() == happened.join_context()) each->is_lost = true;
}

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI::cm {

ADVERB_FUNC multicast_membership::multicast_membership(adopt_t, identifier_ref id,
                                                       const socket_address& group, event& joined,
                                                       protection_domain_ref domain,
                                                       on_failure policy)
    : multicast_membership{adopt, id, group} {
  const datagram_parameters there = joined.datagram_parameters();
  // Leaving waits for this acknowledgement.
  joined.acknowledge();
  find_way(domain ? domain : domain_of(id), there, policy);
}

ADVERB_FUNC multicast_membership& multicast_membership::operator=(
    multicast_membership&& other) noexcept {
  if (this != &other) {
    close(detail::to_failure_hook{});
    datagram_target::operator=(std::move(other));
    id_ = std::exchange(other.id_, {});
    group_ = std::exchange(other.group_, {});
    groups_ = std::move(other.groups_);
    state_ = std::exchange(other.state_, nullptr);
  }
  return *this;
}

ADVERB_FUNC void multicast_membership::close(on_failure policy) {
  policy.clear();
  if (!id_) return;
  detail::lifetime_registry::instance().remove_child(id_.native_handle(),
                                                     object_kind::multicast_membership);
  const identifier_ref left = std::exchange(id_, {});
  datagram_target::operator=({});
  if (state_ != nullptr) groups_->remove(std::exchange(state_, nullptr));
  groups_ = {};
  failure why;
  left.leave_multicast(std::exchange(group_, {}), why);
  // The kernel has left the groups of a removed device.
  const bool has_left_already = detail::is_code(why.code(), std::errc::no_such_device_or_address) &&
                                detail::has_lost_device(left.native_handle());
  if (why && !has_left_already) policy.report(why);
}

ADVERB_FUNC protection_domain_ref multicast_membership::domain_of(identifier_ref id) noexcept {
  const ibv_qp* const pair = id.native_handle()->qp;
  return pair == nullptr ? id.protection_domain() : protection_domain_ref{pair->pd};
}

ADVERB_FUNC void multicast_membership::find_way(protection_domain_ref domain,
                                                const datagram_parameters& there,
                                                on_failure policy) {
  datagram_target::operator=(datagram_target{domain, there, policy});
  if (policy.failed()) close(detail::to_failure_hook{});
}

ADVERB_FUNC multicast_membership multicast_join::finish(on_failure policy) {
  if (!detail::check_present(policy, verb, own_channel_.native_handle())) return {};
  return detail::take_events(own_channel_, policy,
                             [&](event& happened) { return finish(happened, policy); });
}

ADVERB_FUNC multicast_membership multicast_join::finish(event& happened, on_failure policy) {
  if (!detail::is_about(joining_.identifier(), happened, verb, policy)) return {};
  policy.clear();
  if (!is_about(happened)) {
    joining_.groups_->note(happened);
    happened.acknowledge();
    return {};
  }
  if (detail::meaning_of(happened, detail::cm_phase::joining) != detail::event_meaning::success) {
    detail::report_event(joining_.identifier(), happened, verb, policy);
    happened.acknowledge();
    joining_ = {};
    return {};
  }
  const datagram_parameters there = happened.datagram_parameters();
  // Leaving waits for this acknowledgement.
  happened.acknowledge();
  joining_.find_way(multicast_membership::domain_of(joining_.identifier()), there, policy);
  return std::move(joining_);
}

ADVERB_FUNC multicast_join::multicast_join(identifier_ref id, event_channel_ref own_channel,
                                           std::shared_ptr<detail::group_list> groups,
                                           const socket_address& group,
                                           const multicast_options& options, on_failure policy) {
  if (!detail::check_present(policy, verb, id.native_handle())) return;
  // Otherwise the attachment of the queue pair fails, and librdmacm gives no reason.
  if (detail::is_single_address(group)) {
    policy.report(EINVAL, verb, [&](failure_description& description) {
      description.detail(to_text(group));
      detail::on_object<detail::identifier_traits>(id.native_handle())(description);
      description.explain([&](text_writer& writer) {
        detail::explain_group(writer, description.code(), id.native_handle(), group);
      });
    });
    return;
  }
  detail::joined_group* const state = groups->add();
  failure why;
  id.join_multicast(group, options.role, state, why);
  if (why) {
    groups->remove(state);
    policy.report(why);
    return;
  }
  policy.clear();
  own_channel_ = own_channel;
  joining_ = multicast_membership{adopt, id, group, std::move(groups), state};
}

}  // namespace adverb::inline ADVERB_ABI::cm
