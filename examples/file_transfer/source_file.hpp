// SPDX-License-Identifier: MIT
// A file that is sent.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file_descriptor.hpp"

namespace file_transfer {

[[nodiscard]] inline std::runtime_error file_error(const std::string& what, int number) {
  return std::runtime_error{what + ": " + std::generic_category().message(number)};
}

/// A file that is read from begin to end; its size must not change meanwhile.
class source_file {
 public:
  explicit source_file(std::string path) : path_{std::move(path)} {
    // Opening a pipe would block without O_NONBLOCK.
    file_ = examples::file_descriptor{::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    struct stat status{};
    if (!file_ || ::fstat(file_.number(), &status) != 0)
      throw file_error("cannot open " + path_, errno);
    if (!S_ISREG(status.st_mode)) throw std::runtime_error{path_ + " is not a regular file"};
    size_ = static_cast<std::uint64_t>(status.st_size);
    ::posix_fadvise(file_.number(), 0, 0, POSIX_FADV_SEQUENTIAL);
  }

  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  [[nodiscard]] bool at_end() const noexcept { return read_ == size_; }
  /// Returns the name without its folders.
  [[nodiscard]] std::string name() const { return path_.substr(path_.rfind('/') + 1); }

  /// Reads the next bytes, as many as there is room for.
  [[nodiscard]] std::span<std::byte> read(std::span<std::byte> room) {
    if (room.size() > size_ - read_) room = room.first(static_cast<std::size_t>(size_ - read_));
    for (std::size_t filled = 0; filled < room.size();) {
      const std::size_t count = read_some(room.subspan(filled));
      if (count == 0) throw std::runtime_error{path_ + " shrank while it was sent"};
      filled += count;
      read_ += count;
    }
    return room;
  }
  /// Throws if the file has grown meanwhile.
  void check_end() const {
    std::byte more{};
    if (read_some({&more, 1}) != 0) throw std::runtime_error{path_ + " grew while it was sent"};
  }

 private:
  [[nodiscard]] std::size_t read_some(std::span<std::byte> room) const {
    while (true) {
      const ssize_t count =
          ::pread(file_.number(), room.data(), room.size(), static_cast<off_t>(read_));
      if (count >= 0) return static_cast<std::size_t>(count);
      if (errno != EINTR) throw file_error("cannot read " + path_, errno);
    }
  }

  std::string path_;
  examples::file_descriptor file_;
  std::uint64_t size_ = 0;
  std::uint64_t read_ = 0;
};

}  // namespace file_transfer
