// SPDX-License-Identifier: MIT
// References to queue pairs, with the transport and the state in the type.
#pragma once

#include <infiniband/verbs.h>

#include <adverb/queue/detail/queue_pair_base.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

/// Checks that a queue pair of the C API has the transport and state of a type. Returns true if so,
/// fails with EINVAL if not.
bool check_kind(on_failure policy, const ibv_qp* pair, transport service, qp_state state);

}  // namespace detail

template <transport Transport, qp_state State = qp_state::rts>
class queue_pair;

/// Refers to a queue pair that another object keeps alive, of this transport and in this state.
/// Pass it by value; it is as cheap as a pointer.
template <transport Transport, qp_state State = qp_state::rts>
class queue_pair_ref : public detail::reference_to<detail::queue_pair_base<Transport, State>> {
  using operations = detail::reference_to<detail::queue_pair_base<Transport, State>>;

 public:
  queue_pair_ref() noexcept = default;
  queue_pair_ref(const queue_pair<Transport, State>& pair) noexcept
      : queue_pair_ref{pair.native_handle()} {}
  /// Deleted: the reference would outlive a temporary owner.
  queue_pair_ref(const queue_pair<Transport, State>&&) = delete;

  /// Converts from a reference in any state, for functions that only identify the queue pair.
  template <qp_state Other>
    requires(State == qp_state::any && Other != qp_state::any)
  queue_pair_ref(const queue_pair<Transport, Other>& pair) noexcept
      : queue_pair_ref{pair.native_handle()} {}
  template <qp_state Other>
    requires(State == qp_state::any && Other != qp_state::any)
  queue_pair_ref(const queue_pair<Transport, Other>&&) = delete;
  template <qp_state Other>
    requires(State == qp_state::any && Other != qp_state::any)
  queue_pair_ref(const queue_pair_ref<Transport, Other>& pair) noexcept
      : queue_pair_ref{pair.native_handle()} {}

  /// Refers to a queue pair of the C API. Fails with EINVAL if its transport or state differs.
  queue_pair_ref(adopt_t, ibv_qp* pair, on_failure policy = throwing{})
      : queue_pair_ref{detail::check_kind(policy, pair, Transport, State) ? pair : nullptr} {}

  /// Returns a reference to the queue pair in the state `Known`. The state is not checked.
  template <qp_state Known>
  [[nodiscard]] queue_pair_ref<Transport, Known> as() const noexcept {
    static_assert(State == qp_state::any,
                  "as() needs a queue_pair_ref<..., qp_state::any>: this type already has a state");
    return queue_pair_ref<Transport, Known>{this->native_handle()};
  }

 private:
  template <adverb::transport, qp_state>
  friend class queue_pair;
  template <adverb::transport, qp_state>
  friend class queue_pair_ref;
  template <adverb::transport, qp_state>
  friend class detail::queue_pair_base;

  explicit queue_pair_ref(ibv_qp* pair) noexcept : operations{pair} {}
};

}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/queue/impl/queue_pair_ref.ipp>
#endif
