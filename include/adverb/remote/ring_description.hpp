// SPDX-License-Identifier: MIT
// The description of a ring, and its options.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <adverb/core/detail/byte_order.hpp>
#include <adverb/core/error.hpp>
#include <adverb/memory/registrable_memory.hpp>
#include <adverb/memory/remote_buffer.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

/// The numbers that follow from the number of slots.
struct ring_sizes {
  /// The number of a slot has 24 bits.
  static constexpr std::uint32_t most_slots = 1U << 24U;
  /// The most slots that one acknowledgement names.
  static constexpr std::uint32_t most_freed = 63;

  /// Returns the number of free slots that the reader acknowledges unasked.
  [[nodiscard]] static constexpr std::uint32_t freed_at_once(std::uint32_t slots) noexcept {
    return std::clamp(slots / 4, 1U, most_freed);
  }
  /// Returns the most acknowledgements on the way: each but those that end a wait names so many.
  [[nodiscard]] static constexpr std::uint32_t writer_receives(std::uint32_t slots) noexcept {
    return slots / freed_at_once(slots) + 2;
  }
  /// Returns the most entries, requests and ends on the way. A request follows each
  /// acknowledgement at most, and the first none.
  [[nodiscard]] static constexpr std::uint32_t reader_receives(std::uint32_t slots) noexcept {
    return slots + writer_receives(slots) + 2;
  }
};

}  // namespace detail

/// The options of a ring.
struct ring_options {
  /// Number of slots: of entries that can be in flight or held. At least 1, at most 2^24.
  std::uint32_t slots = 64;
  /// Size of a slot in bytes, for a ring of bytes: of the longest entry. At least 1.
  std::uint32_t slot_size = 4096;

  /// Returns the receives that a connection needs for such a ring, or for one in each direction
  /// (`connection_options::receives`).
  [[nodiscard]] constexpr std::uint32_t receives() const noexcept {
    return detail::ring_sizes::reader_receives(slots) + detail::ring_sizes::writer_receives(slots);
  }
};

/// The memory of a ring, for its writer. The reader makes it, and the program sends it
/// as bytes. Whoever has it can write there. Trivially copyable.
///
/// Wire format (`encode`, `decode`): 40 bytes, all numbers little-endian.
///
///     offset  size  content
///          0     4  mark
///          4     4  number of slots
///          8     4  size of a slot in bytes
///         12     4  distance of slots in bytes
///         16    24  remote_buffer of all slots
struct ring_description {
  /// The size of the wire format, in bytes.
  static constexpr std::size_t encoded_size = 40;
  /// The memory of a ring.
  using memory_type = remote_buffer<std::byte, access_right::remote_write>;

  /// Number of slots.
  std::uint32_t slots = 0;
  /// Size of a slot in bytes.
  std::uint32_t slot_size = 0;
  /// Distance of the beginnings of slots in bytes.
  std::uint32_t distance = 0;
  /// All slots.
  memory_type memory{};

  /// Returns the bytes to send to the writer.
  [[nodiscard]] constexpr std::array<std::byte, encoded_size> encode() const noexcept {
    std::array<std::byte, encoded_size> bytes{};
    detail::store_little_endian<0, std::uint32_t>(bytes, mark);
    detail::store_little_endian<4, std::uint32_t>(bytes, slots);
    detail::store_little_endian<8, std::uint32_t>(bytes, slot_size);
    detail::store_little_endian<12, std::uint32_t>(bytes, distance);
    const auto handle = memory.encode();
    for (std::size_t i = 0; i < handle.size(); ++i) bytes[16 + i] = handle[i];
    return bytes;
  }
  /// Decodes the bytes that the reader sent. Fails with EPROTO if they describe no ring, and with
  /// EACCES if its memory cannot be written. A writer has as much memory as the ring, and 6 to 10
  /// bytes for each slot. Fails with EMSGSIZE if that exceeds 64 MiB.
  [[nodiscard]] static constexpr ring_description decode(
      std::span<const std::byte, encoded_size> bytes, on_failure policy = throwing{}) {
    return decode(bytes, std::uint64_t{64} << 20U, policy);
  }
  /// Decodes them, but fails with EMSGSIZE if the writer would need more than `most_bytes`.
  [[nodiscard]] static constexpr ring_description decode(
      std::span<const std::byte, encoded_size> bytes, std::uint64_t most_bytes,
      on_failure policy = throwing{}) {
    ring_description read{
        .slots = detail::load_little_endian<4, std::uint32_t>(bytes),
        .slot_size = detail::load_little_endian<8, std::uint32_t>(bytes),
        .distance = detail::load_little_endian<12, std::uint32_t>(bytes),
        .memory = memory_type::decode(bytes.subspan<16, memory_type::encoded_size>(), policy)};
    if (policy.failed()) return {};
    const std::uint64_t whole = std::uint64_t{read.slots} * read.distance;
    const std::string_view defect =
        detail::load_little_endian<0, std::uint32_t>(bytes) != mark ? "the bytes have not its mark"
        : read.slots == 0 || read.slots > detail::ring_sizes::most_slots
            ? "the number of slots is out of its range"
        : read.slot_size == 0 || read.slot_size > read.distance
            ? "the size of a slot is out of its range"
        : whole != read.memory.size_bytes() ? "its memory has another size than its slots"
                                            : "";
    if (!defect.empty()) {
      policy.report(EPROTO, "ring_description::decode",
                    [&](failure_description& description) { description.explain(defect); });
      return {};
    }
    const std::uint64_t needed = whole + std::uint64_t{read.slots} * sizeof(std::uint16_t) +
                                 std::uint64_t{std::bit_ceil(read.slots)} * sizeof(std::uint32_t);
    if (needed > most_bytes) {
      policy.report(EMSGSIZE, "ring_description::decode", [&](failure_description& description) {
        description.explain("the ring of the peer needs {} bytes here, the limit is {}",
                            {needed, most_bytes});
      });
      return {};
    }
    return read;
  }

  friend constexpr bool operator==(const ring_description&,
                                   const ring_description&) noexcept = default;

 private:
  static constexpr std::uint32_t mark = 0x316e6772;
};

}  // namespace adverb::inline ADVERB_ABI
