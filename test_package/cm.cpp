// SPDX-License-Identifier: MIT
// Opens an event channel of librdmacm, which needs no RDMA device.
#include <cstdio>
#include <system_error>

#include <adverb/cm.hpp>

int main() {
  std::error_code code;
  const auto channel = adverb::cm::event_channel::create(code);
  std::printf("librdmacm: %s\n", channel ? "an event channel is open" : code.message().c_str());
}
