// SPDX-License-Identifier: MIT
// A program of somebody who uses adverb. It links all C libraries
// that are installed.
#include <infiniband/verbs.h>
#if __has_include(<rdma/rdma_cma.h>)
#include <rdma/rdma_cma.h>
#endif

#include <system_error>

#include <adverb/device/context.hpp>

int main() {
  static_assert(ADVERB_VERSION_MAJOR >= 0);
  if (ibv_device** devices = ibv_get_device_list(nullptr)) ibv_free_device_list(devices);
  // Defined in a header, or in another source with ADVERB_SEPARATE_COMPILATION.
  std::error_code code;
  const adverb::context none = adverb::open_device("no such device", code);
  if (none || !code) return 1;
#if __has_include(<rdma/rdma_cma.h>)
  if (rdma_event_channel* channel = rdma_create_event_channel())
    rdma_destroy_event_channel(channel);
#endif
}
