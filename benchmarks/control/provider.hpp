// SPDX-License-Identifier: MIT
// A device whose calls succeed at once. It replaces the functions of libibverbs that the benchmark
// calls. They call nothing, so that `run` can leave out their instructions.
#pragma once

#include <cstdint>

#include <infiniband/verbs.h>

namespace provider {

/// The largest number of objects of a kind that can exist at a time.
inline constexpr int max_objects = 20'000;

/// An open device with one Ethernet port and four GIDs.
[[nodiscard]] ibv_context* open_device() noexcept;

/// The arguments of ibv_modify_qp on the way to RTS. The packet sequence numbers are random.
struct connection {
  int masks[3];
  int access;
  std::uint8_t port;
  std::uint8_t source_gid;
  std::uint8_t hop_limit;
  std::uint8_t timeout;
  std::uint8_t retry_count;
  std::uint8_t rnr_retry_count;
  std::uint8_t rnr_timer;
  std::uint8_t max_destination_read_atomic;
  std::uint8_t max_initiator_read_atomic;
  ibv_mtu path_mtu;

  friend bool operator==(const connection&, const connection&) = default;
};

/// The last connection.
[[nodiscard]] const connection& last_connection() noexcept;

}  // namespace provider
