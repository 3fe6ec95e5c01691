// SPDX-License-Identifier: MIT
// The decoders of a channel (the handshake, the headers of frames, the remote handle of `take`, the
// frames in a stream of TCP), and those of all other bytes of a peer.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <system_error>
#include <vector>

#include <adverb/adverb.hpp>
#include <adverb/messages.hpp>
#include <adverb/remote.hpp>

#include "fuzz_target.hpp"

using namespace adverb;
using detail::frame_stream;

namespace {

void decode_handshake(std::span<const std::byte> bytes) {
  const auto read = detail::handshake::decode(bytes.first(std::min<std::size_t>(bytes.size(), 56)));
  if (!read) return;
  const auto mine = detail::handshake::of({}, throwing{});
  const detail::session_limits limits = mine.limits_with(*read);
  fuzz::require(limits.receives_of_peer >= 4 && limits.receives_of_peer <= 65'536,
                "a peer has granted receives out of bounds");
  fuzz::require(limits.block_size_of_peer >= 64 && limits.block_size_of_peer <= mine.block_size,
                "a frame exceeds the receives of one side");
  fuzz::require(limits.longest <= mine.longest, "a message exceeds what was agreed");
  fuzz::require(mine.dead_after_with(*read).count() >= 20'000'000, "probes come too often");
  // Encoding gives the same bytes.
  const auto again = detail::handshake::decode(read->encode());
  fuzz::require(
      again && again->receives == read->receives &&
          again->granted_at_start == read->granted_at_start && again->longest == read->longest &&
          again->resumes == read->resumes && again->is_resumption == read->is_resumption &&
          again->has_finished == read->has_finished && again->session == read->session &&
          again->resume_within == read->resume_within && again->point.next == read->point.next &&
          again->point.ends == read->point.ends && again->point.granted == read->point.granted &&
          again->point.has_close == read->point.has_close,
      "a handshake changes when it is encoded");
  fuzz::require(read->point.granted <= read->receives, "a peer grants more than its receives");
  fuzz::require(read->resumes || (!read->is_resumption && !mine.resumes_with(*read)),
                "a link resumes although its peer does not");
  fuzz::require(!read->is_resumption || read->resume_within == 0, "a session has two times");
}

/// Cuts the input into pieces, whose size is in its first byte.
void read_stream(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  const std::size_t piece = std::to_integer<std::size_t>(bytes.front()) % 31 + 1;
  bytes = bytes.subspan(1);
  std::array<std::byte, 80> block{};
  std::vector<std::byte> landing;
  frame_stream stream;
  stream.next_frame(block);
  while (!bytes.empty()) {
    std::span<const std::byte> now = bytes.first(std::min(piece, bytes.size()));
    bytes = bytes.subspan(now.size());
    while (!now.empty()) {
      const std::size_t before = now.size();
      switch (stream.take(now)) {
        case frame_stream::outcome::more:
          fuzz::require(now.empty(), "bytes are left although more are needed");
          break;
        case frame_stream::outcome::frame:
          fuzz::require(stream.frame().size() <= block.size(), "a frame exceeds its block");
          stream.next_frame(block);
          break;
        case frame_stream::outcome::landing:
          if (stream.header().length > 1 << 16) return;
          landing.assign(stream.header().length, std::byte{});
          stream.land(landing);
          break;
        case frame_stream::outcome::too_long: return;
      }
      fuzz::require(now.size() < before, "a stream makes no progress");
    }
  }
}

/// Returns the first bytes, if there are enough for an encoded T.
template <class T>
[[nodiscard]] auto encoded(std::span<const std::byte> bytes) {
  std::optional<std::span<const std::byte, T::encoded_size>> found;
  if (bytes.size() >= T::encoded_size) found.emplace(bytes.first<T::encoded_size>());
  return found;
}

/// Decodes a T, checks it with `check`, and encodes it again.
template <class T, class Check>
void decode(std::span<const std::byte> bytes, const Check& check) {
  const auto given = encoded<T>(bytes);
  if (!given) return;
  std::error_code why;
  const T read = T::decode(*given, why);
  if (why) return;
  check(read);
  const auto again = read.encode();
  const T same = T::decode(std::span{again}, why);
  fuzz::require(!why && same == read, "a decoded value changes when it is encoded");
}

void decode_endpoint(std::span<const std::byte> bytes) {
  decode<endpoint>(bytes, [](const endpoint& read) {
    fuzz::require(static_cast<std::uint32_t>(read.number) < 1U << 24U,
                  "a queue pair number has more than 24 bits");
  });
}

void decode_remote_buffers(std::span<const std::byte> bytes) {
  decode<remote_buffer<std::byte, access_right::remote_write>>(bytes, [](const auto& read) {
    fuzz::require(read.address() + read.size_bytes() >= read.address(),
                  "a remote buffer wraps around the address space");
  });
  decode<remote_buffer<std::uint64_t, access_right::remote_atomic>>(bytes, [](const auto& read) {
    fuzz::require(read.empty() || read.address() % 8 == 0, "an atomic is misaligned");
  });
}

void decode_ring(std::span<const std::byte> bytes) {
  decode<ring_description>(bytes, [](const ring_description& read) {
    fuzz::require(read.memory.size_bytes() / read.slots >= read.slot_size,
                  "the slots of a ring exceed its memory");
  });
}

void decode_private_data(std::span<const std::byte> bytes) {
  const cm::private_data data{bytes.first(std::min<std::size_t>(bytes.size(), 196))};
  std::error_code why;
  const auto offer = detail::stream_offer::decode(data, why);
  if (!why) fuzz::require(offer.buffer.is_contiguous(), "the buffer of a stream wraps around");
  if (const auto read = data.as<endpoint>())
    fuzz::require(static_cast<std::uint32_t>(read->number) < 1U << 24U,
                  "a queue pair number has more than 24 bits");
}

void read_header(std::span<const std::byte> bytes) {
  if (bytes.size() < grh_size) return;
  const global_route_header header{bytes.first<grh_size>()};
  static_cast<void>(header.source());
  static_cast<void>(header.destination());
  static_cast<void>(header.hop_limit());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::input in{data, size};
  const std::uint8_t which = in.byte();
  const std::span<const std::byte> rest = in.bytes(size);
  switch (which % 8) {
    case 0: decode_handshake(rest); break;
    case 1: read_stream(rest); break;
    case 2:
      if (rest.size() >= detail::landing_handle::encoded_size) {
        std::error_code why;
        static_cast<void>(detail::landing_handle::decode(
            rest.first<detail::landing_handle::encoded_size>(), why));
      }
      break;
    case 3: decode_endpoint(rest); break;
    case 4: decode_remote_buffers(rest); break;
    case 5: decode_ring(rest); break;
    case 6: decode_private_data(rest); break;
    case 7: read_header(rest); break;
  }
  return 0;
}
