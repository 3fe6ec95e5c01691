// SPDX-License-Identifier: MIT
// The progress of a file: a bar on a terminal, and a line in the end.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

#include <sys/ioctl.h>
#include <unistd.h>

namespace examples {

/// Returns for example "1.5 MiB".
[[nodiscard]] inline std::string to_size(double bytes) {
  constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < units.size(); ++unit) bytes /= 1024;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
  return text.data();
}

/// Returns for example "0:07" or "1:02:03".
[[nodiscard]] inline std::string to_time(std::uint64_t seconds) {
  const auto number = [](std::uint64_t value) { return std::to_string(value); };
  const auto two_digits = [](std::uint64_t value) {
    return (value < 10 ? ":0" : ":") + std::to_string(value);
  };
  const std::uint64_t minutes = seconds / 60;
  if (minutes < 60) return number(minutes) + two_digits(seconds % 60);
  return number(minutes / 60) + two_digits(minutes % 60) + two_digits(seconds % 60);
}

/// Prints only the last line if standard output is no terminal. An unfinished bar is erased.
class progress {
 public:
  progress(std::string name, std::uint64_t size) : name_{std::move(name)}, size_{size} {}
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;
  ~progress() { wipe(); }

  void add(std::size_t bytes) {
    done_ += bytes;
    const auto now = clock::now();
    if (!is_terminal_ || now < next_look_) return;
    next_look_ = now + std::chrono::milliseconds{100};
    draw();
  }

  /// Prints "sent NAME: 1.5 GiB in 2.1 s, 731.4 MiB/s, checksum …".
  void finish(const char* what, const std::string& checksum) {
    wipe();
    const double took = seconds();
    std::printf("%s %s: %s in %.1f s, %s/s, checksum %s\n", what, name_.c_str(),
                to_size(static_cast<double>(size_)).c_str(), took, to_size(rate()).c_str(),
                checksum.c_str());
  }

 private:
  using clock = std::chrono::steady_clock;

  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>{clock::now() - start_}.count();
  }
  [[nodiscard]] double rate() const {
    return static_cast<double>(done_) / std::max(seconds(), 1e-6);
  }

  void draw() {
    winsize window{};
    const bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0;
    const std::size_t columns = known ? window.ws_col : 80;
    const double part = size_ == 0 ? 1 : static_cast<double>(done_) / static_cast<double>(size_);
    const auto left = static_cast<std::uint64_t>(
        std::llround(static_cast<double>(size_ - done_) / std::max(rate(), 1.0)));
    std::array<char, 96> numbers{};
    std::snprintf(numbers.data(), numbers.size(), " %3.0f %%  %s/s  %s left", 100 * part,
                  to_size(rate()).c_str(), to_time(left).c_str());
    std::string line{numbers.data()};
    // The name takes a third of the line, and the bar the rest.
    const std::string name = name_.substr(0, columns / 3);
    if (name.size() + line.size() + 8 < columns) {
      const std::size_t width = columns - name.size() - line.size() - 4;
      const auto filled = static_cast<std::size_t>(part * static_cast<double>(width));
      line = name + " [" + std::string(filled, '=') + std::string(width - filled, ' ') + "]" + line;
    }
    std::printf("\r\033[K%s", line.substr(0, columns - 1).c_str());
    std::fflush(stdout);
    drawn_ = true;
  }
  void wipe() {
    if (!drawn_) return;
    std::printf("\r\033[K");
    std::fflush(stdout);
    drawn_ = false;
  }

  std::string name_;
  std::uint64_t size_;
  std::uint64_t done_ = 0;
  clock::time_point start_ = clock::now();
  clock::time_point next_look_{};
  bool is_terminal_ = ::isatty(STDOUT_FILENO) == 1;
  bool drawn_ = false;
};

}  // namespace examples
