// SPDX-License-Identifier: MIT
// The last step of a connector whose queue pair the program made itself.
#pragma once

#include <optional>
#include <utility>

#include <adverb/cm/connection_of_own_pair.hpp>
#include <adverb/cm/detail/own_pair_holder.hpp>
#include <adverb/cm/rejection.hpp>

namespace adverb::inline ADVERB_ABI::cm {

/// A connector with a queue pair of the program's, in INIT: made by `connector::use_queue_pair`.
///
///     auto fresh = queue_pair<transport::rc>::create(domain, options);
///     auto ready = far.use_queue_pair(std::move(fresh));
///     ready.queue_pair().post(receive(buffer)).check();
///     cm::connection_of_own_pair<transport::rc> connection = ready.connect();
template <transport Transport>
class [[nodiscard]] connector_of_own_pair : public detail::own_pair_holder<Transport> {
  using base = detail::own_pair_holder<Transport>;
  using base::pair_;
  using base::reached_;
  using base::session_;

 public:
  /// Empty.
  connector_of_own_pair() noexcept = default;

  /// Tells the peer what this side supports beyond the specification; `connect` then sets on the
  /// pair what the peer answers. Wraps: rdma_set_local_ece(3).
  void offer_enhancements(const connection_enhancements& offered, on_failure policy = throwing{}) {
    session_.id.set_local_enhancements(offered, policy);
    if (!policy.failed()) offers_enhancements_ = true;
  }

  /// Asks the listener at the other side for the connection, puts the pair into RTR and RTS as the
  /// two sides agree, and waits until the connection is there. When its event did not come
  /// (ETIMEDOUT, or EINTR when a signal handler ran) it waits on when it is tried again; when a
  /// call failed it goes on from there. When the answer is no the connector is of no more use, but
  /// for `rejection` and `take_queue_pair`. Wraps: rdma_connect(3), rdma_init_qp_attr(3),
  /// ibv_modify_qp(3), rdma_establish(3).
  [[nodiscard]] connection_of_own_pair<Transport> connect(const connection_options& options = {},
                                                          timeout limit = timeout::seconds(10),
                                                          on_failure policy = throwing{}) {
    if (!detail::check_present(policy, "rdma_connect", pair_.native_handle())) return {};
    // On iWARP the kernel connects the pair: there is nothing to establish.
    const bool in_kernel = detail::is_iwarp(pair_.context());
    if (!answer_) {
      ask(options, in_kernel ? event_type::established : event_type::connect_response, limit,
          policy);
      if (!answer_) return {};
    }
    if (!in_kernel) {
      establish(policy);
      if (policy.failed()) return {};
    }
    return {std::move(session_), answer_->private_data, answer_->parameters, std::move(pair_)};
  }

  /// Why the peer rejected, and what it sent along; nothing unless `connect` failed because of it.
  [[nodiscard]] const std::optional<cm::rejection>& rejection() const noexcept {
    return rejection_;
  }

 private:
  template <transport, step>
  friend class connector;

  connector_of_own_pair(detail::cm_session&& session,
                        adverb::queue_pair<Transport, qp_state::any>&& pair) noexcept
      : base{std::move(session), std::move(pair)} {}

  /// What came with the acceptance of the peer.
  struct acceptance {
    cm::private_data private_data;
    connection_parameters parameters;
  };

  void ask(const connection_options& options, event_type wanted, timeout limit, on_failure policy) {
    const auto event = session_.take_step(
        {wanted}, limit, "rdma_connect",
        [&](auto&& start_policy) {
          session_.id.connect(detail::options_for_own_pair(options, pair_.native_handle()),
                              std::forward<decltype(start_policy)>(start_policy));
        },
        policy,
        [this](const cm::event& failed) {
          if (failed.is_rejection())
            rejection_ = cm::rejection{failed.reason(), failed.private_data()};
        });
    if (event) answer_ = acceptance{cm::private_data{event->private_data()}, event->parameters()};
  }

  void establish(on_failure policy) {
    if (offers_enhancements_ && reached_ == qp_state::init) {
      const auto answer = session_.id.remote_enhancements(policy);
      if (policy.failed()) return;
      if (answer.vendor_id != 0) {
        pair_.set_enhancements(answer, policy);
        if (policy.failed()) return;
      }
    }
    if (detail::connect_own_pair(session_.id, pair_.native_handle(), reached_, {}, policy))
      session_.id.establish(policy);
  }

  std::optional<acceptance> answer_;
  std::optional<cm::rejection> rejection_;
  bool offers_enhancements_ = false;
};

}  // namespace adverb::inline ADVERB_ABI::cm
