// SPDX-License-Identifier: MIT
// Bounces messages over an unreliable connection (UC). Works with rdma-core's ibv_uc_pingpong in
// both roles.
#include <adverb/adverb.hpp>

#include "common/command_line.hpp"
#include "common/connected_pingpong.hpp"
#include "common/pingpong_options.hpp"

int main(int argc, char** argv) {
  examples::command_line arguments{"Bounces messages over an unreliable connection (UC).",
                                   "uc_pingpong"};
  examples::pingpong_options options;
  options.add_to(arguments);
  options.add_mtu_to(arguments);
  arguments.add_footer(
      "The other side may be ibv_uc_pingpong, which needs -g on Ethernet links (RoCE).");
  return examples::run(arguments, argc, argv,
                       [&] { examples::play_connected<adverb::transport::uc>(options); });
}
