// SPDX-License-Identifier: MIT
// The options of the ping-pong programs: those of rdma-core's programs of similar names.
#pragma once

#include <cstdint>
#include <string>

#include <CLI/CLI.hpp>

#include <adverb/device/port.hpp>

#include "common/connection_options.hpp"
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
  void add_mtu_to(CLI::App& app) {
    app.add_option("-m,--mtu", mtu, "Path MTU, in bytes; the same on both sides")
        ->transform(CLI::Validator{mtu_code, ""})
        ->type_name("NUMBER")
        ->default_str("1024");
  }

 private:
  /// Replaces a size in bytes by the number of its enumerator.
  static std::string mtu_code(std::string& text) {
    for (const auto size : {adverb::mtu::bytes_256, adverb::mtu::bytes_512, adverb::mtu::bytes_1024,
                            adverb::mtu::bytes_2048, adverb::mtu::bytes_4096}) {
      if (text != std::to_string(adverb::bytes_of(size))) continue;
      text = std::to_string(static_cast<int>(size));
      return {};
    }
    return "must be 256, 512, 1024, 2048 or 4096, not " + text;
  }
};

}  // namespace examples
