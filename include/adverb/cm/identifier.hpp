// SPDX-License-Identifier: MIT
// Identifiers: librdmacm's counterpart of a socket.
#pragma once

#include <cerrno>
#include <concepts>
#include <cstdint>
#include <string_view>
#include <system_error>
#include <type_traits>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include <adverb/cm/address_list.hpp>
#include <adverb/cm/connection_parameters.hpp>
#include <adverb/cm/detail/default_domains.hpp>
#include <adverb/cm/detail/explain_call.hpp>
#include <adverb/cm/detail/identifier_traits.hpp>
#include <adverb/cm/event_channel.hpp>
#include <adverb/cm/path_record.hpp>
#include <adverb/cm/socket_address.hpp>
#include <adverb/core/detail/check.hpp>
#include <adverb/core/durations.hpp>
#include <adverb/core/ids.hpp>
#include <adverb/core/timeout.hpp>
#include <adverb/device/async_event.hpp>
#include <adverb/memory/protection_domain.hpp>
#include <adverb/queue/attribute.hpp>
#include <adverb/queue/detail/create_queue_pair.hpp>
#include <adverb/queue/queue_pair_attributes.hpp>
#include <adverb/queue/queue_pair_options.hpp>
#include <adverb/queue/queue_pair_ref.hpp>
#include <adverb/queue/shared_receive_queue.hpp>
#include <adverb/queue/xrc_shared_receive_queue.hpp>
#include <adverb/request/detail/queue_traits.hpp>

namespace adverb::inline ADVERB_ABI::cm {

/// A function to call with a connector or request whose queue pair exists but is not connected, for
/// example to post receives. Returns nothing, or whether to continue, for code without exceptions.
template <class Function, class Ready>
concept preparation = std::invocable<Function&, Ready&> &&
                      (std::is_void_v<std::invoke_result_t<Function&, Ready&>> ||
                       std::convertible_to<std::invoke_result_t<Function&, Ready&>, bool>);

}  // namespace adverb::inline ADVERB_ABI::cm

namespace adverb::inline ADVERB_ABI::detail {

/// Does nothing.
inline constexpr auto no_preparation = [](const auto&) {};

/// Calls the preparation. If it returns false, reports ECANCELED and returns false.
template <class Ready, cm::preparation<Ready> Prepare>
[[nodiscard]] bool prepared(on_failure policy, const char* verb, Ready& ready, Prepare& prepare) {
  if constexpr (std::is_void_v<std::invoke_result_t<Prepare&, Ready&>>) {
    prepare(ready);
    return true;
  } else {
    if (prepare(ready)) return true;
    policy.report(ECANCELED, verb, [&](failure_description& description) {
      description.explain("the preparation of the queue pair returned false");
    });
    return false;
  }
}

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI::cm {

/// The part that a member has in a multicast group.
enum class multicast_role : std::uint32_t {
  /// Sends to the group and receives its messages.
  full_member = RDMA_MC_JOIN_FLAG_FULLMEMBER,
  /// Sends only. Joining fails if the subnet administrator does not support such members.
  send_only = RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER,
};

/// The attributes of one transition of a queue pair, returned by `identifier::settings_for`. On
/// iWARP the kernel connects the queue pair, and there may be nothing to set.
struct queue_pair_settings {
  /// The valid attributes in `values`.
  qp_attributes given{};
  /// The values for ibv_modify_qp(3).
  ibv_qp_attr values{};
};

}  // namespace adverb::inline ADVERB_ABI::cm

namespace adverb::inline ADVERB_ABI {

namespace detail {

/// Adds no explanation.
struct nothing_to_say {
  void operator()(text_writer&, const std::error_code&) const noexcept {}
};

}  // namespace detail

namespace cm {

/// The operations on an identifier, owned or referenced. Thread safe, but the steps of one
/// identifier must follow each other.
class identifier_base : public detail::handle_base<rdma_cm_id> {
 public:
  using handle_base::handle_base;

