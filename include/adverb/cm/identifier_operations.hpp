// SPDX-License-Identifier: MIT
// What can be done with an identifier of librdmacm.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include <adverb/cm/connection_options.hpp>
#include <adverb/cm/event_channel.hpp>
#include <adverb/cm/explain_group.hpp>
#include <adverb/cm/multicast_role.hpp>
#include <adverb/cm/port_space.hpp>
#include <adverb/cm/socket_address.hpp>
#include <adverb/core/timeout.hpp>
#include <adverb/device/context.hpp>
#include <adverb/memory/protection_domain.hpp>
#include <adverb/queue/queue_pair_options.hpp>
#include <adverb/queue/queue_pair_ref.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

/// The address of a side of an identifier, empty as long as there is none.
[[nodiscard]] inline cm::socket_address address_in(const sockaddr* address) noexcept {
  switch (address->sa_family) {
    case AF_INET: return {adopt, address, sizeof(sockaddr_in)};
    case AF_INET6: return {adopt, address, sizeof(sockaddr_in6)};
    case AF_UNSPEC: return {};
    default: return {adopt, address, sizeof(sockaddr_storage)};
  }
}

/// An identifier with all that librdmacm made for it.
struct identifier_traits {
  using native_type = rdma_cm_id;
  static constexpr std::string_view destroy_verb = "rdma_destroy_id";
  static int destroy(rdma_cm_id* id) noexcept {
    if (id->qp != nullptr) rdma_destroy_qp(id);
    if (id->srq != nullptr) rdma_destroy_srq(id);
    errno = 0;
    return rdma_destroy_id(id) == 0 ? 0 : errno == 0 ? EIO : errno;
  }
  template <class Function>
  static void for_each_parent(const rdma_cm_id* id, const Function& function) noexcept {
    function(id->channel);
  }
  /// "rxe0 10.0.0.1:4711 -> 10.0.0.2:7471", as far as it is known.
  static void describe(const rdma_cm_id* id, text_writer& writer) noexcept {
    if (id->verbs != nullptr) put_device(writer, id->verbs).put(" ");
    const cm::socket_address local = address_in(&id->route.addr.src_addr);
    const cm::socket_address peer = address_in(&id->route.addr.dst_addr);
    if (local.is_empty() && peer.is_empty()) writer.put("rdma_cm identifier");
    if (!local.is_empty()) writer.put(local);
    if (!peer.is_empty()) writer.put(" -> ").put(peer);
  }
};

}  // namespace detail

namespace cm {

/// What can be done with an identifier, whether it is owned or referred to. Thread safe, but one
/// step of an identifier's life comes after another.
template <class Storage>
class identifier_operations : public Storage {
 public:
  using Storage::Storage;

  /// The pointer that it was made with; that of the listener for one that came with a request.
  [[nodiscard]] void* user_context() const noexcept { return this->native_handle()->context; }
  [[nodiscard]] event_channel_ref channel() const noexcept {
    return this->native_handle()->channel;
  }
  /// The device that it is bound to; empty before an address was resolved or bound. It belongs to
  /// librdmacm, and all identifiers on the device share it.
  [[nodiscard]] context_ref context() const noexcept { return this->native_handle()->verbs; }
  /// The port of the device; 0 before.
  [[nodiscard]] port_number port() const noexcept {
    return port_number{this->native_handle()->port_num};
  }
  /// The domain that its queue pair is in, or would be in if none is given: librdmacm's own, one
  /// for all identifiers on the device.
  [[nodiscard]] protection_domain_ref protection_domain() const noexcept {
    return this->native_handle()->pd;
  }
  /// The queue pair that was made for it, or none.
  template <transport Transport>
  [[nodiscard]] queue_pair_ref<Transport, qp_state::any> queue_pair() const noexcept;
  /// Where sends and receives complete; empty without a queue pair.
  [[nodiscard]] completion_queue_ref send_completion_queue() const noexcept {
    const ibv_qp* const pair = this->native_handle()->qp;
    return pair == nullptr ? nullptr : pair->send_cq;
  }
  [[nodiscard]] completion_queue_ref receive_completion_queue() const noexcept {
    const ibv_qp* const pair = this->native_handle()->qp;
    return pair == nullptr ? nullptr : pair->recv_cq;
  }
  /// The two sides; empty before they are known. Wraps: rdma_get_local_addr(3),
  /// rdma_get_src_port(3).
  [[nodiscard]] socket_address local_address() const noexcept {
    return detail::address_in(rdma_get_local_addr(this->native_handle()));
  }
  /// Wraps: rdma_get_peer_addr(3), rdma_get_dst_port(3).
  [[nodiscard]] socket_address peer_address() const noexcept {
    return detail::address_in(rdma_get_peer_addr(this->native_handle()));
  }

