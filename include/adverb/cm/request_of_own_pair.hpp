// SPDX-License-Identifier: MIT
// The last step of a request to connect whose queue pair the program made itself.
#pragma once

#include <utility>

#include <adverb/cm/connection_of_own_pair.hpp>
#include <adverb/cm/detail/own_pair_holder.hpp>

namespace adverb::inline ADVERB_ABI::cm {

/// A request to connect with a queue pair of the program's, in INIT: made by
/// `connection_request::use_queue_pair`. Rejected when it dies before it is accepted.
template <transport Transport>
class [[nodiscard]] request_of_own_pair : public detail::own_pair_holder<Transport> {
  using base = detail::own_pair_holder<Transport>;
  using base::pair_;
  using base::reached_;
  using base::session_;

 public:
  /// Empty.
  request_of_own_pair() noexcept = default;

  /// Puts the pair into RTR and RTS as the two sides agree, accepts, and waits until the connection
  /// is there. When its event did not come (ETIMEDOUT, or EINTR when a signal handler ran) it waits
  /// on when it is tried again; when a call failed it goes on from there. After any other failure
  /// only `take_queue_pair` is left. A peer that has disconnected meanwhile gives a connection that
  /// `has_ended`: what it sent is there. Wraps: rdma_init_qp_attr(3), ibv_modify_qp(3),
  /// rdma_accept(3).
  [[nodiscard]] connection_of_own_pair<Transport> accept(const connection_options& options = {},
                                                         timeout limit = timeout::seconds(10),
                                                         on_failure policy = throwing{}) {
    if (!detail::check_present(policy, "rdma_accept", pair_.native_handle())) return {};
    const auto event = session_.take_step(
        detail::accepted, limit, "rdma_accept",
        [&](auto&& start_policy) {
          answer(options, std::forward<decltype(start_policy)>(start_policy));
        },
        policy);
    if (!event) return {};
    return {std::move(session_), private_data_, parameters_, std::move(pair_),
            event->type() == event_type::disconnected};
  }

  /// Rejects, with bytes for the program at the other side, and gives the pair back, in RESET.
  /// Empty afterwards, unless it fails. Wraps: rdma_reject(3), ibv_modify_qp(3).
  adverb::queue_pair<Transport, qp_state::reset> reject(const cm::private_data& data = {},
                                                        on_failure policy = throwing{}) {
    session_.id.reject(data, policy);
    if (policy.failed()) return {};
    return this->take_queue_pair(policy);
  }

 private:
  template <transport, step>
  friend class connection_request;

  request_of_own_pair(detail::cm_session&& session, const cm::private_data& data,
                      const connection_parameters& parameters,
                      adverb::queue_pair<Transport, qp_state::any>&& pair) noexcept
      : base{std::move(session), std::move(pair)}, private_data_{data}, parameters_{parameters} {}

  void answer(const connection_options& options, on_failure policy) {
    const auto limits = detail::granted_limits(options, parameters_, pair_.context(), policy);
    if (!policy.failed() &&
        detail::connect_own_pair(session_.id, pair_.native_handle(), reached_, limits, policy))
      session_.id.accept(detail::options_for_own_pair(options, pair_.native_handle()), policy);
  }

  cm::private_data private_data_;
  connection_parameters parameters_;
};

}  // namespace adverb::inline ADVERB_ABI::cm
