// SPDX-License-Identifier: MIT
// The registrations besides ibv_reg_mr, and what is done with a region afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <infiniband/verbs.h>

namespace fake {

namespace called {

struct reg_dmabuf_mr {
  ibv_pd* domain;
  std::uint64_t offset;
  std::size_t length;
  std::uint64_t device_address;
  int file_descriptor;
  int access;
  [[nodiscard]] std::string line() const;
};
struct reg_dm_mr {
  ibv_pd* domain;
  ibv_dm* memory;
  std::uint64_t offset;
  std::size_t length;
  unsigned access;
  [[nodiscard]] std::string line() const;
};
struct alloc_null_mr {
  ibv_pd* domain;
  [[nodiscard]] std::string line() const;
};
struct rereg_mr {
  ibv_mr* region;
  int flags;
  ibv_pd* domain;
  void* memory;
  std::size_t length;
  int access;
  [[nodiscard]] std::string line() const;
};
struct advise_mr {
  ibv_pd* domain;
  ibv_advise_mr_advice advice;
  std::uint32_t flags;
  std::vector<ibv_sge> elements;
  [[nodiscard]] std::string line() const;
};

}  // namespace called
}  // namespace fake
