// SPDX-License-Identifier: MIT
// Thread domains, parent domains, device memory, and what is imported.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <infiniband/verbs.h>

namespace fake {

namespace called {

struct alloc_td {
  ibv_context* context;
  [[nodiscard]] std::string line() const;
};
struct dealloc_td {
  ibv_td* domain;
  [[nodiscard]] std::string line() const;
};
struct alloc_parent_domain {
  ibv_context* context;
  ibv_parent_domain_init_attr attributes;
  [[nodiscard]] std::string line() const;
};

struct alloc_dm {
  ibv_context* context;
  ibv_alloc_dm_attr attributes;
  [[nodiscard]] std::string line() const;
};
struct free_dm {
  ibv_dm* memory;
  [[nodiscard]] std::string line() const;
};
struct memcpy_to_dm {
  ibv_dm* memory;
  std::uint64_t offset;
  const void* from;
  std::size_t length;
  [[nodiscard]] std::string line() const;
};
struct memcpy_from_dm {
  void* to;
  ibv_dm* memory;
  std::uint64_t offset;
  std::size_t length;
  [[nodiscard]] std::string line() const;
};

struct import_pd {
  ibv_context* context;
  std::uint32_t handle;
  [[nodiscard]] std::string line() const;
};
struct unimport_pd {
  ibv_pd* domain;
  [[nodiscard]] std::string line() const;
};
struct import_mr {
  ibv_pd* domain;
  std::uint32_t handle;
  [[nodiscard]] std::string line() const;
};
struct unimport_mr {
  ibv_mr* region;
  [[nodiscard]] std::string line() const;
};
struct import_dm {
  ibv_context* context;
  std::uint32_t handle;
  [[nodiscard]] std::string line() const;
};
struct unimport_dm {
  ibv_dm* memory;
  [[nodiscard]] std::string line() const;
};

}  // namespace called
}  // namespace fake
