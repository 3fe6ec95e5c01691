// SPDX-License-Identifier: MIT
// References to queue pairs, with their transport and their state in the type.
#pragma once

#include <cerrno>
#include <string_view>

#include <infiniband/verbs.h>

#include <adverb/queue/detail/queue_pair_base.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

/// Refuses (EINVAL) a pair of the C API that is of another transport or in another state than a
/// type says. True when it fits.
inline bool check_kind(on_failure policy, const ibv_qp* pair, transport service, qp_state state) {
  constexpr std::string_view verb = "queue pair adoption";
  if (!check_present(policy, verb, pair)) return false;
  const bool fits = pair->qp_type == static_cast<ibv_qp_type>(service) &&
                    (state == qp_state::any || pair->state == static_cast<ibv_qp_state>(state));
  const int result = fits ? 0 : EINVAL;
  return check_returned(policy, verb, result, [&](failure_description& description) {
    on_object<queue_pair_traits>(pair)(description);
    description.explain([&](text_writer& writer) {
      writer.put("it is ").put(static_cast<transport>(pair->qp_type));
      writer.put(" in ").put(static_cast<qp_state>(pair->state));
      writer.put(", the type says ").put(service).put(" in ").put(state);
    });
  });
}

}  // namespace detail

template <transport Transport, qp_state State = qp_state::rts>
class queue_pair;

/// Refers to a queue pair that something else keeps alive, and that is of this transport and in
/// this state: as cheap as the pointer, to be passed by value.
template <transport Transport, qp_state State = qp_state::rts>
class queue_pair_ref : public detail::reference_to<detail::queue_pair_base<Transport, State>> {
  using operations = detail::reference_to<detail::queue_pair_base<Transport, State>>;

 public:
  queue_pair_ref() noexcept = default;
  queue_pair_ref(const queue_pair<Transport, State>& pair) noexcept
      : queue_pair_ref{pair.native_handle()} {}
  /// An owner that is about to die cannot be referred to.
  queue_pair_ref(const queue_pair<Transport, State>&&) = delete;

  /// Of a pair in whatever state it is: for functions that only name it.
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

  /// Views a queue pair of the C API. Refuses (EINVAL) one of another transport or in another
  /// state.
  queue_pair_ref(adopt_t, ibv_qp* pair, on_failure policy = throwing{})
      : queue_pair_ref{detail::check_kind(policy, pair, Transport, State) ? pair : nullptr} {}

  /// A reference to the pair in a state that the program knows it to be in. Unchecked.
  template <qp_state Known>
  [[nodiscard]] queue_pair_ref<Transport, Known> as() const noexcept {
    static_assert(
        State == qp_state::any,
        "the state is known already: only a queue_pair_ref<..., qp_state::any> can be told "
        "it");
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
