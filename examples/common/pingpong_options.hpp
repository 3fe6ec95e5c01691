// SPDX-License-Identifier: MIT
// The options of the ping-pong programs: those of rdma-core's programs of similar names.
#pragma once

#include <cstdint>

#include <CLI/CLI.hpp>

#include <adverb/device/port.hpp>

#include "common/connection_options.hpp"
#include "common/mtu_option.hpp"
#include "common/number.hpp"

namespace examples {

struct pingpong_options : connection_options {
  /// In bytes.
  std::uint32_t size = 4096;
  std::uint32_t receive_depth = 500;
  std::uint32_t iterations = 1000;
  adverb::service_level service_level{};
  bool sleep = false;
  bool check = false;
  adverb::mtu mtu = adverb::mtu::bytes_1024;

  void add_to(CLI::App& app) {
    connection_options::add_to(app);
    add_number(app, "-s,--size", size, 1, unlimited, "Size of the messages, in bytes");
    add_number(app, "-r,--rx-depth", receive_depth, 1, unlimited,
               "Number of receives that are posted");
    add_number(app, "-n,--iters", iterations, 1, unlimited, "Number of messages in each direction");
    add_number(app, "-l,--sl", service_level, 0, 15, "Service level");
    app.add_flag("-e,--events", sleep, "Sleep until there are completions, instead of polling");
    app.add_flag("-c,--chk", check, "Check every byte of the message that was received last");
  }

  /// Connections have a path MTU to set; datagrams do not.
  void add_mtu_to(CLI::App& app) { add_mtu(app, mtu); }
};

}  // namespace examples
