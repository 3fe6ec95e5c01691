// SPDX-License-Identifier: MIT
// Device lists, contexts, and what they are asked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <infiniband/verbs.h>

namespace fake {

namespace called {

struct get_device_list {};
struct free_device_list {};
struct open_device {
  std::string device;
};
struct close_device {
  ibv_context* context;
};

struct import_device {
  int command_file_descriptor;
};
struct get_device_index {
  std::string device;
};
struct get_device_guid {
  std::string device;
};
struct fork_init {};
struct is_fork_initialized {};

struct get_async_event {
  ibv_context* context;
};
struct ack_async_event {
  ibv_async_event event;
};

struct query_device {
  bool extended;  // Through the operations of the context, not the old function.
};
struct query_port {
  std::uint8_t port;
  bool extended;  // Likewise.
};
struct query_gid {
  std::uint8_t port;
  int index;
};
struct query_gid_ex {
  std::uint32_t port;
  std::uint32_t index;
};
struct query_gid_table {
  std::size_t max_entries;
};
struct query_pkey {
  std::uint8_t port;
  int index;
};
struct get_pkey_index {
  std::uint8_t port;
  __be16 key;
};
struct query_rt_values {
  std::uint32_t wanted;
};
struct resolve_eth_l2_from_gid {
  ibv_context* context;
  ibv_ah_attr attributes;
};

}  // namespace called
}  // namespace fake
