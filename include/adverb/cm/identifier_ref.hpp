// SPDX-License-Identifier: MIT
// What can be done with an identifier of librdmacm.
#pragma once

#include <cerrno>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include <adverb/cm/connection_parameters.hpp>
#include <adverb/cm/detail/default_domains.hpp>
#include <adverb/cm/detail/explain_call.hpp>
#include <adverb/cm/detail/identifier_traits.hpp>
#include <adverb/cm/event_channel.hpp>
#include <adverb/cm/path_record.hpp>
#include <adverb/cm/port_space.hpp>
#include <adverb/cm/socket_address.hpp>
#include <adverb/completion/detail/common_completion_queue.hpp>
#include <adverb/core/detail/problem_list.hpp>
#include <adverb/core/durations.hpp>
#include <adverb/core/timeout.hpp>
#include <adverb/device/async_event_type.hpp>
#include <adverb/device/context.hpp>
#include <adverb/memory/protection_domain.hpp>
#include <adverb/queue/attribute.hpp>
#include <adverb/queue/detail/create_queue_pair.hpp>
#include <adverb/queue/detail/explain_other_device.hpp>
#include <adverb/queue/detail/explain_shared_receive_queue.hpp>
#include <adverb/queue/detail/queue_traits.hpp>
#include <adverb/queue/queue_pair_attributes.hpp>
#include <adverb/queue/queue_pair_options.hpp>
#include <adverb/queue/queue_pair_ref.hpp>
#include <adverb/queue/shared_receive_queue.hpp>
#include <adverb/queue/xrc_shared_receive_queue.hpp>

namespace adverb::inline ADVERB_ABI::cm {

enum class multicast_role : std::uint32_t {
  /// Sends to the group, and receives what is sent to it.
  full_member = RDMA_MC_JOIN_FLAG_FULLMEMBER,
  /// Only sends to it. Where the subnet administrator does not know such members, joining fails.
  send_only = RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER,
};

/// The attributes of one transition of a queue pair: made by `identifier::settings_for`. On iWARP,
/// where the kernel connects the pair, nothing may be left to set.
struct queue_pair_settings {
  /// Which of the values mean something.
  qp_attributes given{};
  /// As ibv_modify_qp(3) takes them.
  ibv_qp_attr values{};
};

}  // namespace adverb::inline ADVERB_ABI::cm

namespace adverb::inline ADVERB_ABI {

namespace detail {

/// Explains nothing.
struct nothing_to_say {
  void operator()(text_writer&, const std::error_code&) const noexcept {}
};

}  // namespace detail

namespace cm {

/// What can be done with an identifier, whether it is owned or referred to. Thread safe, but one
/// step of an identifier's life comes after another.
class identifier_base : public detail::handle_base<rdma_cm_id> {
 public:
  using handle_base::handle_base;

  /// The pointer that it was made with; that of the listener for one that came with a request.
  [[nodiscard]] void* user_context() const noexcept { return native_handle()->context; }
  [[nodiscard]] event_channel_ref channel() const noexcept { return native_handle()->channel; }
  /// The device that it is bound to; empty before an address was resolved or bound. It belongs to
  /// librdmacm, and all identifiers on the device share it.
  [[nodiscard]] context_ref context() const noexcept { return native_handle()->verbs; }
  /// The port of the device; 0 before.
  [[nodiscard]] port_number port() const noexcept { return port_number{native_handle()->port_num}; }
  /// The domain that its queue pair is in, or would be in if none is given: librdmacm's own, one
  /// for all identifiers on the device. librdmacm deallocates that with the last of them; once it
  /// was handed out here, or a queue pair was made in it, it stays for as long as the program runs,
  /// so regions in it may outlive every connection.
  [[nodiscard]] protection_domain_ref protection_domain() const noexcept {
    detail::default_domains::keep(native_handle());
    return native_handle()->pd;
  }
  /// The queue pair that was made for it, or none.
  template <transport Transport>
  [[nodiscard]] queue_pair_ref<Transport, qp_state::any> queue_pair() const noexcept;
  /// Where sends and receives complete; empty without a queue pair.
  [[nodiscard]] completion_queue_ref send_cq() const noexcept {
    const ibv_qp* const pair = native_handle()->qp;
    return pair == nullptr ? nullptr : pair->send_cq;
  }
  [[nodiscard]] completion_queue_ref recv_cq() const noexcept {
    const ibv_qp* const pair = native_handle()->qp;
    return pair == nullptr ? nullptr : pair->recv_cq;
  }
  /// The two sides; empty before they are known. Wraps: rdma_get_local_addr(3).
  [[nodiscard]] socket_address local_address() const noexcept {
    return detail::address_in(rdma_get_local_addr(native_handle()));
  }
  /// Wraps: rdma_get_peer_addr(3).
  [[nodiscard]] socket_address peer_address() const noexcept {
    return detail::address_in(rdma_get_peer_addr(native_handle()));
  }

