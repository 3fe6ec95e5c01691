// SPDX-License-Identifier: MIT
// How a queue pair is destroyed and named, and what it stands on.
#pragma once

#include <string_view>

#include <infiniband/verbs.h>

#include <adverb/device/context.hpp>

namespace adverb::inline ADVERB_ABI::detail {

struct queue_pair_traits {
  using native_type = ibv_qp;
  static constexpr std::string_view destroy_verb = "ibv_destroy_qp";
  static int destroy(ibv_qp* pair) noexcept { return ibv_destroy_qp(pair); }
  template <class Function>
  static void for_each_parent(const ibv_qp* pair, const Function& function) noexcept {
    function(pair->pd);
    function(pair->send_cq);
    if (pair->recv_cq != pair->send_cq) function(pair->recv_cq);
  }
  static void describe(const ibv_qp* pair, text_writer& writer) noexcept {
    put_device(writer, pair->context).put(" qp ").put(static_cast<qp_number>(pair->qp_num));
  }
};

}  // namespace adverb::inline ADVERB_ABI::detail
