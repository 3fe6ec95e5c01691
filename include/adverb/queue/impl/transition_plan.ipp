// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>

#include <sys/random.h>

#include <adverb/core/handle.hpp>
#include <adverb/device/context_ref.hpp>
#include <adverb/device/detail/atomic_limits.hpp>
#include <adverb/queue/detail/explain_transition.hpp>
#include <adverb/queue/transition_plan.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC void transition_plan::set_port(port_number number) noexcept {
  announced.port = number;
  values.port_num = static_cast<std::uint8_t>(number);
  given |= qp_attribute::port;
}

ADVERB_FUNC void transition_plan::set_source_gid(std::optional<gid_index> index) noexcept {
  chooses_gid = !index;
  if (!index) return;
  announced.source_gid = *index;
  given |= qp_attribute::source_gid;
}

ADVERB_FUNC void transition_plan::set_peer(const endpoint& end, const path_options& way) noexcept {
  has_peer = true;
  peer = end;
  path = way;
  set_remote_queue_pair(end.number);
  set_remote_psn(end.psn);
  given |= qp_attribute::address;
}

ADVERB_FUNC void transition_plan::set_alternate_path(const alternate_path& other) noexcept {
  values.alt_ah_attr = other.address.native();
  values.alt_port_num = values.alt_ah_attr.port_num;
  values.alt_pkey_index = static_cast<std::uint16_t>(other.pkey_index);
  values.alt_timeout = other.acknowledge_timeout.code();
  given |= qp_attribute::alternate_path;
}

[[gnu::noinline]] ADVERB_FUNC transition_plan copy_of(const transition_plan& plan) noexcept {
  return plan;
}

ADVERB_FUNC psn random_psn() noexcept {
  std::uint32_t number = 0;
  // Fails only if the system call is missing; then any number serves, even 0.
  [[maybe_unused]] const ssize_t size = ::getrandom(&number, sizeof number, 0);
  return psn{number};
}

ADVERB_FUNC bool complete_init(transition_plan& plan, qp_state from, context_ref context,
                               on_failure policy) {
  const bool fresh = from == qp_state::reset;
  if (fresh && !plan.has(qp_attribute::sq_psn)) plan.announced.psn = random_psn();
  const bool on_new_port = fresh || plan.has(qp_attribute::port);
  if (plan.has(qp_attribute::source_gid) || !(on_new_port || plan.chooses_gid)) return true;

  const std::optional<gid_entry> chosen = choose_gid(context, plan.announced.port, policy);
  if (policy.failed()) return false;
  // Without a GID, a peer in the same InfiniBand subnet is still reachable by its LID.
  if (chosen) plan.announced.source_gid = chosen->index();
  return true;
}

ADVERB_FUNC address address_of_peer(const endpoint& peer, const path_options& path,
                                    const announced_attributes& announced, context_ref context,
                                    const port_attributes& port, on_failure policy) {
  address result{.port = announced.port,
                 .destination = peer.lid,
                 .service_level = path.service_level,
                 .source_path_bits = path.source_path_bits,
                 .static_rate = path.static_rate};
  bool needs_route = port.needs_global_route();
  if (!needs_route && !peer.gid.is_empty()) {
    const gid own = context.gid(announced.port, announced.source_gid, policy);
    if (policy.failed()) return {};
    needs_route = !own.same_subnet(peer.gid);
  }
  if (needs_route)
    result.route = global_route{.destination = peer.gid,
                                .source = announced.source_gid,
                                .flow_label = path.flow_label,
                                .hop_limit = path.hop_limit,
                                .traffic_class = path.traffic_class};
  return result;
}

ADVERB_FUNC bool complete_rtr(transition_plan& plan, qp_attributes needed, context_ref context,
                              on_failure policy) {
  const bool chooses_mtu =
      needed.contains(qp_attribute::path_mtu) && !plan.has(qp_attribute::path_mtu);
  // The device is queried only for missing attributes: programs set up thousands of queue pairs.
  port_attributes port;
  if (plan.has_peer || chooses_mtu) {
    port = context.query_port(plan.announced.port, policy);
    if (policy.failed()) return false;
  }

  if (plan.has_peer) {
    const address way =
        address_of_peer(plan.peer, plan.path, plan.announced, context, port, policy);
    if (policy.failed()) return false;
    plan.values.ah_attr = way.native();
    plan.announced.peer_read_atomic = plan.peer.max_destination_read_atomic;
  } else {
    // The queue pair already uses this port, whatever the address contains.
    plan.values.ah_attr.port_num = static_cast<std::uint8_t>(plan.announced.port);
  }
  if (chooses_mtu) {
    const mtu smaller =
        plan.has_peer ? lower_of(port.active_mtu(), plan.peer.mtu) : port.active_mtu();
    plan.values.path_mtu = static_cast<ibv_mtu>(smaller);
  }
  if (needed.contains(qp_attribute::max_destination_read_atomic) &&
      !plan.has(qp_attribute::max_destination_read_atomic)) {
    const std::uint8_t limit = limits_of(context.native_handle(), policy).destination;
    if (policy.failed()) return false;
    plan.values.max_dest_rd_atomic =
        plan.has_peer ? lower_of(limit, plan.peer.max_initiator_read_atomic) : limit;
  }
  if (!plan.has(qp_attribute::rnr_timer))
    plan.values.min_rnr_timer = transition_defaults::rnr_timer_code;
  return true;
}

ADVERB_FUNC bool complete_rts(transition_plan& plan, qp_attributes needed, context_ref context,
                              on_failure policy) {
  plan.values.sq_psn = plan.announced.psn.value();
  if (!plan.has(qp_attribute::acknowledge_timeout))
    plan.values.timeout = transition_defaults::acknowledge_timeout_code;
  if (!plan.has(qp_attribute::retry_count))
    plan.values.retry_cnt = transition_defaults::retry_count;
  if (!plan.has(qp_attribute::rnr_retry_count))
    plan.values.rnr_retry = transition_defaults::rnr_retry_count;
  if (needed.contains(qp_attribute::max_initiator_read_atomic) &&
      !plan.has(qp_attribute::max_initiator_read_atomic)) {
    const std::uint8_t limit = limits_of(context.native_handle(), policy).initiator;
    if (policy.failed()) return false;
    plan.values.max_rd_atomic = lower_of(limit, plan.announced.peer_read_atomic);
  }
  return true;
}

ADVERB_FUNC bool carry_out(transition_plan& plan, ibv_qp* queue_pair, const transition_step& step,
                           on_failure policy) {
  if (!check_present(policy, "ibv_modify_qp", queue_pair)) return false;
  const context_ref context{queue_pair->context};
  const transition_attributes& table = step.attributes;
  if (announces(step.service) && !complete(plan, step, context, policy)) return false;
  plan.values.qp_state = static_cast<ibv_qp_state>(step.to);
  const qp_attributes mask = table.required | (plan.given & table.optional) | qp_attribute::state;
  const int result = has_retries_of_wire(plan.values)
                         ? ibv_modify_qp(queue_pair, &plan.values, static_cast<int>(mask.bits()))
                         : EINVAL;
  // The limits may have changed: the next attempt queries them again.
  if (result != 0) [[unlikely]]
    forget_limits_of(queue_pair->context);
  return check_returned(policy, "ibv_modify_qp", result, [&](failure_description& description) {
    explain_transition(description, queue_pair, step.service, step.from, step.to, plan.values, mask,
                       port_to_explain(queue_pair, mask, plan.announced.port));
  });
}

}  // namespace adverb::inline ADVERB_ABI::detail
