// SPDX-License-Identifier: MIT
// A program of somebody who uses adverb. It needs all C libraries that are
// installed to link.
#include <infiniband/verbs.h>
#if __has_include(<rdma/rdma_cma.h>)
#include <rdma/rdma_cma.h>
#endif

#include <adverb/adverb.hpp>

int main() {
  static_assert(ADVERB_VERSION_MAJOR >= 0);
  if (ibv_device** devices = ibv_get_device_list(nullptr)) ibv_free_device_list(devices);
#if __has_include(<rdma/rdma_cma.h>)
  if (rdma_event_channel* channel = rdma_create_event_channel())
    rdma_destroy_event_channel(channel);
#endif
}
