// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cerrno>
#include <string_view>

#include <adverb/remote/detail/stream_offer.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Offsets and flags of `stream_offer`.
struct stream_offer_format {
  static constexpr std::byte version{1};
  static constexpr std::byte is_big_endian{1};
  static constexpr std::size_t list = 8;
  static constexpr std::size_t buffer = 24;
};

ADVERB_FUNC stream_offer stream_offer::decode(const cm::private_data& data, on_failure policy) {
  using format = stream_offer_format;
  policy.clear();
  const std::span<const std::byte> bytes = data.bytes();
  stream_offer read;
  std::string_view defect = "the private data is none of a stream";
  if (bytes.size() >= encoded_size && bytes[0] == format::version) {
    constexpr std::size_t size = stream_target::encoded_size;
    read = {
        .order = (bytes[1] & format::is_big_endian) != std::byte{} ? std::endian::big
                                                                   : std::endian::little,
        .receives = __builtin_bswap16(load_little_endian<0, std::uint16_t>(bytes.subspan<2, 2>())),
        .list = stream_target::decode(bytes.subspan<format::list, size>(), std::endian::big),
        .buffer = stream_target::decode(bytes.subspan<format::buffer, size>(), std::endian::big)};
    defect = read.receives < stream_limits::least_receives ? "it has fewer than 8 receives"
             : read.list.length == 0                       ? "its list has no entry"
             : read.buffer.length == 0 || read.buffer.length > stream_limits::most_bytes
                 ? "the length of its buffer is out of its range"
             : !read.buffer.is_contiguous() ? "its buffer wraps around the address space"
                                            : "";
  }
  if (defect.empty()) return read;
  policy.report(EPROTO, "remote_stream", [&](failure_description& description) {
    description.explain(
        [&](text_writer& writer) { writer.put("the peer offers no stream: ").put(defect); });
  });
  return {};
}

ADVERB_FUNC std::array<std::byte, stream_offer::encoded_size> stream_offer::encode() const {
  using format = stream_offer_format;
  std::array<std::byte, encoded_size> bytes{};
  bytes[0] = format::version;
  if (order == std::endian::big) bytes[1] = format::is_big_endian;
  store_little_endian<2, std::uint16_t>(bytes, __builtin_bswap16(receives));
  std::ranges::copy(list.encode(std::endian::big), bytes.begin() + format::list);
  std::ranges::copy(buffer.encode(std::endian::big), bytes.begin() + format::buffer);
  return bytes;
}

}  // namespace adverb::inline ADVERB_ABI::detail