  /// Returns the pointer given at creation. The identifier of a request has the pointer of its
  /// listener.
  [[nodiscard]] void* user_context() const noexcept { return checked_handle()->context; }
  /// Returns the event channel; empty for a synchronous identifier.
  [[nodiscard]] event_channel_ref channel() const noexcept { return checked_handle()->channel; }
  /// Returns the bound device; empty until an address is resolved or bound. librdmacm owns it, and
  /// all identifiers on the device share it. librdmacm closes the context of a removed device with
  /// the last of them. This call keeps it open until the program ends, so objects on it may outlive
  /// every identifier.
  [[nodiscard]] context_ref context() const noexcept {
    detail::default_domains::keep(checked_handle());
    return checked_handle()->verbs;
  }
  /// Returns the port of the bound device; 0 before an address is resolved or bound.
  [[nodiscard]] port_number port() const noexcept {
    return port_number{checked_handle()->port_num};
  }
  /// Returns the protection domain of the queue pair, or the default if none is given. The default
  /// is librdmacm's own, one for all identifiers on the device. librdmacm deallocates it with the
  /// last of them. This call, or the creation of a queue pair in it, keeps it allocated until the
  /// program ends, so memory regions in it may outlive every connection.
  [[nodiscard]] protection_domain_ref protection_domain() const noexcept {
    detail::default_domains::keep(checked_handle());
    return native_handle()->pd;
  }
  /// Returns the queue pair of the identifier, or an empty reference.
  template <transport Transport>
  [[nodiscard]] queue_pair_ref<Transport, qp_state::any> queue_pair() const noexcept;
  /// Returns the completion queue for sends; empty without a queue pair.
  [[nodiscard]] completion_queue_ref send_cq() const noexcept;
  /// Returns the completion queue for receives; empty without a queue pair.
  [[nodiscard]] completion_queue_ref recv_cq() const noexcept;
  /// Returns the local address; empty until it is known. Wraps: rdma_get_local_addr(3).
  [[nodiscard]] socket_address local_address() const noexcept {
    return detail::address_in(rdma_get_local_addr(checked_handle()));
  }
  /// Returns the peer's address; empty until it is known. Wraps: rdma_get_peer_addr(3).
  [[nodiscard]] socket_address peer_address() const noexcept {
    return detail::address_in(rdma_get_peer_addr(checked_handle()));
  }

  /// Binds to a local address, and to its device unless the address is the wildcard.
  /// Wraps: rdma_bind_addr(3).
  void bind(const socket_address& address, on_failure policy = throwing{}) const;
  /// Rejected at compile time: explains how to get an address from a text.
  template <detail::address_text Text, class... Rest>
  void bind(const Text&, const Rest&...) const {
    detail::reject_address_text<Text>();
  }

  /// Starts to resolve an address to a device and a neighbour. `from` is a local address, or empty.
  /// Ends with the event address_resolved or address_error. Wraps: rdma_resolve_addr(3).
  void resolve_address(const socket_address& to, const socket_address& from, timeout limit,
                       on_failure policy = throwing{}) const;
  /// Rejected at compile time: explains how to get an address from a text.
  template <detail::address_text Text, class... Rest>
  void resolve_address(const Text&, const Rest&...) const {
    detail::reject_address_text<Text>();
  }

  /// Starts to look up a host and a service, as an `address_list` does. Ends with the event
  /// address_info_resolved or address_info_error; after the first, `found_addresses` returns the
  /// addresses. Looking up a name blocks. The subnet administrator, which only a bound identifier
  /// can query, answers later (`lookup_options::subnet_administrator`). Fails with EBUSY if the
  /// addresses of an earlier lookup are not taken yet. Wraps: rdma_resolve_addrinfo(3).
  void look_up(std::string_view host, std::string_view service, const lookup_options& options = {},
               on_failure policy = throwing{}) const;
  /// Returns the addresses that `look_up` found. Fails with ENOENT if there are none, or if they
  /// are taken already. Wraps: rdma_query_addrinfo(3).
  [[nodiscard]] address_list found_addresses(on_failure policy = throwing{}) const;

  /// Starts to resolve the route. Ends with the event route_resolved or route_error.
  /// Wraps: rdma_resolve_route(3).
  void resolve_route(timeout limit, on_failure policy = throwing{}) const;

