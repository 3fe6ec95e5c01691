// SPDX-License-Identifier: MIT
// Bounces messages over an unreliable connection (UC). Talks to rdma-core's
// ibv_uc_pingpong in both roles.
#include <adverb/adverb.hpp>

#include "common/connected_pingpong.hpp"
#include "common/pingpong_options.hpp"
#include "common/run.hpp"

int main(int argc, char** argv) {
  CLI::App app{"Bounces messages over an unreliable connection (UC).", "uc_pingpong"};
  examples::pingpong_options options;
  options.add_to(app);
  options.add_mtu_to(app);
  app.footer("The other side may be ibv_uc_pingpong, which needs -g on Ethernet links (RoCE).");
  return examples::run(app, argc, argv,
                       [&] { examples::play_connected<adverb::transport::uc>(options); });
}
