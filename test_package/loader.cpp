// SPDX-License-Identifier: MIT
// Prints the number of RDMA devices of this machine, or the reason why there is none. It runs without
// libibverbs and librdmacm.
#include <cstdio>

#include <adverb/adverb.hpp>
#include <adverb/cm.hpp>

int main() {
  adverb::failure why;
  if (const adverb::device_list devices{why}; !why)
    std::printf("%zu RDMA devices\n", devices.size());
  else
    std::printf("%s\n", why.what());
  adverb::failure why_not;
  const auto channel = adverb::cm::event_channel::create(why_not);
  std::printf("%s\n", channel ? "an event channel is open" : why_not.what());
}
