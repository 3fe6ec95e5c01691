// SPDX-License-Identifier: MIT
// The records of the lifetime checker, by the addresses of the verbs objects.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <adverb/core/object_kind.hpp>
#include <adverb/core/text.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Writes "1 queue pair", "2 queue pairs".
constexpr void put_count(text_writer& writer, std::uint32_t count, object_kind kind) noexcept {
  writer.decimal(count).put(" ");
  if (count == 1)
    writer.put(name_of(kind));
  else if (kind == object_kind::identifier)
    writer.put("connections or other rdma_cm identifiers");
  else
    writer.put(name_of(kind)).put("s");
}

/// The number of live children of an object, by kind.
struct child_counts {
  std::array<std::uint32_t, object_kinds> of{};

  [[nodiscard]] constexpr bool none() const noexcept {
    // Without a branch for each, so that several are tested together.
    std::uint32_t any = 0;
    for (const std::uint32_t count : of) any |= count;
    return any == 0;
  }

  /// Writes "1 memory region, 2 queue pairs".
  constexpr void write_to(text_writer& writer) const noexcept {
    std::string_view separator;
    for (std::size_t kind = 0; kind < object_kinds; ++kind) {
      if (of[kind] == 0) continue;
      writer.put(separator);
      put_count(writer, of[kind], static_cast<object_kind>(kind));
      separator = ", ";
    }
  }
};

/// The parents of an object whose C struct does not name them; null for none.
using noted_parents = std::vector<const void*>;

/// The record of one object.
struct live_object {
  const void* address;
  live_object* next_in_bucket;
  child_counts children{};
  noted_parents parents{};

  [[nodiscard]] bool empty() const noexcept { return children.none() && parents.empty(); }
};

/// A hash table of records, without <unordered_map>, which would be a tenth of the library's
/// include cost. Lives as long as the program.
class live_objects {
 public:
  /// Returns the record of an object, or null.
  [[nodiscard]] live_object* find(const void* address) const noexcept;

  [[nodiscard]] live_object& find_or_add(const void* address);

  void remove(live_object* object) noexcept;

 private:
  [[nodiscard]] std::size_t bucket_count() const noexcept { return std::size_t{1} << bits_; }

  [[nodiscard]] live_object*& bucket_of(const void* address) const noexcept;

  void grow();

  unsigned bits_ = 6;
  std::size_t size_ = 0;
  live_object** buckets_ = new live_object* [bucket_count()] {};
};

}  // namespace adverb::inline ADVERB_ABI::detail

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/core/impl/live_objects.ipp>
#endif
