// SPDX-License-Identifier: MIT
// Connections whose queue pair the program made itself.
#pragma once

#include <cstddef>
#include <utility>

#include <adverb/cm/connection.hpp>
#include <adverb/cm/detail/drive_own_pair.hpp>

namespace adverb::inline ADVERB_ABI::cm {

/// A connection that is established, of a queue pair that the program made: by `use_queue_pair` of
/// a connector or a request. It holds the pair, and gives it back when the connection is over, to
/// be connected anew. Otherwise it is a `connection`, but that it is not given up as an identifier
/// (`connection::migrate`), which would part it from its pair.
template <transport Transport>
class [[nodiscard]] connection_of_own_pair : private connection<Transport> {
  using base = connection<Transport>;

 public:
  /// Empty.
  connection_of_own_pair() noexcept = default;

  using base::operator bool;
  using base::file_descriptor;
  using base::has_ended;
  using base::id;
  using base::local_address;
  using base::next_event;
  using base::parameters;
  using base::peer_address;
  using base::private_data;
  using base::wait;
  using base::wait_disconnected;

  /// Ready to send; after a disconnect posting still flushes.
  [[nodiscard]] queue_pair_ref<Transport> queue_pair() const noexcept {
    return pair_.template as<qp_state::rts>();
  }

  /// The context of the pair, which may be another one of the device than librdmacm's.
  [[nodiscard]] context_ref context() const noexcept { return queue_pair().context(); }
  /// The domain of the queue pair: memory that it uses is registered there.
  [[nodiscard]] protection_domain_ref protection_domain() const noexcept {
    return queue_pair().protection_domain();
  }
  [[nodiscard]] completion_queue_ref send_completion_queue() const noexcept {
    return queue_pair().send_completion_queue();
  }
  [[nodiscard]] completion_queue_ref receive_completion_queue() const noexcept {
    return queue_pair().receive_completion_queue();
  }

  /// Ends the connection, and waits until the peer has heard of it, which it may never do
  /// (ETIMEDOUT). What is posted is flushed. Wraps: rdma_disconnect(3), ibv_modify_qp(3).
  void disconnect(timeout limit = timeout::seconds(10), on_failure policy = throwing{}) {
    flush(policy);
    if (!policy.failed()) base::disconnect(limit, policy);
  }
  /// Puts the pair into ERR, as librdmacm does not do with one that it does not know: after the
  /// peer has disconnected, so that what is posted is flushed. On iWARP the kernel does it. Wraps:
  /// ibv_modify_qp(3).
  void flush(on_failure policy = throwing{}) {
    if (!detail::check_present(policy, "ibv_modify_qp", pair_.native_handle())) return;
    policy.clear();
    if (detail::is_iwarp(pair_.context())) return;
    auto flushed = pair_.error(policy);
    if (!policy.failed()) pair_ = std::move(flushed);
  }

  /// Moves the pair to ERR, unless it is there, and hands out the completion of everything that was
  /// posted, as `connection::drain` does. After `disconnect`, and before `take_queue_pair`.
  /// Wraps: ibv_modify_qp(3), ibv_poll_cq(3).
  template <class Consume>
  std::size_t drain(Consume&& consume, timeout limit = timeout::seconds(10),
                    on_failure policy = throwing{}) {
    return base::drain_pair(pair_.native_handle(), consume, limit, policy);
  }

  /// Gives the pair back, in RESET: everything posted is forgotten. The identifier is destroyed,
  /// and the connection, if there still is one, ends. Empty afterwards, unless it fails.
  /// Wraps: ibv_modify_qp(3), rdma_destroy_id(3).
  [[nodiscard]] adverb::queue_pair<Transport, qp_state::reset> take_queue_pair(
      on_failure policy = throwing{}) {
    auto fresh = pair_.reset(policy);
    if (!policy.failed()) static_cast<base&>(*this) = {};
    return fresh;
  }

  /// Destroys the queue pair and the identifier now, and reports an error.
  void close(on_failure policy = throwing{}) {
    pair_.close(policy);
    if (!policy.failed()) base::close(policy);
  }

 private:
  template <transport>
  friend class connector_of_own_pair;
  template <transport>
  friend class request_of_own_pair;

  connection_of_own_pair(detail::cm_session&& session, const cm::private_data& data,
                         const connection_parameters& told,
                         adverb::queue_pair<Transport, qp_state::any>&& pair,
                         bool over = false) noexcept
      : base{std::move(session), data, told, over}, pair_{std::move(pair)} {}

  adverb::queue_pair<Transport, qp_state::any> pair_;
};

}  // namespace adverb::inline ADVERB_ABI::cm
