// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>

#include <sys/socket.h>
#include <unistd.h>

#include <adverb/cm/detail/explain_call.hpp>
#include <adverb/cm/local_addresses.hpp>
#include <adverb/core/failure.hpp>
#include <adverb/device/detail/device_files.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC void explain_group(text_writer& writer, const std::error_code& code,
                               const rdma_cm_id* id, const cm::socket_address& group) {
  // The kernel's ENOTSUPP, which differs from the ENOTSUP of POSIX.
  constexpr int not_supported = 524;
  problem_list problems{writer};
  if (id->verbs == nullptr)
    problems.add("the identifier has no device yet: bind() or resolve_address() first");
  if (is_single_address(group))
    problems.add(
        "it is not a multicast address: those are 224.0.0.0 to 239.255.255.255, and ff00::/8");
  if (code.value() == not_supported && group.ipv6())
    problems.add("Linux joins IPv6 groups over InfiniBand and RoCE v1, and not over RoCE v2");
}

ADVERB_FUNC private_data_limit limit_of(const rdma_cm_id* id, cm_message message) noexcept {
  constexpr std::size_t ip_addresses = 36;
  if (id->verbs == nullptr || id->verbs->device->transport_type != IBV_TRANSPORT_IB)
    return {cm::private_data::capacity, "this link"};
  const std::size_t spared = id->route.addr.src_addr.sa_family == AF_IB ? ip_addresses : 0;
  const std::string_view link = "InfiniBand and RoCE";
  if (id->ps == RDMA_PS_UDP || id->ps == RDMA_PS_IPOIB)
    return {message == cm_message::request ? cm::max_datagram_request_data + spared
                                           : cm::max_datagram_accept_data,
            link};
  switch (message) {
    case cm_message::request: return {cm::max_request_data + spared, link};
    case cm_message::acceptance: return {cm::max_accept_data, link};
    case cm_message::rejection: return {cm::max_reject_data, link};
  }
  return {cm::private_data::capacity, link};
}

ADVERB_FUNC void explain_private_data(text_writer& writer, std::size_t size, cm_message message,
                                      const private_data_limit& limit) {
  writer.put("private data of ").decimal(size).put(" bytes is too long: ");
  writer.put(message == cm_message::request      ? "a request"
             : message == cm_message::acceptance ? "an acceptance"
                                                 : "a rejection");
  writer.put(" carries at most ").decimal(limit.bytes).put(" over ").put(limit.link);
}

ADVERB_FUNC void explain_event_channel(text_writer& writer) {
  problem_list problems{writer};
  device_file_problems files{problems};
  const device_file file = inspect_device_file("rdma_cm", "/dev/infiniband/rdma_cm");
  if (file.error == ENOENT && ::access("/sys/class/misc/rdma_cm", F_OK) != 0)
    problems.add(
        "the kernel module rdma_ucm is not loaded: /sys/class/misc/rdma_cm does not exist");
  else
    files.add(file);
  std::error_code unknown;
  const device_list devices{unknown};
  if (!unknown && devices.empty()) explain_unlisted_devices(files, devices);
  files.finish();
}

ADVERB_FUNC void explain_no_device(text_writer& writer, const cm::socket_address& address) {
  writer.put("no RDMA device serves ").put(address.with_port(0));
  const auto interface = interface_of(address);
  if (!interface.view().empty()) writer.put(" (").put(interface.view()).put(")");
  writer.put("; ");
  put_rdma_addresses(writer, address.family());
}

ADVERB_FUNC void explain_no_device_towards(text_writer& writer, const cm::socket_address& address) {
  writer.put("the route to ").put(address.with_port(0)).put(" uses no RDMA device; ");
  put_rdma_addresses(writer, address.family());
}

ADVERB_FUNC void explain_lack_of_scope(text_writer& writer, const cm::socket_address& address) {
  writer.put("a link-local address needs its interface: ");
  writer.put(*address.ipv6()).put("%eth0, say");
}

