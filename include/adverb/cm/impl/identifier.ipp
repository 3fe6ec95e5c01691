// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <rdma/rdma_cma.h>

#include <adverb/cm/detail/later_calls.hpp>
#include <adverb/cm/identifier.hpp>
#include <adverb/cm/socket_address.hpp>
#include <adverb/completion/detail/common_completion_queue.hpp>
#include <adverb/core/failure.hpp>
#include <adverb/core/handle.hpp>
#include <adverb/device/context.hpp>
#include <adverb/device/port.hpp>
#include <adverb/queue/detail/explain_shared_receive_queue.hpp>

namespace adverb::inline ADVERB_ABI::cm {

ADVERB_FUNC completion_queue_ref identifier_base::send_cq() const noexcept {
  const ibv_qp* const pair = checked_handle()->qp;
  return pair == nullptr ? nullptr : pair->send_cq;
}

ADVERB_FUNC completion_queue_ref identifier_base::recv_cq() const noexcept {
  const ibv_qp* const pair = checked_handle()->qp;
  return pair == nullptr ? nullptr : pair->recv_cq;
}

ADVERB_FUNC void identifier_base::bind(const socket_address& address, on_failure policy) const {
  call(
      policy, "rdma_bind_addr",
      [&](rdma_cm_id* id) { return rdma_bind_addr(id, address.native()); }, address);
}

ADVERB_FUNC void identifier_base::resolve_address(const socket_address& to,
                                                  const socket_address& from, timeout limit,
                                                  on_failure policy) const {
  call(
      policy, "rdma_resolve_addr",
      [&](rdma_cm_id* id) {
        return rdma_resolve_addr(id, from.native(), to.native(), limit.in_milliseconds());
      },
      to, from);
}

ADVERB_FUNC void identifier_base::look_up(std::string_view host, std::string_view service,
                                          const lookup_options& options, on_failure policy) const {
  constexpr const char* verb = "rdma_resolve_addrinfo";
  if (!present(policy, verb)) return;
  detail::look_up(
      host, service, options, verb,
      [&](const detail::native_lookup& wanted) {
        detail::resolve_address_info(native_handle(), wanted, policy);
      },
      policy);
}

ADVERB_FUNC address_list identifier_base::found_addresses(on_failure policy) const {
  if (!present(policy, "rdma_query_addrinfo")) return {};
  return {adopt, detail::query_address_info(
                     native_handle(), detail::on_object<detail::identifier_traits>(native_handle()),
                     policy)};
}

ADVERB_FUNC void identifier_base::resolve_route(timeout limit, on_failure policy) const {
  call_on_device(policy, "rdma_resolve_route",
                 [&](rdma_cm_id* id) { return rdma_resolve_route(id, limit.in_milliseconds()); });
}

ADVERB_FUNC void identifier_base::destroy_queue_pair(on_failure policy) const {
  policy.clear();
  rdma_cm_id* const id = native_handle();
  if (id == nullptr || id->qp == nullptr) return;
  const auto parts = [id](detail::part_visitor function) {
    function(detail::as_part<detail::queue_pair_traits>(id->qp));
    // An XRC target has no completions; the completion queue belongs to the shared receive queue.
    if (id->qp_type != IBV_QPT_XRC_RECV || id->srq == nullptr)
      detail::identifier_traits::for_each_completion_part(id, function);
  };
  this->destroy_parts(policy, "rdma_destroy_qp", parts, nullptr, detail::destroy_queue_pair_of);
}

ADVERB_FUNC void identifier_base::destroy_parts(
    on_failure policy, const char* verb, detail::callable_ref<detail::part_visitor> for_each_part,
    const ibv_qp* other_user, void (*destroy)(rdma_cm_id*) noexcept) const {
  rdma_cm_id* const id = native_handle();
  const detail::object_operations& pair = detail::operations_for<detail::queue_pair_traits>;
  detail::part_in_use found;
  const detail::object_operations& own = detail::operations_for<detail::identifier_traits>;
  // The identifier counts as a child of its parts, too.
  detail::unregister_from_parents(id, own);
  if (other_user != nullptr) detail::register_with_parents(other_user, pair);
  found = detail::find_part_in_use(for_each_part);
  if (other_user != nullptr) detail::unregister_from_parents(other_user, pair);
  if (!found) destroy(id);
  detail::register_with_parents(id, own);
  if (found) detail::report_part_in_use(policy, verb, found);
}

ADVERB_FUNC void identifier_base::create_srq(const shared_receive_queue_options& options,
                                             protection_domain_ref domain,
                                             on_failure policy) const {
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

ADVERB_FUNC void identifier_base::create_xrc_srq(const shared_receive_queue_options& options,
                                                 completion_queue_ref queue,
                                                 xrc_domain_ref xrc_domain,
                                                 protection_domain_ref domain,
                                                 on_failure policy) const {
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
      id->srq = detail::with_parents(id->srq, {queue.native_handle(), xrc_domain.native_handle()});
    return result;
  });
}

