// SPDX-License-Identifier: MIT
// Queue pairs, with the transport and the state in the type.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <infiniband/verbs.h>

#include <adverb/device/detail/atomic_limits.hpp>
#include <adverb/memory/protection_domain.hpp>
#include <adverb/queue/detail/create_queue_pair.hpp>
#include <adverb/queue/detail/queue_pair_base.hpp>
#include <adverb/queue/queue_pair_ref.hpp>
#include <adverb/queue/rtr_rts_attributes.hpp>
#include <adverb/queue/transition.hpp>
#include <adverb/queue/transition_table.hpp>
#include <adverb/queue/xrc_domain.hpp>
#include <adverb/request/detail/explain_address.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

/// Stores the announced attributes in a state that carries them, nothing in the others.
template <bool Carried>
struct announced_storage {
  announced_attributes kept;
};
template <>
struct announced_storage<false> {
  constexpr announced_storage() noexcept = default;
  constexpr explicit announced_storage(const announced_attributes&) noexcept {}
};

}  // namespace detail

/// Owns a queue pair. `queue_pair<transport::rc>` is ready to send. Each earlier state is a type of
/// its own with its own operations:
///
///     auto fresh = queue_pair<transport::rc>::create(domain, {.cq = cq});
///     auto waiting = fresh.init().port(port_number{1}).apply();
///     send_to_peer(waiting.endpoint());
///     auto pair = waiting.connect(receive_from_peer());
///
/// Each transition moves from the queue pair, and only on success. The type holds the state that
/// the program last set. After an error the device may have changed the state: see `query`.
///
/// It has the size of one pointer in RESET, RTS and ERR. It has the size of two pointers where it
/// carries the announced attributes: in INIT, RTR and any state (UD also in RTS, SQD and SQE).
template <transport Transport, qp_state State>
class [[nodiscard]] queue_pair
    : public detail::owner<detail::queue_pair_base<Transport, State>, detail::queue_pair_traits>,
      private detail::announced_storage<detail::carries_announcement(Transport, State)> {
  using operations =
      detail::owner<detail::queue_pair_base<Transport, State>, detail::queue_pair_traits>;
  using storage = detail::announced_storage<detail::carries_announcement(Transport, State)>;

 public:
  /// Constructs an empty object.
  queue_pair() noexcept = default;

  /// Creates a queue pair in RESET. Wraps: ibv_create_qp(3), ibv_create_qp_ex(3).
  [[nodiscard]] static queue_pair<Transport, qp_state::reset> create(
      protection_domain_ref domain, const queue_pair_options& options,
      on_failure policy = throwing{}) {
    static_assert(Transport != transport::xrc_recv,
                  "an XRC target is created in an XRC domain: create(xrc_domain)");
    static_assert(Transport != transport::driver,
                  "driver queue pairs are created by the driver's calls: adopt them");
    return {detail::create_queue_pair(Transport, domain, options, policy), announced_attributes{}};
  }

  /// Creates the target of an extended reliable connection, in RESET. Wraps: ibv_create_qp_ex(3).
  [[nodiscard]] static queue_pair<Transport, qp_state::reset> create(
      xrc_domain_ref domain, const xrc_target_options& options = {},
      on_failure policy = throwing{}) {
    static_assert(
        Transport == transport::xrc_recv,
        "only XRC targets are created in an XRC domain: create(protection_domain, options)");
    return {detail::create_xrc_target(domain, options, policy), announced_attributes{}};
  }

  /// Opens an existing target of this XRC domain, possibly one of another process. The target lives
  /// until both handles are destroyed. Its state is the one that its creator set: see `query`, `as`
  /// and `assume`. Wraps: ibv_open_qp(3).
  [[nodiscard]] static queue_pair<Transport, qp_state::any> open(
      xrc_domain_ref domain, qp_number number, const xrc_target_options& options = {},
      on_failure policy = throwing{}) {
    static_assert(Transport == transport::xrc_recv,
                  "only XRC targets can be opened by a process that did not create them");
    return {detail::open_xrc_target(domain, number, options, policy), announced_attributes{}};
  }

  /// Takes ownership of a queue pair of the C API. Fails with EINVAL if its transport or state
  /// differs; the caller then keeps it. In INIT and RTR, pass the announced attributes.
  queue_pair(adopt_t, ibv_qp* pair, on_failure policy = throwing{})
    requires(State != qp_state::init && State != qp_state::rtr && State != qp_state::any)
      : queue_pair{adopted(pair, policy), announced_attributes{}} {}
  queue_pair(adopt_t, ibv_qp* pair, const announced_attributes& announced,
             on_failure policy = throwing{})
    requires(detail::carries_announcement(Transport, State))
      : queue_pair{adopted(pair, policy), announced} {}

  /// Converts to a queue pair without a state in its type, for a member that has several states.
  template <qp_state From>
    requires(State == qp_state::any && From != qp_state::any)
  queue_pair(queue_pair<Transport, From>&& other) noexcept
      : queue_pair{other.template become<qp_state::any>(other.announcement_or_nothing())} {}

  /// Returns a reference to the queue pair in the state `Known`. The state is not checked.
  template <qp_state Known>
  [[nodiscard]] queue_pair_ref<Transport, Known> as() const& noexcept {
    static_assert(
        State == qp_state::any,
        "as() and assume() need a queue_pair<..., qp_state::any>: this type already has a state");
    return queue_pair_ref<Transport, Known>{this->native_handle()};
  }
  template <qp_state Known>
  void as() const&& = delete;

  /// Returns the queue pair in the state `Known`. Moves from this one. The state is not checked.
  template <qp_state Known>
  [[nodiscard]] queue_pair<Transport, Known> assume() noexcept {
    static_assert(
        State == qp_state::any,
        "as() and assume() need a queue_pair<..., qp_state::any>: this type already has a state");
    return become<Known>(announcement_or_nothing());
  }

  /// Starts the transition from RESET to INIT.
  auto init() & noexcept ADVERB_LIFETIME_BOUND {
    static_assert(State == qp_state::reset, "init() starts from RESET");
    return begin<qp_state::init>();
  }
  auto init() && noexcept ADVERB_LIFETIME_BOUND { return init().of_temporary(); }
  /// Starts the transition from INIT to RTR (ready to receive).
  auto rtr() & noexcept ADVERB_LIFETIME_BOUND {
    static_assert(State == qp_state::init, "rtr() starts from INIT: finish init() first");
    return begin<qp_state::rtr>();
  }
  auto rtr() && noexcept ADVERB_LIFETIME_BOUND { return rtr().of_temporary(); }
  /// Starts the transition from RTR, SQD or SQE to RTS (ready to send).
  auto rts() & noexcept ADVERB_LIFETIME_BOUND {
    static_assert(State == qp_state::rtr || State == qp_state::sqd || State == qp_state::sqe,
                  "rts() starts from RTR: finish rtr() first");
    static_assert(State != qp_state::sqe || is_transition(Transport, State, qp_state::rts),
                  "a send queue error (SQE) is a state of UC and UD only");
    return begin<qp_state::rts>();
  }
  auto rts() && noexcept ADVERB_LIFETIME_BOUND { return rts().of_temporary(); }
  /// Starts the transition from RTS to SQD: sends in progress finish, later requests wait.
  auto drain() & noexcept ADVERB_LIFETIME_BOUND {
    static_assert(State == qp_state::rts, "drain() starts from RTS: finish rts() first");
    static_assert(is_transition(Transport, State, qp_state::sqd),
                  "raw packet queue pairs have no state SQD");
    return begin<qp_state::sqd>();
  }
  auto drain() && noexcept ADVERB_LIFETIME_BOUND { return drain().of_temporary(); }
  /// Starts a change of attributes within the state: `pair.change().allow(rights).apply()`.
  auto change() & noexcept ADVERB_LIFETIME_BOUND {
    static_assert(is_transition(Transport, State, State) && !detail::is_always_reached(State),
                  "no attribute can be changed in this state of this transport");
    return begin<State>();
  }
  auto change() && noexcept ADVERB_LIFETIME_BOUND { return change().of_temporary(); }
  /// Moves the queue pair to ERR and flushes all posted requests. Works in every state, except that
  /// Linux refuses it with EINVAL in RESET, where nothing is posted. Wraps: ibv_modify_qp(3).
  [[nodiscard]] queue_pair<Transport, qp_state::error> error(on_failure policy = throwing{}) {
    return move_to<qp_state::error>(policy);
  }
  /// Moves the queue pair to RESET and discards all posted requests. Works in every state.
  /// Wraps: ibv_modify_qp(3).
  [[nodiscard]] queue_pair<Transport, qp_state::reset> reset(on_failure policy = throwing{}) {
    return move_to<qp_state::reset>(policy);
  }

  /// Returns the endpoint to send to the peer. Fails if the port or GID cannot be read. Fails with
  /// EADDRNOTAVAIL if the GID is empty on Ethernet, where no peer could answer to it.
  [[nodiscard]] adverb::endpoint endpoint(on_failure policy = throwing{}) const {
    static_assert(detail::announces(Transport), "queue pairs of this transport have no endpoint");
    static_assert(detail::carries_announcement(Transport, State) && State != qp_state::any,
                  "a queue pair has an endpoint only in INIT and RTR, and a UD one also in RTS");
    const port_attributes port = announced_port(policy, "queue_pair::endpoint");
    if (policy.failed()) return {};
    const announced_attributes& announced = storage::kept;
    const context_ref context = this->context();
    const detail::atomic_limits limits = detail::limits_of(context.native_handle(), policy);
    if (policy.failed()) return {};
    const adverb::gid gid = context.gid(announced.port, announced.source_gid, policy);
    if (policy.failed()) return {};
    if (port.needs_global_route() && gid.is_empty()) {
      policy.report(EADDRNOTAVAIL, "queue_pair::endpoint", [&](failure_description& description) {
        detail::on_port(this->native_handle()->context, announced.port)(description);
        description.explain([&](text_writer& writer) {
          detail::put_empty_gid(writer, context, announced.port, announced.source_gid);
        });
      });
      return {};
    }
    queue_key key{};
    if constexpr (Transport == transport::ud) {
      key = this->query(policy).queue_key();
      if (policy.failed()) return {};
    }
    return {.number = this->number(),
            .psn = announced.psn,
            .lid = port.lid(),
            .gid = gid,
            .mtu = port.active_mtu(),
            .max_destination_read_atomic = limits.destination,
            .max_initiator_read_atomic = limits.initiator,
            .queue_key = key};
  }

  /// Returns the address of a peer, from the port and GID that this side announced. Use it for the
  /// address handle that datagrams (UD) are sent with. Fails if the port or GID cannot be read.
  [[nodiscard]] adverb::address address_of(const adverb::endpoint& peer,
                                           const path_options& path = {},
                                           on_failure policy = throwing{}) const {
    static_assert(detail::carries_announcement(Transport, State) && State != qp_state::any,
                  "address_of() needs the port and GID, which a queue pair keeps only in INIT and "
                  "RTR, and a UD one also in RTS");
    const port_attributes port = announced_port(policy, "queue_pair::address_of");
    if (policy.failed()) return {};
    const announced_attributes& announced = storage::kept;
    const context_ref context = this->context();
    return detail::address_of_peer(peer, path, announced, context, port, policy);
  }

  /// Returns the attributes that were announced in INIT.
  [[nodiscard]] const adverb::announced_attributes& announced() const noexcept {
    static_assert(detail::carries_announcement(Transport, State),
                  "a queue pair keeps its announced attributes only in INIT and RTR, and a UD one "
                  "also in RTS");
    return storage::kept;
  }

  /// Connects to a peer: moves from INIT to RTS in one call. On failure the queue pair is in INIT
  /// again, keeps its announced attributes, and can be connected to another peer. If the failed
  /// call reached RTR, it discards the posted receives: post them again. Wraps: ibv_modify_qp(3).
  [[nodiscard]] queue_pair<Transport, qp_state::rts> connect(
      const adverb::endpoint& peer, const rtr_rts_attributes<Transport>& options = {},
      on_failure policy = throwing{});

 private:
  template <adverb::transport, qp_state>
  friend class queue_pair;
  template <adverb::transport, qp_state, qp_state, qp_attributes, bool>
  friend class transition;

  template <class Base>
  queue_pair(detail::owner<Base, detail::queue_pair_traits>&& pair,
             const announced_attributes& announced) noexcept
      : operations{std::move(pair)}, storage{announced} {}

  /// Returns the attributes of the announced port. Fails if the pair is empty or the port
  /// unreadable.
  [[nodiscard]] port_attributes announced_port(on_failure policy, const char* verb) const {
    if (!detail::check_present(policy, verb, this->native_handle())) return {};
    return this->context().query_port(storage::kept.port, policy);
  }

  /// Returns this queue pair with another state in its type. Moves from this one.
  template <qp_state To>
  [[nodiscard]] queue_pair<Transport, To> become(const announced_attributes& announced) noexcept {
    return {static_cast<operations&&>(*this), announced};
  }

  [[nodiscard]] announced_attributes announcement_or_nothing() const noexcept {
    if constexpr (detail::carries_announcement(Transport, State))
      return storage::kept;
    else
      return {};
  }

  void announce([[maybe_unused]] const announced_attributes& now) noexcept {
    if constexpr (detail::carries_announcement(Transport, State)) storage::kept = now;
  }

  [[nodiscard]] detail::transition_plan plan() const noexcept {
    detail::transition_plan plan;
    plan.announced = announcement_or_nothing();
    return plan;
  }

  template <qp_state To>
  [[nodiscard]] auto begin() noexcept {
    return transition<Transport, State, To>{*this, announcement_or_nothing()};
  }

  template <qp_state To>
  [[nodiscard]] queue_pair<Transport, To> move_to(on_failure policy) {
    static constexpr detail::transition_step step{Transport, State, To};
    detail::transition_plan nothing = plan();
    if (!detail::carry_out(nothing, this->native_handle(), step, policy)) return {};
    return become<To>(announced_attributes{});
  }

  [[nodiscard]] static detail::owned_queue_pair adopted(ibv_qp* pair, on_failure policy) {
    const bool is_one = detail::check_kind(policy, pair, Transport, State);
    return detail::owned_queue_pair{adverb::adopt, is_one ? pair : nullptr};
  }
};

template <transport Transport, qp_state State>
queue_pair<Transport, qp_state::rts> queue_pair<Transport, State>::connect(
    const adverb::endpoint& peer, const rtr_rts_attributes<Transport>& options, on_failure policy) {
  static_assert(State == qp_state::init, "connect() starts from INIT: finish init() first");
  static_assert(Transport != transport::ud && detail::announces(Transport),
                "datagrams (UD) and raw packets have no connection: call rtr().apply() and "
                "rts().apply()");
  static constexpr detail::transition_step to_rtr{Transport, qp_state::init, qp_state::rtr};
  static constexpr detail::transition_step to_rts{Transport, qp_state::rtr, qp_state::rts};
  detail::transition_plan receiving = detail::plan_rtr(storage::kept, peer, options);
  if (!detail::carry_out(receiving, this->native_handle(), to_rtr, policy)) return {};
  detail::in_rtr undo{this->native_handle(), Transport, storage::kept};
  detail::transition_plan sending = detail::plan_rts(receiving.announced, options);
  if (!detail::carry_out(sending, this->native_handle(), to_rts, policy)) return {};
  undo.dismiss();
  return become<qp_state::rts>(announced_attributes{});
}

}  // namespace adverb::inline ADVERB_ABI