  /// Binds to a local address, and to its device unless it is that of every interface.
  /// Wraps: rdma_bind_addr(3).
  void bind(const socket_address& address, on_failure policy = throwing{}) const {
    call(
        policy, "rdma_bind_addr",
        [&](rdma_cm_id* id) { return rdma_bind_addr(id, address.native()); }, address);
  }

  /// Starts to find the device and the neighbour for an address; an event tells: address_resolved
  /// or address_error. From an address of this machine, if one is given.
  /// Wraps: rdma_resolve_addr(3).
  void resolve_address(const socket_address& to, const socket_address& from, timeout limit,
                       on_failure policy = throwing{}) const {
    call(
        policy, "rdma_resolve_addr",
        [&](rdma_cm_id* id) {
          return rdma_resolve_addr(id, from.native(), to.native(), limit.in_milliseconds());
        },
        to, from);
  }

  /// Starts to find the way there; an event tells: route_resolved or route_error.
  /// Wraps: rdma_resolve_route(3).
  void resolve_route(timeout limit, on_failure policy = throwing{}) const {
    call_on_device(policy, "rdma_resolve_route",
                   [&](rdma_cm_id* id) { return rdma_resolve_route(id, limit.in_milliseconds()); });
  }

  /// Makes its queue pair, in INIT, or in RTS for UD. Without a domain it is librdmacm's; without
  /// completion queues they are made with the pair, each with a channel of its own; without a
  /// shared receive queue it takes its receives from the identifier's, if there is one. What is
  /// given has to outlive the pair: destroying it before is reported (EBUSY), and names the
  /// identifier (of one that C code owns, destroy the pair here as well, which ends that).
  /// Extended calls that are only preferred (`fall_back_to_classic`) are left out where the device
  /// lacks them. Wraps: rdma_create_qp(3), rdma_create_qp_ex(3).
  template <transport Transport>
  void create_queue_pair(const queue_pair_options& options, protection_domain_ref domain,
                         on_failure policy = throwing{}) const {
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
          // Otherwise librdmacm makes a completion queue for what an XRC target never sends.
          if (Transport == transport::xrc_recv) native.cap.max_send_wr = 0;
          return rdma_create_qp(id, or_default(domain).native_handle(), &native);
        },
        explain);
  }
  /// Destroys its queue pair, and the completion queues that were made with it; refuses (EBUSY) as
  /// long as others use one of them, such as a multicast attachment. Without one it does nothing.
  /// `protection_domain()` stays that of the pair: when the domain goes, give another to the next.
  /// Wraps: rdma_destroy_qp(3).
  void destroy_queue_pair(on_failure policy = throwing{}) const {
    policy.clear();
    rdma_cm_id* const id = native_handle();
    if (id == nullptr || id->qp == nullptr) return;
    const auto parts = [id](const auto& function) {
      function(detail::queue_pair_traits{}, id->qp);
      // An XRC target completes nothing: what is there is of the shared receive queue.
      if (id->qp_type != IBV_QPT_XRC_RECV || id->srq == nullptr)
        detail::identifier_traits::for_each_completion_part(id, function);
    };
    this->destroy_parts(policy, "rdma_destroy_qp", parts, nullptr, detail::destroy_queue_pair_of);
  }

