// SPDX-License-Identifier: MIT
// Addresses of listeners and peers: an IP address and a port, or a native InfiniBand address.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include <arpa/inet.h>
#include <endian.h>
#include <infiniband/ib.h>
#include <net/if.h>
#include <netinet/in.h>
#include <rdma/rdma_cma.h>
#include <sys/socket.h>

#include <adverb/cm/port_space.hpp>
#include <adverb/core/handle.hpp>
#include <adverb/core/ids.hpp>
#include <adverb/core/text.hpp>
#include <adverb/device/network_address.hpp>

namespace adverb::inline ADVERB_ABI::cm {

enum class address_family : std::uint16_t {
  /// The family of an empty address. As a selection, any family.
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

/// An address of any family that librdmacm supports, with its port:
///
///     socket_address{ipv4_address{10, 0, 0, 1}, 7471}
///     socket_address::parse("fe80::1%eth0", 7471)
///
/// A value type, empty by default. `address_list` resolves host names.
class socket_address {
 public:
  socket_address() noexcept = default;
  socket_address(const ipv4_address& address, std::uint16_t port) noexcept {
    sockaddr_in native{};
    native.sin_family = AF_INET;
    native.sin_port = htons(port);
    std::memcpy(&native.sin_addr, address.bytes().data(), address.bytes().size());
    store(native);
  }
  /// Creates an IPv6 address. `scope` is the interface index of a link-local address.
  socket_address(const ipv6_address& address, std::uint16_t port,
                 std::uint32_t scope = 0) noexcept {
    sockaddr_in6 native{};
    native.sin6_family = AF_INET6;
    native.sin6_port = htons(port);
    native.sin6_scope_id = scope;
    std::memcpy(&native.sin6_addr, address.bytes().data(), address.bytes().size());
    store(native);
  }
  /// Creates a native InfiniBand address, which librdmacm accepts for identifiers of any port
  /// space. The default partition key is 0xffff.
  socket_address(const gid& address, service_id service, pkey partition = pkey{0xffff}) noexcept {
    sockaddr_ib native{};
    native.sib_family = AF_IB;
    native.sib_pkey = htons(static_cast<std::uint16_t>(partition));
    std::memcpy(&native.sib_addr, address.bytes().data(), address.bytes().size());
    native.sib_sid = htobe64(static_cast<std::uint64_t>(service));
    native.sib_sid_mask = ~std::uint64_t{0};
    store(native);
  }
  /// Copies a C API address. Returns an empty address if the family is none of these or the length
  /// is too short.
  [[nodiscard]] static socket_address from_native(const sockaddr* address,
                                                  socklen_t length) noexcept {
    socket_address copied;
    if (address == nullptr || length < sizeof address->sa_family) return copied;
    switch (address->sa_family) {
      case AF_INET: copied.copy<sockaddr_in>(address, length); break;
      case AF_INET6: copied.copy<sockaddr_in6>(address, length); break;
      case AF_IB: copied.copy<sockaddr_ib>(address, length); break;
      default: break;
    }
    return copied;
  }

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
                                                           std::uint16_t port) noexcept {
    const std::size_t separator = address.find('%');
    const static_string<INET6_ADDRSTRLEN> numbers{
        [&](text_writer& writer) { writer.put(address.substr(0, separator)); }};
    std::array<std::uint8_t, 16> bytes{};
    if (separator == std::string_view::npos &&
        ::inet_pton(AF_INET, numbers.c_str(), bytes.data()) == 1)
      return socket_address{ipv4_address{bytes[0], bytes[1], bytes[2], bytes[3]}, port};
    if (::inet_pton(AF_INET6, numbers.c_str(), bytes.data()) != 1) return std::nullopt;
    if (separator == std::string_view::npos) return socket_address{ipv6_address{bytes}, port};
    const std::uint32_t scope = index_of_interface(address.substr(separator + 1));
    if (scope == 0) return std::nullopt;
    return socket_address{ipv6_address{bytes}, port, scope};
  }

  [[nodiscard]] bool is_empty() const noexcept { return family() == address_family::unspecified; }
  /// Returns true for a multicast group: 224.0.0.0 to 239.255.255.255, ff00::/8.
  [[nodiscard]] bool is_multicast() const noexcept {
    if (const auto address = ipv4()) return address->bytes()[0] >> 4 == 0xe;
    if (const auto address = ipv6()) return address->bytes()[0] == 0xff;
    return false;
  }
  [[nodiscard]] address_family family() const noexcept {
    return static_cast<address_family>(storage_.ss_family);
  }
  [[nodiscard]] socklen_t length() const noexcept { return length_; }
  /// Returns the port; 0 if there is none or none is chosen yet.
  [[nodiscard]] std::uint16_t port() const noexcept {
    switch (family()) {
      case address_family::ipv4: return ntohs(as<sockaddr_in>().sin_port);
      case address_family::ipv6: return ntohs(as<sockaddr_in6>().sin6_port);
      case address_family::infiniband: return port_of(*service());
      default: return 0;
    }
  }
  /// Returns the same address with another port. Native addresses keep the port space of their
  /// service.
  [[nodiscard]] socket_address with_port(std::uint16_t port) const noexcept {
    if (const auto address = ipv4()) return {*address, port};
    if (const auto address = ipv6()) return {*address, port, scope()};
    if (const auto address = infiniband())
      return {*address,
              service_id{(static_cast<std::uint64_t>(*service()) & ~std::uint64_t{0xffff}) | port},
              *partition()};
    return {};
  }

