// SPDX-License-Identifier: MIT
// Protection domains and memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <infiniband/verbs.h>

namespace fake {

namespace called {

struct alloc_pd {
  ibv_context* context;
  [[nodiscard]] std::string line() const;
};
struct dealloc_pd {
  ibv_pd* domain;
  [[nodiscard]] std::string line() const;
};
/// ibv_reg_mr, ibv_reg_mr_iova or ibv_reg_mr_iova2: the macros of verbs.h choose, depending on the
/// optimisation level.
struct reg_mr {
  ibv_pd* domain;
  void* memory;
  std::size_t length;
  std::uint64_t device_address;
  unsigned access;
  [[nodiscard]] std::string line() const;
};
struct dereg_mr {
  ibv_mr* region;
  [[nodiscard]] std::string line() const;
};

}  // namespace called
}  // namespace fake
