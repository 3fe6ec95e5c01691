// SPDX-License-Identifier: MIT
// A file descriptor that is closed on destruction.
#pragma once

#include <utility>

#include <unistd.h>

namespace examples {

class file_descriptor {
 public:
  file_descriptor() noexcept = default;
  explicit file_descriptor(int number) noexcept : number_{number} {}
  file_descriptor(file_descriptor&& other) noexcept : number_{std::exchange(other.number_, -1)} {}
  file_descriptor& operator=(file_descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~file_descriptor() {
    if (number_ >= 0) ::close(number_);
  }

  [[nodiscard]] int number() const noexcept { return number_; }
  [[nodiscard]] explicit operator bool() const noexcept { return number_ >= 0; }

 private:
  int number_ = -1;
};

}  // namespace examples