ADVERB_FUNC bool is_usable(const cm::socket_address& address) noexcept {
  const int made = ::socket(static_cast<int>(address.family()), SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (made == -1) return true;
  const cm::socket_address any_port = address.with_port(0);
  const bool is_refused =
      ::bind(made, any_port.native(), any_port.length()) == -1 && errno == EADDRNOTAVAIL;
  ::close(made);
  return !is_refused;
}

ADVERB_FUNC void explain_local_address(text_writer& writer, const std::error_code& code,
                                       const cm::socket_address& address) {
  // Linux reports a port in use with either error.
  const bool unavailable =
      is_code(code, std::errc::address_in_use) || is_code(code, std::errc::address_not_available);
  if (is_code(code, std::errc::permission_denied) && address.port() < 1024) {
    writer.put("ports below 1024 are for privileged programs");
  } else if (lacks_scope(address)) {
    explain_lack_of_scope(writer, address);
  } else if (address.family() != cm::address_family::infiniband && !address.is_any() &&
             interface_of(address).view().empty()) {
    writer.put(address.with_port(0)).put(" is not an address of this machine; ");
    put_rdma_addresses(writer, address.family());
  } else if (unavailable && address.port() == 0) {
    writer.put("no port of net.ipv4.ip_local_port_range is free");
  } else if (address.family() == cm::address_family::ipv6 &&
             is_code(code, std::errc::address_not_available) && !is_usable(address)) {
    writer.put(address.with_port(0));
    writer.put(" is not usable: \"ip address\" shows it as tentative or dadfailed");
  } else if (unavailable) {
    writer.put("port ").decimal(address.port());
    writer.put(" is in use: another identifier or, over iWARP, a socket has it");
  } else if (is_code(code, std::errc::no_such_device)) {
    explain_no_device(writer, address);
  }
}

ADVERB_FUNC void explain_bind(text_writer& writer, const failed_call& call) {
  if (call.to.is_empty())
    writer.put("no address is given");
  else if (!call.local().is_empty())
    writer.put("it has the address ").put(call.local()).put(" already");
  else
    explain_local_address(writer, call.code, call.to);
}

ADVERB_FUNC void explain_listen(text_writer& writer, const failed_call& call) {
  if (!call.peer().is_empty())
    writer.put("it was created to connect to ").put(call.peer());
  else if (is_code(call.code, std::errc::invalid_argument))
    writer.put("it already listens");
  else if (!call.local().is_empty())
    explain_local_address(writer, call.code, call.local());
}

ADVERB_FUNC void explain_resolve_address(text_writer& writer, const failed_call& call) {
  const cm::socket_address from = call.from.is_empty() ? call.local() : call.from;
  if (call.to.is_empty()) {
    writer.put("no address is given");
  } else if (!from.is_empty() && from.family() != call.to.family()) {
    writer.put(from).put(" is ").put(from.family()).put(", and ");
    writer.put(call.to).put(" is ").put(call.to.family());
  } else if (is_code(call.code, std::errc::network_unreachable) ||
             is_code(call.code, std::errc::host_unreachable)) {
    writer.put("this machine has no route to ").put(call.to.with_port(0)).put("; ");
    put_rdma_addresses(writer, call.to.family());
  } else if (is_code(call.code, std::errc::invalid_argument) && !call.peer().is_empty()) {
    writer.put("the address ").put(call.peer()).put(" is already resolved or being resolved");
  } else if (!call.from.is_empty()) {
    explain_local_address(writer, call.code, call.from);
  } else if (lacks_scope(call.to)) {
    explain_lack_of_scope(writer, call.to);
  } else if (!interface_of(call.to).view().empty()) {
    explain_no_device(writer, call.to);
  } else if (is_code(call.code, std::errc::no_such_device)) {
    explain_no_device_towards(writer, call.to);
  }
}

ADVERB_FUNC void explain_connect(text_writer& writer, const failed_call& call) {
  if (is_code(call.code, std::errc::connection_refused))
    writer.put("possible causes: nothing listens on that port, or a firewall rejects it");
  else if (!is_code(call.code, std::errc::invalid_argument))
    return;
  else if (lacks_scope(call.peer()))
    explain_lack_of_scope(writer, call.peer());
  else if (call.id->verbs == nullptr)
    writer.put("the address is not resolved yet");
  else
    writer.put(
        "possible causes: the route is not resolved yet, a connection was already requested, or "
        "more reads and atomics in progress than the device allows");
}

/// Returns the errno of a call that changes nothing; 0 if it succeeds.
ADVERB_FUNC int errno_of_inquiry(const rdma_cm_id* id) noexcept {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  int mask = 0;
  return rdma_init_qp_attr(const_cast<rdma_cm_id*>(id), &attributes, &mask) == -1 ? errno : 0;
}

ADVERB_FUNC bool is_given_up(const rdma_cm_id* id) noexcept {
  return id->verbs != nullptr && errno_of_inquiry(id) == EINVAL;
}

ADVERB_FUNC bool has_lost_device(const rdma_cm_id* id) noexcept {
  return id != nullptr && id->channel != nullptr && errno_of_inquiry(id) == ENXIO;
}

ADVERB_FUNC void explain_step(text_writer& writer, const failed_call& call) {
  if (!is_code(call.code, std::errc::invalid_argument)) return;
  const auto put_unless_given_up = [&](std::string_view words) {
    if (is_given_up(call.id))
      writer.put("possible causes: {}, or the request is already answered", {peer_gave_up});
    else
      writer.put(words);
  };
  if (call.verb == "rdma_resolve_route")
    writer.put(call.peer().is_empty() ? "the address is not resolved yet"
               : call.id->route.num_paths != 0
                   ? "the route is already resolved"
                   : "possible causes: the address is still being resolved, or the route is "
                     "resolved or being resolved");
  else if (call.verb == "rdma_create_qp" || call.verb == "rdma_create_qp_ex")
    put_unless_given_up(call.id->qp == nullptr ? "" : "it already has a queue pair");
  else if (call.verb == "rdma_accept")
    put_unless_given_up(
        "possible causes: no request awaits an answer, or more reads and atomics in progress than "
        "the device allows");
  else if (call.verb == "rdma_reject" || call.verb == "rdma_reject_ece")
    put_unless_given_up("no request awaits an answer");
  else if (call.verb == "rdma_disconnect")
    writer.put("it is not connected");
  else if (call.verb == "rdma_establish")
    writer.put("possible causes: no peer has accepted, or the connection is already established");
}

ADVERB_FUNC void explain_call(text_writer& writer, const failed_call& call) {
  if (is_code(call.code, std::errc::no_such_device_or_address) && has_lost_device(call.id))
    writer.put(device_is_gone);
  else if (call.verb == "rdma_bind_addr")
    explain_bind(writer, call);
  else if (call.verb == "rdma_listen")
    explain_listen(writer, call);
  else if (call.verb == "rdma_resolve_addr")
    explain_resolve_address(writer, call);
  else if (call.verb == "rdma_resolve_route" && is_code(call.code, std::errc::no_such_device))
    explain_no_device(writer, call.local());
  else if (call.verb == "rdma_connect")
    explain_connect(writer, call);
  else
    explain_step(writer, call);
}

ADVERB_FUNC void explain_silence(text_writer& writer, std::string_view verb, const rdma_cm_id* id,
                                 timeout limit) {
  const cm::socket_address peer = address_in(&id->route.addr.dst_addr);
  if (verb == "rdma_connect") {
    writer.put(peer).put(" did not answer within ").put(limit).put("; ").put(why_no_answer);
  } else if (verb == "rdma_accept") {
    writer.put(peer).put(" did not confirm the connection within ").put(limit);
  } else {
    writer.put("no event arrived within ").put(limit);
  }
}

}  // namespace adverb::inline ADVERB_ABI::detail