  /// Creates the queue pair of the identifier, in INIT, or in RTS for UD. The default protection
  /// domain is librdmacm's. Completion queues that are omitted are created with the queue pair,
  /// each with its own channel. The default shared receive queue is the identifier's, if it has
  /// one. Objects that are passed in must outlive the queue pair: destroying one earlier fails with
  /// EBUSY and names the identifier. If C code owns the identifier, call `destroy_queue_pair` to
  /// end this dependency. Extended operations that are only preferred (`fall_back_to_classic`) are
  /// omitted if the device lacks them. Wraps: rdma_create_qp(3), rdma_create_qp_ex(3).
  template <transport Transport>
  void create_queue_pair(const queue_pair_options& options, protection_domain_ref domain,
                         on_failure policy = throwing{}) const {
    if (!detail::check_queue_options(policy, "rdma_create_qp", Transport, options)) return;
    if (detail::prefers_extended(options)) {
      failure why;
      queue_pair_options others = options;
      others.fall_back_to_classic = false;
      create_queue_pair<Transport>(others, domain, why);
      others.send_operations = {};
      if (detail::lacks_extended(Transport, options, why))
        create_queue_pair<Transport>(others, domain, policy);
      else if (why)
        policy.report(why);
      else
        policy.clear();
      return;
    }
    const auto explain = [&](text_writer& writer, const std::error_code& code) {
      if (!explain_other_domain(writer, domain))
        detail::explain_creation(writer, code, context(), Transport, options);
    };
    if (options.needs_extended_creation()) {
      call_with_new_parents(
          policy, "rdma_create_qp_ex",
          [&](rdma_cm_id* id) {
            ibv_qp_init_attr_ex native =
                options.native_extended(Transport, or_default(domain).native_handle());
            if (Transport == transport::xrc_recv) native.cap.max_send_wr = 0;
            return rdma_create_qp_ex(id, &native);
          },
          explain);
      return;
    }
    call_with_new_parents(
        policy, "rdma_create_qp",
        [&](rdma_cm_id* id) {
          ibv_qp_init_attr native = options.native(Transport);
          // Without this, librdmacm creates a completion queue for sends that an XRC target never
          // posts.
          if (Transport == transport::xrc_recv) native.cap.max_send_wr = 0;
          return rdma_create_qp(id, or_default(domain).native_handle(), &native);
        },
        explain);
  }
  /// Destroys the queue pair and the completion queues created with it. Fails with EBUSY if one of
  /// them is in use, for example by a multicast attachment. Does nothing without a queue pair.
  /// `protection_domain()` still returns the domain of the queue pair; if that domain is destroyed,
  /// pass another one when creating the next queue pair. Wraps: rdma_destroy_qp(3).
  void destroy_queue_pair(on_failure policy = throwing{}) const;

  /// Creates a shared receive queue for the identifier. A queue pair that is created afterwards
  /// receives from it. The default protection domain is librdmacm's. Wraps: rdma_create_srq(3).
  void create_srq(const shared_receive_queue_options& options, protection_domain_ref domain = {},
                  on_failure policy = throwing{}) const;
  /// Creates an XRC shared receive queue for an XRC identifier. The default completion queue is a
  /// new one; the default XRC domain and protection domain are librdmacm's.
  /// Wraps: rdma_create_srq_ex(3).
  void create_xrc_srq(const shared_receive_queue_options& options, completion_queue_ref queue = {},
                      xrc_domain_ref xrc_domain = {}, protection_domain_ref domain = {},
                      on_failure policy = throwing{}) const;
  /// Returns the shared receive queue of the identifier, or an empty reference.
  [[nodiscard]] shared_receive_queue_ref srq() const noexcept { return checked_handle()->srq; }
  /// Returns the shared receive queue of an XRC identifier, or an empty reference.
  [[nodiscard]] xrc_shared_receive_queue_ref xrc_srq() const noexcept {
    return checked_handle()->srq;
  }
  /// Destroys the shared receive queue and the completion queues that librdmacm created. Fails with
  /// EBUSY if one of them is in use, for example by the queue pair. Does nothing without a shared
  /// receive queue. Wraps: rdma_destroy_srq(3).
  void destroy_srq(on_failure policy = throwing{}) const;

  /// Returns the attributes that the connection requires for a transition of a queue pair of the
  /// program. INIT is available once the route is resolved or a request has arrived; RTR and RTS
  /// once the peer has accepted, or before accepting. `use_queue_pair` of a connector or a request
  /// does all of this. Wraps: rdma_init_qp_attr(3).
  [[nodiscard]] queue_pair_settings settings_for(qp_state state,
                                                 on_failure policy = throwing{}) const;

