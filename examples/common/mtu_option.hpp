// SPDX-License-Identifier: MIT
// The path MTU as an option.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include <adverb/device/port.hpp>

namespace examples {

/// Replaces a size in bytes by the number of its enumerator.
inline std::string mtu_code(std::string& text) {
  for (const auto size : {adverb::mtu::bytes_256, adverb::mtu::bytes_512, adverb::mtu::bytes_1024,
                          adverb::mtu::bytes_2048, adverb::mtu::bytes_4096}) {
    if (text != std::to_string(adverb::bytes_of(size))) continue;
    text = std::to_string(static_cast<int>(size));
    return {};
  }
  return "must be 256, 512, 1024, 2048 or 4096, not " + text;
}

/// An option that takes such a size. `Mtu` is adverb::mtu, or an optional one.
template <class Mtu>
CLI::Option* add_mtu(CLI::App& app, Mtu& mtu, const std::string& description) {
  return app.add_option("-m,--mtu", mtu, description)
      ->transform(CLI::Validator{mtu_code, ""})
      ->type_name("NUMBER");
}

/// The same with a default of 1024 bytes.
inline void add_mtu(CLI::App& app, adverb::mtu& mtu) {
  add_mtu(app, mtu, "Path MTU, in bytes; the same on both sides")->default_str("1024");
}

}  // namespace examples
