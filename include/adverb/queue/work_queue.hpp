// SPDX-License-Identifier: MIT
// Work queues: receive queues without a queue pair, with the state in the type.
#pragma once

#include <cerrno>
#include <utility>

#include <infiniband/verbs.h>

#include <adverb/queue/detail/post.hpp>
#include <adverb/queue/work_queue_options.hpp>
#include <adverb/request/detail/queue_traits.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

/// The traits that posting needs for a work queue.
struct posted_work_queue {
  using object_type = ibv_wq;
  using native_request = ibv_recv_wr;
  static constexpr posted_to kind = posted_to::work_queue;
  static void* completes_on(const ibv_wq* queue) noexcept { return queue->cq; }
  static int post(ibv_wq* queue, ibv_recv_wr* first, ibv_recv_wr** bad) noexcept {
    return ibv_post_wq_recv(queue, first, bad);
  }
};

bool modify_work_queue(on_failure policy, ibv_wq* queue, ibv_wq_attr attributes);

/// Operations on a work queue in one state, owned or referenced.
template <work_queue_state State>
class work_queue_base : public handle_base<ibv_wq> {
 public:
  using handle_base::handle_base;

  /// The state in the type.
  static constexpr work_queue_state state_of = State;

  /// Returns the number of the work queue.
  [[nodiscard]] work_queue_number number() const noexcept {
    return static_cast<work_queue_number>(checked_handle()->wq_num);
  }
  /// Returns the context that the object belongs to.
  [[nodiscard]] context_ref context() const noexcept { return checked_handle()->context; }
  /// Returns the protection domain that the object was created in.
  [[nodiscard]] protection_domain_ref protection_domain() const noexcept {
    return checked_handle()->pd;
  }
  /// Returns the completion queue.
  [[nodiscard]] completion_queue_ref completion_queue() const noexcept {
    return checked_handle()->cq;
  }
  /// Returns the pointer that was passed at creation.
  [[nodiscard]] void* user_context() const noexcept { return checked_handle()->wq_context; }

  /// Posts receives in order with one doorbell. Does not allocate and takes no lock of its own; the
  /// provider serialises posts from several threads. Terminates the program if the queue is empty
  /// (moved from) (ADVERB_HARDENING_FAST). Wraps: ibv_post_wq_recv(3).
  template <class... Requests>
  [[gnu::always_inline]] post_result post(const Requests&... requests) const noexcept {
    static_assert(State != work_queue_state::reset,
                  "a work queue in RESET discards posted receives: call ready() first");
    static_assert(State != work_queue_state::any,
                  "the type of the work queue has no state: call .as<work_queue_state::...>() or "
                  ".assume<work_queue_state::...>()");
    return detail::post_receives_to<detail::posted_work_queue>(native_handle(), requests...);
  }

  /// Turns flags on and off, in any state. Fails with EINVAL if a flag is in both sets. The flags
  /// that can change depend on the device. Wraps: ibv_modify_wq(3).
  void change_flags(work_queue_flag_changes changes, on_failure policy = throwing{}) const {
    if (changes.enable.intersects(changes.disable)) {
      policy.report(EINVAL, "ibv_modify_wq", [&](failure_description& description) {
        if (*this) detail::on_object<detail::work_queue_traits>(native_handle())(description);
        description.explain("{} would be both enabled and disabled",
                            {changes.enable & changes.disable});
      });
      return;
    }
    detail::modify_work_queue(policy, native_handle(),
                              {.attr_mask = IBV_WQ_ATTR_FLAGS,
                               .wq_state = IBV_WQS_RESET,
                               .curr_wq_state = IBV_WQS_RESET,
                               .flags = changes.enable.bits(),
                               .flags_mask = (changes.enable | changes.disable).bits()});
  }
};

}  // namespace detail

template <work_queue_state State = work_queue_state::ready>
class work_queue;

/// Refers to a work queue that another object keeps alive, in this state. Pass it by value; it
/// is as cheap as a pointer.
template <work_queue_state State = work_queue_state::ready>
class work_queue_ref : public detail::reference_to<detail::work_queue_base<State>> {
  using operations = detail::reference_to<detail::work_queue_base<State>>;

 public:
  work_queue_ref() noexcept = default;
  /// Refers to a queue of the C API in the caller's state; that in the C struct may be stale.
  work_queue_ref(adopt_t, ibv_wq* queue) noexcept : operations{queue} {}
  work_queue_ref(const work_queue<State>& queue) noexcept
      : work_queue_ref{adopt, queue.native_handle()} {}
  /// Deleted: the reference would outlive a temporary owner.
  work_queue_ref(const work_queue<State>&&) = delete;
};

