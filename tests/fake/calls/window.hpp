// SPDX-License-Identifier: MIT
// Memory windows.
#pragma once

#include <string>

#include <infiniband/verbs.h>

namespace fake {

namespace called {

struct alloc_mw {
  ibv_pd* domain;
  ibv_mw_type type;
  [[nodiscard]] std::string line() const;
};
struct dealloc_mw {
  ibv_mw* window;
  [[nodiscard]] std::string line() const;
};
struct bind_mw {
  ibv_qp* pair;
  ibv_mw* window;
  ibv_mw_bind bind;
  [[nodiscard]] std::string line() const;
};

}  // namespace called
}  // namespace fake
