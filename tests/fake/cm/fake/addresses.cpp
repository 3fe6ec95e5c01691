// SPDX-License-Identifier: MIT
// The addresses and devices of the fake.
#include <charconv>
#include <cstring>
#include <utility>

#include <arpa/inet.h>
#include <netdb.h>

#include "state.hpp"

using namespace fake;

// Functions of later headers.
extern "C" {
int rdma_resolve_addrinfo(rdma_cm_id* id, const char* node, const char* service,
                          const rdma_addrinfo* hints);
int rdma_query_addrinfo(rdma_cm_id* id, rdma_addrinfo** info);
int rdma_write_cm_event(rdma_cm_id* id, rdma_cm_event_type event, int status, std::uint64_t arg);
}

namespace {

fields with_lookup(fields text, const char* node, const char* service, const rdma_addrinfo* hints) {
  if (node != nullptr) text.add("node", {quoted(node), false});
  if (service != nullptr) text.add("service", {quoted(service), false});
  if (hints != nullptr) text.add("hints", show(*hints));
  return text;
}

/// Only numbers are resolved; no family when it is none.
sockaddr_storage parsed(const char* node, std::uint16_t port) {
  sockaddr_storage address{};
  auto& ipv4 = reinterpret_cast<sockaddr_in&>(address);
  auto& ipv6 = reinterpret_cast<sockaddr_in6&>(address);
  if (node == nullptr || ::inet_pton(AF_INET, node, &ipv4.sin_addr) == 1) {
    ipv4.sin_family = AF_INET;
  } else {
    address = {};
    if (::inet_pton(AF_INET6, node, &ipv6.sin6_addr) == 1) ipv6.sin6_family = AF_INET6;
  }
  // Both families have the port at the same place.
  ipv4.sin_port = htons(port);
  return address;
}

/// An event that earlier headers do not name.
rdma_cm_event_type event_of(int number) { return static_cast<rdma_cm_event_type>(number); }

int find(const char* node, const char* service, const rdma_addrinfo* hints,
         rdma_addrinfo** result) {
  std::uint16_t port = 0;
  if (service != nullptr) std::from_chars(service, service + std::strlen(service), port);
  const sockaddr_storage address = parsed(node, port);
  if (address.ss_family == AF_UNSPEC) return EAI_NONAME;

  auto made = std::make_unique<fake::cm_address_information>();
  rdma_addrinfo& native = made->native;
  native.ai_flags = hints != nullptr ? hints->ai_flags : 0;
  native.ai_family = address.ss_family;
  native.ai_port_space =
      hints != nullptr && hints->ai_port_space != 0 ? hints->ai_port_space : RDMA_PS_TCP;
  native.ai_qp_type = hints != nullptr && hints->ai_qp_type != 0 ? hints->ai_qp_type
                      : native.ai_port_space == RDMA_PS_TCP      ? IBV_QPT_RC
                                                                 : IBV_QPT_UD;
  const socklen_t length = fake::length_of(reinterpret_cast<const sockaddr*>(&address));
  if ((native.ai_flags & RAI_PASSIVE) != 0) {
    made->source = address;
    native.ai_src_addr = reinterpret_cast<sockaddr*>(&made->source);
    native.ai_src_len = length;
  } else {
    made->destination = address;
    native.ai_dst_addr = reinterpret_cast<sockaddr*>(&made->destination);
    native.ai_dst_len = length;
  }
  *result = &native;
  managed().addresses.add(std::move(made), &native);
  return 0;
}

}  // namespace

int rdma_getaddrinfo(const char* node, const char* service, const rdma_addrinfo* hints,
                     rdma_addrinfo** result) {
  if (answer_of<called::rdma_getaddrinfo>(with_lookup({}, node, service, hints)) != 0) return -1;
  return find(node, service, hints, result);
}

int rdma_resolve_addrinfo(rdma_cm_id* id, const char* node, const char* service,
                          const rdma_addrinfo* hints) {
  using called::rdma_resolve_addrinfo;
  if (answer_of<called::rdma_resolve_addrinfo>(with_lookup(about(id), node, service, hints)) != 0)
    return -1;
  // The result of getaddrinfo is in errno, as with librdmacm.
  if (const int error = find(node, service, hints, &fake::known(id).found); error != 0)
    return fake::failed_with(error);
  return fake::lead_to<rdma_resolve_addrinfo>(id, {event_of(16)});
}

int rdma_query_addrinfo(rdma_cm_id* id, rdma_addrinfo** info) {
  if (answer_of<called::rdma_query_addrinfo>(about(id)) != 0) return -1;
  *info = std::exchange(fake::known(id).found, nullptr);
  return *info == nullptr ? fake::failed_with(ENOENT) : 0;
}

int rdma_write_cm_event(rdma_cm_id* id, rdma_cm_event_type event, int status, std::uint64_t arg) {
  using called::rdma_write_cm_event;
  if (answer_of<called::rdma_write_cm_event>(about(id)
                                                 .add("event", static_cast<unsigned>(event))
                                                 .add("status", status)
                                                 .add("arg", arg)) != 0)
    return -1;
  fake::cm_event raised{event, status};
  // The argument shares the memory of the parameters.
  std::memcpy(&raised.connection, &arg, sizeof arg);
  return fake::lead_to<rdma_write_cm_event>(id, raised);
}

void rdma_freeaddrinfo(rdma_addrinfo* list) {
  record<called::rdma_freeaddrinfo>(about(list));
  managed().addresses.remove(list);
}

ibv_context** rdma_get_devices(int* count) {
  if (refused<called::rdma_get_devices>()) return nullptr;
  auto list = std::make_unique<std::vector<ibv_context*>>(
      std::vector<ibv_context*>{managed().context, nullptr});
  ibv_context** const native = list->data();
  managed().device_lists.add(std::move(list), native);
  if (count != nullptr) *count = 1;
  return native;
}

void rdma_free_devices(ibv_context** list) {
  record<called::rdma_free_devices>(about(list));
  managed().device_lists.remove(list);
}
