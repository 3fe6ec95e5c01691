// SPDX-License-Identifier: MIT
// Shared receive queues, XRC and tag matching.
#pragma once

#include <string>
#include <vector>

#include <infiniband/verbs.h>

#include "queue.hpp"

namespace fake {

namespace called {

struct create_srq {
  ibv_pd* domain;
  ibv_srq_init_attr attributes;
  [[nodiscard]] std::string line() const;
};
struct create_srq_ex {
  ibv_context* context;
  ibv_srq_init_attr_ex attributes;
  [[nodiscard]] std::string line() const;
};
struct modify_srq {
  ibv_srq* queue;
  ibv_srq_attr attributes;
  int mask;
  [[nodiscard]] std::string line() const;
};
struct query_srq {
  ibv_srq* queue;
  [[nodiscard]] std::string line() const;
};
struct get_srq_num {
  ibv_srq* queue;
  [[nodiscard]] std::string line() const;
};
struct destroy_srq {
  ibv_srq* queue;
  [[nodiscard]] std::string line() const;
};
struct post_srq_recv {
  ibv_srq* queue;
  std::vector<posted<ibv_recv_wr>> requests;
  [[nodiscard]] std::string line() const;
};
/// The operations as they were posted, with copies of the lists of those that add; their `next` and
/// `sg_list` point nowhere.
struct post_srq_ops {
  ibv_srq* queue;
  std::vector<posted<ibv_ops_wr>> operations;
  [[nodiscard]] std::string line() const;
};

struct open_xrcd {
  ibv_context* context;
  ibv_xrcd_init_attr attributes;
  [[nodiscard]] std::string line() const;
};
struct close_xrcd {
  ibv_xrcd* domain;
  [[nodiscard]] std::string line() const;
};
struct open_qp {
  ibv_context* context;
  ibv_qp_open_attr attributes;
  [[nodiscard]] std::string line() const;
};

}  // namespace called
}  // namespace fake
