// SPDX-License-Identifier: MIT
// Completion channels and queues.
#pragma once

#include <infiniband/verbs.h>

namespace fake {

namespace called {

struct create_comp_channel {
  ibv_context* context;
};
struct destroy_comp_channel {
  ibv_comp_channel* channel;
};
struct get_cq_event {
  ibv_comp_channel* channel;
};
struct ack_cq_events {
  ibv_cq* queue;
  unsigned count;
};
struct create_cq {
  ibv_context* context;
  int entries;
  void* user_context;
  ibv_comp_channel* channel;
  int vector;
};
struct destroy_cq {
  ibv_cq* queue;
};
struct poll_cq {
  ibv_cq* queue;
  int entries;
};
struct req_notify_cq {
  ibv_cq* queue;
  bool solicited_only;
};

struct resize_cq {
  ibv_cq* queue;
  int entries;
};
struct modify_cq {
  ibv_cq* queue;
  ibv_modify_cq_attr attributes;
};

}  // namespace called
}  // namespace fake
