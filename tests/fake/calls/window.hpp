// SPDX-License-Identifier: MIT
// Memory windows.
#pragma once

#include <infiniband/verbs.h>

namespace fake {

namespace called {

struct alloc_mw {
  ibv_pd* domain;
  ibv_mw_type type;
};
struct dealloc_mw {
  ibv_mw* window;
};
struct bind_mw {
  ibv_qp* pair;
  ibv_mw* window;
  ibv_mw_bind bind;
};

}  // namespace called
}  // namespace fake