/// Owns a work queue: receives without a queue pair. `work_queue<>` is ready to receive. An
/// `indirection_table` spreads the packets of one queue pair over several work queues (receive-side
/// scaling).
///
///     auto fresh = work_queue<>::create(domain, {.completion_queue = queue, .max_wr = 512});
///     auto ready = fresh.ready();
///     ready.post(receive(buffer)).check();
///
/// Each change of state moves from the queue, and only on success.
template <work_queue_state State>
class [[nodiscard]] work_queue
    : public detail::owner<detail::work_queue_base<State>, detail::work_queue_traits> {
  using operations = detail::owner<detail::work_queue_base<State>, detail::work_queue_traits>;

 public:
  /// Constructs an empty object.
  work_queue() noexcept = default;

  /// Creates a work queue in RESET. Wraps: ibv_create_wq(3).
  [[nodiscard]] static work_queue<work_queue_state::reset> create(protection_domain_ref domain,
                                                                  const work_queue_options& options,
                                                                  on_failure policy = throwing{}) {
    return work_queue<work_queue_state::reset>{
        adopt, detail::make_object(
                   policy, "ibv_create_wq",
                   [&] {
                     ibv_wq_init_attr native = options.native(domain.native_handle());
                     ibv_wq* const made = ibv_create_wq(domain.native_handle()->context, &native);
                     if (made != nullptr && options.granted != nullptr)
                       *options.granted = {.max_wr = native.max_wr, .max_sge = native.max_sge};
                     return made;
                   },
                   [&](failure_description& description) {
                     detail::on_device(domain.native_handle()->context)(description);
                     detail::explain_work_queue(description, domain.context(), options);
                   },
                   domain, options.completion_queue)};
  }

  /// Takes ownership of a queue of the C API. The caller supplies the state.
  work_queue(adopt_t, ibv_wq* queue) noexcept : operations{adverb::adopt, queue} {}

  /// Converts to a queue without a state in its type, for a member that has several states.
  template <work_queue_state From>
    requires(State == work_queue_state::any && From != work_queue_state::any)
  work_queue(work_queue<From>&& other) noexcept
      : work_queue{other.template become<work_queue_state::any>()} {}

  /// Returns a reference to the queue in the state `Known`. The state is not checked.
  template <work_queue_state Known>
  [[nodiscard]] work_queue_ref<Known> as() const& noexcept {
    static_assert(State == work_queue_state::any,
                  "as() and assume() need a work_queue<work_queue_state::any>: this type already "
                  "has a state");
    return {adopt, this->native_handle()};
  }
  template <work_queue_state Known>
  void as() const&& = delete;

  /// Returns the queue in the state `Known`. Moves from this one. The state is not checked.
  template <work_queue_state Known>
  [[nodiscard]] work_queue<Known> assume() noexcept {
    static_assert(State == work_queue_state::any,
                  "as() and assume() need a work_queue<work_queue_state::any>: this type already "
                  "has a state");
    return become<Known>();
  }

  /// Makes the queue ready to receive. From RESET. Wraps: ibv_modify_wq(3).
  [[nodiscard]] work_queue<work_queue_state::ready> ready(on_failure policy = throwing{}) {
    static_assert(State == work_queue_state::reset,
                  "ready() starts from RESET: call reset() first if the queue is in ERR");
    return move_to<work_queue_state::ready>(policy);
  }
  /// Moves the queue to ERR and flushes all posted receives. Wraps: ibv_modify_wq(3).
  [[nodiscard]] work_queue<work_queue_state::error> error(on_failure policy = throwing{}) {
    static_assert(State != work_queue_state::reset,
                  "a work queue in RESET has nothing to flush: call ready() before error()");
    return move_to<work_queue_state::error>(policy);
  }
  /// Moves the queue to RESET and discards all posted receives. Wraps: ibv_modify_wq(3).
  [[nodiscard]] work_queue<work_queue_state::reset> reset(on_failure policy = throwing{}) {
    return move_to<work_queue_state::reset>(policy);
  }

 private:
  template <work_queue_state>
  friend class work_queue;

  template <class Base>
  explicit work_queue(detail::owner<Base, detail::work_queue_traits>&& queue) noexcept
      : operations{std::move(queue)} {}

  /// Returns this queue with another state in its type. Moves from this one.
  template <work_queue_state To>
  [[nodiscard]] work_queue<To> become() noexcept {
    return work_queue<To>{static_cast<operations&&>(*this)};
  }

  template <work_queue_state To>
  [[nodiscard]] work_queue<To> move_to(on_failure policy) {
    if (!detail::modify_work_queue(policy, this->native_handle(),
                                   {.attr_mask = IBV_WQ_ATTR_STATE,
                                    .wq_state = static_cast<ibv_wq_state>(To),
                                    .curr_wq_state = IBV_WQS_RESET,
                                    .flags = 0,
                                    .flags_mask = 0}))
      return {};
    return become<To>();
  }
};

}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/queue/impl/work_queue.ipp>
#endif
