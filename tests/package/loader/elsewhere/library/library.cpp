// SPDX-License-Identifier: MIT
// Counts the devices with the C functions.
#include <infiniband/verbs.h>

#include <adverb/adverb.hpp>

int devices();

int devices() {
  int count = 77;
  ibv_device** const list = ibv_get_device_list(&count);
  if (list != nullptr) ibv_free_device_list(list);
  return count;
}
