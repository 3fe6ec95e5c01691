// SPDX-License-Identifier: MIT
// The rules of a provider, and of a queue pair about its requests. tests/conformance holds these
// against a real device.
#pragma once

#include "state.hpp"

namespace fake {

/// The errno with which a pair like this cannot be made, or 0.
[[nodiscard]] int refusal_of(const ibv_context* context, const ibv_qp_init_attr& attributes);
/// The errno with which these attributes of a pair cannot be changed, or 0.
[[nodiscard]] int refusal_of(const ibv_qp& pair, const ibv_qp_attr& attributes, int mask);
/// The errno with which nothing can be sent this way, or 0.
[[nodiscard]] int refusal_of(const ibv_context* context, const ibv_ah_attr& way);
/// The errno with which this memory cannot be registered, or 0.
[[nodiscard]] int refusal_of_memory(const void* memory, std::size_t length, unsigned access);

/// Returns whether an object that depends on it is alive.
[[nodiscard]] bool is_in_use(const ibv_pd* domain);
[[nodiscard]] bool is_in_use(const ibv_cq* queue);
[[nodiscard]] bool is_in_use(const ibv_comp_channel* channel);

/// Puts requests into the queues of a pair; an errno, and the request that did not fit.
[[nodiscard]] int take_requests(ibv_qp* pair, ibv_send_wr* first, ibv_send_wr** bad);
[[nodiscard]] int take_requests(ibv_qp* pair, ibv_recv_wr* first, ibv_recv_wr** bad);
/// After a change of state: ERR flushes what is posted, RESET forgets it.
void follow_state(ibv_qp* pair);
/// Takes what has completed, and what stood before it, out of the pair's queue.
void finish_requests(const ibv_cq* queue, const ibv_wc& completion);

}  // namespace fake
