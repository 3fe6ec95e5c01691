// SPDX-License-Identifier: MIT
// Thread domains, parent domains, device memory, and what is imported.
#pragma once

#include <cstddef>
#include <cstdint>

#include <infiniband/verbs.h>

namespace fake {

namespace called {

struct alloc_td {
  ibv_context* context;
};
struct dealloc_td {
  ibv_td* domain;
};
struct alloc_parent_domain {
  ibv_context* context;
  ibv_parent_domain_init_attr attributes;
};

struct alloc_dm {
  ibv_context* context;
  ibv_alloc_dm_attr attributes;
};
struct free_dm {
  ibv_dm* memory;
};
struct memcpy_to_dm {
  ibv_dm* memory;
  std::uint64_t offset;
  const void* from;
  std::size_t length;
};
struct memcpy_from_dm {
  void* to;
  ibv_dm* memory;
  std::uint64_t offset;
  std::size_t length;
};

struct import_pd {
  ibv_context* context;
  std::uint32_t handle;
};
struct unimport_pd {
  ibv_pd* domain;
};
struct import_mr {
  ibv_pd* domain;
  std::uint32_t handle;
};
struct unimport_mr {
  ibv_mr* region;
};
struct import_dm {
  ibv_context* context;
  std::uint32_t handle;
};
struct unimport_dm {
  ibv_dm* memory;
};

}  // namespace called
}  // namespace fake
