// SPDX-License-Identifier: MIT
#include "support/before_all_cases.hpp"

#include <infiniband/verbs.h>

// Loads the drivers. This takes as long as most cases if processors are emulated.
void before_all_cases() { ibv_free_device_list(ibv_get_device_list(nullptr)); }
