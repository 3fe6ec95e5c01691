// SPDX-License-Identifier: MIT
// Flows, flow actions and counters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <infiniband/verbs.h>

namespace fake {

/// What an ESP action was given, with copies of all that it pointed to.
struct esp {
  std::optional<ibv_flow_action_esp> attributes;
  ibv_flow_action_esp_keymat key_protocol;
  std::vector<std::byte> key;
  ibv_flow_action_esp_replay replay_protocol;
  std::vector<std::byte> replay;
  struct header {
    std::uint16_t type;
    std::vector<std::byte> values;
  };
  std::vector<header> headers;
  std::uint32_t comp_mask;
  std::uint32_t extended_sequence_number;
};

namespace called {

struct create_flow {
  ibv_qp* pair;
  ibv_flow_attr attributes;
  /// Everything, the attributes included.
  std::vector<std::byte> bytes;
  [[nodiscard]] std::string line() const;
};
struct destroy_flow {
  ibv_flow* flow;
  [[nodiscard]] std::string line() const;
};
struct create_flow_action_esp {
  ibv_context* context;
  esp given;
  [[nodiscard]] std::string line() const;
};
struct modify_flow_action_esp {
  ibv_flow_action* action;
  esp given;
  [[nodiscard]] std::string line() const;
};
struct destroy_flow_action {
  ibv_flow_action* action;
  [[nodiscard]] std::string line() const;
};
struct create_counters {
  ibv_context* context;
  std::uint32_t comp_mask;
  [[nodiscard]] std::string line() const;
};
struct attach_counters_point_flow {
  ibv_counters* counters;
  ibv_counter_attach_attr attributes;
  ibv_flow* flow;
  [[nodiscard]] std::string line() const;
};
struct read_counters {
  ibv_counters* counters;
  std::uint32_t count;
  std::uint32_t flags;
  [[nodiscard]] std::string line() const;
};
struct destroy_counters {
  ibv_counters* counters;
  [[nodiscard]] std::string line() const;
};

}  // namespace called
}  // namespace fake
