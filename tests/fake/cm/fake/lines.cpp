// SPDX-License-Identifier: MIT
// The calls of librdmacm as lines: ../../render.hpp says how these read. An address is
// "10.0.0.1:7471", "[fe80::1%2]:7471" or "none".
#include <array>
#include <cstring>

#include <arpa/inet.h>

#include "../../render.hpp"
#include "state.hpp"

namespace fake::called {

namespace {

std::string_view inside(const shown& braces) {
  return std::string_view{braces.text}.substr(1, braces.text.size() - 2);
}

// clang-format off
#define NAMED(prefix, name) named_value { prefix##name, #name }
// clang-format on

/// The pointer of a join by name; "unnamed" for one that only the library knows.
shown context_of_join(const void* context) {
  const shown found = name_of(context);
  return found.text.starts_with("0x") ? shown{"unnamed", false} : found;
}

shown port_space(int space) {
  return enumerator(static_cast<unsigned>(space), {NAMED(RDMA_PS_, IPOIB), NAMED(RDMA_PS_, TCP),
                                                   NAMED(RDMA_PS_, UDP), NAMED(RDMA_PS_, IB)});
}

shown event_type(rdma_cm_event_type type) {
  return enumerator(
      type, {NAMED(RDMA_CM_EVENT_, ADDR_RESOLVED), NAMED(RDMA_CM_EVENT_, ADDR_ERROR),
             NAMED(RDMA_CM_EVENT_, ROUTE_RESOLVED), NAMED(RDMA_CM_EVENT_, ROUTE_ERROR),
             NAMED(RDMA_CM_EVENT_, CONNECT_REQUEST), NAMED(RDMA_CM_EVENT_, CONNECT_RESPONSE),
             NAMED(RDMA_CM_EVENT_, CONNECT_ERROR), NAMED(RDMA_CM_EVENT_, UNREACHABLE),
             NAMED(RDMA_CM_EVENT_, REJECTED), NAMED(RDMA_CM_EVENT_, ESTABLISHED),
             NAMED(RDMA_CM_EVENT_, DISCONNECTED), NAMED(RDMA_CM_EVENT_, DEVICE_REMOVAL),
             NAMED(RDMA_CM_EVENT_, MULTICAST_JOIN), NAMED(RDMA_CM_EVENT_, MULTICAST_ERROR),
             NAMED(RDMA_CM_EVENT_, ADDR_CHANGE), NAMED(RDMA_CM_EVENT_, TIMEWAIT_EXIT)});
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

/// A length that is not that of the address is there, too.
void add_address(fields& text, std::string name, const sockaddr* address, socklen_t length) {
  text.add_unless_zero(name + "_addr", show(copy_of(address)));
  if (length != length_of(address)) text.add(name + "_len", length);
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

template <class Call>
fields with_lookup(fields text, const Call& call) {
  if (call.node) text.add("node", {quoted(*call.node), false});
  if (call.service) text.add("service", {quoted(*call.service), false});
  if (call.hints) text.add("hints", show(*call.hints));
  return text;
}

/// A length of the private data that is not that of its bytes is there, too.
std::string line_of(std::string_view function, const rdma_cm_id* id, const told_peer& peer) {
  const rdma_conn_param& native = peer.native;
  fields text{function};
  text.object(id);
  if (!peer.private_data.empty()) text.add("private_data", {quoted(peer.private_data), false});
  if (native.private_data_len != peer.private_data.size())
    text.add("private_data_len", native.private_data_len);
  return text.add("responder_resources", native.responder_resources)
      .add("initiator_depth", native.initiator_depth)
      .add("flow_control", native.flow_control)
      .add("retry_count", native.retry_count)
      .add("rnr_retry_count", native.rnr_retry_count)
      .add_unless_zero("srq", native.srq)
      .add_unless_zero("qp_num", hex(native.qp_num))
      .text();
}

/// A small one is a number, as the C API has it, and any other one is bytes.
shown option_value(const std::string& value) {
  if (value.size() == 1) return hex(static_cast<unsigned char>(value[0]));
  int number = 0;
  if (value.size() != sizeof number) return {hex_bytes(value.data(), value.size()), false};
  std::memcpy(&number, value.data(), sizeof number);
  return number;
}

shown option_name(int level, int name) {
  const auto value = static_cast<unsigned>(name);
  if (level == RDMA_OPTION_IB) return enumerator(value, {NAMED(RDMA_OPTION_, IB_PATH)});
  return enumerator(value, {NAMED(RDMA_OPTION_, ID_TOS), NAMED(RDMA_OPTION_, ID_REUSEADDR),
                            NAMED(RDMA_OPTION_, ID_AFONLY), NAMED(RDMA_OPTION_, ID_ACK_TIMEOUT)});
}

}  // namespace

std::string rdma_create_event_channel::line() const { return "rdma_create_event_channel"; }
std::string rdma_destroy_event_channel::line() const {
  return fields{"rdma_destroy_event_channel"}.object(channel).text();
}
std::string rdma_create_id::line() const {
  return fields{"rdma_create_id"}
      .object(channel)
      .add_unless_zero("context", name_of(context))
      .add("ps", port_space(space))
      .text();
}
std::string rdma_destroy_id::line() const { return fields{"rdma_destroy_id"}.object(id).text(); }
std::string rdma_migrate_id::line() const {
  return fields{"rdma_migrate_id"}.object(id).object(channel).text();
}
std::string rdma_create_ep::line() const {
  fields text{"rdma_create_ep"};
  text.add("res", show(address)).add_unless_zero("pd", name_of(domain));
  if (pair) text.add("qp_init_attr", fake::show(*pair));
  return text.text();
}
std::string rdma_destroy_ep::line() const { return fields{"rdma_destroy_ep"}.object(id).text(); }
std::string rdma_get_request::line() const {
  return fields{"rdma_get_request"}.object(listener).text();
}

std::string rdma_bind_addr::line() const {
  return fields{"rdma_bind_addr"}.object(id).add("addr", show(address)).text();
}
std::string rdma_resolve_addr::line() const {
  return fields{"rdma_resolve_addr"}
      .object(id)
      .add_unless_zero("src_addr", show(from))
      .add("dst_addr", show(to))
      .add("timeout_ms", milliseconds)
      .text();
}
std::string rdma_resolve_route::line() const {
  return fields{"rdma_resolve_route"}.object(id).add("timeout_ms", milliseconds).text();
}
std::string rdma_get_src_port::line() const {
  return fields{"rdma_get_src_port"}.object(id).text();
}
std::string rdma_get_dst_port::line() const {
  return fields{"rdma_get_dst_port"}.object(id).text();
}

std::string rdma_create_qp::line() const {
  return fields{"rdma_create_qp"}
      .object(id)
      .object(domain)
      .word(inside(fake::show(attributes)))
      .text();
}
std::string rdma_create_qp_ex::line() const {
  return fields{"rdma_create_qp_ex"}.object(id).word(inside(fake::show(attributes))).text();
}
std::string rdma_destroy_qp::line() const { return fields{"rdma_destroy_qp"}.object(id).text(); }
std::string rdma_create_srq::line() const {
  return fields{"rdma_create_srq"}
      .object(id)
      .object(domain)
      .word(inside(fake::show(attributes)))
      .text();
}
std::string rdma_create_srq_ex::line() const {
  return fields{"rdma_create_srq_ex"}.object(id).word(inside(fake::show(attributes))).text();
}
std::string rdma_destroy_srq::line() const { return fields{"rdma_destroy_srq"}.object(id).text(); }
std::string rdma_init_qp_attr::line() const {
  return fields{"rdma_init_qp_attr"}.object(id).add("qp_state", pair_state(state)).text();
}

std::string rdma_connect::line() const { return line_of("rdma_connect", id, peer); }
std::string rdma_establish::line() const { return fields{"rdma_establish"}.object(id).text(); }
std::string rdma_listen::line() const {
  return fields{"rdma_listen"}.object(id).add("backlog", backlog).text();
}
std::string rdma_accept::line() const {
  return peer ? line_of("rdma_accept", id, *peer)
              : fields{"rdma_accept"}.object(id).word("null").text();
}
std::string rdma_reject::line() const {
  return fields{"rdma_reject"}.object(id).add("private_data", {quoted(private_data), false}).text();
}
std::string rdma_reject_ece::line() const {
  return fields{"rdma_reject_ece"}
      .object(id)
      .add("private_data", {quoted(private_data), false})
      .text();
}
std::string rdma_notify::line() const {
  const auto type = enumerator(event, {NAMED(IBV_EVENT_, COMM_EST), NAMED(IBV_EVENT_, PATH_MIG)});
  return fields{"rdma_notify"}.object(id).add("event", type).text();
}
std::string rdma_disconnect::line() const { return fields{"rdma_disconnect"}.object(id).text(); }

std::string rdma_join_multicast::line() const {
  return fields{"rdma_join_multicast"}
      .object(id)
      .add("addr", show(group))
      .add_unless_zero("context", context_of_join(context))
      .text();
}
std::string rdma_join_multicast_ex::line() const {
  const auto has = [&](unsigned bit) { return (mask & bit) != 0; };
  return fields{"rdma_join_multicast_ex"}
      .object(id)
      .add_or_stray(has(RDMA_CM_JOIN_MC_ATTR_ADDRESS), "addr", show(group))
      .add_or_stray(has(RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS), "join_flags",
                    enumerator(flags, {NAMED(RDMA_MC_JOIN_FLAG_, FULLMEMBER),
                                       NAMED(RDMA_MC_JOIN_FLAG_, SENDONLY_FULLMEMBER)}))
      .unknown_bits(mask, RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS)
      .add_unless_zero("context", context_of_join(context))
      .text();
}
std::string rdma_leave_multicast::line() const {
  return fields{"rdma_leave_multicast"}.object(id).add("addr", show(group)).text();
}

std::string rdma_get_cm_event::line() const {
  return fields{"rdma_get_cm_event"}.object(channel).text();
}
std::string rdma_ack_cm_event::line() const {
  return fields{"rdma_ack_cm_event"}.object(id).word(event_type(type).text).text();
}
std::string rdma_event_str::line() const {
  return fields{"rdma_event_str"}.word(event_type(type).text).text();
}

std::string rdma_get_devices::line() const { return "rdma_get_devices"; }
std::string rdma_free_devices::line() const {
  return fields{"rdma_free_devices"}.object(list).text();
}
std::string rdma_set_option::line() const {
  return fields{"rdma_set_option"}
      .object(id)
      .add("level", enumerator(static_cast<unsigned>(level),
                               {NAMED(RDMA_OPTION_, ID), NAMED(RDMA_OPTION_, IB)}))
      .add("optname", option_name(level, name))
      .add("optval", option_value(value))
      .add("optlen", value.size())
      .text();
}
std::string rdma_getaddrinfo::line() const {
  return with_lookup(fields{"rdma_getaddrinfo"}, *this).text();
}
std::string rdma_resolve_addrinfo::line() const {
  return with_lookup(fields{"rdma_resolve_addrinfo"}.object(id), *this).text();
}
std::string rdma_query_addrinfo::line() const {
  return fields{"rdma_query_addrinfo"}.object(id).text();
}
std::string rdma_write_cm_event::line() const {
  return fields{"rdma_write_cm_event"}
      .object(id)
      .add("event", static_cast<unsigned>(type))
      .add("status", status)
      .add("arg", argument)
      .text();
}
std::string rdma_freeaddrinfo::line() const {
  return fields{"rdma_freeaddrinfo"}.object(list).text();
}
std::string rdma_set_local_ece::line() const {
  return fields{"rdma_set_local_ece"}.object(id).word(inside(fake::show(options))).text();
}
std::string rdma_get_remote_ece::line() const {
  return fields{"rdma_get_remote_ece"}.object(id).text();
}

}  // namespace fake::called
