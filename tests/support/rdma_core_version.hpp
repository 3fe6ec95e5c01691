// SPDX-License-Identifier: MIT
// The version of rdma-core that a program runs with, for tests that meet faults fixed in later
// ones.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

#include <dlfcn.h>
#include <infiniband/verbs.h>

/// Returns the version of the rdma-core that libibverbs belongs to: its file is named
/// libibverbs.so.1.14.44.0 in rdma-core 44. Returns 0 if the name has no such number.
[[nodiscard]] inline int rdma_core_version() {
  Dl_info library{};
  if (::dladdr(reinterpret_cast<const void*>(&ibv_get_device_list), &library) == 0) return 0;
  char* const path = ::realpath(library.dli_fname, nullptr);
  if (path == nullptr) return 0;
  const std::string name{path};
  std::free(path);
  const std::size_t start = name.rfind(".so.");
  int numbers[4] = {};
  if (start == std::string::npos ||
      std::sscanf(name.c_str() + start, ".so.%d.%d.%d.%d", &numbers[0], &numbers[1], &numbers[2],
                  &numbers[3]) != 4)
    return 0;
  return numbers[2];
}
