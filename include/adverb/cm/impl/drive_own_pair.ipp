// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>

#include <adverb/cm/detail/drive_own_pair.hpp>
#include <adverb/queue/detail/explain_transition.hpp>
#include <adverb/queue/queue_pair.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC read_atomic_limits granted_limits(const cm::connection_parameters& options,
                                              const cm::peer_parameters& asked, context_ref context,
                                              on_failure policy) {
  const atomic_limits device = limits_of(context.native_handle(), policy);
  if (policy.failed()) return {};
  return {.as_destination = options.max_destination_read_atomic.value_or(
              lower_of(asked.max_destination_read_atomic, device.destination)),
          .as_initiator = options.max_initiator_read_atomic.value_or(
              lower_of(asked.max_initiator_read_atomic, device.initiator))};
}

ADVERB_FUNC cm::queue_pair_settings settings_of_own_pair(cm::identifier_ref id, const ibv_qp* pair,
                                                         qp_state to, on_failure policy) {
  cm::queue_pair_settings settings = id.settings_for(to, policy);
  constexpr auto of_ethernet = qp_attributes::from_bits(0xe00000);
  if (policy.failed() || (settings.given & of_ethernet).empty()) return settings;
  const port_attributes port = context_ref{pair->context}.query_port(id.port(), policy);
  if (!policy.failed() && port.link_layer() == link_layer::infiniband)
    settings.given -= of_ethernet;
  return settings;
}

ADVERB_FUNC bool drive_own_pair(cm::identifier_ref id, ibv_qp* pair, qp_state from, qp_state to,
                                const read_atomic_limits& limits, on_failure policy) {
  cm::queue_pair_settings settings = settings_of_own_pair(id, pair, to, policy);
  if (policy.failed()) return false;
  if (settings.given.empty()) return true;
  if (settings.given.contains(qp_attribute::max_destination_read_atomic) && limits.as_destination)
    settings.values.max_dest_rd_atomic = *limits.as_destination;
  if (settings.given.contains(qp_attribute::max_initiator_read_atomic) && limits.as_initiator)
    settings.values.max_rd_atomic = *limits.as_initiator;
  const int result = ibv_modify_qp(pair, &settings.values, static_cast<int>(settings.given.bits()));
  return check_returned(policy, "ibv_modify_qp", result, [&](failure_description& description) {
    explain_transition(description, pair, static_cast<transport>(pair->qp_type), from, to,
                       settings.values, settings.given,
                       port_to_explain(pair, settings.given, id.port()));
  });
}

ADVERB_FUNC bool connect_own_pair(cm::identifier_ref id, ibv_qp* pair, qp_state& reached,
                                  const read_atomic_limits& limits, on_failure policy) {
  const auto drive_to = [&](qp_state next) {
    if (!drive_own_pair(id, pair, reached, next, limits, policy)) return false;
    reached = next;
    return true;
  };
  // The peer's access to this side's memory is known only now; the first transition to INIT granted
  // none.
  // See docs/decisions.md, "The program's queue pair enters INIT twice".
  if (reached == qp_state::init && !(drive_to(qp_state::init) && drive_to(qp_state::rtr)))
    return false;
  return reached == qp_state::rts || drive_to(qp_state::rts);
}

ADVERB_FUNC cm::connection_parameters options_for_own_pair(cm::connection_parameters options,
                                                           const ibv_qp* pair) noexcept {
  options.queue_pair_number = static_cast<qp_number>(pair->qp_num);
  options.has_shared_receive_queue = pair->srq != nullptr;
  return options;
}

ADVERB_FUNC bool check_own_pair(on_failure policy, const char* verb, cm::identifier_ref id,
                                const ibv_qp* pair) {
  if (!check_present(policy, verb, id.native_handle()) || !check_present(policy, verb, pair))
    return false;
  const std::string_view device = ibv_get_device_name(pair->context->device);
  const std::string_view wanted = ibv_get_device_name(id.context().native_handle()->device);
  return check_returned(
      policy, verb, device == wanted ? 0 : EINVAL, [&](failure_description& description) {
        on_object<queue_pair_traits>(pair)(description);
        description.explain("the connection uses {}: create the queue pair there", {wanted});
      });
}

ADVERB_FUNC bool begin_own_pair(on_failure policy, cm::identifier_ref id, ibv_qp* pair) {
  return check_own_pair(policy, "rdma_init_qp_attr", id, pair) &&
         drive_own_pair(id, pair, qp_state::reset, qp_state::init, {}, policy);
}

}  // namespace adverb::inline ADVERB_ABI::detail
