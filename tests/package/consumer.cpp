// SPDX-License-Identifier: MIT
// A program of somebody who uses adverb. It needs both C libraries to link.
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <adverb/adverb.hpp>

int main() {
  static_assert(ADVERB_VERSION_MAJOR >= 0);
  if (ibv_device** devices = ibv_get_device_list(nullptr)) ibv_free_device_list(devices);
  if (rdma_event_channel* channel = rdma_create_event_channel())
    rdma_destroy_event_channel(channel);
}
