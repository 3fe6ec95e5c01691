// SPDX-License-Identifier: MIT
// The ends of channels over the device.
#pragma once

#include <cstdint>

#include <support/channel_ends.hpp>

#include "cm/support.hpp"

namespace channel_test {

inline messages::network network_of_suite() noexcept { return messages::network::rdma; }
inline cm::socket_address listening_address() { return cm_test::every_address(); }
inline cm::socket_address address_of(std::uint16_t port) { return cm_test::device_address(port); }

}  // namespace channel_test