ADVERB_FUNC void identifier_base::destroy_srq(on_failure policy) const {
  policy.clear();
  rdma_cm_id* const id = native_handle();
  if (id == nullptr || id->srq == nullptr) return;
  const auto parts = [id](detail::part_visitor function) {
    function(detail::as_part<detail::srq_with_cq_traits>(id->srq));
    detail::identifier_traits::for_each_completion_part(id, function);
  };
  this->destroy_parts(policy, "rdma_destroy_srq", parts, id->qp,
                      detail::destroy_shared_receive_queue_of);
}

ADVERB_FUNC queue_pair_settings identifier_base::settings_for(qp_state state,
                                                              on_failure policy) const {
  queue_pair_settings result;
  result.values.qp_state = static_cast<ibv_qp_state>(state);
  int mask = 0;
  if (!call(policy, "rdma_init_qp_attr",
            [&](rdma_cm_id* id) { return rdma_init_qp_attr(id, &result.values, &mask); }))
    return {};
  result.given = qp_attributes::from_bits(static_cast<std::uint32_t>(mask));
  return result;
}

ADVERB_FUNC void identifier_base::connect(const connection_parameters& options,
                                          on_failure policy) const {
  with_private_data(policy, "rdma_connect", detail::cm_message::request, options.private_data,
                    [&](rdma_cm_id* id) {
                      rdma_conn_param native = options.native();
                      return rdma_connect(id, &native);
                    });
}

ADVERB_FUNC void identifier_base::establish(on_failure policy) const {
  call_on_device(policy, "rdma_establish", [](rdma_cm_id* id) { return rdma_establish(id); });
}

ADVERB_FUNC void identifier_base::listen(int backlog, on_failure policy) const {
  call(policy, "rdma_listen", [&](rdma_cm_id* id) { return rdma_listen(id, backlog); });
}

ADVERB_FUNC void identifier_base::accept(const connection_parameters& options,
                                         on_failure policy) const {
  with_private_data(policy, "rdma_accept", detail::cm_message::acceptance, options.private_data,
                    [&](rdma_cm_id* id) {
                      rdma_conn_param native = options.native();
                      return rdma_accept(id, &native);
                    });
}

ADVERB_FUNC void identifier_base::reject(const private_data& data, on_failure policy) const {
  with_private_data(
      policy, "rdma_reject", detail::cm_message::rejection, data, [&](rdma_cm_id* id) {
        return rdma_reject(id, data.bytes().data(), static_cast<std::uint8_t>(data.bytes().size()));
      });
}

ADVERB_FUNC void identifier_base::reject_ece(const private_data& data, on_failure policy) const {
  with_private_data(policy, "rdma_reject_ece", detail::cm_message::rejection, data,
                    [&](rdma_cm_id* id) {
                      return rdma_reject_ece(id, data.bytes().data(),
                                             static_cast<std::uint8_t>(data.bytes().size()));
                    });
}

