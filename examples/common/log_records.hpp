// SPDX-License-Identifier: MIT
// The records of a log: the lines of standard input, or generated ones, each with a header that
// shows what is missing or damaged.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <string>

#include <adverb/async.hpp>

#include "common/checksum.hpp"
#include "common/input_lines.hpp"

namespace examples {

constexpr std::size_t longest_record = 5'000;

/// In front of the bytes of each record.
struct record_header {
  std::uint64_t number = 0;
  std::uint64_t sum = 0;
};

[[nodiscard]] inline std::uint64_t sum_of(std::span<const std::byte> bytes) noexcept {
  checksum sum;
  sum.add(bytes);
  return sum.value();
}

/// Records of random sizes, or the lines of standard input.
class record_source {
 public:
  record_source(adverb::async::event_loop& loop, std::uint64_t generated)
      : lines_{loop, longest_record}, generates_{generated != 0}, left_{generated} {}

  /// Returns true if a record may follow a wait.
  [[nodiscard]] bool is_slow() const noexcept { return !generates_; }
  /// Returns the next record; none at the end.
  adverb::async::task<std::optional<std::string>> next() {
    if (!generates_) co_return co_await lines_.next();
    if (left_ == 0) co_return std::nullopt;
    --left_;
    co_return std::string(20 + random_() % (longest_record - 19),
                          static_cast<char>('a' + random_() % 26));
  }

 private:
  input_lines lines_;
  bool generates_;
  std::uint64_t left_;
  std::mt19937 random_{std::random_device{}()};
};

/// Writes a record to memory that has room for it and its header.
inline void put_record(std::span<std::byte> memory, std::uint64_t number, std::string_view record) {
  const auto bytes = std::as_bytes(std::span{record});
  const record_header header{.number = number, .sum = sum_of(bytes)};
  std::memcpy(memory.data(), &header, sizeof header);
  std::ranges::copy(bytes, memory.begin() + sizeof header);
}

/// Returns the bytes of a record, which must have this number and its checksum.
[[nodiscard]] inline std::span<const std::byte> checked_record(std::span<const std::byte> memory,
                                                               std::uint64_t number) {
  record_header header;
  if (memory.size() < sizeof header) throw std::runtime_error{"a record has no header"};
  std::memcpy(&header, memory.data(), sizeof header);
  if (header.number != number) throw std::runtime_error{"a record is missing"};
  const auto bytes = memory.subspan(sizeof header);
  if (header.sum != sum_of(bytes)) throw std::runtime_error{"a record is damaged"};
  return bytes;
}

/// A file to which records are appended, each as a line; nowhere without a path.
class record_file {
 public:
  explicit record_file(const std::string& path)
      : file_{path.empty() ? nullptr : std::fopen(path.c_str(), "ab"), &std::fclose} {
    if (!path.empty() && !file_) throw std::runtime_error{"cannot open " + path};
  }
  void append(std::span<const std::byte> record) {
    if (!file_) return;
    if (std::fwrite(record.data(), 1, record.size(), file_.get()) != record.size() ||
        std::fputc('\n', file_.get()) == EOF)
      throw std::runtime_error{"cannot write the records"};
  }
  void flush() {
    if (file_ && std::fflush(file_.get()) != 0)
      throw std::runtime_error{"cannot write the records"};
  }

 private:
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

}  // namespace examples
