// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <string_view>

#include <adverb/queue/queue_pair_ref.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC bool check_kind(on_failure policy, const ibv_qp* pair, transport service,
                            qp_state state) {
  constexpr const char* verb = "queue pair adoption";
  if (!check_present(policy, verb, pair)) return false;
  const bool fits = pair->qp_type == static_cast<ibv_qp_type>(service) &&
                    (state == qp_state::any || pair->state == static_cast<ibv_qp_state>(state));
  const int result = fits ? 0 : EINVAL;
  return check_returned(policy, verb, result, [&](failure_description& description) {
    on_object<queue_pair_traits>(pair)(description);
    description.explain("it is {} in {}, the type requires {} in {}",
                        {static_cast<transport>(pair->qp_type), static_cast<qp_state>(pair->state),
                         service, state});
  });
}

}  // namespace adverb::inline ADVERB_ABI::detail
