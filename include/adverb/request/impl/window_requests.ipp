// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <cstddef>

#include <adverb/core/detail/missing_feature.hpp>
#include <adverb/request/detail/queue_traits.hpp>
#include <adverb/request/window_requests.hpp>

namespace adverb::inline ADVERB_ABI {

ADVERB_FUNC unsigned bind_options::send_flags() const noexcept {
  unsigned flags = 0;
  if (signaled) flags |= IBV_SEND_SIGNALED;
  if (fenced) flags |= IBV_SEND_FENCE;
  return flags;
}

}  // namespace adverb::inline ADVERB_ABI

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC bool call_bind(on_failure policy, ibv_qp* pair, ibv_mw* window,
                           const ibv_mw_bind_info& info, const bind_options& options) {
  const bool fence_without_rc = options.fenced && pair->qp_type == IBV_QPT_UC;
  ibv_mw_bind bind{options.id, options.send_flags(), info};
  const int result = fence_without_rc ? EINVAL : ibv_bind_mw(pair, window, &bind);
  return check_returned(policy, "ibv_bind_mw", result, [&](failure_description& description) {
    on_object<memory_window_traits>(window)(description);
    if (fence_without_rc)
      description.explain("UC has no fences");
    else if (info.length > largest_window_of_mlx5 && is_unsupported(description.code()))
      description.explain("some devices (mlx5) bind at most 2 GiB");
  });
}

ADVERB_FUNC void unbind_by_call(ibv_qp* pair, ibv_mw* window, const ibv_mw_bind_info& bound,
                                const bind_options& options, on_failure policy) {
  if (!check_present(policy, "ibv_bind_mw", window)) return;
  // The region is named although nothing of it is bound: the provider of Soft-RoCE (rdma-core 44)
  // examines it in any case.
  call_bind(policy, pair, window, {bound.mr, bound.addr, 0, 0}, options);
}

}  // namespace adverb::inline ADVERB_ABI::detail
