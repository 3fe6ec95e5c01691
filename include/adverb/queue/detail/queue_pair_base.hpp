// SPDX-License-Identifier: MIT
// The operations on a queue pair.
#pragma once

#include <concepts>
#include <string_view>
#include <system_error>
#include <utility>

#include <infiniband/verbs.h>

#include <adverb/completion/completion_queue.hpp>
#include <adverb/core/detail/same_result.hpp>
#include <adverb/fwd.hpp>
#include <adverb/memory/protection_domain.hpp>
#include <adverb/queue/detail/post.hpp>
#include <adverb/queue/extended_sender.hpp>
#include <adverb/queue/queue_pair_attributes.hpp>
#include <adverb/request/detail/queue_traits.hpp>
#include <adverb/request/queue_pair_state.hpp>
#include <adverb/request/window_requests.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

/// Operations on a queue pair in one state, owned or referenced.
template <transport Transport, qp_state State>
class queue_pair_base : public handle_base<ibv_qp> {
 public:
  using handle_base::handle_base;

  /// The transport of the queue pair.
  static constexpr adverb::transport transport_of = Transport;
  /// The state in the type.
  static constexpr qp_state state_of = State;

  /// Returns the number of the queue pair.
  [[nodiscard]] qp_number number() const noexcept {
    return static_cast<qp_number>(checked_handle()->qp_num);
  }
  /// Returns the context that the object belongs to.
  [[nodiscard]] context_ref context() const noexcept { return checked_handle()->context; }
  /// Returns the protection domain that the object was created in.
  [[nodiscard]] protection_domain_ref protection_domain() const noexcept {
    return checked_handle()->pd;
  }
  /// Returns the completion queue for sends.
  [[nodiscard]] completion_queue_ref send_cq() const noexcept { return checked_handle()->send_cq; }
  /// Returns the completion queue for receives.
  [[nodiscard]] completion_queue_ref recv_cq() const noexcept { return checked_handle()->recv_cq; }
  /// Returns the shared receive queue, or an empty reference if it has a receive queue of its own.
  [[nodiscard]] reference<ibv_srq> srq() const noexcept { return checked_handle()->srq; }
  /// Returns the pointer that was passed at creation.
  [[nodiscard]] void* user_context() const noexcept { return checked_handle()->qp_context; }

  /// Returns the state and attributes of the queue pair in the device. Wraps: ibv_query_qp(3).
  [[nodiscard]] queue_pair_attributes query(on_failure policy = throwing{}) const {
    constexpr int everything = (IBV_QP_DEST_QPN << 1) - 1;
    ibv_qp_attr attributes{};
    ibv_qp_init_attr initial{};
    if (!call(policy, "ibv_query_qp",
              [&](ibv_qp* pair) { return ibv_query_qp(pair, &attributes, everything, &initial); }))
      return {};
    return queue_pair_attributes{attributes, initial};
  }

  /// Limits the send rate of the queue pair. Wraps: ibv_modify_qp_rate_limit(3).
  void limit_rate(const rate_limit& limit, on_failure policy = throwing{}) const {
    ibv_qp_rate_limit_attr native = limit.native();
    call(policy, "ibv_modify_qp_rate_limit",
         [&](ibv_qp* pair) { return ibv_modify_qp_rate_limit(pair, &native); });
  }

  /// Returns the enhancements (ECE) that this side supports or, once set, uses.
  /// Wraps: ibv_query_ece(3).
  [[nodiscard]] ece query_ece(on_failure policy = throwing{}) const {
    ibv_ece native{};
    if (!call(policy, "ibv_query_ece", [&](ibv_qp* pair) { return ibv_query_ece(pair, &native); }))
      return {};
    return {native.vendor_id, native.options};
  }
  /// Sets the enhancements (ECE) to use, and returns those that the provider accepted. Before RTR.
  /// Wraps: ibv_set_ece(3).
  ece set_ece(const ece& chosen, on_failure policy = throwing{}) const {
    ibv_ece native{chosen.vendor_id, chosen.options, 0};
    if (!call(policy, "ibv_set_ece", [&](ibv_qp* pair) { return ibv_set_ece(pair, &native); }))
      return {};
    return {native.vendor_id, native.options};
  }

  /// Returns true if the bytes of one such operation arrive here in order, so that a program may
  /// poll for the last byte instead of the completion. Returns false for an empty queue pair.
  /// Wraps: ibv_query_qp_data_in_order(3).
  [[nodiscard]] bool has_data_in_order(in_order_operation data) const noexcept {
    ibv_qp* const pair = native_handle();
    return pair != nullptr &&
           ibv_query_qp_data_in_order(pair, static_cast<ibv_wr_opcode>(data), 0) != 0;
  }

