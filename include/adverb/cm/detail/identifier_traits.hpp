// SPDX-License-Identifier: MIT
// Traits of a librdmacm identifier: its destruction and its description.
#pragma once

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include <adverb/completion/detail/common_completion_queue.hpp>
#include <adverb/request/detail/queue_traits.hpp>

namespace adverb::inline ADVERB_ABI::detail {

inline void destroy_shared_receive_queue_of(rdma_cm_id* id) noexcept {
  lifetime_registry::instance().take_noted_parents(id->srq);
  rdma_destroy_srq(id);
}

/// Destroys the queue pair and the objects that librdmacm created with it. librdmacm does not
/// destroy the send completion queue if it created none for receives.
void destroy_queue_pair_of(rdma_cm_id* id) noexcept;

/// An identifier with all objects that librdmacm created for it.
struct identifier_traits {
  using native_type = rdma_cm_id;
  static constexpr const char* destroy_verb = "rdma_destroy_id";
  static int destroy(rdma_cm_id* id) noexcept;
  /// The parents of its queue pair and its shared receive queue are parents of the identifier,
  /// because these are destroyed with it.
  static void list_parents(const rdma_cm_id* id, parent_visitor& parents) noexcept {
    parents.add(id->channel);
    if (id->qp != nullptr) queue_pair_traits::list_parents(id->qp, parents);
    if (id->srq != nullptr) srq_with_cq_traits::list_parents(id->srq, parents);
  }
  /// The objects that librdmacm created for the identifier. librdmacm does not report if it cannot
  /// destroy one.
  static void for_each_part(const rdma_cm_id* id, part_visitor function) noexcept {
    function(as_part<queue_pair_traits>(id->qp));
    function(as_part<srq_with_cq_traits>(id->srq));
    for_each_completion_part(id, function);
  }
  /// The completion queues, which are destroyed with the queue pair or with the XRC shared receive
  /// queue.
  static void for_each_completion_part(const rdma_cm_id* id, part_visitor function) noexcept {
    function(as_part<completion_queue_traits>(id->send_cq));
    function(as_part<completion_queue_traits>(id->recv_cq));
    function(as_part<completion_channel_traits>(id->send_cq_channel));
    function(as_part<completion_channel_traits>(id->recv_cq_channel));
  }
  /// Writes "rxe0 10.0.0.1:4711 -> 10.0.0.2:7471", as far as it is known.
  [[gnu::cold]] static void describe(const rdma_cm_id* id, text_writer& writer) noexcept;
};

}  // namespace adverb::inline ADVERB_ABI::detail

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/cm/impl/identifier_traits.ipp>
#endif
