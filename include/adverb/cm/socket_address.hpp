// SPDX-License-Identifier: MIT
// Where a connection manager listens and connects to: an IP address and a port, or a native one.
#pragma once

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <rdma/rdma_cma.h>
#include <sys/socket.h>

#include <adverb/core/handle.hpp>
#include <adverb/core/text.hpp>
#include <adverb/steering/network_address.hpp>

namespace adverb::inline ADVERB_ABI::cm {

/// An address of any family that librdmacm knows, with its port, by value:
///
///     socket_address{ipv4_address{10, 0, 0, 1}, 7471}
///     socket_address::parse("fe80::1", 7471)
///
/// Names of hosts are resolved by `address_list`. Empty by default.
class socket_address {
 public:
  socket_address() noexcept = default;
  socket_address(const ipv4_address& address, std::uint16_t port) noexcept {
    sockaddr_in native{};
    native.sin_family = AF_INET;
    native.sin_port = htons(port);
    std::memcpy(&native.sin_addr, address.bytes().data(), address.bytes().size());
    store(&native, sizeof native);
  }
  /// `scope` is the index of the interface that a link-local address belongs to.
  socket_address(const ipv6_address& address, std::uint16_t port,
                 std::uint32_t scope = 0) noexcept {
    sockaddr_in6 native{};
    native.sin6_family = AF_INET6;
    native.sin6_port = htons(port);
    native.sin6_scope_id = scope;
    std::memcpy(&native.sin6_addr, address.bytes().data(), address.bytes().size());
    store(&native, sizeof native);
  }
  /// A copy of one of the C API; empty when the length fits no family.
  socket_address(adopt_t, const sockaddr* address, socklen_t length) noexcept {
    if (address != nullptr && length >= sizeof address->sa_family && length <= sizeof storage_)
      store(address, length);
  }

  /// Every address of this machine, IPv4 and IPv6: to listen on.
  [[nodiscard]] static socket_address any(std::uint16_t port) noexcept {
    return {ipv6_address{}, port};
  }
  /// Every IPv4 address of this machine.
  [[nodiscard]] static socket_address any_ipv4(std::uint16_t port) noexcept {
    return {ipv4_address{}, port};
  }

  /// From numbers: "10.0.0.1", "fe80::1". Nothing when the text is neither.
  [[nodiscard]] static std::optional<socket_address> parse(std::string_view address,
                                                           std::uint16_t port) noexcept {
    std::array<char, INET6_ADDRSTRLEN> copy{};
    if (address.size() >= copy.size()) return std::nullopt;
    address.copy(copy.data(), address.size());
    std::array<std::uint8_t, 16> bytes{};
    if (::inet_pton(AF_INET, copy.data(), bytes.data()) == 1)
      return socket_address{ipv4_address{bytes[0], bytes[1], bytes[2], bytes[3]}, port};
    if (::inet_pton(AF_INET6, copy.data(), bytes.data()) == 1)
      return socket_address{ipv6_address{bytes}, port};
    return std::nullopt;
  }

  [[nodiscard]] bool is_empty() const noexcept { return family() == AF_UNSPEC; }
  /// Whether it is that of a multicast group: 224.0.0.0 to 239.255.255.255, ff00::/8.
  [[nodiscard]] bool is_multicast() const noexcept {
    if (const auto address = ipv4()) return address->bytes()[0] >> 4 == 0xe;
    if (const auto address = ipv6()) return address->bytes()[0] == 0xff;
    return false;
  }
  /// AF_INET, AF_INET6 or AF_IB; AF_UNSPEC when empty.
  [[nodiscard]] int family() const noexcept { return storage_.ss_family; }
  [[nodiscard]] socklen_t length() const noexcept { return length_; }
  /// 0 when it has none, or none is chosen yet.
  [[nodiscard]] std::uint16_t port() const noexcept {
    if (family() == AF_INET) return ntohs(as<sockaddr_in>().sin_port);
    if (family() == AF_INET6) return ntohs(as<sockaddr_in6>().sin6_port);
    return 0;
  }
  /// The same address with another port. One of another family stays as it is.
  [[nodiscard]] socket_address with_port(std::uint16_t port) const noexcept {
    socket_address result = *this;
    // sin_port and sin6_port are at the same place.
    if (family() == AF_INET || family() == AF_INET6)
      reinterpret_cast<sockaddr_in&>(result.storage_).sin_port = htons(port);
    return result;
  }
  [[nodiscard]] std::optional<ipv4_address> ipv4() const noexcept {
    if (family() != AF_INET) return std::nullopt;
    const in_addr address = as<sockaddr_in>().sin_addr;
    std::array<std::uint8_t, 4> bytes{};
    std::memcpy(bytes.data(), &address, bytes.size());
    return ipv4_address{bytes};
  }
  [[nodiscard]] std::optional<ipv6_address> ipv6() const noexcept {
    if (family() != AF_INET6) return std::nullopt;
    const in6_addr address = as<sockaddr_in6>().sin6_addr;
    std::array<std::uint8_t, 16> bytes{};
    std::memcpy(bytes.data(), &address, bytes.size());
    return ipv6_address{bytes};
  }

  /// For the C API, which takes it as one that could be changed, and does not.
  [[nodiscard]] sockaddr* native() const noexcept {
    return is_empty() ? nullptr : reinterpret_cast<sockaddr*>(&storage_);
  }

  friend bool operator==(const socket_address& left, const socket_address& right) noexcept {
    return left.length_ == right.length_ &&
           std::memcmp(&left.storage_, &right.storage_, left.length_) == 0;
  }

 private:
  template <class Native>
  [[nodiscard]] Native as() const noexcept {
    Native native{};
    std::memcpy(&native, &storage_, sizeof native);
    return native;
  }
  void store(const void* address, socklen_t length) noexcept {
    std::memcpy(&storage_, address, length);
    length_ = length;
  }

  mutable sockaddr_storage storage_{};
  socklen_t length_ = 0;
};

/// "10.0.0.1:7471", "[fe80::1]:7471".
[[nodiscard]] inline text<64> to_text(const socket_address& address) noexcept {
  return text<64>{[&](text_writer& writer) {
    if (const auto ipv4 = address.ipv4())
      writer.put(*ipv4);
    else if (const auto ipv6 = address.ipv6())
      writer.put("[").put(*ipv6).put("]");
    else
      writer.put(address.is_empty() ? "no address" : "an address of another family");
    if (address.port() != 0) writer.put(":").decimal(address.port());
  }};
}

}  // namespace adverb::inline ADVERB_ABI::cm
