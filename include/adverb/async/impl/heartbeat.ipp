// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <span>
#include <system_error>

#include <adverb/async/detail/heartbeat.hpp>
#include <adverb/async/detail/link.hpp>
#include <adverb/async/device_loop.hpp>
#include <adverb/core/detail/byte_order.hpp>
#include <adverb/request/requests.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// The first bytes of an offer: what no other private data is likely to have there.
inline constexpr std::uint32_t heartbeat_mark = 0x31426861;

ADVERB_FUNC std::optional<heartbeat_offer> heartbeat_offer::of(
    const cm::private_data& data) noexcept {
  const std::span<const std::byte> bytes = data.bytes();
  if (bytes.size() < encoded_size) return std::nullopt;
  const auto offer = bytes.last<encoded_size>();
  if (load_little_endian<0, std::uint32_t>(offer) != heartbeat_mark) return std::nullopt;
  const default_duration<1'000> dead_after{load_little_endian<4, std::uint32_t>(offer)};
  std::error_code why;
  const auto count = decltype(heartbeat_offer::count)::decode(offer.last<24>(), why);
  if (why || count.size() != sizeof(std::uint64_t)) return std::nullopt;
  return heartbeat_offer{count, dead_after};
}

ADVERB_FUNC cm::private_data heartbeat_offer::behind(const cm::private_data& data, std::size_t size,
                                                     on_failure policy) const {
  policy.clear();
  if (data.size() + encoded_size > size) {
    policy.report(EINVAL, "async::connection_options", [&](failure_description& description) {
      description.explain("the private data has {} bytes, but beside dead_after it can have {}",
                          {data.size(), size - encoded_size});
    });
    return {};
  }
  std::array<std::byte, cm::private_data::capacity> bytes{};
  std::ranges::copy(data.bytes(), bytes.begin());
  std::array<std::byte, encoded_size> offer{};
  store_little_endian<0, std::uint32_t>(offer, heartbeat_mark);
  store_little_endian<4, std::uint32_t>(offer,
                                        static_cast<std::uint32_t>(dead_after.in_milliseconds()));
  std::ranges::copy(count.encode(), offer.begin() + 8);
  std::ranges::copy(offer, bytes.begin() + static_cast<std::ptrdiff_t>(size - encoded_size));
  return std::span<const std::byte>{bytes}.first(size);
}

ADVERB_FUNC heartbeat::heartbeat(reliable_link& of, protection_domain_ref domain,
                                 timeout dead_after, on_failure policy)
    : link_{&of},
      memory_{domain, 2 * count_size, access_right::local_write | access_right::remote_write,
              policy},
      dead_after_{dead_after} {}

ADVERB_FUNC heartbeat_offer heartbeat::offer() const {
  return {.count = memory_.region.remote_writable().slice(count_of_peer, count_size),
          .dead_after = dead_after_};
}

ADVERB_FUNC void heartbeat::begin(const heartbeat_offer& of_peer, bool waits_for_peer) noexcept {
  // A peer cannot demand more.
  constexpr std::int64_t shortest = 5'000'000;
  const std::int64_t now = deadline::now();
  peer_ = of_peer;
  interval_ = std::max(shortest, std::min(dead_after_.count(), peer_.dead_after.count()) / 4);
  watch_ = heartbeat_watch{(dead_after_.count() - 1) / interval_ + 1};
  waits_for_peer_ = waits_for_peer;
  link_->loop().set_timer(timer_, now);
}

ADVERB_FUNC void heartbeat::beat(timer& which) {
  heartbeat& self = *static_cast<beat_timer&>(which).owner;
  if (!self.link_->is_open()) return;
  const std::int64_t now = deadline::now();
  std::uint64_t count = 0;
  std::memcpy(&count, &self.memory_.bytes[count_of_peer], count_size);
  if (self.watch_.look(count, self.link_->is_audible())) return self.link_->note_dead_peer();
  if (!self.waits_for_peer_ || self.watch_.has_heard()) {
    ++self.beats_;
    std::memcpy(&self.memory_.bytes[own_count], &self.beats_, count_size);
    if (!self.waiter_.is_waiting() && !self.write_count()) self.link_->wait_for_room(self.waiter_);
  }
  self.link_->loop().set_timer(self.timer_, now + self.interval_);
}

ADVERB_FUNC bool heartbeat::write_with_room(async::waiter& which) {
  auto& waiter = static_cast<count_waiter&>(which);
  const bool may_write = waiter.owner->link_->is_open() && !waiter.is_cancelled;
  if (may_write && !waiter.owner->write_count()) return false;
  waiter.leave();
  waiter.is_cancelled = false;
  return true;
}

ADVERB_FUNC bool heartbeat::write_count() noexcept {
  const send_window_result posted =
      link_->sends().post(write(peer_.count, memory_.region.buffer().slice(own_count, count_size)));
  if (posted.full()) return false;
  if (!posted) link_->close(posted.code().value());
  return true;
}

}  // namespace adverb::inline ADVERB_ABI::detail