  /// Binds to a local address, and to its device unless it is that of every interface.
  /// Wraps: rdma_bind_addr(3).
  template <error_policy Policy = throwing>
  void bind(const socket_address& address, Policy&& policy = {}) const {
    call(
        std::forward<Policy>(policy), "rdma_bind_addr",
        [&](rdma_cm_id* id) { return rdma_bind_addr(id, address.native()); }, address);
  }

  /// Starts to find the device and the neighbour for an address; an event tells: address_resolved
  /// or address_error. From an address of this machine, if one is given.
  /// Wraps: rdma_resolve_addr(3).
  template <error_policy Policy = throwing>
  void resolve_address(const socket_address& to, const socket_address& from, timeout limit,
                       Policy&& policy = {}) const {
    call(
        std::forward<Policy>(policy), "rdma_resolve_addr",
        [&](rdma_cm_id* id) {
          return rdma_resolve_addr(id, from.native(), to.native(), limit.milliseconds());
        },
        to);
  }

  /// Starts to find the way there; an event tells: route_resolved or route_error.
  /// Wraps: rdma_resolve_route(3).
  template <error_policy Policy = throwing>
  void resolve_route(timeout limit, Policy&& policy = {}) const {
    call(std::forward<Policy>(policy), "rdma_resolve_route",
         [&](rdma_cm_id* id) { return rdma_resolve_route(id, limit.milliseconds()); });
  }

  /// Makes its queue pair, in INIT, or in RTS for UD. Without a domain it is librdmacm's; without
  /// completion queues they are made with the pair, each with a channel of its own.
  /// Wraps: rdma_create_qp(3), rdma_create_qp_ex(3).
  template <transport Transport, error_policy Policy = throwing>
  void create_queue_pair(const queue_pair_options& options, protection_domain_ref domain,
                         Policy&& policy = {}) const {
    if (options.needs_extended_creation()) {
      call(std::forward<Policy>(policy), "rdma_create_qp_ex", [&](rdma_cm_id* id) {
        ibv_qp_init_attr_ex native =
            options.native_extended(Transport, domain ? domain.native_handle() : id->pd);
        return rdma_create_qp_ex(id, &native);
      });
      return;
    }
    call(std::forward<Policy>(policy), "rdma_create_qp", [&](rdma_cm_id* id) {
      ibv_qp_init_attr native = options.native(Transport);
      return rdma_create_qp(id, domain.native_handle(), &native);
    });
  }
  /// Destroys its queue pair, and the completion queues that were made with it. Without one it does
  /// nothing. Wraps: rdma_destroy_qp(3).
  void destroy_queue_pair() const noexcept {
    if (*this && this->native_handle()->qp != nullptr) rdma_destroy_qp(this->native_handle());
  }

  /// Asks the listener at the other side for a connection; an event tells: established (with a
  /// queue pair that was made for the identifier), connect_response (without), rejected,
  /// unreachable or connect_error. Refuses (EMSGSIZE) more private data than can be sent.
  /// Wraps: rdma_connect(3).
  template <error_policy Policy = throwing>
  void connect(const connection_options& options, Policy&& policy = {}) const {
    with_private_data(std::forward<Policy>(policy), "rdma_connect", options.private_data,
                      [&](rdma_cm_id* id) {
                        rdma_conn_param native = options.native();
                        return rdma_connect(id, &native);
                      });
  }
  /// Tells the peer that this side's own queue pair is ready, after connect_response.
  /// Wraps: rdma_establish(3).
  template <error_policy Policy = throwing>
  void establish(Policy&& policy = {}) const {
    call(std::forward<Policy>(policy), "rdma_establish",
         [](rdma_cm_id* id) { return rdma_establish(id); });
  }

  /// Waits for requests, of which so many may queue up; events tell: connect_request.
  /// Wraps: rdma_listen(3).
  template <error_policy Policy = throwing>
  void listen(int backlog, Policy&& policy = {}) const {
    call(std::forward<Policy>(policy), "rdma_listen",
         [&](rdma_cm_id* id) { return rdma_listen(id, backlog); });
  }
  /// Accepts the request that the identifier came with; an event tells: established, disconnected
  /// or connect_error. Refuses (EMSGSIZE) more private data than can be sent.
  /// Wraps: rdma_accept(3).
  template <error_policy Policy = throwing>
  void accept(const connection_options& options, Policy&& policy = {}) const {
    with_private_data(std::forward<Policy>(policy), "rdma_accept", options.private_data,
                      [&](rdma_cm_id* id) {
                        rdma_conn_param native = options.native();
                        return rdma_accept(id, &native);
                      });
  }
  /// Rejects the request that the identifier came with. Refuses (EMSGSIZE) more private data than
  /// can be sent. Wraps: rdma_reject(3).
  template <error_policy Policy = throwing>
  void reject(const private_data& data = {}, Policy&& policy = {}) const {
    with_private_data(std::forward<Policy>(policy), "rdma_reject", data, [&](rdma_cm_id* id) {
      return rdma_reject(id, data.bytes().data(), static_cast<std::uint8_t>(data.bytes().size()));
    });
  }

