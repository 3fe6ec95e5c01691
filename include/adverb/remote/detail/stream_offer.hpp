// SPDX-License-Identifier: MIT
// The memory that a side of a stream offers to its peer, in the private data of the connection.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include <adverb/cm/private_data.hpp>
#include <adverb/core/detail/byte_order.hpp>
#include <adverb/core/error.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Memory of a side that the other may fill. On the wire 16 bytes: address, key, length.
struct stream_target {
  static constexpr std::size_t encoded_size = 16;

  std::uint64_t address = 0;
  std::uint32_t key = 0;
  std::uint32_t length = 0;

  [[nodiscard]] constexpr std::array<std::byte, encoded_size> encode(std::endian order) const {
    const bool is_big = order == std::endian::big;
    std::array<std::byte, encoded_size> bytes{};
    store_little_endian<0, std::uint64_t>(bytes, is_big ? __builtin_bswap64(address) : address);
    store_little_endian<8, std::uint32_t>(bytes, is_big ? __builtin_bswap32(key) : key);
    store_little_endian<12, std::uint32_t>(bytes, is_big ? __builtin_bswap32(length) : length);
    return bytes;
  }
  [[nodiscard]] static constexpr stream_target decode(std::span<const std::byte, encoded_size> in,
                                                      std::endian order) {
    const bool is_big = order == std::endian::big;
    const auto address = load_little_endian<0, std::uint64_t>(in);
    const auto key = load_little_endian<8, std::uint32_t>(in);
    const auto length = load_little_endian<12, std::uint32_t>(in);
    return {.address = is_big ? __builtin_bswap64(address) : address,
            .key = is_big ? __builtin_bswap32(key) : key,
            .length = is_big ? __builtin_bswap32(length) : length};
  }
  /// Returns true if it ends below the end of the address space.
  [[nodiscard]] constexpr bool is_contiguous() const noexcept {
    return address + length >= address;
  }

  friend constexpr bool operator==(const stream_target&, const stream_target&) noexcept = default;
};

/// The numbers of the protocol.
struct stream_limits {
  /// Number of messages that are not data and may be in progress, in requests.
  static constexpr std::uint32_t notices = 4;
  /// Below it, the credits for data, of which a side leaves `notices` to its other messages, end
  /// before the peer grants new ones.
  static constexpr std::uint32_t least_receives = 2 * notices;
  /// A sequence has 16 bits.
  static constexpr std::uint32_t most_receives = 0xfffe;
  /// The longest length in a message.
  static constexpr std::uint32_t most_bytes = (1U << 29U) - 1;
  /// Messages that are not data go inline, and over iWARP all messages. soft-iWARP sends shorter
  /// requests wrongly that do not: see docs/device_facts.md, "misreads_short_requests".
  static constexpr std::uint32_t least_inline = 32;
  /// Number of buffers of which a side names two halves in turn.
  static constexpr std::uint32_t list_size = 2;
};

/// The offer of a side: rs_conn_data of rsockets. All numbers are big-endian.
///
///     offset  size  content
///          0     1  version
///          1     1  flags: 1 if the side is big-endian
///          2     2  receives that are posted for data
///          4     4  0
///          8    16  list in which the peer names its buffers: address, key, number of entries
///         24    16  first buffer: address, key, length
struct stream_offer {
  static constexpr std::size_t encoded_size = 40;

  /// Returns the offer in the private data of a peer. Fails with EPROTO if there is none.
  [[nodiscard]] static stream_offer decode(const cm::private_data& data, on_failure policy);
  [[nodiscard]] std::array<std::byte, encoded_size> encode() const;

  std::endian order = std::endian::native;
  std::uint16_t receives = 0;
  /// Its length is the number of its entries.
  stream_target list;
  stream_target buffer;
};

}  // namespace adverb::inline ADVERB_ABI::detail

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/remote/impl/stream_offer.ipp>
#endif
