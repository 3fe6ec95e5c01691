// SPDX-License-Identifier: MIT
// Bounces messages over a reliable connection (RC). Works with rdma-core's ibv_rc_pingpong in both
// roles.
#include <adverb/adverb.hpp>

#include "common/command_line.hpp"
#include "common/connected_pingpong.hpp"
#include "common/pingpong_options.hpp"

int main(int argc, char** argv) {
  examples::command_line arguments{"Bounces messages over a reliable connection (RC).",
                                   "rc_pingpong"};
  examples::pingpong_options options;
  options.add_to(arguments);
  options.add_mtu_to(arguments);
  arguments.add_footer(
      "The other side may be ibv_rc_pingpong, which needs -g on Ethernet links (RoCE). Its\n"
      "options for on-demand paging (-o, -O, -P), timestamps (-t), device memory (-j) and the\n"
      "extended send calls (-N) are not supported.");
  return examples::run(arguments, argc, argv,
                       [&] { examples::play_connected<adverb::transport::rc>(options); });
}
