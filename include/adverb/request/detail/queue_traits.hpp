// SPDX-License-Identifier: MIT
// The traits of objects with queues: their destruction, their names and their parents.
#pragma once

#include <string_view>

#include <infiniband/verbs.h>

#include <adverb/device/context.hpp>

namespace adverb::inline ADVERB_ABI::detail {

struct queue_pair_traits {
  using native_type = ibv_qp;
  static constexpr const char* destroy_verb = "ibv_destroy_qp";
  static int destroy(ibv_qp* pair) noexcept { return ibv_destroy_qp(pair); }
  static void list_parents(const ibv_qp* pair, parent_visitor& parents) noexcept {
    // An XRC target has no other parents.
    if (is_xrc_target(pair)) parents.add(pair->context);
    parents.add(pair->pd);
    parents.add(pair->send_cq);
    if (pair->recv_cq != pair->send_cq) parents.add(pair->recv_cq);
    parents.add(pair->srq);
    // Only a pair that cannot send has a parent that its C struct does not name: an XRC domain, or
    // an indirection table.
    if (pair->send_cq == nullptr) parents.add_noted_of(pair);
  }
  static void describe(const ibv_qp* pair, text_writer& writer) noexcept {
    put_device(writer, pair->context).put(" qp ").put(static_cast<qp_number>(pair->qp_num));
  }

 private:
  static bool is_xrc_target(const ibv_qp* pair) noexcept {
    return pair->qp_type == IBV_QPT_XRC_RECV;
  }
};

/// A queue pair in an unknown state.
using owned_queue_pair = owner<handle_base<ibv_qp>, queue_pair_traits>;

struct shared_receive_queue_traits {
  using native_type = ibv_srq;
  static constexpr const char* destroy_verb = "ibv_destroy_srq";
  static int destroy(ibv_srq* queue) noexcept { return ibv_destroy_srq(queue); }
  static void list_parents(const ibv_srq* queue, parent_visitor& parents) noexcept {
    parents.add(queue->pd);
  }
  static void describe(const ibv_srq* queue, text_writer& writer) noexcept {
    put_device(writer, queue->context).put(" srq ").decimal(queue->handle);
  }
};

/// The traits of a shared receive queue with its own completion queue. Its C struct names neither
/// the completion queue nor the XRC domain, so creation records both.
struct srq_with_cq_traits : shared_receive_queue_traits {
  static int destroy(ibv_srq* queue) noexcept { return ibv_destroy_srq(queue); }
  static void list_parents(const ibv_srq* queue, parent_visitor& parents) noexcept {
    parents.add(queue->pd);
    parents.add_noted_of(queue);
  }

  /// Returns true if adverb created the queue for XRC.
  static bool has_xrc_domain(const ibv_srq* queue) noexcept {
    const auto parents = lifetime_registry::instance().noted_parents_of(queue);
    return parents.size() == 2 && parents.data()[1] != nullptr;
  }
};

struct work_queue_traits {
  using native_type = ibv_wq;
  static constexpr const char* destroy_verb = "ibv_destroy_wq";
  static int destroy(ibv_wq* queue) noexcept { return ibv_destroy_wq(queue); }
  static void list_parents(const ibv_wq* queue, parent_visitor& parents) noexcept {
    parents.add(queue->pd);
    parents.add(queue->cq);
  }
  static void describe(const ibv_wq* queue, text_writer& writer) noexcept {
    put_device(writer, queue->context)
        .put(" wq ")
        .put(static_cast<work_queue_number>(queue->wq_num));
  }
};

}  // namespace adverb::inline ADVERB_ABI::detail
