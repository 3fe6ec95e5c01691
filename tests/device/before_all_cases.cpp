// SPDX-License-Identifier: MIT
#include "support/before_all_cases.hpp"

#include <infiniband/verbs.h>

// Loads the drivers. Where processors are emulated, this takes as long as most cases.
void before_all_cases() { ibv_free_device_list(ibv_get_device_list(nullptr)); }