  /// Posts work requests, all sends or all receives, in order and with one doorbell. Does not
  /// allocate and takes no lock of its own; the provider serialises posts from several threads to
  /// one queue of a queue pair. Terminates the program if the queue pair is empty (moved from)
  /// (ADVERB_HARDENING_FAST). Wraps: ibv_post_send(3), ibv_post_recv(3).
  template <class... Requests>
  [[gnu::always_inline]] post_result post(const Requests&... requests) const noexcept {
    return detail::post<Transport, State>(native_handle(), requests...);
  }

  /// Posts the binding of a window of type 1 to `length` bytes of the region from `offset`, which
  /// replaces its previous binding. The returned binding has the new key. A send posted after this
  /// call may carry the key to the peer; any other use must wait for the completion. If that is an
  /// error, see `memory_window::restore_key`.
  ///
  /// Fails with EACCES if the region was not registered with window_bind, or if the window is to
  /// grant writing and the region lacks local_write. Fails with EPERM if queue pair, window and
  /// region are not of one protection domain. Fails with ERANGE if bytes are outside the region.
  /// Fails with EINVAL if `length` is zero, the region is zero_based, or atomics cannot use the
  /// address. Fails with the provider's error otherwise, for example if the queue is full.
  /// Wraps: ibv_bind_mw(3).
  template <class T = std::byte,
            access_rights Rights = access_right::remote_read | access_right::remote_write,
            window_type Type>
  window_binding<Type, T, Rights> bind(const memory_window_base<Type>& window,
                                       memory_region_ref region, std::size_t offset,
                                       std::size_t length, const bind_options& options = {},
                                       on_failure policy = throwing{}) const {
    static_assert(Type == window_type::one,
                  "a window of type 2 is bound by a work request: "
                  "post(bind_window(window.prepare(region, ...)))");
    detail::check_can_bind<Transport, State>();
    ibv_qp* const pair = native_handle();
    if (!detail::check_present(policy, "ibv_bind_mw", pair)) return {};
    return detail::bind_by_call<window_binding<Type, T, Rights>>(
        pair, {window.native_handle(), region, offset, length, Rights, pair->pd},
        window.native_handle(), options, policy);
  }

  /// Posts the unbinding of a window of type 1. Peers lose access through it once it has completed.
  /// The region of the binding must still exist. Wraps: ibv_bind_mw(3).
  template <window_type Type, class T, access_rights Rights>
  void unbind(const window_binding<Type, T, Rights>& binding, const bind_options& options = {},
              on_failure policy = throwing{}) const {
    static_assert(
        Type == window_type::one,
        "a window of type 2 is unbound by a work request: post(local_invalidate(binding))");
    detail::check_can_bind<Transport, State>();
    ibv_qp* const pair = native_handle();
    if (!detail::check_present(policy, "ibv_bind_mw", pair)) return;
    detail::unbind_by_call(pair, binding.native_window(), binding.native(), options, policy);
  }

  /// Returns the extended sender of the queue pair. Fails with EOPNOTSUPP if the queue pair was not
  /// created with these operations; `post` is always available.
  template <send_operations Operations = basic_operations(Transport)>
  [[nodiscard]] extended_sender<Transport, Operations> extended(
      on_failure policy = throwing{}) const {
    if constexpr (detail::check_known<State>())
      static_assert(detail::can_send_in(State),
                    "requests can be sent when the queue pair is ready to send: finish rts() or "
                    "connect() first");
    return {adopt, native_handle(), policy};
  }

  /// Calls the function with the extended sender, or with a reference to the queue pair, whose
  /// `post` is classic, if it was not created with these operations. Returns the function's result.
  /// Both arguments are as cheap as a pointer:
  ///
  ///     pair.with_sender([&](auto sender) { sender.post(send(buffer)).check(); });
  ///
  /// Each call tests the queue pair: call it around a loop, not inside it. For queue pairs created
  /// with `fall_back_to_classic`. Wraps: ibv_qp_to_qp_ex(3).
  template <send_operations Operations = basic_operations(Transport), class Function>
  decltype(auto) with_sender(Function&& function) const {
    using extended_type = extended_sender<Transport, Operations>;
    using classic_type = queue_pair_ref<Transport, State>;
    if constexpr (detail::returns_the_same<Function, extended_type, classic_type>()) {
      std::error_code missing;
      if (const extended_type sender = this->template extended<Operations>(missing))
        return function(sender);
      return function(classic_type{native_handle()});
    }
  }

 private:
  /// Calls a function that returns 0 or an errno. Returns true on success.
  template <std::invocable<ibv_qp*> Call>
  bool call(on_failure policy, const char* verb, const Call& function) const {
    ibv_qp* const pair = native_handle();
    return detail::check_present(policy, verb, pair) &&
           detail::check_returned(policy, verb, function(pair),
                                  detail::on_object<detail::queue_pair_traits>(pair));
  }
};

}  // namespace detail
}  // namespace adverb::inline ADVERB_ABI
