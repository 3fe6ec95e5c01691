// SPDX-License-Identifier: MIT
// The ends of channels over the device.
#pragma once

#include <cstdint>

#include <adverb/messages/detail/rdma_carrier.hpp>
#include <adverb/messages/detail/resumable_carrier.hpp>
#include <support/channel_ends.hpp>

#include "cm/support.hpp"

namespace channel_test {

inline messages::network network_of_suite() noexcept { return messages::network::rdma; }
inline cm::socket_address listening_address() { return cm_test::every_address(); }
inline cm::socket_address address_of(std::uint16_t port) { return cm_test::device_address(port); }

/// Moves the queue pair of a channel to ERR.
inline void break_link(const messages::channel& of) {
  detail::frame_carrier* link = &of.state().carrier();
  if (auto* const outer = dynamic_cast<detail::resumable_carrier*>(link)) link = &outer->current();
  if (ibv_qp* const pair = static_cast<detail::rdma_carrier*>(link)->link().pair())
    detail::move_pair_to_error(pair);
}

}  // namespace channel_test
