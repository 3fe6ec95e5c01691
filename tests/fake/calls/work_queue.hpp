// SPDX-License-Identifier: MIT
// Work queues and their indirection tables, and the pairs that are made with the extended call.
#pragma once

#include <string>
#include <vector>

#include <infiniband/verbs.h>

#include "queue.hpp"

namespace fake {

namespace called {

struct create_wq {
  ibv_context* context;
  ibv_wq_init_attr attributes;
  [[nodiscard]] std::string line() const;
};
struct modify_wq {
  ibv_wq* queue;
  ibv_wq_attr attributes;
  [[nodiscard]] std::string line() const;
};
struct destroy_wq {
  ibv_wq* queue;
  [[nodiscard]] std::string line() const;
};
struct post_wq_recv {
  ibv_wq* queue;
  std::vector<posted<ibv_recv_wr>> requests;
  [[nodiscard]] std::string line() const;
};
struct create_rwq_ind_table {
  ibv_context* context;
  std::vector<ibv_wq*> queues;
  std::uint32_t comp_mask;
  [[nodiscard]] std::string line() const;
};
struct destroy_rwq_ind_table {
  ibv_rwq_ind_table* table;
  [[nodiscard]] std::string line() const;
};

}  // namespace called
}  // namespace fake