  /// Starts to join a multicast group; an event tells: multicast_join or multicast_error, with the
  /// `context` that is given here. The identifier is bound to a device (`bind`, `resolve_address`).
  /// As the join event is taken, librdmacm attaches the queue pair that was made for the
  /// identifier, unless it only sends. Of a group that is joined twice, the first leave detaches
  /// the pair. Wraps: rdma_join_multicast(3), rdma_join_multicast_ex(3).
  template <error_policy Policy = throwing>
  void join_multicast(const socket_address& group,
                      multicast_role role = multicast_role::full_member, void* context = nullptr,
                      Policy&& policy = {}) const {
    rdma_cm_id* const id = this->native_handle();
    if (!this->present(std::forward<Policy>(policy), "rdma_join_multicast")) return;
    const bool full = role == multicast_role::full_member;
    rdma_cm_join_mc_attr_ex native{};
    native.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;
    native.join_flags = static_cast<std::uint32_t>(role);
    native.addr = group.native();
    detail::check_minus_one(
        std::forward<Policy>(policy), full ? "rdma_join_multicast" : "rdma_join_multicast_ex",
        [&] {
          return full ? rdma_join_multicast(id, native.addr, context)
                      : rdma_join_multicast_ex(id, &native, context);
        },
        [&](failure_description& description) {
          description.detail(to_text(group));
          detail::on_object<detail::identifier_traits>(id)(description);
          detail::explain_group(description, id, group);
        });
  }
  /// Leaves it, also when joining has failed, which releases what librdmacm keeps of it. Waits
  /// until the events about the group are acknowledged. `multicast_membership` does this when it
  /// dies. Wraps: rdma_leave_multicast(3).
  template <error_policy Policy = throwing>
  void leave_multicast(const socket_address& group, Policy&& policy = {}) const {
    call(
        std::forward<Policy>(policy), "rdma_leave_multicast",
        [&](rdma_cm_id* id) { return rdma_leave_multicast(id, group.native()); }, group);
  }

  /// Ends the connection: moves the queue pair that was made for the identifier to ERR (iWARP:
  /// SQD), which flushes what is posted, and tells the peer; an event tells both: disconnected.
  /// Wraps: rdma_disconnect(3).
  template <error_policy Policy = throwing>
  void disconnect(Policy&& policy = {}) const {
    call(std::forward<Policy>(policy), "rdma_disconnect",
         [](rdma_cm_id* id) { return rdma_disconnect(id); });
  }

 protected:
  /// Reports an empty identifier. True when it is there.
  template <error_policy Policy>
  [[nodiscard]] bool present(Policy&& policy, std::string_view verb) const {
    return detail::check_present(std::forward<Policy>(policy), verb, this->native_handle());
  }

 private:
  /// Calls what returns 0, or -1 and errno; `target` is named in a failure. True on success.
  template <error_policy Policy, std::invocable<rdma_cm_id*> Call>
  bool call(Policy&& policy, std::string_view verb, const Call& function,
            const socket_address& target = {}) const {
    rdma_cm_id* const id = this->native_handle();
    return present(std::forward<Policy>(policy), verb) &&
           detail::check_minus_one(
               std::forward<Policy>(policy), verb, [&] { return function(id); },
               [&](failure_description& description) {
                 if (!target.is_empty()) description.detail(to_text(target));
                 detail::on_object<detail::identifier_traits>(id)(description);
               });
  }

  template <error_policy Policy, std::invocable<rdma_cm_id*> Call>
  void with_private_data(Policy&& policy, std::string_view verb, const private_data& data,
                         const Call& function) const {
    if (data.size() > private_data::capacity) {
      if (present(std::forward<Policy>(policy), verb))
        detail::report_errno(
            std::forward<Policy>(policy), EMSGSIZE, verb, [&](failure_description& description) {
              detail::on_object<detail::identifier_traits>(this->native_handle())(description);
              description.explain([&](text_writer& writer) {
                writer.put("private data of ").decimal(data.size());
                writer.put(" bytes is too long: ").decimal(private_data::capacity).put(" at most");
              });
            });
      return;
    }
    call(std::forward<Policy>(policy), verb, function);
  }
};

template <class Storage>
template <transport Transport>
queue_pair_ref<Transport, qp_state::any> identifier_operations<Storage>::queue_pair()
    const noexcept {
  failure not_this_transport;
  if (this->native_handle()->qp == nullptr) return {};
  return {adopt, this->native_handle()->qp, not_this_transport};
}

}  // namespace cm
}  // namespace adverb::inline ADVERB_ABI
