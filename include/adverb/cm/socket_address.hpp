// SPDX-License-Identifier: MIT
// Addresses of listeners and peers: an IP address and a port, or a native InfiniBand address.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <type_traits>

#include <netinet/in.h>
#include <rdma/rdma_cma.h>
#include <sys/socket.h>

#include <adverb/core/ids.hpp>
#include <adverb/core/text.hpp>
#include <adverb/core/transport.hpp>
#include <adverb/device/network_address.hpp>
#include <adverb/fwd.hpp>

namespace adverb::inline ADVERB_ABI::cm {

/// The space in which a port number is unique; it implies the transport.
enum class port_space : std::uint32_t {
  /// Connections (RC).
  tcp = RDMA_PS_TCP,
  /// Datagrams (UD).
  udp = RDMA_PS_UDP,
  /// Datagrams that also IP over InfiniBand receives (UD).
  ipoib = RDMA_PS_IPOIB,
  /// InfiniBand's own service IDs, for any transport; the only space for UC and XRC.
  infiniband = RDMA_PS_IB,
};

/// Returns the port space for a transport.
[[nodiscard]] constexpr port_space port_space_of(transport service) noexcept {
  switch (service) {
    case transport::rc: return port_space::tcp;
    case transport::ud: return port_space::udp;
    default: return port_space::infiniband;
  }
}

/// The family of an address.
enum class address_family : std::uint16_t {
  /// The family of an empty address. In a selection, any family.
  unspecified = AF_UNSPEC,
  ipv4 = AF_INET,
  ipv6 = AF_INET6,
  /// InfiniBand's own: a GID and a service ID.
  infiniband = AF_IB,
};

[[nodiscard]] constexpr static_string<48> to_text(address_family family) noexcept {
  const auto name = [family]() -> std::string_view {
    switch (family) {
      case address_family::unspecified: return "unspecified";
      case address_family::ipv4: return "IPv4";
      case address_family::ipv6: return "IPv6";
      case address_family::infiniband: return "InfiniBand";
    }
    return {};
  };
  return detail::name_or_number(name(), static_cast<std::uint16_t>(family));
}

/// The InfiniBand counterpart of an IP port.
enum class service_id : std::uint64_t {};

/// Returns the service ID of a port.
[[nodiscard]] constexpr service_id service_id_of(port_space space, std::uint16_t port) noexcept {
  return service_id{std::uint64_t{static_cast<std::uint32_t>(space)} << 16 | port};
}

}  // namespace adverb::inline ADVERB_ABI::cm