  /// Requests a connection from the listener. Ends with the event established (if the identifier
  /// has a queue pair), connect_response (without one), rejected, unreachable or connect_error.
  /// Fails with EMSGSIZE if the private data exceeds the limit. Wraps: rdma_connect(3).
  void connect(const connection_parameters& options, on_failure policy = throwing{}) const;
  /// Confirms to the peer, after connect_response, that the program's queue pair is ready.
  /// Wraps: rdma_establish(3).
  void establish(on_failure policy = throwing{}) const;

  /// Listens for requests, and queues up to `backlog` of them. Each raises the event
  /// connect_request. Wraps: rdma_listen(3).
  void listen(int backlog, on_failure policy = throwing{}) const;
  /// Accepts the request of this identifier. Ends with the event established, disconnected or
  /// connect_error. Fails with EMSGSIZE if the private data exceeds the limit.
  /// Wraps: rdma_accept(3).
  void accept(const connection_parameters& options, on_failure policy = throwing{}) const;
  /// Rejects the request of this identifier. Fails with EMSGSIZE if the private data exceeds the
  /// limit. Wraps: rdma_reject(3).
  void reject(const private_data& data = {}, on_failure policy = throwing{}) const;

  /// Rejects the request because of its enhanced connection establishment (ECE) options. The peer
  /// gets the reason `ece_not_supported`. Wraps: rdma_reject_ece(3).
  void reject_ece(const private_data& data = {}, on_failure policy = throwing{}) const;

  /// Starts to join a multicast group. Ends with the event multicast_join or multicast_error, which
  /// carries `context`. The identifier must be bound to a device (`bind`, `resolve_address`). When
  /// the program takes the join event, librdmacm attaches the identifier's queue pair unless it
  /// only sends. If a group is joined twice, the first leave detaches the queue pair.
  /// Wraps: rdma_join_multicast(3), rdma_join_multicast_ex(3).
  void join_multicast(const socket_address& group,
                      multicast_role role = multicast_role::full_member, void* context = nullptr,
                      on_failure policy = throwing{}) const;
  /// Leaves a multicast group. After a failed join, releases librdmacm's record of it. Blocks until
  /// the events about the group are acknowledged. The destructor of `multicast_membership` calls
  /// this. Wraps: rdma_leave_multicast(3).
  void leave_multicast(const socket_address& group, on_failure policy = throwing{}) const;

  /// Raises the event `user` on the channel, for example to wake a thread that waits for events.
  /// The event returns `argument` and `status`. Wraps: rdma_write_cm_event(3).
  void raise_event(std::uint64_t argument, int status = 0, on_failure policy = throwing{}) const;

  /// Passes an asynchronous event of the program's queue pair to the connection manager.
  /// `communication_established` means that data arrived before the peer's confirmation, and
  /// replaces it. Does nothing on iWARP. Wraps: rdma_notify(3).
  void notify(async_event_type event, on_failure policy = throwing{}) const;

  /// Ends the connection. Moves the identifier's queue pair to ERR (iWARP: SQD), which flushes
  /// posted requests, and notifies the peer. Both sides get the event disconnected.
  /// Wraps: rdma_disconnect(3).
  void disconnect(on_failure policy = throwing{}) const;

  /// Sets the type of service of the packets: six bits of DSCP above two of ECN, as in an IP
  /// header. InfiniBand and RoCE derive their traffic class from it. Call it before the route is
  /// resolved. Wraps: rdma_set_option(3).
  void set_type_of_service(std::uint8_t type, on_failure policy = throwing{}) const {
    set(policy, RDMA_OPTION_ID_TOS, type);
  }
  /// Permits binding to an address that was used recently, as SO_REUSEADDR does. Call it before
  /// binding. Wraps: rdma_set_option(3).
  void set_reuse_address(bool reuse, on_failure policy = throwing{}) const {
    set(policy, RDMA_OPTION_ID_REUSEADDR, reuse ? 1 : 0);
  }
  /// Restricts an IPv6 address to IPv6, as IPV6_V6ONLY does, so that another listener can use the
  /// port for IPv4. Call it before binding. Wraps: rdma_set_option(3).
  void set_address_family_only(bool only, on_failure policy = throwing{}) const {
    set(policy, RDMA_OPTION_ID_AFONLY, only ? 1 : 0);
  }
  /// Sets the time that the queue pair waits for an acknowledgement before it retransmits. The
  /// default derives from the packet life time of the path. Call it before connecting. Fails with
  /// EINVAL for transports other than RC and XRC. Wraps: rdma_set_option(3).
  void set_acknowledge_timeout(acknowledge_timeout time, on_failure policy = throwing{}) const {
    set(policy, RDMA_OPTION_ID_ACK_TIMEOUT, time.code());
  }

