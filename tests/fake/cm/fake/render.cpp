// SPDX-License-Identifier: MIT
// Values of librdmacm in a line, in the form that ../../render.hpp describes.
#include <array>
#include <string>

#include <arpa/inet.h>

#include "state.hpp"

namespace fake {

namespace {

/// A length that is not that of the address is there, too.
void add_address(fields& text, std::string name, const sockaddr* address, socklen_t length) {
  text.add_unless_zero(name + "_addr", show(copy_of(address)));
  if (length != length_of(address)) text.add(name + "_len", length);
}

}  // namespace

shown port_space(int space) {
  return enumerator(static_cast<unsigned>(space), {NAMED(RDMA_PS_, IPOIB), NAMED(RDMA_PS_, TCP),
                                                   NAMED(RDMA_PS_, UDP), NAMED(RDMA_PS_, IB)});
}

shown show(const sockaddr_storage& address) {
  if (address.ss_family == AF_UNSPEC) return {"none", true};
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.ss_family == AF_INET) {
    const auto& ipv4 = reinterpret_cast<const sockaddr_in&>(address);
    ::inet_ntop(AF_INET, &ipv4.sin_addr, text.data(), text.size());
    return {text.data() + (":" + std::to_string(ntohs(ipv4.sin_port))), false};
  }
  const auto& ipv6 = reinterpret_cast<const sockaddr_in6&>(address);
  ::inet_ntop(AF_INET6, &ipv6.sin6_addr, text.data(), text.size());
  const std::string scope =
      ipv6.sin6_scope_id != 0 ? "%" + std::to_string(ipv6.sin6_scope_id) : std::string{};
  return {"[" + (text.data() + scope) + "]:" + std::to_string(ntohs(ipv6.sin6_port)), false};
}

shown show(const rdma_addrinfo& information) {
  fields text;
  text.add_unless_zero("ai_flags",
                       bits(static_cast<unsigned>(information.ai_flags), {NAMED(RAI_, PASSIVE),
                                                                          NAMED(RAI_, NUMERICHOST),
                                                                          NAMED(RAI_, NOROUTE),
                                                                          NAMED(RAI_, FAMILY),
                                                                          {0x10, "SA"}}))
      .add_unless_zero("ai_family",
                       enumerator(static_cast<unsigned>(information.ai_family),
                                  {NAMED(AF_, INET), NAMED(AF_, INET6), NAMED(AF_, IB)}))
      .add_unless_zero("ai_qp_type", pair_type(static_cast<ibv_qp_type>(information.ai_qp_type)))
      .add_unless_zero("ai_port_space", port_space(information.ai_port_space));
  add_address(text, "ai_src", information.ai_src_addr, information.ai_src_len);
  add_address(text, "ai_dst", information.ai_dst_addr, information.ai_dst_len);
  return text.add_unless_zero("ai_src_canonname", name_of(information.ai_src_canonname))
      .add_unless_zero("ai_dst_canonname", name_of(information.ai_dst_canonname))
      .add_unless_zero("ai_route_len", information.ai_route_len)
      .add_unless_zero("ai_route", name_of(information.ai_route))
      .add_unless_zero("ai_connect_len", information.ai_connect_len)
      .add_unless_zero("ai_connect", name_of(information.ai_connect))
      .add_unless_zero("ai_next", name_of(information.ai_next))
      .in_braces();
}

}  // namespace fake
