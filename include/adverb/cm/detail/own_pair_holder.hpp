// SPDX-License-Identifier: MIT
// An identifier on its way to a connection, with the queue pair that the program made for it.
#pragma once

#include <utility>

#include <adverb/cm/detail/drive_own_pair.hpp>
#include <adverb/cm/detail/session.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// What a connector and a request have in common once they hold a pair of the program's, in INIT.
template <transport Transport>
class own_pair_holder {
 public:
  /// Empty.
  own_pair_holder() noexcept = default;

  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(session_.id); }
  /// For what is not here, the enhancements of the peer for instance.
  [[nodiscard]] cm::identifier_ref id() const noexcept { return session_.id; }

  /// Before it is connected: receives can be posted.
  [[nodiscard]] queue_pair_ref<Transport, qp_state::init> queue_pair() const noexcept {
    return pair_.template as<qp_state::init>();
  }

  /// Gives the pair back, in RESET, for another connection. Receives that were posted are
  /// forgotten. Empty then, unless it fails. Wraps: ibv_modify_qp(3), rdma_destroy_id(3).
  [[nodiscard]] adverb::queue_pair<Transport, qp_state::reset> take_queue_pair(
      on_failure policy = throwing{}) {
    auto fresh = pair_.reset(policy);
    if (!policy.failed()) session_ = {};
    return fresh;
  }

 protected:
  own_pair_holder(cm_session&& session,
                  adverb::queue_pair<Transport, qp_state::any>&& pair) noexcept
      : session_{std::move(session)}, pair_{std::move(pair)} {}

  cm_session session_;
  adverb::queue_pair<Transport, qp_state::any> pair_;
  /// How far the pair has been driven.
  qp_state reached_ = qp_state::init;
};

}  // namespace adverb::inline ADVERB_ABI::detail
