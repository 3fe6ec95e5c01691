// SPDX-License-Identifier: MIT
// The records of a key-value store, as both sides see them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "common/checksum.hpp"

namespace examples {

/// A key and its value. A reader that is no part of the program may see any mixture of an old and a
/// new record. A read has no order, so a version before the text does not show that: the checksum
/// of version and text does.
struct kv_record {
  static constexpr std::size_t longest = 32768 - 24;

  /// 0 if there is no value.
  std::uint64_t version;
  std::uint64_t checksum;
  std::uint32_t key_size;
  std::uint32_t size;
  char text[longest];

  [[nodiscard]] bool is_whole() const noexcept {
    return version == 0 || (key_size < size && size <= longest && checksum == sum());
  }
  [[nodiscard]] std::string_view key() const noexcept {
    return version == 0 ? std::string_view{} : std::string_view{text, key_size};
  }
  [[nodiscard]] bool has(std::string_view name) const noexcept {
    return version != 0 && key() == name;
  }
  [[nodiscard]] std::string_view value() const noexcept {
    return {text + key_size + 1, size - key_size - 1};
  }
  [[nodiscard]] std::uint64_t sum() const noexcept {
    examples::checksum all;
    all.add(std::as_bytes(std::span{&version, 1}));
    all.add(std::as_bytes(std::span{text, size}));
    return all.value();
  }
};

/// Returns the places of a table where a key may be, the first one first.
[[nodiscard]] inline std::array<std::size_t, 4> places_of(std::string_view key,
                                                          std::size_t records) {
  if (records == 0) throw std::runtime_error{"the server has no records"};
  checksum hash;
  hash.add(std::as_bytes(std::span{key}));
  std::array<std::size_t, 4> places{};
  for (std::size_t each = 0; each < places.size(); ++each)
    places[each] = (hash.value() + each) % records;
  return places;
}

class kv_table {
 public:
  [[nodiscard]] std::span<kv_record> records() noexcept { return records_; }

  /// Stores the value of KEY=VALUE. Returns why not, or an empty text.
  [[nodiscard]] std::string_view put(std::string_view text) {
    const std::size_t key_size = text.find('=');
    if (key_size == text.npos || key_size == 0) return "a value needs a key";
    const std::string_view key = text.substr(0, key_size);
    for (const std::size_t place : places_of(key, records_.size())) {
      kv_record& record = records_[place];
      if (record.version != 0 && !record.has(key)) continue;
      ++record.version;
      record.key_size = static_cast<std::uint32_t>(key_size);
      record.size = static_cast<std::uint32_t>(text.copy(record.text, text.size()));
      record.checksum = record.sum();
      return {};
    }
    return "there is no place for the key";
  }

 private:
  std::vector<kv_record> records_ = std::vector<kv_record>(128);
};

}  // namespace examples
