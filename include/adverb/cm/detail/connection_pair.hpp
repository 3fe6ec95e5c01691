// SPDX-License-Identifier: MIT
// The queue pair of a connection, created by librdmacm or by the program.
#pragma once

#include <utility>

#include <adverb/cm/connection_parameters.hpp>
#include <adverb/cm/detail/drive_own_pair.hpp>
#include <adverb/cm/event.hpp>
#include <adverb/queue/queue_pair.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Returns the state of a queue pair that librdmacm has just created.
[[nodiscard]] constexpr qp_state created_state(transport service) noexcept {
  return service == transport::ud ? qp_state::rts : qp_state::init;
}

/// Fails to compile unless the program owns the queue pair of `Holder`.
template <class Holder, cm::pair_owner Owner>
consteval void check_owns_pair() noexcept {
  static_assert(Owner == cm::pair_owner::program,
                "librdmacm created the queue pair: this call needs one from use_queue_pair()");
}

/// Sets the receiver-not-ready (RNR) timer of a connected queue pair that receives. Ignores
/// failures: the connection may have ended already.
template <transport Transport>
void set_rnr_timer(queue_pair_ref<Transport, qp_state::any> pair, rnr_timer timer) noexcept {
  if constexpr (Transport == transport::rc || Transport == transport::xrc_recv) {
    if (!pair || is_iwarp(pair.context())) return;
    ibv_qp_attr attributes{};
    attributes.min_rnr_timer = timer.code();
    static_cast<void>(ibv_modify_qp(pair.native_handle(), &attributes, IBV_QP_MIN_RNR_TIMER));
  }
}

/// Connects the queue pair of a connection, for each owner of it.
template <transport Transport, cm::pair_owner Owner>
class connection_pair;

/// librdmacm's queue pair, which the identifier owns and connects.
template <transport Transport>
class connection_pair<Transport, cm::pair_owner::librdmacm> {
 public:
  [[nodiscard]] static queue_pair_ref<Transport, qp_state::any> pair(
      cm::identifier_ref id) noexcept {
    if (!id) return {};
    return id.queue_pair<Transport>();
  }

  static void connect(cm::identifier_ref id, const cm::connection_parameters& options,
                      on_failure policy) {
    id.connect(options, policy);
  }
  static void establish(cm::identifier_ref, on_failure policy) { policy.clear(); }
  static void accept(cm::identifier_ref id, const cm::connection_parameters& options,
                     const cm::peer_parameters&, on_failure policy) {
    id.accept(options, policy);
  }
  static void flush(on_failure policy) { policy.clear(); }
  static void close(on_failure policy) { policy.clear(); }
};

/// The program's queue pair, which takes its attributes from the identifier.
template <transport Transport>
class connection_pair<Transport, cm::pair_owner::program> {
 public:
  connection_pair() noexcept = default;
  explicit connection_pair(adverb::queue_pair<Transport, qp_state::any>&& pair) noexcept
      : pair_{std::move(pair)} {}

  [[nodiscard]] queue_pair_ref<Transport, qp_state::any> pair(cm::identifier_ref) const noexcept {
    return pair_;
  }

  void offer_ece(cm::identifier_ref id, const ece& offered, on_failure policy) {
    id.set_local_ece(offered, policy);
    if (!policy.failed()) offers_ece_ = true;
  }
  void connect(cm::identifier_ref id, const cm::connection_parameters& options,
               on_failure policy) const {
    id.connect(options_for_own_pair(options, pair_.native_handle()), policy);
  }
  /// Connects the queue pair after the peer's answer. A repeated call resumes at the call that
  /// failed.
  void establish(cm::identifier_ref id, on_failure policy) {
    policy.clear();
    if (is_iwarp(pair_.context())) return;
    if (offers_ece_ && reached_ == qp_state::init) {
      const ece answer = id.remote_ece(policy);
      if (policy.failed()) return;
      if (answer.vendor_id != 0) {
        pair_.set_ece(answer, policy);
        if (policy.failed()) return;
      }
    }
    if (connect_own_pair(id, pair_.native_handle(), reached_, {}, policy)) id.establish(policy);
  }
  void accept(cm::identifier_ref id, const cm::connection_parameters& options,
              const cm::peer_parameters& asked, on_failure policy) {
    const read_atomic_limits limits = granted_limits(options, asked, pair_.context(), policy);
    if (!policy.failed() && connect_own_pair(id, pair_.native_handle(), reached_, limits, policy))
      id.accept(options_for_own_pair(options, pair_.native_handle()), policy);
  }

  /// Moves the queue pair to ERR. On iWARP the kernel does it.
  void flush(on_failure policy) {
    if (!check_present(policy, "ibv_modify_qp", pair_.native_handle())) return;
    policy.clear();
    if (is_iwarp(pair_.context())) return;
    auto flushed = pair_.error(policy);
    if (!policy.failed()) pair_ = std::move(flushed);
  }
  [[nodiscard]] adverb::queue_pair<Transport, qp_state::reset> take(on_failure policy) {
    return pair_.reset(policy);
  }
  void close(on_failure policy) { pair_.close(policy); }

 private:
  adverb::queue_pair<Transport, qp_state::any> pair_;
  /// The state that the queue pair has reached.
  qp_state reached_ = qp_state::init;
  bool offers_ece_ = false;
};

}  // namespace adverb::inline ADVERB_ABI::detail