  /// Sets the path to the peer instead of resolving it. Call it once the address is resolved. Ends
  /// with the event route_resolved. InfiniBand only; the kernel uses only the first path in both
  /// directions. Wraps: rdma_set_option(3).
  void set_path(const path_record& path, on_failure policy = throwing{}) const;
  /// Returns the number of known paths to the peer: 0 before the route is resolved, and on iWARP.
  [[nodiscard]] int path_count() const noexcept { return checked_handle()->route.num_paths; }
  /// Returns one path. `index` must be less than `path_count()`.
  [[nodiscard]] path_record path(int index = 0) const noexcept {
    return path_record::from_native(checked_handle()->route.path_rec[index]);
  }

  /// Sets the enhanced connection establishment (ECE) options to send with the request or the
  /// acceptance. Only for a queue pair of the program; librdmacm does this for its own. Fails with
  /// EINVAL if the options have no vendor. Wraps: rdma_set_local_ece(3).
  void set_local_ece(const ece& enhancements, on_failure policy = throwing{}) const;
  /// Returns the ECE options of the peer's request or acceptance, without a vendor if the peer sent
  /// none. Only for a queue pair of the program. Wraps: rdma_get_remote_ece(3).
  [[nodiscard]] ece remote_ece(on_failure policy = throwing{}) const;

 protected:
  /// Reports an empty identifier. Returns true if it is not empty.
  [[nodiscard]] bool present(on_failure policy, const char* verb) const {
    return detail::check_present(policy, verb, native_handle());
  }

  /// Calls a function that returns 0, or -1 and errno. `to` and `from` are the addresses passed to
  /// it. `explain` explains a failure that the addresses do not. Returns true on success.
  template <std::invocable<rdma_cm_id*> Call, class Explain = detail::nothing_to_say>
  bool call(on_failure policy, const char* verb, const Call& function,
            const socket_address& to = {}, const socket_address& from = {},
            const Explain& explain = {}) const {
    rdma_cm_id* const id = native_handle();
    return present(policy, verb) &&
           detail::check_minus_one(
               policy, verb, [&] { return function(id); }, describe(verb, to, from, explain));
  }
  /// Calls a function that needs a device. librdmacm does not check for one, and some of its calls
  /// crash without.
  template <std::invocable<rdma_cm_id*> Call, class Explain = detail::nothing_to_say>
  bool call_on_device(on_failure policy, const char* verb, const Call& function,
                      const Explain& explain = {}) const {
    if (!present(policy, verb)) return false;
    if (native_handle()->verbs != nullptr) return call(policy, verb, function, {}, {}, explain);
    policy.report(EINVAL, verb, [&](failure_description& description) {
      detail::on_object<detail::identifier_traits>(native_handle())(description);
      description.explain("the identifier has no device: resolve the address first");
    });
    return false;
  }
  /// Calls a function that changes the objects on which the identifier depends.
  template <std::invocable<rdma_cm_id*> Call, class Explain = detail::nothing_to_say>
  bool call_with_new_parents(on_failure policy, const char* verb, const Call& function,
                             const Explain& explain = {}) const {
    return call_on_device(
        policy, verb,
        [&](rdma_cm_id* id) {
          return detail::with_new_parents<detail::identifier_traits>(id,
                                                                     [&] { return function(id); });
        },
        explain);
  }