  [[nodiscard]] std::optional<ipv4_address> ipv4() const noexcept {
    if (family() != address_family::ipv4) return std::nullopt;
    return ipv4_address{bytes_of<4>(as<sockaddr_in>().sin_addr)};
  }
  [[nodiscard]] std::optional<ipv6_address> ipv6() const noexcept {
    if (family() != address_family::ipv6) return std::nullopt;
    return ipv6_address{bytes_of<16>(as<sockaddr_in6>().sin6_addr)};
  }
  /// Returns the interface index of a link-local IPv6 address; 0 if it has none.
  [[nodiscard]] std::uint32_t scope() const noexcept {
    return family() == address_family::ipv6 ? as<sockaddr_in6>().sin6_scope_id : 0;
  }
  /// Returns the GID of a native address.
  [[nodiscard]] std::optional<gid> infiniband() const noexcept {
    if (family() != address_family::infiniband) return std::nullopt;
    return gid{bytes_of<16>(as<sockaddr_ib>().sib_addr)};
  }
  [[nodiscard]] std::optional<service_id> service() const noexcept {
    if (family() != address_family::infiniband) return std::nullopt;
    return service_id{be64toh(as<sockaddr_ib>().sib_sid)};
  }
  [[nodiscard]] std::optional<pkey> partition() const noexcept {
    if (family() != address_family::infiniband) return std::nullopt;
    return pkey{ntohs(as<sockaddr_ib>().sib_pkey)};
  }

  /// Returns true for a wildcard, which stands for every address of a machine.
  [[nodiscard]] bool is_any() const noexcept {
    return !is_empty() &&
           (ipv4() == ipv4_address{} || ipv6() == ipv6_address{} || infiniband() == gid{});
  }
  /// Returns true for an IPv6 address that is valid on one link only and so needs a scope.
  [[nodiscard]] bool is_link_local() const noexcept {
    const auto address = ipv6();
    return address && gid{address->bytes()}.is_link_local();
  }

  /// Returns the address for the C API, which takes a non-const pointer but does not modify it.
  [[nodiscard]] sockaddr* native() const noexcept {
    return is_empty() ? nullptr : reinterpret_cast<sockaddr*>(&storage_);
  }

  friend bool operator==(const socket_address& left, const socket_address& right) noexcept {
    return left.length_ == right.length_ &&
           std::memcmp(&left.storage_, &right.storage_, left.length_) == 0;
  }

 private:
  [[nodiscard]] static std::uint32_t index_of_interface(std::string_view name) noexcept {
    std::uint32_t number = 0;
    bool is_number = !name.empty() && name.size() < 10;
    for (const char digit : name) {
      is_number = is_number && digit >= '0' && digit <= '9';
      number = is_number ? number * 10 + static_cast<std::uint32_t>(digit - '0') : 0;
    }
    const static_string<IF_NAMESIZE> copy{[&](text_writer& writer) { writer.put(name); }};
    return is_number ? number : ::if_nametoindex(copy.c_str());
  }
  [[nodiscard]] static std::uint16_t port_of(service_id service) noexcept {
    const auto number = static_cast<std::uint64_t>(service);
    for (const port_space space :
         {port_space::tcp, port_space::udp, port_space::ipoib, port_space::infiniband})
      if (number >> 16 == static_cast<std::uint32_t>(space))
        return static_cast<std::uint16_t>(number);
    return 0;
  }

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
[[nodiscard]] inline static_string<96> to_text(const socket_address& address) noexcept {
  return static_string<96>{[&](text_writer& writer) {
    if (const auto native = address.infiniband()) {
      writer.put("[").put(*native).put("] service 0x");
      writer.hexadecimal(static_cast<std::uint64_t>(*address.service()));
      writer.put(" pkey ").put(*address.partition());
      return;
    }
    if (const auto ipv4 = address.ipv4()) {
      writer.put(*ipv4);
    } else if (const auto ipv6 = address.ipv6()) {
      writer.put("[").put(*ipv6);
      if (address.scope() != 0) {
        std::array<char, IF_NAMESIZE> name{};
        writer.put("%");
        if (::if_indextoname(address.scope(), name.data()) != nullptr)
          writer.put(std::string_view{name.data()});
        else
          writer.decimal(address.scope());
      }
      writer.put("]");
    } else {
      writer.put("no address");
    }
    if (address.port() != 0) writer.put(":").decimal(address.port());
  }};
}

}  // namespace adverb::inline ADVERB_ABI::cm

namespace adverb::inline ADVERB_ABI::detail {

/// Returns the address of one side of an identifier. Empty if it is unset: the kernel then returns
/// zeros, sometimes with a family.
[[nodiscard]] inline cm::socket_address address_in(const sockaddr* address) noexcept {
  const cm::socket_address found =
      cm::socket_address::from_native(address, sizeof(sockaddr_storage));
  return found.is_any() && found.port() == 0 ? cm::socket_address{} : found;
}

}  // namespace adverb::inline ADVERB_ABI::detail
