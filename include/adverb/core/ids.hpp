// SPDX-License-Identifier: MIT
// The numbers of the verbs world, each a type of its own, so that one cannot be passed for another.
#pragma once

#include <compare>
#include <cstdint>

#include <adverb/core/text.hpp>

namespace adverb::inline ADVERB_ABI {

/// The local key of a memory region: used by the side that registered it.
enum class lkey : std::uint32_t {};
/// The remote key of a memory region or window: handed to the peer.
enum class rkey : std::uint32_t {};
/// The number of a queue pair (24 bits).
enum class qp_number : std::uint32_t {};
/// The number that a datagram to a multicast group names instead of that of one queue pair.
inline constexpr qp_number multicast_qp_number{0xff'ffff};
/// The number of a shared receive queue of XRC (24 bits): what a request of an XRC initiator names.
enum class shared_receive_queue_number : std::uint32_t {};
/// The number of a work queue (24 bits).
enum class work_queue_number : std::uint32_t {};
/// The queue key of datagrams (UD): a receiver drops what does not carry its own.
enum class queue_key : std::uint32_t {};
/// The number of a port of a device. Ports count from 1.
enum class port_number : std::uint8_t {};
/// An index into the GID table of a port.
enum class gid_index : std::uint8_t {};
/// A local identifier (InfiniBand subnet address); 0 on Ethernet links.
enum class lid : std::uint16_t {};
/// An index into the P_Key table of a port.
enum class pkey_index : std::uint16_t {};
/// A partition key, in host byte order; the top bit is full membership.
enum class pkey : std::uint16_t {};
/// A service level (4 bits).
enum class service_level : std::uint8_t {};

/// What another process imports a protection domain, a memory region or device memory by. Each
/// means something only together with the file descriptor of the context that it belongs to.
enum class protection_domain_handle : std::uint32_t {};
enum class memory_region_handle : std::uint32_t {};
enum class device_memory_handle : std::uint32_t {};

/// The 32 bits that travel with a send or write "with immediate", in host byte order here and in
/// network byte order on the wire.
enum class immediate : std::uint32_t {};

/// A packet sequence number: 24 bits that wrap around, so there is no less-than.
class psn {
 public:
  constexpr psn() noexcept = default;
  /// The low 24 bits of `number`.
  constexpr explicit psn(std::uint32_t number) noexcept : number_{number & mask} {}

  [[nodiscard]] constexpr std::uint32_t value() const noexcept { return number_; }

  /// `count` packets later, wrapping at 2^24.
  friend constexpr psn operator+(psn from, std::uint32_t count) noexcept {
    return psn{from.number_ + count};
  }
  friend constexpr bool operator==(psn, psn) noexcept = default;

 private:
  static constexpr std::uint32_t mask = 0xff'ffff;
  std::uint32_t number_ = 0;
};

namespace detail {

constexpr static_string<24> hexadecimal_text(std::uint64_t number,
                                             std::size_t digits = 1) noexcept {
  return static_string<24>{
      [&](text_writer& writer) { writer.put("0x").hexadecimal(number, digits); }};
}

constexpr static_string<24> decimal_text(std::uint64_t number) noexcept {
  return static_string<24>{[&](text_writer& writer) { writer.decimal(number); }};
}

}  // namespace detail

// Keys and what the wire shows in base 16 print so; indices and counts print in base 10.
[[nodiscard]] constexpr static_string<24> to_text(lkey key) noexcept {
  return detail::hexadecimal_text(static_cast<std::uint32_t>(key));
}
[[nodiscard]] constexpr static_string<24> to_text(rkey key) noexcept {
  return detail::hexadecimal_text(static_cast<std::uint32_t>(key));
}
[[nodiscard]] constexpr static_string<24> to_text(qp_number number) noexcept {
  return detail::hexadecimal_text(static_cast<std::uint32_t>(number));
}
[[nodiscard]] constexpr static_string<24> to_text(shared_receive_queue_number number) noexcept {
  return detail::hexadecimal_text(static_cast<std::uint32_t>(number));
}
[[nodiscard]] constexpr static_string<24> to_text(work_queue_number number) noexcept {
  return detail::hexadecimal_text(static_cast<std::uint32_t>(number));
}
[[nodiscard]] constexpr static_string<24> to_text(queue_key key) noexcept {
  return detail::hexadecimal_text(static_cast<std::uint32_t>(key));
}
[[nodiscard]] constexpr static_string<24> to_text(lid identifier) noexcept {
  return detail::hexadecimal_text(static_cast<std::uint16_t>(identifier), 4);
}
[[nodiscard]] constexpr static_string<24> to_text(pkey key) noexcept {
  return detail::hexadecimal_text(static_cast<std::uint16_t>(key), 4);
}
[[nodiscard]] constexpr static_string<24> to_text(immediate data) noexcept {
  return detail::hexadecimal_text(static_cast<std::uint32_t>(data));
}
[[nodiscard]] constexpr static_string<24> to_text(psn number) noexcept {
  return detail::hexadecimal_text(number.value(), 6);
}
[[nodiscard]] constexpr static_string<24> to_text(port_number number) noexcept {
  return detail::decimal_text(static_cast<std::uint8_t>(number));
}
[[nodiscard]] constexpr static_string<24> to_text(gid_index index) noexcept {
  return detail::decimal_text(static_cast<std::uint8_t>(index));
}
[[nodiscard]] constexpr static_string<24> to_text(pkey_index index) noexcept {
  return detail::decimal_text(static_cast<std::uint16_t>(index));
}
[[nodiscard]] constexpr static_string<24> to_text(protection_domain_handle handle) noexcept {
  return detail::decimal_text(static_cast<std::uint32_t>(handle));
}
[[nodiscard]] constexpr static_string<24> to_text(memory_region_handle handle) noexcept {
  return detail::decimal_text(static_cast<std::uint32_t>(handle));
}
[[nodiscard]] constexpr static_string<24> to_text(device_memory_handle handle) noexcept {
  return detail::decimal_text(static_cast<std::uint32_t>(handle));
}
[[nodiscard]] constexpr static_string<24> to_text(service_level level) noexcept {
  return detail::decimal_text(static_cast<std::uint8_t>(level));
}

}  // namespace adverb::inline ADVERB_ABI
