// SPDX-License-Identifier: MIT
// Why a queue pair could not be put into a state.
#pragma once

#include <cstdint>
#include <optional>
#include <system_error>

#include <infiniband/verbs.h>

#include <adverb/device/context.hpp>
#include <adverb/device/device_limit.hpp>
#include <adverb/queue/explain_address.hpp>
#include <adverb/queue/transition_table.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Adds what is wrong with the attributes of a transition by the table of the specification.
inline void explain_attributes(problem_list& problems, transport service, qp_state from,
                               qp_state to, qp_attributes mask) {
  const transition_attributes table = attributes_of(service, from, to);
  const qp_attributes missing = table.required - mask;
  const qp_attributes forbidden =
      mask - table.required - table.optional - qp_attributes{qp_attribute::state};
  if (!missing.empty())
    problems.add([&](text_writer& writer) { writer.put("missing: ").put(missing); });
  if (!forbidden.empty())
    problems.add([&](text_writer& writer) { writer.put("not allowed here: ").put(forbidden); });
}

/// Adds which values are beyond what the device and the port allow.
inline void explain_values(problem_list& problems, context_ref context, const port_attributes& port,
                           const ibv_qp_attr& values, qp_attributes mask) {
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
    problems.add([&](text_writer& writer) {
      writer.put("P_Key index ").decimal(values.pkey_index).put(" is not in the table of ");
      writer.decimal(port.pkey_table_length());
    });
  const mtu path_mtu = static_cast<mtu>(values.path_mtu);
  if (mask.contains(qp_attribute::path_mtu) && path_mtu > port.active_mtu())
    problems.add([&](text_writer& writer) {
      writer.put("path MTU is ").put(path_mtu).put(", the active MTU of the port ");
      writer.put(port.active_mtu());
    });
}

/// Fills in all of a failed transition (no port where none is known): "INIT->RTR on rxe0:1 qp
/// 0x11: EINVAL (…); sgid index 3 is empty; usable: …".
inline void explain_transition(failure_description& description, const ibv_qp* queue_pair,
                               transport service, qp_state from, qp_state to,
                               const ibv_qp_attr& values, qp_attributes mask, port_number port) {
  const context_ref context{queue_pair->context};
  const text<32> states{[&](text_writer& writer) { writer.put(from).put("->").put(to); }};
  description.detail(states)
      .object([&](text_writer& writer) {
        put_device(writer, queue_pair->context);
        if (port != port_number{}) writer.put(":").put(port);
        writer.put(" qp ").put(static_cast<qp_number>(queue_pair->qp_num));
      })
      .explain([&](text_writer& writer) {
        problem_list problems{writer};
        explain_attributes(problems, service, from, to, mask);
        if (port == port_number{} && !mask.contains(qp_attribute::port)) return;
        const std::optional<port_attributes> attributes = explain_port(problems, context, port);
        if (!attributes) return;
        explain_values(problems, context, *attributes, values, mask);
        if (mask.contains(qp_attribute::address))
          explain_address(problems, description.code(), context, *attributes, values.ah_attr);
      });
}

}  // namespace adverb::inline ADVERB_ABI::detail