  /// Makes a shared receive queue that belongs to the identifier; its queue pair, made afterwards,
  /// takes its receives from it. Without a domain it is in librdmacm's. Wraps: rdma_create_srq(3).
  void create_srq(const shared_receive_queue_options& options, protection_domain_ref domain = {},
                  on_failure policy = throwing{}) const {
    call_with_new_parents(
        policy, "rdma_create_srq",
        [&](rdma_cm_id* id) {
          ibv_srq_init_attr native{options.user_context, options.native()};
          return rdma_create_srq(id, or_default(domain).native_handle(), &native);
        },
        [&](text_writer& writer, const std::error_code&) {
          if (explain_other_domain(writer, domain)) return;
          detail::problem_list problems{writer};
          detail::explain_creation(problems, context(), options);
        });
  }
  /// Makes one of XRC, on an identifier of XRC. Without completion queue, XRC domain and domain it
  /// has one of its own, and those of librdmacm. Wraps: rdma_create_srq_ex(3).
  void create_xrc_srq(const shared_receive_queue_options& options, completion_queue_ref queue = {},
                      xrc_domain_ref xrc_domain = {}, protection_domain_ref domain = {},
                      on_failure policy = throwing{}) const {
    call_with_new_parents(policy, "rdma_create_srq_ex", [&](rdma_cm_id* id) {
      ibv_srq_init_attr_ex native{};
      native.srq_context = options.user_context;
      native.attr = options.native();
      native.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
      native.srq_type = IBV_SRQT_XRC;
      native.cq = queue.native_handle();
      native.xrcd = xrc_domain.native_handle();
      native.pd = or_default(domain).native_handle();
      if (queue) native.comp_mask |= IBV_SRQ_INIT_ATTR_CQ;
      if (xrc_domain) native.comp_mask |= IBV_SRQ_INIT_ATTR_XRCD;
      const int result = rdma_create_srq_ex(id, &native);
      if (result == 0)
        id->srq =
            detail::with_parents(id->srq, {queue.native_handle(), xrc_domain.native_handle()});
      return result;
    });
  }
  /// The shared receive queue that was made for it, or none.
  [[nodiscard]] shared_receive_queue_ref srq() const noexcept { return native_handle()->srq; }
  [[nodiscard]] xrc_shared_receive_queue_ref xrc_srq() const noexcept {
    return native_handle()->srq;
  }
  /// Destroys it, and the completion queues that librdmacm made; refuses (EBUSY) as long as others
  /// use one of them, such as its queue pair. Without one it does nothing.
  /// Wraps: rdma_destroy_srq(3).
  void destroy_srq(on_failure policy = throwing{}) const {
    policy.clear();
    rdma_cm_id* const id = native_handle();
    if (id == nullptr || id->srq == nullptr) return;
    const auto parts = [id](const auto& function) {
      function(detail::srq_with_cq_traits{}, id->srq);
      detail::identifier_traits::for_each_completion_part(id, function);
    };
    this->destroy_parts(policy, "rdma_destroy_srq", parts, id->qp,
                        detail::destroy_shared_receive_queue_of);
  }

  /// What a transition of a queue pair of one's own needs to be set to, as far as the connection
  /// says it: to INIT once the route is resolved or a request is there, to RTR and RTS once the
  /// peer has accepted, or before accepting. `use_queue_pair` of a connector or a request does all
  /// of it. Wraps: rdma_init_qp_attr(3).
  [[nodiscard]] queue_pair_settings settings_for(qp_state state,
                                                 on_failure policy = throwing{}) const {
    queue_pair_settings result;
    result.values.qp_state = static_cast<ibv_qp_state>(state);
    int mask = 0;
    if (!call(policy, "rdma_init_qp_attr",
              [&](rdma_cm_id* id) { return rdma_init_qp_attr(id, &result.values, &mask); }))
      return {};
    result.given = qp_attributes::from_bits(static_cast<std::uint32_t>(mask));
    return result;
  }

