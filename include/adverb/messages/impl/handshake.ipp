// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>

#include <sys/random.h>

#include <adverb/async/detail/heartbeat.hpp>
#include <adverb/core/detail/byte_order.hpp>
#include <adverb/core/failure.hpp>
#include <adverb/messages/detail/handshake.hpp>

namespace adverb::inline ADVERB_ABI::detail {

inline constexpr std::uint32_t handshake_mark = 0x314d6461;

/// The flags of a handshake.
struct handshake_flags {
  static constexpr std::uint32_t is_blocking = 1;
  static constexpr std::uint32_t resumes = 2;
  static constexpr std::uint32_t is_resumption = 4;
  static constexpr std::uint32_t has_close = 8;
  static constexpr std::uint32_t has_finished = 16;
};

ADVERB_FUNC handshake handshake::of(const messages::channel_options& options, on_failure policy) {
  policy.clear();
  const auto refuse = [&](const char* why) {
    policy.report(EINVAL, "messages::channel_options",
                  [&](failure_description& description) { description.explain(why); });
    return handshake{};
  };
  if (options.receives < message_credits::least_receives || options.receives > most_receives)
    return refuse("receives must be at least 4, and at most 65536");
  if (options.block_size < least_block_size) return refuse("block_size must be at least 64 bytes");
  if (options.max_frames < 4) return refuse("max_frames must be at least 4");
  const bool is_endless = options.dead_after.is_endless();
  if (!is_endless && options.dead_after.count() < 20'000'000)
    return refuse("dead_after must be at least 20 milliseconds");
  return {.is_blocking = options.is_blocking,
          .receives = options.receives,
          .block_size = options.block_size,
          .longest = options.longest,
          .dead_after =
              is_endless ? 0 : static_cast<std::uint32_t>(options.dead_after.in_milliseconds()),
          .resumes = options.resume_within.count() != 0,
          .resume_within = static_cast<std::uint32_t>(options.resume_within.in_milliseconds())};
}

ADVERB_FUNC cm::private_data handshake::encode() const {
  std::array<std::byte, encoded_size> bytes{};
  store_little_endian<0, std::uint32_t>(bytes, handshake_mark);
  bytes[4] = std::byte{lowest_version};
  bytes[5] = std::byte{highest_version};
  std::uint32_t flags = is_blocking ? handshake_flags::is_blocking : 0;
  if (resumes) flags |= handshake_flags::resumes;
  if (is_resumption) flags |= handshake_flags::is_resumption;
  if (point.has_close) flags |= handshake_flags::has_close;
  if (has_finished) flags |= handshake_flags::has_finished;
  store_little_endian<6, std::uint16_t>(bytes, static_cast<std::uint16_t>(flags));
  store_little_endian<8, std::uint32_t>(bytes, receives);
  store_little_endian<12, std::uint32_t>(bytes, block_size);
  store_little_endian<16, std::uint32_t>(bytes, longest);
  store_little_endian<20, std::uint32_t>(bytes, dead_after);
  store_little_endian<32, std::uint32_t>(bytes, is_resumption ? point.next : granted_at_start);
  if (resumes) {
    store_little_endian<24, std::uint64_t>(bytes, session);
    store_little_endian<36, std::uint32_t>(bytes, point.ends);
    store_little_endian<40, std::uint32_t>(bytes, is_resumption ? point.granted : resume_within);
  }
  return std::span<const std::byte>{bytes};
}

ADVERB_FUNC std::optional<handshake> handshake::decode(const cm::private_data& data) noexcept {
  // InfiniBand pads the private data.
  if (data.bytes().size() < encoded_size) return std::nullopt;
  // A channel finds a dead peer by its frames, and takes no heartbeats.
  if (heartbeat_offer::of(data)) return std::nullopt;
  const auto bytes = data.bytes().first<encoded_size>();
  if (load_little_endian<0, std::uint32_t>(bytes) != handshake_mark) return std::nullopt;
  const std::uint32_t flags = load_little_endian<6, std::uint16_t>(bytes);
  const auto has = [&](std::uint32_t flag) { return (flags & flag) != 0; };
  handshake read{.lowest_version = std::to_integer<std::uint8_t>(bytes[4]),
                 .highest_version = std::to_integer<std::uint8_t>(bytes[5]),
                 .is_blocking = has(handshake_flags::is_blocking),
                 .receives = load_little_endian<8, std::uint32_t>(bytes),
                 .block_size = load_little_endian<12, std::uint32_t>(bytes),
                 .longest = load_little_endian<16, std::uint32_t>(bytes),
                 .dead_after = load_little_endian<20, std::uint32_t>(bytes),
                 .resumes = has(handshake_flags::resumes)};
  read.is_resumption = read.resumes && has(handshake_flags::is_resumption);
  const auto next = load_little_endian<32, std::uint32_t>(bytes);
  if (!read.is_resumption) read.granted_at_start = next;
  const bool is_valid =
      read.receives >= message_credits::least_receives && read.receives <= most_receives &&
      read.block_size >= least_block_size &&
      (read.granted_at_start == 0 || (read.granted_at_start >= message_credits::least_receives &&
                                      read.granted_at_start <= read.receives));
  if (!is_valid) return std::nullopt;
  if (!read.resumes) return read;
  read.has_finished = read.is_resumption && has(handshake_flags::has_finished);
  read.session = load_little_endian<24, std::uint64_t>(bytes);
  const auto last = load_little_endian<40, std::uint32_t>(bytes);
  if (!read.is_resumption) {
    read.resume_within = last;
    if (read.session == 0 || last == 0) {
      read.resumes = false;
      read.session = read.resume_within = 0;
    }
    return read;
  }
  read.point = {.next = next,
                .ends = load_little_endian<36, std::uint32_t>(bytes),
                .granted = last,
                .has_close = has(handshake_flags::has_close)};
  return read.point.granted <= read.receives ? std::optional{read} : std::nullopt;
}

ADVERB_FUNC handshake handshake::resumed_at(const session_point& at) const noexcept {
  handshake made = *this;
  made.is_resumption = true;
  made.point = at;
  return made;
}

ADVERB_FUNC handshake handshake::of_unknown_session() const noexcept {
  handshake made = *this;
  made.resumes = made.is_resumption = true;
  made.session = 0;
  return made;
}

ADVERB_FUNC handshake handshake::of_finished_session(std::uint64_t finished) const noexcept {
  handshake made = *this;
  made.resumes = made.is_resumption = made.has_finished = true;
  made.session = finished;
  return made;
}

ADVERB_FUNC std::uint64_t handshake::new_session(on_failure policy) noexcept {
  policy.clear();
  std::uint64_t made = 0;
  while (made == 0)
    if (::getrandom(&made, sizeof made, 0) != sizeof made) {
      if (errno == EINTR) continue;
      policy.report(errno, "getrandom", [](failure_description&) {});
      return 0;
    }
  return made;
}

ADVERB_FUNC session_limits handshake::limits_with(const handshake& of_peer) const noexcept {
  return {.receives = receives,
          .receives_of_peer = of_peer.receives,
          .granted_by_peer = of_peer.granted_at_start,
          .block_size_of_peer = std::min(block_size, of_peer.block_size),
          .longest = std::min(longest, of_peer.longest),
          .peer_may_be_silent = of_peer.is_blocking,
          .resumes = resumes_with(of_peer)};
}

ADVERB_FUNC timeout handshake::resume_within_with(const handshake& of_peer) const noexcept {
  return default_duration<1'000>{std::min(resume_within, of_peer.resume_within)};
}

ADVERB_FUNC timeout handshake::dead_after_with(const handshake& of_peer) const noexcept {
  if (dead_after == 0 && of_peer.dead_after == 0) return timeout::endless();
  constexpr std::uint32_t shortest = 20;
  // The peer cannot demand more. 0 is the largest here.
  return default_duration<1'000>{
      std::max(shortest, std::min(dead_after - 1, of_peer.dead_after - 1) + 1)};
}

}  // namespace adverb::inline ADVERB_ABI::detail
