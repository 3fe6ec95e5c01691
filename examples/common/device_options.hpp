// SPDX-License-Identifier: MIT
// The options of every program that uses one port of one device.
#pragma once

#include <optional>
#include <string>

#include <adverb/core/ids.hpp>

#include "common/command_line.hpp"

namespace examples {

struct device_options {
  std::string device{};
  adverb::port_number port{1};
  /// The local GID to use; without one it is chosen by rule.
  std::optional<adverb::gid_index> gid{};

  /// `rule` selects the GID, and `gid_names` is the spelling of its option.
  void add_to(command_line& arguments, const std::string& rule = "the best one",
              const std::string& gid_names = "-g,--gid-idx") {
    arguments.add_text("-d,--ib-dev", device, "RDMA device (default: the first one)")
        .type_name("NAME");
    arguments.add_number("-i,--ib-port", port, 1, 255, "Port of the device");
    arguments.add_number(gid_names, gid, 0, 255,
                         "Local GID, as an index into the port's table (default: " + rule + ")");
  }
};

}  // namespace examples
