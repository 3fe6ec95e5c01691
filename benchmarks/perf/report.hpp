// SPDX-License-Identifier: MIT
// The results, as a table while they come, and as JSON in the end.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "options.hpp"
#include "result.hpp"

namespace perf {

/// The circumstances of the results beside the options: the choices of the device.
struct circumstances {
  std::string device;
  std::uint32_t mtu;
  std::uint32_t inline_size;
};

class report {
 public:
  /// Throws if the JSON cannot go where it should: before anything is measured.
  explicit report(const options& wanted);

  /// Before the first result.
  void begin(const circumstances& found);
  void add(const result& found);
  /// Writes the JSON, if the options require it.
  void finish();

 private:
  [[nodiscard]] bool wants_table() const { return options_.json != "-"; }
  [[nodiscard]] bool wants_file() const { return wants_table() && !options_.json.empty(); }
  void check_file() const;

  options options_;
  std::ofstream file_;
  circumstances circumstances_{};
  std::vector<result> results_;
};

/// A result as a text that goes to the peer, and back.
[[nodiscard]] std::string to_text(const result& found);
[[nodiscard]] result result_from(const std::string& text);

}  // namespace perf
