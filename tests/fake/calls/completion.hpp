// SPDX-License-Identifier: MIT
// Completion channels and queues.
#pragma once

#include <string>

#include <infiniband/verbs.h>

namespace fake {

namespace called {

struct create_comp_channel {
  ibv_context* context;
  [[nodiscard]] std::string line() const;
};
struct destroy_comp_channel {
  ibv_comp_channel* channel;
  [[nodiscard]] std::string line() const;
};
struct get_cq_event {
  ibv_comp_channel* channel;
  [[nodiscard]] std::string line() const;
};
struct ack_cq_events {
  ibv_cq* queue;
  unsigned count;
  [[nodiscard]] std::string line() const;
};
struct create_cq {
  ibv_context* context;
  int entries;
  void* user_context;
  ibv_comp_channel* channel;
  int vector;
  [[nodiscard]] std::string line() const;
};
struct destroy_cq {
  ibv_cq* queue;
  [[nodiscard]] std::string line() const;
};
struct poll_cq {
  ibv_cq* queue;
  int entries;
  [[nodiscard]] std::string line() const;
};
struct req_notify_cq {
  ibv_cq* queue;
  bool solicited_only;
  [[nodiscard]] std::string line() const;
};

struct resize_cq {
  ibv_cq* queue;
  int entries;
  [[nodiscard]] std::string line() const;
};
struct modify_cq {
  ibv_cq* queue;
  ibv_modify_cq_attr attributes;
  [[nodiscard]] std::string line() const;
};

}  // namespace called
}  // namespace fake
