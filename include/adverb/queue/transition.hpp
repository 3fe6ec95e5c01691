// SPDX-License-Identifier: MIT
// The builders of queue pair transitions, with the attributes that are set in the type.
#pragma once

#include <cstdint>
#include <optional>

#include <adverb/core/durations.hpp>
#include <adverb/memory/registrable_memory.hpp>
#include <adverb/queue/attribute.hpp>
#include <adverb/queue/endpoint.hpp>
#include <adverb/queue/transition_plan.hpp>
#include <adverb/queue/transition_table.hpp>
#include <adverb/request/address.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Rejects at compile time a setter whose attributes do not fit the transition.
template <qp_attributes Given>
constexpr void refuse_attribute() noexcept {
  using enum qp_attribute;
  constexpr auto is_one_of = [](qp_attributes group) { return Given.intersects(group); };
  static_assert(!is_one_of(port), "the port is set in INIT: call init().port(...)");
  static_assert(
      !is_one_of(source_gid),
      "the local GID is set in INIT, except for raw packet queue pairs: call init().gid(...)");
  static_assert(!is_one_of(pkey_index),
                "the partition is set in INIT or RTR, except for raw packet queue pairs: call "
                "init().pkey_index(...)");
  static_assert(!is_one_of(access),
                "remote access is granted in INIT, RTR or RTS of connections (RC, UC, XRC): call "
                "init().allow(...)");
  static_assert(!is_one_of(queue_key),
                "only datagram (UD) queue pairs have a queue key: call init().queue_key(...)");
  static_assert(
      !is_one_of(address | remote_queue_pair | rq_psn | path_mtu),
      "the peer and its address are set in RTR of connections (RC, UC, XRC): call "
      "rtr().remote(...); later a connection changes its address, and the rate with it, once its "
      "send queue is drained: call drain(), then change().address(...); each datagram (UD) names a "
      "destination: send(...).to(destination)");
  static_assert(!is_one_of(max_destination_read_atomic | rnr_timer),
                "the limit of incoming reads and the RNR timer are set in RTR of RC and of XRC "
                "targets: call rtr().max_destination_read_atomic(...) or rtr().rnr_timer(...)");
  static_assert(
      !is_one_of(acknowledge_timeout | retry_count | rnr_retry_count | max_initiator_read_atomic),
      "timeouts, retries and the limit of outgoing reads are set in RTS of reliable connections "
      "(RC, XRC): call rts().retry_count(...) and so on");
  static_assert(!is_one_of(alternate_path | path_migration_state),
                "only connections (RC, UC, XRC) support path migration: call "
                "rtr().alternate_path(...), then rts().path_migration(...)");
  static_assert(!is_one_of(current_state),
                "the expected state is set in RTS, except for raw packet queue pairs: call "
                "rts().current_state(...)");
  static_assert(
      !is_one_of(drain_notification),
      "the event is requested when draining the send queue: call drain().notify_when_drained()");
  static_assert(
      !is_one_of(rate_limit),
      "only raw packet queue pairs have a rate limit, from RTR on: call rts().rate_limit(...)");
}

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI {

template <transport Transport, qp_state State>
class queue_pair;

/// Builds a transition of a queue pair: `fresh.init()`, `waiting.rtr()`, `receiving.rts()`,
/// `ready.drain()`; or a change of attributes within a state: `pair.change()`. Each setter returns
/// a builder that records the call in its type. `apply()` compiles once every attribute is set that
/// this transport requires and that has no default. The defaults:
///
///     pkey_index                      0
///     allow                           no remote access
///     psn                             random
///     gid                             chosen by rule, see choose_gid
///     path_mtu                        the lower of both ports' active MTUs
///     max_destination_read_atomic     lower of the device's limit and the peer's as initiator
///     max_initiator_read_atomic       lower of the device's limit and the peer's as destination
///     rnr_timer                       0.64 ms
///     acknowledge_timeout             67 ms
///     retry_count                     6
///     rnr_retry_count                 7, which means no limit (Soft-RoCE gives up all the same
///                                     after about retry_count times acknowledge_timeout)
///
/// A setter takes the builder: `std::move(kept).port(number)`. The queue pair must outlive the
/// builder: one of a temporary, `OfTemporary`, applies in the same expression.
template <transport Transport, qp_state From, qp_state To, qp_attributes Given = qp_attributes{},
          bool OfTemporary = false>
class [[nodiscard("nothing is changed before .apply()")]] transition {
  static constexpr detail::transition_step step{Transport, From, To};
  static constexpr transition_attributes table = step.attributes;
  static constexpr bool announces = To == qp_state::init && detail::announces(Transport);

 public:
  /// Starts a transition. Called by the queue pair.
  transition(queue_pair<Transport, From>& pair, const announced_attributes& announced) noexcept
      : pair_{&pair} {
    plan_.announced = announced;
  }

  /// Returns the builder as one of a temporary. Called by the queue pair.
  auto of_temporary() && noexcept {
    return transition<Transport, From, To, Given, true>{*pair_, plan_};
  }

  /// Sets the port of the device. Required in INIT.
  auto port(port_number number) && noexcept {
    return with<qp_attribute::port>([&](detail::transition_plan& plan) { plan.set_port(number); });
  }
  /// Sets the remote access that the queue pair grants; the region must grant it too (RC, UC).
  auto allow(access_rights rights) && noexcept {
    return with<qp_attribute::access>(
        [&](detail::transition_plan& plan) { plan.set_access(rights); });
  }
  /// Sets the partition, as an index into the P_Key table of the port.
  auto pkey_index(adverb::pkey_index index) && noexcept {
    return with<qp_attribute::pkey_index>(
        [&](detail::transition_plan& plan) { plan.set_pkey_index(index); });
  }
  /// Sets the key that datagrams to this queue pair must carry (UD). Required in INIT.
  auto queue_key(adverb::queue_key key) && noexcept {
    return with<qp_attribute::queue_key>(
        [&](detail::transition_plan& plan) { plan.set_queue_key(key); });
  }
  /// Sets the packet sequence number of the first packet sent. In INIT, where it is announced.
  auto psn(adverb::psn number) && noexcept {
    static_assert(
        announces || Transport == transport::driver,
        "the first packet sequence number is announced to the peer in INIT: call init().psn(...)");
    return with<qp_attribute::sq_psn, announces>(
        [&](detail::transition_plan& plan) { plan.set_psn(number); });
  }
  /// Sets the local GID to announce and to send from; nullopt chooses one by rule. In INIT.
  auto gid(std::optional<gid_index> index) && noexcept {
    return with<qp_attribute::source_gid, announces>(
        [&](detail::transition_plan& plan) { plan.set_source_gid(index); });
  }

  /// Sets the peer from its endpoint. Required in RTR of RC and UC, unless its parts are set.
  auto remote(const endpoint& peer, const path_options& path = {}) && noexcept {
    constexpr qp_attributes parts =
        qp_attribute::address | qp_attribute::remote_queue_pair | qp_attribute::rq_psn;
    static_assert(Transport != transport::driver,
                  "a driver queue pair cannot take an endpoint as its peer: set the parts, "
                  ".address(...) and so on");
    return with<parts>([&](detail::transition_plan& plan) { plan.set_peer(peer, path); });
  }
  /// Sets the address of the peer.
  auto address(const adverb::address& way) && noexcept {
    return with<qp_attribute::address>(
        [&](detail::transition_plan& plan) { plan.set_address(way); });
  }
  /// Sets the number of the peer's queue pair.
  auto remote_queue_pair(qp_number number) && noexcept {
    return with<qp_attribute::remote_queue_pair>(
        [&](detail::transition_plan& plan) { plan.set_remote_queue_pair(number); });
  }
  /// Sets the packet sequence number of the first packet that the peer sends.
  auto remote_psn(adverb::psn number) && noexcept {
    return with<qp_attribute::rq_psn>(
        [&](detail::transition_plan& plan) { plan.set_remote_psn(number); });
  }
  /// Sets the largest packet on the path.
  auto path_mtu(mtu size) && noexcept {
    return with<qp_attribute::path_mtu>(
        [&](detail::transition_plan& plan) { plan.set_path_mtu(size); });
  }
  /// Sets how many reads and atomics of the peer may be in progress here (RC).
  auto max_destination_read_atomic(std::uint8_t count) && noexcept {
    return with<qp_attribute::max_destination_read_atomic>(
        [&](detail::transition_plan& plan) { plan.set_max_destination_read_atomic(count); });
  }
  /// Sets how long the peer waits before a retry when no receive is posted here (RC).
  auto rnr_timer(adverb::rnr_timer time) && noexcept {
    return with<qp_attribute::rnr_timer>(
        [&](detail::transition_plan& plan) { plan.set_rnr_timer(time); });
  }

  /// Sets how long to wait for an acknowledgement before sending again (RC).
  auto acknowledge_timeout(adverb::acknowledge_timeout time) && noexcept {
    return with<qp_attribute::acknowledge_timeout>(
        [&](detail::transition_plan& plan) { plan.set_acknowledge_timeout(time); });
  }
  /// Sets how often to send again before giving up: 0 to 7 (RC).
  auto retry_count(std::uint8_t count) && noexcept {
    return with<qp_attribute::retry_count>(
        [&](detail::transition_plan& plan) { plan.set_retry_count(count); });
  }
  /// Sets how often to send again to a peer without a receive: 0 to 6, or 7 for no limit (RC).
  auto rnr_retry_count(std::uint8_t count) && noexcept {
    return with<qp_attribute::rnr_retry_count>(
        [&](detail::transition_plan& plan) { plan.set_rnr_retry_count(count); });
  }
  /// Sets how many reads and atomics of this side may be in progress at the peer (RC).
  auto max_initiator_read_atomic(std::uint8_t count) && noexcept {
    return with<qp_attribute::max_initiator_read_atomic>(
        [&](detail::transition_plan& plan) { plan.set_max_initiator_read_atomic(count); });
  }

  /// Sets an alternate path to the peer, for path migration (RC, UC, XRC).
  auto alternate_path(const adverb::alternate_path& other) && noexcept {
    return with<qp_attribute::alternate_path>(
        [&](detail::transition_plan& plan) { plan.set_alternate_path(other); });
  }
  /// Arms path migration, or migrates by hand (RC, UC, XRC).
  auto path_migration(path_migration_state state) && noexcept {
    return with<qp_attribute::path_migration_state>(
        [&](detail::transition_plan& plan) { plan.set_path_migration_state(state); });
  }
  /// Sets the state that the program expects; the transition fails in any other state.
  auto current_state(qp_state state) && noexcept {
    return with<qp_attribute::current_state>(
        [&](detail::transition_plan& plan) { plan.set_current_state(state); });
  }
  /// Requests an asynchronous event (send queue drained) after the last send finishes. In SQD.
  auto notify_when_drained() && noexcept {
    return with<qp_attribute::drain_notification>(
        [](detail::transition_plan& plan) { plan.set_drain_notification(); });
  }
  /// Sets the maximum send rate in kbit/s; 0 means no limit (raw packets).
  auto rate_limit(std::uint32_t kilobits_per_second) && noexcept {
    return with<qp_attribute::rate_limit>(
        [&](detail::transition_plan& plan) { plan.set_rate_limit(kilobits_per_second); });
  }

  /// Performs the transition and returns the queue pair in its new state. Moves from the old queue
  /// pair only on success. After a failure the queue pair is unchanged, and the transition can be
  /// tried again. Wraps: ibv_modify_qp(3).
  [[nodiscard]] queue_pair<Transport, To> apply(on_failure policy = throwing{}) const&
    requires(From != To)
  {
    refuse_temporary();
    detail::transition_plan plan = detail::copy_of(plan_);
    return perform(plan, policy);
  }
  /// Changes the attributes; on failure none changes. The announced attributes change with them: a
  /// new port also chooses a new GID, unless one is set. Wraps: ibv_modify_qp(3).
  void apply(on_failure policy = throwing{}) const&
    requires(From == To)
  {
    refuse_temporary();
    detail::transition_plan plan = detail::copy_of(plan_);
    change(plan, policy);
  }
  // clang-format takes the && before a requires clause for an operator, so it stands before.
  /// The same for a temporary builder, whose attributes need no copy.
  template <qp_state Next = To>
    requires(From != Next)
  [[nodiscard]] queue_pair<Transport, To> apply(on_failure policy = throwing{}) && {
    return perform(plan_, policy);
  }
  /// The same for a temporary builder, whose attributes need no copy.
  template <qp_state Next = To>
    requires(From == Next)
  void apply(on_failure policy = throwing{}) && {
    change(plan_, policy);
  }

 private:
  template <transport, qp_state, qp_state, qp_attributes, bool>
  friend class transition;

  transition(queue_pair<Transport, From>& pair, const detail::transition_plan& plan) noexcept
      : pair_{&pair}, plan_{detail::copy_of(plan)} {}

  queue_pair<Transport, To> perform(detail::transition_plan& plan, on_failure policy) const {
    check_complete();
    if (!detail::carry_out(plan, pair_->native_handle(), step, policy)) return {};
    return pair_->template become<To>(plan.announced);
  }

  void change(detail::transition_plan& plan, on_failure policy) const {
    static_assert(!Given.empty(), "the change sets no attribute");
    if (detail::carry_out(plan, pair_->native_handle(), step, policy))
      pair_->announce(plan.announced);
  }

  // `Announced`: not passed to ibv_modify_qp here, but kept for a later transition.
  template <qp_attributes Attributes, bool Announced = false, class Set>
  auto with(const Set& set) const noexcept {
    if constexpr (!Announced && !(table.required | table.optional).contains(Attributes))
      detail::refuse_attribute<Attributes>();
    static_assert(!Given.intersects(Attributes), "this attribute is already set");
    // Copied once, into the return value.
    transition<Transport, From, To, Given | Attributes, OfTemporary> next{*pair_, plan_};
    set(next.plan_);
    return next;
  }

  static constexpr void refuse_temporary() noexcept {
    static_assert(!OfTemporary,
                  "the queue pair of this builder was a temporary, which is gone: keep the queue "
                  "pair in a variable, or call apply() in the same expression");
  }

  static constexpr bool missing(qp_attribute attribute) noexcept {
    return table.required.contains(attribute) && !Given.contains(attribute);
  }

  static constexpr void check_complete() noexcept {
    static_assert(!missing(qp_attribute::port), "INIT needs the port: call .port(...)");
    static_assert(!missing(qp_attribute::queue_key),
                  "INIT of a UD queue pair needs its queue key: call .queue_key(...)");
    static_assert(!missing(qp_attribute::address),
                  "RTR needs the address of the peer: call .remote(endpoint) or .address(...)");
    static_assert(!missing(qp_attribute::remote_queue_pair),
                  "RTR needs the peer's queue pair: call .remote(endpoint) or "
                  ".remote_queue_pair(...)");
    static_assert(!missing(qp_attribute::rq_psn),
                  "RTR needs the peer's first packet sequence number: call .remote(endpoint) or "
                  ".remote_psn(...)");
  }

  queue_pair<Transport, From>* pair_;
  detail::transition_plan plan_;
};

}  // namespace adverb::inline ADVERB_ABI
