// SPDX-License-Identifier: MIT
// Address handles and queue pairs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <infiniband/verbs.h>

namespace fake {

/// A request as it was posted, with a copy of its list; `wr.sg_list` and `wr.next` point nowhere.
template <class Native>
struct posted {
  Native wr;
  std::vector<ibv_sge> elements;
  /// The bytes of the elements, when they were sent inline and so may be gone by now.
  std::string inline_bytes;
};

namespace called {

struct create_ah {
  ibv_pd* domain;
  ibv_ah_attr attributes;
};
struct init_ah_from_wc {
  ibv_context* context;
  std::uint8_t port;
  ibv_wc completion;
  ibv_grh header;
};
struct create_ah_from_wc {
  ibv_pd* domain;
  ibv_wc completion;
  ibv_grh header;
  std::uint8_t port;
};
struct destroy_ah {
  ibv_ah* handle;
};
struct create_qp {
  ibv_pd* domain;
  ibv_qp_init_attr attributes;
};
struct modify_qp {
  ibv_qp* pair;
  ibv_qp_attr attributes;
  int mask;
};
struct query_qp {
  ibv_qp* pair;
  int mask;
};
struct destroy_qp {
  ibv_qp* pair;
};
struct attach_mcast {
  ibv_qp* pair;
  ibv_gid group;
  std::uint16_t lid;
};
struct detach_mcast {
  ibv_qp* pair;
  ibv_gid group;
  std::uint16_t lid;
};
struct post_send {
  ibv_qp* pair;
  std::vector<posted<ibv_send_wr>> requests;
};
struct post_recv {
  ibv_qp* pair;
  std::vector<posted<ibv_recv_wr>> requests;
};

}  // namespace called
}  // namespace fake
