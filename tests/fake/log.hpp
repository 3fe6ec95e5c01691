// SPDX-License-Identifier: MIT
// Compares the calls that the fake has recorded with what is expected:
//
//     CHECK_THAT(bench.machine.lines<fake::called::modify_qp>(), is_log(R"(
//       ibv_modify_qp qp0 qp_state=INIT pkey_index=0 port_num=1
//         qp_access_flags=0
//       ibv_modify_qp qp0 qp_state=RTR)"));
//
// A line that is indented further than the first one continues the call before it; so does the rest
// of a mask, after a bar. To see what a
// test calls, compare it with an empty log: the failure shows all lines.
#pragma once

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <support/catch.hpp>

#include "fake.hpp"

namespace fake {

/// The calls of an expected log, each on one line with single spaces.
inline std::vector<std::string> expected_lines(std::string_view text) {
  std::vector<std::string> lines;
  std::size_t indentation = std::string_view::npos;
  std::istringstream input{std::string{text}};
  for (std::string line; std::getline(input, line);) {
    const std::size_t start = line.find_first_not_of(' ');
    if (start == std::string::npos) continue;
    if (indentation == std::string_view::npos) indentation = start;
    const std::string_view words =
        std::string_view{line}.substr(start, line.find_last_not_of(' ') + 1 - start);
    if (start > indentation && !lines.empty())
      lines.back().append(lines.back().ends_with('|') ? "" : " ").append(words);
    else
      lines.emplace_back(words);
  }
  return lines;
}

#if __has_include(<catch2/catch_test_macros.hpp>)
using log_matcher = Catch::Matchers::MatcherBase<log_lines>;
#else
using log_matcher = Catch::MatcherBase<log_lines>;
#endif

/// The different ends of two lines that begin with the same words.
inline std::string difference(const std::string& wanted, const std::string& found) {
  const auto split = std::mismatch(wanted.begin(), wanted.end(), found.begin(), found.end());
  auto start = static_cast<std::size_t>(split.first - wanted.begin());
  while (start > 0 && wanted[start - 1] != ' ' && wanted[start - 1] != '|') --start;
  return "\"" + wanted.substr(start, 60) + "\", but was \"" + found.substr(start, 60) + "\"";
}

/// Matches calls that are these, in this order; describes the first one that differs.
class is_log : public log_matcher {
 public:
  explicit is_log(std::string_view expected) : expected_{expected_lines(expected)} {}

  bool match(const log_lines& log) const override {
    actual_ = log.lines;
    return actual_ == expected_;
  }
  [[nodiscard]] std::string describe() const override {
    const auto [mine, others] =
        std::mismatch(expected_.begin(), expected_.end(), actual_.begin(), actual_.end());
    const std::string wanted = mine == expected_.end() ? "no more calls" : *mine;
    const std::string found = others == actual_.end() ? "no more calls" : *others;
    return "differs from the expected log in call " + std::to_string(mine - expected_.begin() + 1) +
           ":\n  expected: " + wanted + "\n  but was:  " + found +
           "\n  from here on: " + difference(wanted, found);
  }

 private:
  std::vector<std::string> expected_;
  mutable std::vector<std::string> actual_;
};

/// The value of a field of a line, or nothing if it has no such field.
inline std::string field(const std::string& line, const std::string& name) {
  const std::size_t start = line.find(" " + name + "=");
  if (start == std::string::npos) return {};
  const std::size_t begin = start + name.size() + 2;
  std::size_t end = begin;
  for (int depth = 0; end < line.size(); ++end) {
    if (line[end] == '{') ++depth;
    if (depth == 0 && (line[end] == ' ' || line[end] == '}')) break;
    if (line[end] == '}') --depth;
  }
  return line.substr(begin, end - begin);
}

}  // namespace fake

using fake::field;
using fake::is_log;
