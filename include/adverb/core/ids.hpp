// SPDX-License-Identifier: MIT
// The numbers of the verbs API, as distinct types that cannot be mixed up.
#pragma once

#include <compare>
#include <cstdint>

#include <adverb/core/text.hpp>

namespace adverb::inline ADVERB_ABI {

/// The local key of a memory region, for work requests of the side that registered it.
enum class lkey : std::uint32_t {};
/// The remote key of a memory region or window, for work requests of the peer.
enum class rkey : std::uint32_t {};
/// The number of a queue pair (24 bits).
enum class qp_number : std::uint32_t {};
/// The queue pair number in datagrams to a multicast group.
inline constexpr qp_number multicast_qp_number{0xff'ffff};
/// The number of an XRC shared receive queue (24 bits). Requests of an XRC initiator carry it.
enum class shared_receive_queue_number : std::uint32_t {};
/// The number of a work queue (24 bits).
enum class work_queue_number : std::uint32_t {};
/// The queue key of datagrams (UD). A receiver drops datagrams that do not carry its own key.
enum class queue_key : std::uint32_t {};
/// The number of a port of a device. Ports count from 1.
enum class port_number : std::uint8_t {};
/// An index into the GID table of a port.
enum class gid_index : std::uint8_t {};
/// A local identifier (InfiniBand subnet address); 0 on Ethernet links.
enum class lid : std::uint16_t {};
/// An index into the P_Key table of a port.
enum class pkey_index : std::uint16_t {};
/// A partition key, in host byte order. The top bit marks full membership.
enum class pkey : std::uint16_t {};
/// A service level (4 bits).
enum class service_level : std::uint8_t {};

/// Handles by which another process imports a protection domain, a memory region or device memory.
/// Each is valid only together with the command file descriptor of its context.
enum class protection_domain_handle : std::uint32_t {};
/// The handle by which another process imports a memory region.
enum class memory_region_handle : std::uint32_t {};
/// The handle by which another process imports device memory.
enum class device_memory_handle : std::uint32_t {};

/// The 32 bits of immediate data of a send or write. Host byte order here, network byte order on
/// the wire.
enum class immediate : std::uint32_t {};

/// A packet sequence number (PSN): 24 bits that wrap around, so it has no less-than.
class psn {
 public:
  constexpr psn() noexcept = default;
  /// Keeps the low 24 bits of `number`.
  constexpr explicit psn(std::uint32_t number) noexcept : number_{number & mask} {}

  /// Returns the number.
  [[nodiscard]] constexpr std::uint32_t value() const noexcept { return number_; }

  /// Returns the number `count` packets later, modulo 2^24.
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
  if (!std::is_constant_evaluated()) return run_time_decimal_text(number);
  return static_string<24>{[&](text_writer& writer) { writer.decimal(number); }};
}

}  // namespace detail

// Keys and the fields usually shown in base 16 print in base 16; indices and counts in base 10.
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