  /// Destroys parts of the identifier unless they are in use. `for_each_part` calls its function
  /// with each part, as that of the traits does. `other_user` is the queue pair if it is not one of
  /// the parts, or null.
  void destroy_parts(on_failure policy, const char* verb,
                     detail::callable_ref<detail::part_visitor> for_each_part,
                     const ibv_qp* other_user, void (*destroy)(rdma_cm_id*) noexcept) const;

  /// Calls a function that sends private data. Fails with EMSGSIZE if the data exceeds the limit of
  /// the link.
  template <std::invocable<rdma_cm_id*> Call>
  void with_private_data(on_failure policy, const char* verb, detail::cm_message message,
                         const private_data& data, const Call& function) const {
    if (!present(policy, verb)) return;
    const detail::private_data_limit limit = detail::limit_of(native_handle(), message);
    if (data.size() <= limit.bytes) {
      call_on_device(policy, verb, function);
      return;
    }
    policy.report(EMSGSIZE, verb, [&](failure_description& description) {
      detail::on_object<detail::identifier_traits>(native_handle())(description);
      description.explain([&](text_writer& writer) {
        detail::explain_private_data(writer, data.size(), message, limit);
      });
    });
  }

 private:
  /// Holds the addresses by reference. Copies would cost every call, including the successful ones.
  template <class Explain>
  [[nodiscard]] auto describe(const char* verb, const socket_address& to,
                              const socket_address& from, const Explain& explain) const noexcept {
    return [id = native_handle(), verb, &to, &from, &explain](failure_description& description) {
      if (!to.is_empty()) description.detail(to_text(to));
      detail::on_object<detail::identifier_traits>(id)(description);
      description.explain([&](text_writer& writer) {
        detail::explain_call(writer, {verb, description.code(), id, to, from});
        if (writer.size() == 0) explain(writer, description.code());
      });
    };
  }

 private:
  template <class Value>
  void set(on_failure policy, int option, Value value) const {
    call(policy, "rdma_set_option", [&](rdma_cm_id* id) {
      return rdma_set_option(id, RDMA_OPTION_ID, option, &value, sizeof value);
    });
  }
  /// Returns the given domain, or librdmacm's.
  [[nodiscard]] protection_domain_ref or_default(protection_domain_ref domain) const noexcept {
    return domain ? domain : protection_domain();
  }
  /// Explains a domain that belongs to another device or context than the identifier's.
  [[gnu::cold]] bool explain_other_domain(text_writer& writer, protection_domain_ref domain) const;
};

template <transport Transport>
queue_pair_ref<Transport, qp_state::any> identifier_base::queue_pair() const noexcept {
  ibv_qp* const pair = checked_handle()->qp;
  if (pair == nullptr || pair->qp_type != static_cast<ibv_qp_type>(Transport)) return {};
  return {adopt, pair, detail::to_failure_hook{}};
}

/// A reference to an identifier that another object keeps alive. Pass it by value; it is as cheap
/// as a pointer.
class identifier_ref : public detail::reference_to<identifier_base> {
 public:
  using reference_to::reference_to;
};

}  // namespace cm
}  // namespace adverb::inline ADVERB_ABI

namespace adverb::inline ADVERB_ABI::cm {

/// An owned librdmacm identifier. It also owns its queue pair and the other objects that librdmacm
/// created for it, and destroys them. Its operations are asynchronous: a call returns at once, and
/// an event on its channel reports the outcome. `connector` and `listener` are layered on it. They
/// wait by themselves, and their type encodes the next permitted step; for an identifier the kernel
/// checks that.
///
/// Has the size of a pointer. The destructor blocks until all events of the identifier are
/// acknowledged.
class [[nodiscard]] identifier : public detail::owner<identifier_base, detail::identifier_traits> {
 public:
  using owner::owner;

  /// Creates an empty identifier.
  identifier() noexcept = default;

  /// Creates an identifier on a channel. Wraps: rdma_create_id(3).
  [[nodiscard]] static identifier create(event_channel_ref channel, port_space space,
                                         void* user_context = nullptr,
                                         on_failure policy = throwing{});

  /// Moves the events of this identifier to another channel. Blocks until the events from the old
  /// channel are acknowledged. Wraps: rdma_migrate_id(3).
  void migrate(event_channel_ref channel, on_failure policy = throwing{});
};

}  // namespace adverb::inline ADVERB_ABI::cm

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/cm/impl/identifier.ipp>
#endif
