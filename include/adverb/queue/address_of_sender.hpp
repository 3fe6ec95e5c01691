// SPDX-License-Identifier: MIT
// The address of the sender of a datagram.
#pragma once

#include <infiniband/verbs.h>

#include <adverb/completion/completion.hpp>
#include <adverb/device/context_ref.hpp>
#include <adverb/queue/address.hpp>
#include <adverb/queue/datagram.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

/// Returns the local GID to answer a sender from: the best one of the same address family, or the
/// empty GID if there is none.
[[nodiscard]] gid gid_to_answer_from(context_ref context, port_number port, const gid& sender);

/// Returns the header in the form that the C API needs for an answer. Replaces the destination of a
/// multicast datagram by a local GID, because a group cannot be the source of an answer.
[[nodiscard]] ibv_grh header_to_answer(context_ref context, port_number port,
                                       const global_route_header& header);

/// Adds the reason why the sender has no address.
void explain_sender(failure_description& description, context_ref context, port_number port,
                    const completion& received, const global_route_header& header);

}  // namespace detail

/// Returns the address of the sender of a datagram. `received` is the completion of the datagram,
/// and `header` the start of its buffer (ignored if the completion reports no header). The answer
/// leaves from the GID to which the datagram was sent; if that was a multicast group, from the best
/// local GID of the same address family. Answer to the queue pair
/// `received.success().receive().source_queue_pair()`. Wraps: ibv_init_ah_from_wc(3).
[[nodiscard]] address address_of_sender(context_ref context, port_number port,
                                        const completion& received,
                                        const global_route_header& header,
                                        on_failure policy = throwing{});

}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/queue/impl/address_of_sender.ipp>
#endif
