// SPDX-License-Identifier: MIT
// Global identifiers (GIDs): the addresses of ports, and the entries of a GID table.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <endian.h>
#include <infiniband/verbs.h>

#include <adverb/core/ids.hpp>
#include <adverb/core/text.hpp>

namespace adverb::inline ADVERB_ABI {

/// A 64-bit globally unique identifier of a device, in host byte order.
enum class guid : std::uint64_t {};

/// Formats a GUID: "5054:00ff:fe12:3456".
[[nodiscard]] constexpr static_string<24> to_text(guid identifier) noexcept {
  const auto number = static_cast<std::uint64_t>(identifier);
  return static_string<24>{[&](text_writer& writer) {
    for (int shift = 48; shift >= 0; shift -= 16)
      writer.hexadecimal((number >> shift) & 0xffff, 4).put(shift != 0 ? ":" : "");
  }};
}

namespace detail {
[[nodiscard]] inline guid guid_from_network(std::uint64_t number) noexcept {
  return static_cast<guid>(be64toh(number));
}
}  // namespace detail

/// The 128-bit address of a port. On RoCE it is an IPv6 address or an IPv4-mapped one.
class gid {
 public:
  /// Makes the empty GID, all zeros.
  constexpr gid() noexcept = default;
  constexpr explicit gid(const std::array<std::uint8_t, 16>& bytes) noexcept : bytes_{bytes} {}
  template <std::same_as<ibv_gid> Native>
  explicit gid(const Native& native) noexcept {
    std::memcpy(bytes_.data(), native.raw, bytes_.size());
  }

  /// Returns the bytes in network order.
  [[nodiscard]] constexpr const std::array<std::uint8_t, 16>& bytes() const noexcept {
    return bytes_;
  }
  [[nodiscard]] ibv_gid native() const noexcept {
    ibv_gid native;
    std::memcpy(native.raw, bytes_.data(), bytes_.size());
    return native;
  }

  /// Returns true if all bytes are 0, as in an unused entry of the table.
  [[nodiscard]] constexpr bool is_empty() const noexcept { return *this == gid{}; }
  /// Returns true for a GID that is valid on its link only (fe80::/64).
  [[nodiscard]] constexpr bool is_link_local() const noexcept {
    return bytes_[0] == 0xfe && (bytes_[1] & 0xc0) == 0x80;
  }
  /// Returns true for ::ffff:a.b.c.d.
  [[nodiscard]] constexpr bool is_ipv4_mapped() const noexcept {
    // Compared at once: a loop would look at each byte.
    std::array<std::uint8_t, 16> prefix = bytes_;
    prefix[12] = prefix[13] = prefix[14] = prefix[15] = 0;
    return prefix ==
           std::array<std::uint8_t, 16>{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0};
  }
  /// Returns true for a multicast address: ff00::/8, or IPv4 from 224.0.0.0 to 239.255.255.255.
  [[nodiscard]] constexpr bool is_multicast() const noexcept {
    return bytes_[0] == 0xff || (is_ipv4_mapped() && (bytes_[12] & 0xf0) == 0xe0);
  }
  /// Returns true if both have the same subnet prefix (the upper 64 bits).
  [[nodiscard]] constexpr bool same_subnet(const gid& other) const noexcept {
    for (std::size_t index = 0; index < 8; ++index)
      if (bytes_[index] != other.bytes_[index]) return false;
    return true;
  }

  friend constexpr bool operator==(const gid&, const gid&) noexcept = default;

 private:
  std::array<std::uint8_t, 16> bytes_{};
};

/// Formats a GID as an IPv6 address: "fe80::5054:ff:fe12:3456", "::ffff:10.0.0.1".
[[nodiscard]] constexpr static_string<40> to_text(const gid& address) noexcept {
  const auto& bytes = address.bytes();
  const auto group = [&](std::size_t index) {
    return static_cast<unsigned>(bytes[2 * index] << 8 | bytes[2 * index + 1]);
  };
  // The longest run of two or more zero groups is written "::".
  std::size_t run_begin = 8;
  std::size_t run_end = 8;
  for (std::size_t begin = 0; begin < 8; ++begin) {
    std::size_t end = begin;
    while (end < 8 && group(end) == 0) ++end;
    if (end - begin < 2 || end - begin <= run_end - run_begin) continue;
    run_begin = begin;
    run_end = end;
  }
  return static_string<40>{[&](text_writer& writer) {
    if (address.is_ipv4_mapped()) {
      writer.put("::ffff");
      for (std::size_t index = 12; index < 16; ++index)
        writer.put(index == 12 ? ":" : ".").decimal(bytes[index]);
      return;
    }
    for (std::size_t index = 0; index < 8; ++index) {
      if (index == run_begin) {
        writer.put("::");
        index = run_end - 1;
        continue;
      }
      writer.put(index != 0 && index != run_end ? ":" : "").hexadecimal(group(index));
    }
  }};
}

/// The kind of packets for which a GID is used.
enum class gid_type : std::uint32_t {
  infiniband = IBV_GID_TYPE_IB,
  roce_v1 = IBV_GID_TYPE_ROCE_V1,
  roce_v2 = IBV_GID_TYPE_ROCE_V2,
};

[[nodiscard]] constexpr static_string<48> to_text(gid_type type) noexcept {
  constexpr std::string_view names = "InfiniBand|RoCE v1|RoCE v2";
  const auto number = static_cast<std::uint32_t>(type);
  return detail::listed_name_or_number(names, number);
}

/// One entry of the GID table of a device.
class gid_entry {
 public:
  gid_entry() noexcept = default;
  /// Copies the C API struct.
  explicit gid_entry(const ibv_gid_entry& native) noexcept : native_{native} {}

  /// Returns the GID.
  [[nodiscard]] adverb::gid gid() const noexcept { return adverb::gid{native_.gid}; }
  /// Returns the index of the entry in the table of its port.
  [[nodiscard]] gid_index index() const noexcept {
    return static_cast<gid_index>(native_.gid_index);
  }
  /// Returns the port of the entry.
  [[nodiscard]] port_number port() const noexcept {
    return static_cast<port_number>(native_.port_num);
  }
  /// Returns the type of the GID: InfiniBand, RoCE v1 or RoCE v2.
  [[nodiscard]] gid_type type() const noexcept { return static_cast<gid_type>(native_.gid_type); }
  /// Returns the index of the GID's network interface (see if_nametoindex(3)); 0 if there is none.
  [[nodiscard]] std::uint32_t network_interface() const noexcept { return native_.ndev_ifindex; }

  [[nodiscard]] const ibv_gid_entry& native() const noexcept { return native_; }

 private:
  ibv_gid_entry native_{};
};

namespace detail {

static_assert(sizeof(gid_entry) == sizeof(ibv_gid_entry) && std::is_standard_layout_v<gid_entry>);

/// Converts entries for the C API to fill in. Each is pointer-interconvertible with its only
/// member. This is the only such cast.
[[nodiscard]] inline ibv_gid_entry* native_gid_entries(gid_entry* first) noexcept {
  return reinterpret_cast<ibv_gid_entry*>(first);
}

}  // namespace detail

/// Formats an entry as index, type and address: "1 (RoCE v2, ::ffff:10.0.0.1)".
[[nodiscard]] inline static_string<96> to_text(const gid_entry& entry) noexcept {
  return static_string<96>{[&](text_writer& writer) {
    writer.put(entry.index()).put(" (").put(entry.type()).put(", ").put(entry.gid()).put(")");
  }};
}

}  // namespace adverb::inline ADVERB_ABI
