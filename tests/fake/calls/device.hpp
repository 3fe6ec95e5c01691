// SPDX-License-Identifier: MIT
// Device lists, contexts, and what they are asked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <infiniband/verbs.h>

namespace fake {

namespace called {

struct get_device_list {
  [[nodiscard]] std::string line() const;
};
struct free_device_list {
  [[nodiscard]] std::string line() const;
};
struct open_device {
  std::string device;
  [[nodiscard]] std::string line() const;
};
struct close_device {
  ibv_context* context;
  [[nodiscard]] std::string line() const;
};

struct import_device {
  int command_file_descriptor;
  [[nodiscard]] std::string line() const;
};
struct get_device_index {
  std::string device;
  [[nodiscard]] std::string line() const;
};
struct get_device_guid {
  std::string device;
  [[nodiscard]] std::string line() const;
};
struct fork_init {
  [[nodiscard]] std::string line() const;
};
struct is_fork_initialized {
  [[nodiscard]] std::string line() const;
};

struct get_async_event {
  ibv_context* context;
  [[nodiscard]] std::string line() const;
};
struct ack_async_event {
  ibv_async_event event;
  [[nodiscard]] std::string line() const;
};

struct query_device {
  bool extended;  // Through the operations of the context, not the old function.
  [[nodiscard]] std::string line() const;
};
struct query_port {
  std::uint8_t port;
  bool extended;  // Likewise.
  [[nodiscard]] std::string line() const;
};
struct query_gid {
  std::uint8_t port;
  int index;
  [[nodiscard]] std::string line() const;
};
struct query_gid_ex {
  std::uint32_t port;
  std::uint32_t index;
  [[nodiscard]] std::string line() const;
};
struct query_gid_table {
  std::size_t max_entries;
  [[nodiscard]] std::string line() const;
};
struct query_pkey {
  std::uint8_t port;
  int index;
  [[nodiscard]] std::string line() const;
};
struct get_pkey_index {
  std::uint8_t port;
  __be16 key;
  [[nodiscard]] std::string line() const;
};
struct query_rt_values {
  std::uint32_t wanted;
  [[nodiscard]] std::string line() const;
};
struct resolve_eth_l2_from_gid {
  ibv_context* context;
  ibv_ah_attr attributes;
  [[nodiscard]] std::string line() const;
};

}  // namespace called
}  // namespace fake