  /// Asks the listener at the other side for a connection; an event tells: established (with a
  /// queue pair that was made for the identifier), connect_response (without), rejected,
  /// unreachable or connect_error. Refuses (EMSGSIZE) more private data than can be sent.
  /// Wraps: rdma_connect(3).
  void connect(const connection_parameters& options, on_failure policy = throwing{}) const {
    with_private_data(policy, "rdma_connect", detail::cm_message::request, options.private_data,
                      [&](rdma_cm_id* id) {
                        rdma_conn_param native = options.native();
                        return rdma_connect(id, &native);
                      });
  }
  /// Tells the peer that this side's own queue pair is ready, after connect_response.
  /// Wraps: rdma_establish(3).
  void establish(on_failure policy = throwing{}) const {
    call_on_device(policy, "rdma_establish", [](rdma_cm_id* id) { return rdma_establish(id); });
  }

  /// Waits for requests, of which so many may queue up; events tell: connect_request.
  /// Wraps: rdma_listen(3).
  void listen(int backlog, on_failure policy = throwing{}) const {
    call(policy, "rdma_listen", [&](rdma_cm_id* id) { return rdma_listen(id, backlog); });
  }
  /// Accepts the request that the identifier came with; an event tells: established, disconnected
  /// or connect_error. Refuses (EMSGSIZE) more private data than can be sent.
  /// Wraps: rdma_accept(3).
  void accept(const connection_parameters& options, on_failure policy = throwing{}) const {
    with_private_data(policy, "rdma_accept", detail::cm_message::acceptance, options.private_data,
                      [&](rdma_cm_id* id) {
                        rdma_conn_param native = options.native();
                        return rdma_accept(id, &native);
                      });
  }
  /// Rejects the request that the identifier came with. Refuses (EMSGSIZE) more private data than
  /// can be sent. Wraps: rdma_reject(3).
  void reject(const private_data& data = {}, on_failure policy = throwing{}) const {
    with_private_data(policy, "rdma_reject", detail::cm_message::rejection, data,
                      [&](rdma_cm_id* id) {
                        return rdma_reject(id, data.bytes().data(),
                                           static_cast<std::uint8_t>(data.bytes().size()));
                      });
  }

  /// Rejects it because of its enhancements, which is reason `ece_not_supported` there.
  /// Wraps: rdma_reject_ece(3).
  void reject_ece(const private_data& data = {}, on_failure policy = throwing{}) const {
    with_private_data(policy, "rdma_reject_ece", detail::cm_message::rejection, data,
                      [&](rdma_cm_id* id) {
                        return rdma_reject_ece(id, data.bytes().data(),
                                               static_cast<std::uint8_t>(data.bytes().size()));
                      });
  }

