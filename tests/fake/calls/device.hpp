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

}  // namespace called
}  // namespace fake
