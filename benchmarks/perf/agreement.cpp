// SPDX-License-Identifier: MIT
#include "agreement.hpp"

#include <cstddef>
#include <stdexcept>
#include <string>

namespace perf {

namespace {

/// One line for each thing that has to be the same.
std::vector<std::string> terms(const options& ours, const std::vector<std::uint32_t>& sizes) {
  std::vector<std::string> lines{"adverb_perf 1",
                                 std::string{name_of(ours.operation)} + ' ' + name_of(ours.measure),
                                 std::string{"--connection "} + name_of(ours.service)};
  lines.push_back(ours.all_sizes ? "--all to " + std::to_string(sizes.back()) + " bytes"
                                 : "--size " + std::to_string(sizes.back()));
  lines.push_back(ours.duration != 0 ? "--duration " + std::to_string(ours.duration)
                                     : "--iters " + std::to_string(*ours.iterations));
  lines.push_back("--qp " + std::to_string(ours.queue_pairs));
  lines.push_back(ours.mtu ? "--mtu " + std::to_string(adverb::bytes_of(*ours.mtu))
                           : "no option --mtu");
  lines.push_back(std::string{"--atomic "} + name_of(ours.atomic));
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  return text;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string::npos) break;
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

}  // namespace

void agree(const peer& other, const options& ours, const std::vector<std::uint32_t>& sizes) {
  const std::vector<std::string> own = terms(ours, sizes);
  other.say(joined(own));
  const std::vector<std::string> theirs = split(other.hear());
  if (theirs.size() != own.size() || theirs.front() != own.front())
    throw std::runtime_error{
        "the peer does not talk as this program does; is it the same version?"};
  for (std::size_t index = 0; index < own.size(); ++index)
    if (theirs[index] != own[index])
      throw std::runtime_error{"the peer has " + theirs[index] + ", this side has " + own[index] +
                               ": give both sides the same"};
}

}  // namespace perf