ADVERB_FUNC void identifier_base::join_multicast(const socket_address& group, multicast_role role,
                                                 void* context, on_failure policy) const {
  const bool full = role == multicast_role::full_member;
  rdma_cm_join_mc_attr_ex native{};
  native.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;
  native.join_flags = static_cast<std::uint32_t>(role);
  native.addr = group.native();
  call(
      policy, full ? "rdma_join_multicast" : "rdma_join_multicast_ex",
      [&](rdma_cm_id* id) {
        return full ? rdma_join_multicast(id, native.addr, context)
                    : rdma_join_multicast_ex(id, &native, context);
      },
      group, {},
      [&](text_writer& writer, const std::error_code& code) {
        detail::explain_group(writer, code, native_handle(), group);
      });
}

ADVERB_FUNC void identifier_base::leave_multicast(const socket_address& group,
                                                  on_failure policy) const {
  call(
      policy, "rdma_leave_multicast",
      [&](rdma_cm_id* id) { return rdma_leave_multicast(id, group.native()); }, group);
}

ADVERB_FUNC void identifier_base::raise_event(std::uint64_t argument, int status,
                                              on_failure policy) const {
  if (!present(policy, "rdma_write_cm_event")) return;
  constexpr std::uint32_t user = 18;  // RDMA_CM_EVENT_USER, of rdma-core 60
  detail::write_event(native_handle(), user, status, argument,
                      detail::on_object<detail::identifier_traits>(native_handle()), policy);
}

ADVERB_FUNC void identifier_base::notify(async_event_type event, on_failure policy) const {
  call(policy, "rdma_notify",
       [&](rdma_cm_id* id) { return rdma_notify(id, static_cast<ibv_event_type>(event)); });
}

ADVERB_FUNC void identifier_base::disconnect(on_failure policy) const {
  call_on_device(policy, "rdma_disconnect", [](rdma_cm_id* id) { return rdma_disconnect(id); });
}

ADVERB_FUNC void identifier_base::set_path(const path_record& path, on_failure policy) const {
  ibv_path_data native = path.native();
  call(policy, "rdma_set_option", [&](rdma_cm_id* id) {
    return rdma_set_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, &native, sizeof native);
  });
}

ADVERB_FUNC void identifier_base::set_local_ece(const ece& enhancements, on_failure policy) const {
  ibv_ece native{enhancements.vendor_id, enhancements.options, 0};
  call(policy, "rdma_set_local_ece",
       [&](rdma_cm_id* id) { return rdma_set_local_ece(id, &native); });
}

ADVERB_FUNC ece identifier_base::remote_ece(on_failure policy) const {
  ibv_ece native{};
  if (!call(policy, "rdma_get_remote_ece",
            [&](rdma_cm_id* id) { return rdma_get_remote_ece(id, &native); }))
    return {};
  return {native.vendor_id, native.options};
}

ADVERB_FUNC bool identifier_base::explain_other_domain(text_writer& writer,
                                                       protection_domain_ref domain) const {
  detail::problem_list problems{writer};
  detail::explain_other_device(problems, "the domain", domain.native_handle(),
                               context().native_handle());
  if (!problems.empty())
    writer.put(
        ": librdmacm opens the devices; create the domain on the context() of the connection");
  return !problems.empty();
}

ADVERB_FUNC identifier identifier::create(event_channel_ref channel, port_space space,
                                          void* user_context, on_failure policy) {
  rdma_cm_id* made = nullptr;
  if (!detail::check_present(policy, "rdma_create_id", channel.native_handle())) return {};
  const bool done = detail::check_minus_one(
      policy, "rdma_create_id",
      [&] {
        return rdma_create_id(channel.native_handle(), &made, user_context,
                              static_cast<rdma_port_space>(space));
      },
      detail::on_object<detail::event_channel_traits>(channel.native_handle()));
  return done ? identifier{adopt, made} : identifier{};
}

ADVERB_FUNC void identifier::migrate(event_channel_ref channel, on_failure policy) {
  if (!this->present(policy, "rdma_migrate_id") ||
      !detail::check_present(policy, "rdma_migrate_id", channel.native_handle()))
    return;
  detail::check_minus_one(
      policy, "rdma_migrate_id",
      [&] {
        return this->with_new_parents(
            [&] { return rdma_migrate_id(this->native_handle(), channel.native_handle()); });
      },
      detail::on_object<detail::identifier_traits>(this->native_handle()));
}

}  // namespace adverb::inline ADVERB_ABI::cm