  /// Starts to join a multicast group; an event tells: multicast_join or multicast_error, with the
  /// `context` that is given here. The identifier is bound to a device (`bind`, `resolve_address`).
  /// As the join event is taken, librdmacm attaches the queue pair that was made for the
  /// identifier, unless it only sends. Of a group that is joined twice, the first leave detaches
  /// the pair. Wraps: rdma_join_multicast(3), rdma_join_multicast_ex(3).
  void join_multicast(const socket_address& group,
                      multicast_role role = multicast_role::full_member, void* context = nullptr,
                      on_failure policy = throwing{}) const {
    rdma_cm_id* const id = native_handle();
    if (!this->present(policy, "rdma_join_multicast")) return;
    const bool full = role == multicast_role::full_member;
    rdma_cm_join_mc_attr_ex native{};
    native.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;
    native.join_flags = static_cast<std::uint32_t>(role);
    native.addr = group.native();
    detail::check_minus_one(
        policy, full ? "rdma_join_multicast" : "rdma_join_multicast_ex",
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
  void leave_multicast(const socket_address& group, on_failure policy = throwing{}) const {
    call(
        policy, "rdma_leave_multicast",
        [&](rdma_cm_id* id) { return rdma_leave_multicast(id, group.native()); }, group);
  }

  /// Tells the connection manager of an asynchronous event of a queue pair of one's own:
  /// `communication_established` when data came before the peer's confirmation, which it stands
  /// for then. Does nothing on iWARP. Wraps: rdma_notify(3).
  void notify(async_event_type event, on_failure policy = throwing{}) const {
    call(policy, "rdma_notify",
         [&](rdma_cm_id* id) { return rdma_notify(id, static_cast<ibv_event_type>(event)); });
  }

  /// Ends the connection: moves the queue pair that was made for the identifier to ERR (iWARP:
  /// SQD), which flushes what is posted, and tells the peer; an event tells both: disconnected.
  /// Wraps: rdma_disconnect(3).
  void disconnect(on_failure policy = throwing{}) const {
    call_on_device(policy, "rdma_disconnect", [](rdma_cm_id* id) { return rdma_disconnect(id); });
  }

  /// The type of service of the packets: the six bits of DSCP above the two of ECN, as in an IP
  /// header. InfiniBand and RoCE make their traffic class of it. Before the route is resolved.
  /// Wraps: rdma_set_option(3).
  void set_type_of_service(std::uint8_t type, on_failure policy = throwing{}) const {
    set(policy, RDMA_OPTION_ID_TOS, type);
  }
  /// Binds even if the address was used until just now, as SO_REUSEADDR does. Before it binds.
  /// Wraps: rdma_set_option(3).
  void set_reuse_address(bool reuse, on_failure policy = throwing{}) const {
    set(policy, RDMA_OPTION_ID_REUSEADDR, reuse ? 1 : 0);
  }
  /// On an IPv6 address: whether it is for IPv6 alone, as IPV6_V6ONLY says, so that another can
  /// listen on the same port for IPv4. Before it binds. Wraps: rdma_set_option(3).
  void set_address_family_only(bool only, on_failure policy = throwing{}) const {
    set(policy, RDMA_OPTION_ID_AFONLY, only ? 1 : 0);
  }
  /// How long its queue pair waits for an acknowledgement before it sends again; made of the path's
  /// packet life time unless it is said here. Before it connects; for RC and XRC alone, or else
  /// EINVAL. Wraps: rdma_set_option(3).
  void set_acknowledge_timeout(acknowledge_timeout time, on_failure policy = throwing{}) const {
    set(policy, RDMA_OPTION_ID_ACK_TIMEOUT, time.code());
  }

  /// Gives the way to the peer instead of having it resolved, once the address is; an event tells:
  /// route_resolved. Of InfiniBand; the kernel takes only the first way in both directions.
  /// Wraps: rdma_set_option(3).
  void set_path(const path_record& path, on_failure policy = throwing{}) const {
    ibv_path_data native = path.native();
    call(policy, "rdma_set_option", [&](rdma_cm_id* id) {
      return rdma_set_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, &native, sizeof native);
    });
  }
  /// How many ways to the peer are known: 0 before the route is resolved, and on iWARP.
  [[nodiscard]] int path_count() const noexcept { return native_handle()->route.num_paths; }
  /// One of them. `index` is less than `path_count()`.
  [[nodiscard]] path_record path(int index = 0) const noexcept {
    return path_record::from_native(native_handle()->route.path_rec[index]);
  }

  /// Tells the peer, with the request to connect or its acceptance, what this side supports beyond
  /// the specification. Only for a queue pair of one's own: for others librdmacm does it. Refuses
  /// (EINVAL) enhancements without a vendor. Wraps: rdma_set_local_ece(3).
  void set_local_ece(const ece& enhancements, on_failure policy = throwing{}) const {
    ibv_ece native{enhancements.vendor_id, enhancements.options, 0};
    call(policy, "rdma_set_local_ece",
         [&](rdma_cm_id* id) { return rdma_set_local_ece(id, &native); });
  }
  /// What the peer told of its own, with its request or its acceptance; no vendor when it told
  /// nothing. Only for a queue pair of one's own. Wraps: rdma_get_remote_ece(3).
  [[nodiscard]] ece remote_ece(on_failure policy = throwing{}) const {
    ibv_ece native{};
    if (!call(policy, "rdma_get_remote_ece",
              [&](rdma_cm_id* id) { return rdma_get_remote_ece(id, &native); }))
      return {};
    return {native.vendor_id, native.options};
  }

 protected:
  /// Reports an empty identifier. True when it is there.
  [[nodiscard]] bool present(on_failure policy, std::string_view verb) const {
    return detail::check_present(policy, verb, native_handle());
  }

  /// Calls what returns 0, or -1 and errno; `to` and `from` are the addresses that it is given.
  /// `explain` says why it failed where the addresses do not. True on success.
  template <std::invocable<rdma_cm_id*> Call, class Explain = detail::nothing_to_say>
  bool call(on_failure policy, std::string_view verb, const Call& function,
            const socket_address& to = {}, const socket_address& from = {},
            const Explain& explain = {}) const {
    rdma_cm_id* const id = native_handle();
    return present(policy, verb) &&
           detail::check_minus_one(
               policy, verb, [&] { return function(id); }, describe(verb, to, from, explain));
  }
  /// The same for what is only done once a device is known: librdmacm does not check it, and some
  /// of its calls crash without.
  template <std::invocable<rdma_cm_id*> Call, class Explain = detail::nothing_to_say>
  bool call_on_device(on_failure policy, std::string_view verb, const Call& function,
                      const Explain& explain = {}) const {
    if (!present(policy, verb)) return false;
    if (native_handle()->verbs != nullptr) return call(policy, verb, function, {}, {}, explain);
    policy.report(EINVAL, verb, [&](failure_description& description) {
      detail::on_object<detail::identifier_traits>(native_handle())(description);
      description.explain("the address has to be resolved first");
    });
    return false;
  }
  /// The same for what changes the objects that the identifier stands on.
  template <std::invocable<rdma_cm_id*> Call, class Explain = detail::nothing_to_say>
  bool call_with_new_parents(on_failure policy, std::string_view verb, const Call& function,
                             const Explain& explain = {}) const {
    return call_on_device(
        policy, verb,
        [&](rdma_cm_id* id) {
          return detail::with_new_parents<detail::identifier_traits>(id,
                                                                     [&] { return function(id); });
        },
        explain);
  }

  /// Destroys parts of the identifier, unless others use any of them: `for_each_part` calls its
  /// function with these, as that of the traits does. `other_user` is its queue pair where that is
  /// not one of them, or null.
  template <class Parts, std::invocable<rdma_cm_id*> Destroy>
  void destroy_parts(on_failure policy, std::string_view verb, const Parts& for_each_part,
                     const ibv_qp* other_user, const Destroy& destroy) const {
    rdma_cm_id* const id = native_handle();
    detail::part_in_use found;
    detail::with_new_parents<detail::identifier_traits>(id, [&] {
      using pair = detail::queue_pair_traits;
      if (other_user != nullptr) detail::register_with_parents<pair>(other_user);
      found = detail::find_part_in_use(for_each_part);
      if (other_user != nullptr) detail::unregister_from_parents<pair>(other_user);
      if (!found) destroy(id);
      return 0;
    });
    if (found) detail::report_part_in_use(policy, verb, found, for_each_part);
  }

  /// The same for what sends private data. Refuses (EMSGSIZE) more than the link carries.
  template <std::invocable<rdma_cm_id*> Call>
  void with_private_data(on_failure policy, std::string_view verb, detail::cm_message message,
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
  /// Refers to the addresses, which every call would else copy, also those that succeed.
  template <class Explain>
  [[nodiscard]] auto describe(std::string_view verb, const socket_address& to,
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
  /// The given domain, or librdmacm's.
  [[nodiscard]] protection_domain_ref or_default(protection_domain_ref domain) const noexcept {
    return domain ? domain : protection_domain();
  }
  /// Says it when a domain is of another device, or another opening of it, than the identifier's.
  bool explain_other_domain(text_writer& writer, protection_domain_ref domain) const {
    detail::problem_list problems{writer};
    detail::explain_other_device(problems, "the domain", domain.native_handle(), context());
    if (!problems.empty())
      writer.put(": librdmacm opens the devices; make it of the context() of the connection");
    return !problems.empty();
  }
};

template <transport Transport>
queue_pair_ref<Transport, qp_state::any> identifier_base::queue_pair() const noexcept {
  ibv_qp* const pair = native_handle()->qp;
  if (pair == nullptr || pair->qp_type != static_cast<ibv_qp_type>(Transport)) return {};
  return {adopt, pair, detail::to_failure_hook{}};
}

/// Refers to an identifier that something else keeps alive. As cheap as the pointer, to be passed
/// by value.
class identifier_ref : public detail::reference_to<identifier_base> {
 public:
  using reference_to::reference_to;
};

}  // namespace cm
}  // namespace adverb::inline ADVERB_ABI
