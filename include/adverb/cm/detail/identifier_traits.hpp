// SPDX-License-Identifier: MIT
// Traits of a librdmacm identifier: its destruction and its description.
#pragma once

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include <adverb/cm/event_channel.hpp>
#include <adverb/cm/socket_address.hpp>
#include <adverb/completion/detail/common_completion_queue.hpp>
#include <adverb/queue/detail/queue_traits.hpp>

namespace adverb::inline ADVERB_ABI::detail {

inline void destroy_shared_receive_queue_of(rdma_cm_id* id) noexcept {
  lifetime_registry::instance().take_noted_parents(id->srq);
  rdma_destroy_srq(id);
}

/// Destroys the queue pair and the objects that librdmacm created with it. librdmacm does not
/// destroy the send completion queue if it created none for receives.
inline void destroy_queue_pair_of(rdma_cm_id* id) noexcept {
  rdma_destroy_qp(id);
  if (id->recv_cq != nullptr) return;
  if (id->send_cq != nullptr) ibv_destroy_cq(std::exchange(id->send_cq, nullptr));
  if (id->send_cq_channel != nullptr)
    ibv_destroy_comp_channel(std::exchange(id->send_cq_channel, nullptr));
}

/// An identifier with all objects that librdmacm created for it.
struct identifier_traits {
  using native_type = rdma_cm_id;
  static constexpr std::string_view destroy_verb = "rdma_destroy_id";
  static int destroy(rdma_cm_id* id) noexcept {
    if (id->qp != nullptr) destroy_queue_pair_of(id);
    if (id->srq != nullptr) destroy_shared_receive_queue_of(id);
    errno = 0;
    return rdma_destroy_id(id) == 0 ? 0 : errno == 0 ? EIO : errno;
  }
  /// The parents of its queue pair and its shared receive queue are parents of the identifier,
  /// because these are destroyed with it.
  template <class Function>
  static void for_each_parent(const rdma_cm_id* id, const Function& function) noexcept {
    function(id->channel);
    if (id->qp != nullptr) queue_pair_traits::for_each_parent(id->qp, function);
    if (id->srq != nullptr) srq_with_cq_traits::for_each_parent(id->srq, function);
  }
  /// The objects that librdmacm created for the identifier. librdmacm does not report if it cannot
  /// destroy one.
  template <class Function>
  static void for_each_part(const rdma_cm_id* id, const Function& function) noexcept {
    function(queue_pair_traits{}, id->qp);
    function(srq_with_cq_traits{}, id->srq);
    for_each_completion_part(id, function);
  }
  /// The completion queues, which are destroyed with the queue pair or with the XRC shared receive
  /// queue.
  template <class Function>
  static void for_each_completion_part(const rdma_cm_id* id, const Function& function) noexcept {
    function(completion_queue_traits{}, id->send_cq);
    function(completion_queue_traits{}, id->recv_cq);
    function(completion_channel_traits{}, id->send_cq_channel);
    function(completion_channel_traits{}, id->recv_cq_channel);
  }
  /// Writes "rxe0 10.0.0.1:4711 -> 10.0.0.2:7471", as far as it is known.
  static void describe(const rdma_cm_id* id, text_writer& writer) noexcept {
    if (id->verbs != nullptr) put_device(writer, id->verbs).put(" ");
    const cm::socket_address local = address_in(&id->route.addr.src_addr);
    const cm::socket_address peer = address_in(&id->route.addr.dst_addr);
    if (local.is_empty())
      writer.put("rdma_cm identifier");
    else
      writer.put(local);
    if (!peer.is_empty()) writer.put(" -> ").put(peer);
  }
};

}  // namespace adverb::inline ADVERB_ABI::detail
