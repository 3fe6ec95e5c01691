// SPDX-License-Identifier: MIT
#pragma once

#include <adverb/queue/rtr_rts_attributes.hpp>
#include <adverb/request/detail/queue_traits.hpp>

namespace adverb::inline ADVERB_ABI::detail {

[[gnu::noinline]] ADVERB_FUNC void return_to_init(ibv_qp* queue_pair, transport service,
                                                  const announced_attributes& announced) noexcept {
  constexpr int kept = IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX;
  ibv_qp_attr before{};
  ibv_qp_init_attr initial{};
  const int result = ibv_query_qp(queue_pair, &before, kept, &initial);
  failure why;
  transition_plan reset;
  reset.announced = announced;
  transition_plan init = reset;
  init.set_port(announced.port);
  init.set_access(access_rights::from_bits(before.qp_access_flags));
  init.set_pkey_index(pkey_index{before.pkey_index});
  init.set_psn(announced.psn);
  init.set_source_gid(announced.source_gid);
  const bool returned =
      check_returned(why, "ibv_query_qp", result, on_object<queue_pair_traits>(queue_pair)) &&
      carry_out(reset, queue_pair, {service, qp_state::rtr, qp_state::reset}, why) &&
      carry_out(init, queue_pair, {service, qp_state::reset, qp_state::init}, why);
  if (!returned) tell_failure_hook(why);
}

}  // namespace adverb::inline ADVERB_ABI::detail
