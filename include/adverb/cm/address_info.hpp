// SPDX-License-Identifier: MIT
// One result of an address lookup.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include <rdma/rdma_cma.h>

#include <adverb/cm/port_space.hpp>
#include <adverb/cm/socket_address.hpp>
#include <adverb/core/transport.hpp>

namespace adverb::inline ADVERB_ABI::cm {

/// One address to connect to or to listen on. Valid as long as its list.
class address_info {
 public:
  constexpr address_info() noexcept = default;
  constexpr address_info(rdma_addrinfo* native) noexcept : native_{native} {}

  /// Returns the address to listen on or connect from; empty if any will do.
  [[nodiscard]] socket_address source() const noexcept {
    return socket_address::from_native(native_->ai_src_addr, native_->ai_src_len);
  }
  /// Returns the address to connect to; empty for listening.
  [[nodiscard]] socket_address destination() const noexcept {
    return socket_address::from_native(native_->ai_dst_addr, native_->ai_dst_len);
  }
  [[nodiscard]] address_family family() const noexcept {
    return static_cast<address_family>(native_->ai_family);
  }
  /// Returns the transport, or nothing if it is unknown.
  [[nodiscard]] std::optional<adverb::transport> transport() const noexcept {
    if (native_->ai_qp_type == 0) return std::nullopt;
    return static_cast<adverb::transport>(native_->ai_qp_type);
  }
  [[nodiscard]] std::optional<cm::port_space> port_space() const noexcept {
    if (native_->ai_port_space == 0) return std::nullopt;
    return static_cast<cm::port_space>(native_->ai_port_space);
  }
  /// Returns true for an address to listen on.
  [[nodiscard]] bool is_passive() const noexcept { return (native_->ai_flags & RAI_PASSIVE) != 0; }
  /// Returns the full name of the source host. Mostly empty, because the lookup does not request
  /// it.
  [[nodiscard]] std::string_view source_name() const noexcept {
    return text_of(native_->ai_src_canonname);
  }
  [[nodiscard]] std::string_view destination_name() const noexcept {
    return text_of(native_->ai_dst_canonname);
  }
  /// Returns the route in the kernel's format: path records if a service (ibacm) knows them, else
  /// empty.
  [[nodiscard]] std::span<const std::byte> route() const noexcept {
    return {static_cast<const std::byte*>(native_->ai_route), native_->ai_route_len};
  }
  /// Returns the data to send with a connection request; else empty.
  [[nodiscard]] std::span<const std::byte> connect_data() const noexcept {
    return {static_cast<const std::byte*>(native_->ai_connect), native_->ai_connect_len};
  }

  [[nodiscard]] constexpr rdma_addrinfo* native_handle() const noexcept { return native_; }
  [[nodiscard]] constexpr explicit operator bool() const noexcept { return native_ != nullptr; }
  friend constexpr bool operator==(address_info, address_info) noexcept = default;

 private:
  [[nodiscard]] static std::string_view text_of(const char* text) noexcept {
    return text == nullptr ? std::string_view{} : text;
  }

  rdma_addrinfo* native_ = nullptr;
};

}  // namespace adverb::inline ADVERB_ABI::cm
