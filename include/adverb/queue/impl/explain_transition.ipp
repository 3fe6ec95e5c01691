// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>
#include <system_error>

#include <adverb/device/context.hpp>
#include <adverb/device/context_ref.hpp>
#include <adverb/device/detail/explain_device.hpp>
#include <adverb/queue/detail/explain_transition.hpp>
#include <adverb/queue/transition_table.hpp>
#include <adverb/request/detail/explain_address.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC void explain_attributes(problem_list& problems, transport service, qp_state from,
                                    qp_state to, qp_attributes mask) {
  const transition_attributes table = attributes_of(service, from, to);
  const qp_attributes missing = table.required - mask;
  const qp_attributes forbidden =
      mask - table.required - table.optional - qp_attributes{qp_attribute::state};
  if (!missing.empty()) problems.add("missing: {}", {missing});
  if (!forbidden.empty()) problems.add("not allowed here: {}", {forbidden});
}

ADVERB_FUNC void explain_retries(problem_list& problems, const ibv_qp_attr& values) {
  const auto add_if_over = [&](std::string_view name, std::uint8_t count) {
    if (count <= max_retries) return;
    problems.add("{} is {}, the maximum is {}", {name, count, max_retries});
  };
  add_if_over("retry_count", values.retry_cnt);
  add_if_over("rnr_retry_count", values.rnr_retry);
}

ADVERB_FUNC void explain_values(problem_list& problems, context_ref context,
                                const port_attributes& port, const ibv_qp_attr& values,
                                qp_attributes mask) {
  std::error_code unknown;
  const device_attributes device = context.query_device(unknown);
  const auto given = [&](qp_attribute attribute, std::uint8_t value) -> std::uint64_t {
    return mask.contains(attribute) ? value : 0;
  };
  if (!unknown)
    add_exceeded(problems, device,
                 {limit<&device_attributes::max_destination_read_atomic>(
                      "max_destination_read_atomic",
                      given(qp_attribute::max_destination_read_atomic, values.max_dest_rd_atomic)),
                  limit<&device_attributes::max_initiator_read_atomic>(
                      "max_initiator_read_atomic",
                      given(qp_attribute::max_initiator_read_atomic, values.max_rd_atomic))});
  if (mask.contains(qp_attribute::pkey_index) && values.pkey_index >= port.pkey_table_length())
    problems.add("P_Key index {} is not in the table of {}",
                 {values.pkey_index, port.pkey_table_length()});
  const mtu path_mtu = static_cast<mtu>(values.path_mtu);
  if (mask.contains(qp_attribute::path_mtu) && path_mtu > port.active_mtu())
    problems.add("path MTU {} exceeds the active MTU of the port, {}",
                 {path_mtu, port.active_mtu()});
}

ADVERB_FUNC port_number port_to_explain(ibv_qp* queue_pair, qp_attributes mask,
                                        port_number announced) noexcept {
  constexpr qp_attributes limited =
      qp_attribute::pkey_index | qp_attribute::address | qp_attribute::path_mtu |
      qp_attribute::max_destination_read_atomic | qp_attribute::max_initiator_read_atomic;
  if (announced != port_number{} || mask.contains(qp_attribute::port) || !mask.intersects(limited))
    return announced;
  ibv_qp_attr now{};
  ibv_qp_init_attr initial{};
  const int result = ibv_query_qp(queue_pair, &now, IBV_QP_PORT, &initial);
  return result == 0 ? port_number{now.port_num} : announced;
}

ADVERB_FUNC void explain_transition(failure_description& description, const ibv_qp* queue_pair,
                                    transport service, qp_state from, qp_state to,
                                    const ibv_qp_attr& values, qp_attributes mask,
                                    port_number port) {
  const context_ref context{queue_pair->context};
  const static_string<32> states{[&](text_writer& writer) { writer.put(from).put("->").put(to); }};
  description.detail(states)
      .object([&](text_writer& writer) {
        put_device(writer, queue_pair->context);
        if (port != port_number{}) writer.put(":").put(port);
        writer.put(" qp ").put(static_cast<qp_number>(queue_pair->qp_num));
      })
      .explain([&](text_writer& writer) {
        problem_list problems{writer};
        explain_attributes(problems, service, from, to, mask);
        explain_retries(problems, values);
        if (from == qp_state::reset && to == qp_state::error)
          problems.add("Linux has no transition from RESET to ERR: nothing is posted in RESET");
        if (is_code(description.code(), std::errc::operation_not_permitted) &&
            mask.contains(qp_attribute::queue_key) && (values.qkey & 0x8000'0000) != 0)
          problems.add("queue key {} has its highest bit set: it needs CAP_NET_RAW",
                       {static_cast<queue_key>(values.qkey)});
        if (port == port_number{} && !mask.contains(qp_attribute::port)) return;
        port_attributes attributes;
        if (!explain_port(problems, context, port, attributes)) return;
        explain_values(problems, context, attributes, values, mask);
        if (mask.contains(qp_attribute::address))
          explain_address(problems, description.code(), context, attributes, values.ah_attr);
      });
}

}  // namespace adverb::inline ADVERB_ABI::detail
