// SPDX-License-Identifier: MIT
// The options of the ping-pong programs, which are those of rdma-core's programs of similar names.
#pragma once

#include <cstdint>

#include <adverb/device/port.hpp>

#include "common/command_line.hpp"
#include "common/connection_options.hpp"
#include "common/mtu_option.hpp"

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

  void add_to(command_line& arguments) {
    connection_options::add_to(arguments);
    arguments.add_number("-s,--size", size, 1, unlimited, "Size of the messages, in bytes");
    arguments.add_number("-r,--rx-depth", receive_depth, 1, unlimited, "Number of posted receives");
    arguments.add_number("-n,--iters", iterations, 1, unlimited,
                         "Number of messages in each direction");
    arguments.add_number("-l,--sl", service_level, 0, 15, "Service level");
    arguments.add_flag("-e,--events", sleep,
                       "Sleep until there are completions, instead of polling");
    arguments.add_flag("-c,--chk", check, "Check every byte of the last received message");
  }

  /// Connections have a path MTU to set; datagrams do not.
  void add_mtu_to(command_line& arguments) { add_mtu(arguments, mtu); }
};

}  // namespace examples
