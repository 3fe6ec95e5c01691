// SPDX-License-Identifier: MIT
#pragma once

#include <arpa/inet.h>
#include <endian.h>
#include <infiniband/ib.h>
#include <net/if.h>
#include <rdma/rdma_cma.h>

#include <adverb/cm/socket_address.hpp>
#include <adverb/core/handle.hpp>

namespace adverb::inline ADVERB_ABI::cm {

ADVERB_FUNC socket_address::socket_address(const ipv4_address& address,
                                           std::uint16_t port) noexcept {
  sockaddr_in native{};
  native.sin_family = AF_INET;
  native.sin_port = htons(port);
  std::memcpy(&native.sin_addr, address.bytes().data(), address.bytes().size());
  store(native);
}

ADVERB_FUNC socket_address::socket_address(const ipv6_address& address, std::uint16_t port,
                                           std::uint32_t scope) noexcept {
  sockaddr_in6 native{};
  native.sin6_family = AF_INET6;
  native.sin6_port = htons(port);
  native.sin6_scope_id = scope;
  std::memcpy(&native.sin6_addr, address.bytes().data(), address.bytes().size());
  store(native);
}

ADVERB_FUNC socket_address::socket_address(const gid& address, service_id service,
                                           pkey partition) noexcept {
  sockaddr_ib native{};
  native.sib_family = AF_IB;
  native.sib_pkey = htons(static_cast<std::uint16_t>(partition));
  std::memcpy(&native.sib_addr, address.bytes().data(), address.bytes().size());
  native.sib_sid = htobe64(static_cast<std::uint64_t>(service));
  native.sib_sid_mask = ~std::uint64_t{0};
  store(native);
}

ADVERB_FUNC socket_address socket_address::from_native(const sockaddr* address,
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

ADVERB_FUNC std::optional<socket_address> socket_address::parse(std::string_view address,
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

ADVERB_FUNC bool socket_address::is_multicast() const noexcept {
  if (const auto address = ipv4()) return address->bytes()[0] >> 4 == 0xe;
  if (const auto address = ipv6()) return address->bytes()[0] == 0xff;
  return false;
}

ADVERB_FUNC std::uint16_t socket_address::port() const noexcept {
  switch (family()) {
    case address_family::ipv4: return ntohs(as<sockaddr_in>().sin_port);
    case address_family::ipv6: return ntohs(as<sockaddr_in6>().sin6_port);
    case address_family::infiniband: return port_of(*service());
    default: return 0;
  }
}

ADVERB_FUNC socket_address socket_address::with_port(std::uint16_t port) const noexcept {
  if (const auto address = ipv4()) return {*address, port};
  if (const auto address = ipv6()) return {*address, port, scope()};
  if (const auto address = infiniband())
    return {*address,
            service_id{(static_cast<std::uint64_t>(*service()) & ~std::uint64_t{0xffff}) | port},
            *partition()};
  return {};
}

ADVERB_FUNC std::optional<ipv4_address> socket_address::ipv4() const noexcept {
  if (family() != address_family::ipv4) return std::nullopt;
  return ipv4_address{bytes_of<4>(as<sockaddr_in>().sin_addr)};
}

ADVERB_FUNC std::optional<ipv6_address> socket_address::ipv6() const noexcept {
  if (family() != address_family::ipv6) return std::nullopt;
  return ipv6_address{bytes_of<16>(as<sockaddr_in6>().sin6_addr)};
}

ADVERB_FUNC std::optional<gid> socket_address::infiniband() const noexcept {
  if (family() != address_family::infiniband) return std::nullopt;
  return gid{bytes_of<16>(as<sockaddr_ib>().sib_addr)};
}

ADVERB_FUNC std::optional<service_id> socket_address::service() const noexcept {
  if (family() != address_family::infiniband) return std::nullopt;
  return service_id{be64toh(as<sockaddr_ib>().sib_sid)};
}

ADVERB_FUNC std::optional<pkey> socket_address::partition() const noexcept {
  if (family() != address_family::infiniband) return std::nullopt;
  return pkey{ntohs(as<sockaddr_ib>().sib_pkey)};
}

ADVERB_FUNC bool socket_address::is_any() const noexcept {
  return !is_empty() &&
         (ipv4() == ipv4_address{} || ipv6() == ipv6_address{} || infiniband() == gid{});
}

ADVERB_FUNC bool socket_address::is_link_local() const noexcept {
  const auto address = ipv6();
  return address && gid{address->bytes()}.is_link_local();
}

ADVERB_FUNC std::uint32_t socket_address::index_of_interface(std::string_view name) noexcept {
  std::uint32_t number = 0;
  bool is_number = !name.empty() && name.size() < 10;
  for (const char digit : name) {
    is_number = is_number && digit >= '0' && digit <= '9';
    number = is_number ? number * 10 + static_cast<std::uint32_t>(digit - '0') : 0;
  }
  const static_string<IF_NAMESIZE> copy{[&](text_writer& writer) { writer.put(name); }};
  return is_number ? number : ::if_nametoindex(copy.c_str());
}

ADVERB_FUNC std::uint16_t socket_address::port_of(service_id service) noexcept {
  const auto number = static_cast<std::uint64_t>(service);
  for (const port_space space :
       {port_space::tcp, port_space::udp, port_space::ipoib, port_space::infiniband})
    if (number >> 16 == static_cast<std::uint32_t>(space))
      return static_cast<std::uint16_t>(number);
  return 0;
}

ADVERB_FUNC static_string<96> to_text(const socket_address& address) noexcept {
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

ADVERB_FUNC cm::socket_address address_in(const sockaddr* address) noexcept {
  const cm::socket_address found =
      cm::socket_address::from_native(address, sizeof(sockaddr_storage));
  return found.is_any() && found.port() == 0 ? cm::socket_address{} : found;
}

}  // namespace adverb::inline ADVERB_ABI::detail
