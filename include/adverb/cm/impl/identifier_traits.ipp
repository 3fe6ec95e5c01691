// SPDX-License-Identifier: MIT
#pragma once

#include <adverb/cm/detail/identifier_traits.hpp>
#include <adverb/cm/event_channel.hpp>
#include <adverb/cm/socket_address.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC void destroy_queue_pair_of(rdma_cm_id* id) noexcept {
  rdma_destroy_qp(id);
  if (id->recv_cq != nullptr) return;
  if (id->send_cq != nullptr) ibv_destroy_cq(std::exchange(id->send_cq, nullptr));
  if (id->send_cq_channel != nullptr)
    ibv_destroy_comp_channel(std::exchange(id->send_cq_channel, nullptr));
}

ADVERB_FUNC int identifier_traits::destroy(rdma_cm_id* id) noexcept {
  if (id->qp != nullptr) destroy_queue_pair_of(id);
  if (id->srq != nullptr) destroy_shared_receive_queue_of(id);
  errno = 0;
  return rdma_destroy_id(id) == 0 ? 0 : errno == 0 ? EIO : errno;
}

ADVERB_FUNC void identifier_traits::describe(const rdma_cm_id* id, text_writer& writer) noexcept {
  if (id->verbs != nullptr) put_device(writer, id->verbs).put(" ");
  const cm::socket_address local = address_in(&id->route.addr.src_addr);
  const cm::socket_address peer = address_in(&id->route.addr.dst_addr);
  if (local.is_empty())
    writer.put("rdma_cm identifier");
  else
    writer.put(local);
  if (!peer.is_empty()) writer.put(" -> ").put(peer);
}

}  // namespace adverb::inline ADVERB_ABI::detail
