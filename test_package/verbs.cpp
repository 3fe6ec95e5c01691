// SPDX-License-Identifier: MIT
// Prints the number of RDMA devices of this machine.
#include <cstdio>
#include <system_error>

#include <adverb/adverb.hpp>

int main() {
  std::error_code code;
  const adverb::device_list devices{code};
  std::printf("adverb %d.%d.%d: %zu RDMA devices\n", ADVERB_VERSION_MAJOR, ADVERB_VERSION_MINOR,
              ADVERB_VERSION_PATCH, devices.size());
}
