// SPDX-License-Identifier: MIT
// A file that is received, and the folder for it.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file_descriptor.hpp"
#include "common/printable.hpp"
#include "file_transfer/source_file.hpp"

namespace file_transfer {

class target_folder {
 public:
  target_folder(const std::string& path, bool overwrite)
      : folder_{::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)}, overwrite_{overwrite} {
    if (!folder_) throw file_error("cannot open the folder " + path, errno);
  }

  [[nodiscard]] int number() const noexcept { return folder_.number(); }
  [[nodiscard]] bool overwrites() const noexcept { return overwrite_; }

 private:
  examples::file_descriptor folder_;
  bool overwrite_;
};

/// Throws if a peer's name for a file could lead out of the folder, or has characters that cannot
/// be printed.
inline void check_name(std::string_view name) {
  if (name.empty() || name == "." || name == ".." || name.size() > 255 ||
      name.find('/') != std::string_view::npos || examples::printable(name) != name)
    throw std::runtime_error{"\"" + examples::printable(name) +
                             "\" is not the plain name of a file"};
}

/// Has a temporary name until it is complete and its checksum is right; otherwise it is removed.
class target_file {
 public:
  target_file(const target_folder& folder, std::string name, std::uint64_t size)
      : folder_{folder}, name_{std::move(name)}, temporary_{temporary_name()} {
    check_name(name_);
    check_free();
    file_ = examples::file_descriptor{::openat(folder.number(), temporary_.c_str(),
                                               O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)};
    if (!file_) throw failure("create", errno);
    try {
      reserve(size);
    } catch (...) {
      remove();
      throw;
    }
  }
  target_file(const target_file&) = delete;
  target_file& operator=(const target_file&) = delete;
  ~target_file() {
    if (!stored_) remove();
  }

  void write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t count =
          ::pwrite(file_.number(), bytes.data(), bytes.size(), static_cast<off_t>(written_));
      if (count < 0 && errno != EINTR) throw failure("write", errno);
      if (count <= 0) continue;
      bytes = bytes.subspan(static_cast<std::size_t>(count));
      written_ += static_cast<std::uint64_t>(count);
    }
    push_to_disk();
  }

  /// Writes it to the disk and gives it its name.
  void store() {
    if (::fsync(file_.number()) != 0) throw failure("write", errno);
    if (folder_.overwrites()) {
      if (::renameat(folder_.number(), temporary_.c_str(), folder_.number(), name_.c_str()) != 0)
        throw failure("rename to", errno);
    } else {
      // Never replaces a file that appeared meanwhile. Not every file system can do that.
      if (::renameat2(folder_.number(), temporary_.c_str(), folder_.number(), name_.c_str(),
                      RENAME_NOREPLACE) != 0) {
        if (errno != EINVAL ||
            ::linkat(folder_.number(), temporary_.c_str(), folder_.number(), name_.c_str(), 0) != 0)
          throw failure("rename to", errno);
        remove();
      }
    }
    stored_ = true;
    if (::fsync(folder_.number()) != 0) throw failure("write the folder of", errno);
  }

 private:
  /// The number of bytes that are written before the preceding bytes must be on the disk: so the
  /// disk sets the pace of the sender, and little is left for the end.
  static constexpr std::uint64_t stretch = std::uint64_t{8} << 20;

  [[nodiscard]] static std::string temporary_name() {
    std::random_device random;
    return ".file_transfer." + std::to_string(random()) + std::to_string(random());
  }

  [[nodiscard]] std::runtime_error failure(const std::string& what, int number) const {
    return file_error("cannot " + what + " " + name_, number);
  }

  void check_free() const {
    struct stat status{};
    if (::fstatat(folder_.number(), name_.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return;
    if (S_ISDIR(status.st_mode)) throw std::runtime_error{name_ + " is a folder on the receiver"};
    if (!folder_.overwrites())
      throw std::runtime_error{name_ + " already exists: --force overwrites it"};
  }

  /// Reserves the space, so that a full disk is found before anything is sent. Some file systems do
  /// not support this.
  void reserve(std::uint64_t size) const {
    if (size == 0) return;
    while (::fallocate(file_.number(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(size)) != 0) {
      if (errno == EOPNOTSUPP || errno == ENOSYS) return;
      if (errno != EINTR) throw failure("make room for", errno);
    }
  }

  /// fsync reports the failures in the end.
  void push_to_disk() noexcept {
    if (written_ - pushed_ < stretch) return;
    const auto begin = static_cast<off_t>(pushed_);
    constexpr auto length = static_cast<off_t>(stretch);
    ::sync_file_range(file_.number(), begin, length, SYNC_FILE_RANGE_WRITE);
    if (pushed_ >= stretch)
      ::sync_file_range(
          file_.number(), begin - length, length,
          SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
    pushed_ += stretch;
  }

  void remove() noexcept { ::unlinkat(folder_.number(), temporary_.c_str(), 0); }

  const target_folder& folder_;
  std::string name_;
  std::string temporary_;
  examples::file_descriptor file_;
  std::uint64_t written_ = 0;
  std::uint64_t pushed_ = 0;
  bool stored_ = false;
};

}  // namespace file_transfer