namespace adverb::inline ADVERB_ABI::detail {

/// True for a text in the place of an address.
template <class T>
concept address_text =
    std::convertible_to<const T&, std::string_view> && !std::is_null_pointer_v<T>;

/// Rejects at compile time a text in the place of an address.
template <class Text>
consteval void reject_address_text() noexcept {
  static_assert(!address_text<Text>,
                "an address is a cm::socket_address, not a text: pass "
                "cm::socket_address::parse(text, port).value(), or look up a host by its name with "
                "cm::connect(host, port) or cm::address_list{host, port}");
}

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI::cm {

/// An address of any family that librdmacm supports, with its port:
///
///     socket_address{ipv4_address{10, 0, 0, 1}, 7471}
///     socket_address::parse("fe80::1%eth0", 7471)
///
/// A value type, empty by default. `address_list` resolves host names.
class socket_address {
 public:
  socket_address() noexcept = default;
  socket_address(const ipv4_address& address, std::uint16_t port) noexcept;
  /// Creates an IPv6 address. `scope` is the interface index of a link-local address.
  socket_address(const ipv6_address& address, std::uint16_t port, std::uint32_t scope = 0) noexcept;
  /// Creates a native InfiniBand address, which librdmacm accepts for identifiers of any port
  /// space. The default partition key is 0xffff.
  socket_address(const gid& address, service_id service, pkey partition = pkey{0xffff}) noexcept;
  /// Rejected at compile time: explains how to get an address from a text.
  template <detail::address_text Text, class... Rest>
  explicit socket_address(const Text&, const Rest&...) noexcept {
    detail::reject_address_text<Text>();
  }
  /// Copies a C API address. Returns an empty address if the family is none of these or the length
  /// is too short.
  [[nodiscard]] static socket_address from_native(const sockaddr* address,
                                                  socklen_t length) noexcept;

  /// Returns the wildcard for listening on every address of this machine, IPv4 and IPv6.
  [[nodiscard]] static socket_address any(std::uint16_t port) noexcept {
    return {ipv6_address{}, port};
  }
  /// Returns the wildcard for every IPv4 address of this machine.
  [[nodiscard]] static socket_address any_ipv4(std::uint16_t port) noexcept {
    return {ipv4_address{}, port};
  }

  /// Parses a numeric address: "10.0.0.1", "2001:db8::1", "fe80::1%eth0" (a local interface by name
  /// or index). Returns nothing if the text is no such address.
  [[nodiscard]] static std::optional<socket_address> parse(std::string_view address,
                                                           std::uint16_t port) noexcept;

  /// Returns true for an address without a family.
  [[nodiscard]] bool is_empty() const noexcept { return family() == address_family::unspecified; }
  /// Returns true for a multicast group: 224.0.0.0 to 239.255.255.255, ff00::/8.
  [[nodiscard]] bool is_multicast() const noexcept;
  /// Returns the address family.
  [[nodiscard]] address_family family() const noexcept {
    return static_cast<address_family>(storage_.ss_family);
  }
  /// Returns the length of the C API struct, in bytes.
  [[nodiscard]] socklen_t length() const noexcept { return length_; }
  /// Returns the port; 0 if there is none or none is chosen yet.
  [[nodiscard]] std::uint16_t port() const noexcept;
  /// Returns the same address with another port. Native addresses keep the port space of their
  /// service.
  [[nodiscard]] socket_address with_port(std::uint16_t port) const noexcept;

  /// Returns the IPv4 address, or nothing for another family.
  [[nodiscard]] std::optional<ipv4_address> ipv4() const noexcept;
  /// Returns the IPv6 address, or nothing for another family.
  [[nodiscard]] std::optional<ipv6_address> ipv6() const noexcept;
  /// Returns the interface index of a link-local IPv6 address; 0 if it has none.
  [[nodiscard]] std::uint32_t scope() const noexcept {
    return family() == address_family::ipv6 ? as<sockaddr_in6>().sin6_scope_id : 0;
  }
  /// Returns the GID of a native address.
  [[nodiscard]] std::optional<gid> infiniband() const noexcept;
  /// Returns the service ID of a native address.
  [[nodiscard]] std::optional<service_id> service() const noexcept;
  /// Returns the partition key of a native address.
  [[nodiscard]] std::optional<pkey> partition() const noexcept;

  /// Returns true for a wildcard, which stands for every address of a machine.
  [[nodiscard]] bool is_any() const noexcept;
  /// Returns true for an IPv6 address that is valid on one link only and so needs a scope.
  [[nodiscard]] bool is_link_local() const noexcept;

  /// Returns the address for the C API, which takes a non-const pointer but does not modify it.
  [[nodiscard]] sockaddr* native() const noexcept {
    return is_empty() ? nullptr : reinterpret_cast<sockaddr*>(&storage_);
  }

  friend bool operator==(const socket_address& left, const socket_address& right) noexcept {
    return left.length_ == right.length_ &&
           std::memcmp(&left.storage_, &right.storage_, left.length_) == 0;
  }

 private:
  [[nodiscard]] static std::uint32_t index_of_interface(std::string_view name) noexcept;
  [[nodiscard]] static std::uint16_t port_of(service_id service) noexcept;

  template <std::size_t Size, class Native>
  [[nodiscard]] static std::array<std::uint8_t, Size> bytes_of(const Native& native) noexcept {
    static_assert(sizeof native == Size);
    std::array<std::uint8_t, Size> bytes{};
    std::memcpy(bytes.data(), &native, Size);
    return bytes;
  }
  template <class Native>
  [[nodiscard]] Native as() const noexcept {
    Native native{};
    std::memcpy(&native, &storage_, sizeof native);
    return native;
  }
  template <class Native>
  void store(const Native& native) noexcept {
    std::memcpy(&storage_, &native, sizeof native);
    length_ = sizeof native;
  }
  template <class Native>
  void copy(const sockaddr* address, socklen_t length) noexcept {
    if (length < sizeof(Native)) return;
    Native native{};
    std::memcpy(&native, address, sizeof native);
    // Clears padding bytes, so that they do not affect comparison.
    if constexpr (requires { native.sin_zero; })
      std::memset(native.sin_zero, 0, sizeof native.sin_zero);
    store(native);
  }

  mutable sockaddr_storage storage_{};
  socklen_t length_ = 0;
};

/// Formats as "10.0.0.1:7471", "[fe80::1%eth0]:7471" or "[fe80::1] service 0x1061d2f pkey 0xffff".
[[nodiscard]] static_string<96> to_text(const socket_address& address) noexcept;

}  // namespace adverb::inline ADVERB_ABI::cm

namespace adverb::inline ADVERB_ABI::detail {

/// Returns the address of one side of an identifier. Empty if it is unset: the kernel then returns
/// zeros, sometimes with a family.
[[nodiscard]] cm::socket_address address_in(const sockaddr* address) noexcept;

}  // namespace adverb::inline ADVERB_ABI::detail

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/cm/impl/socket_address.ipp>
#endif
