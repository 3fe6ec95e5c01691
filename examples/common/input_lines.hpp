// SPDX-License-Identifier: MIT
// The lines of standard input, for tasks.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include <unistd.h>

#include <adverb/async.hpp>

namespace examples {

/// Reads lines while the loop does other work. A longer line than `longest` is several lines.
class input_lines {
 public:
  input_lines(adverb::async::event_loop& loop, std::size_t longest) noexcept
      : loop_{&loop}, longest_{longest} {}

  /// Returns the next line; none at the end of the input.
  adverb::async::task<std::optional<std::string>> next() {
    std::array<char, 4096> bytes{};
    while (true) {
      const std::size_t end = std::min(read_.find('\n'), longest_);
      if (end < read_.size()) {
        std::string line = read_.substr(0, end);
        read_.erase(0, end + (read_[end] == '\n' ? 1 : 0));
        co_return line;
      }
      std::error_code always_readable;  // A regular file cannot be waited for.
      static_cast<void>(
          co_await adverb::async::readable(*loop_, STDIN_FILENO).report_to(always_readable));
      const ssize_t count = ::read(STDIN_FILENO, bytes.data(), bytes.size());
      if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (count < 0)
        throw std::system_error{errno, std::generic_category(), "the input cannot be read"};
      if (count > 0)
        read_.append(bytes.data(), static_cast<std::size_t>(count));
      else if (read_.empty())
        co_return std::nullopt;
      else
        read_ += '\n';
    }
  }

 private:
  adverb::async::event_loop* loop_;
  std::size_t longest_;
  std::string read_;
};

}  // namespace examples
