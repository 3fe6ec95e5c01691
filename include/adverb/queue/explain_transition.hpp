// SPDX-License-Identifier: MIT
// Why a queue pair could not be put into a state.
#pragma once

#include <cstdint>
#include <system_error>

#include <infiniband/verbs.h>

#include <adverb/device/context.hpp>
#include <adverb/queue/attribute.hpp>
#include <adverb/queue/explain_address.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Says that a value is over the limit of the device. True when it is.
inline bool explain_limit(text_writer& writer, std::string_view name, std::uint32_t asked,
                          std::uint32_t allowed) noexcept {
  if (asked <= allowed) return false;
  writer.put(name).put(" is ").decimal(asked).put(", the device allows ").decimal(allowed);
  return true;
}

/// The attributes of a transition against the table of the specification. True when something is
/// wrong with them.
inline bool explain_attributes(text_writer& writer, transport service, qp_state from, qp_state to,
                               qp_attributes mask) noexcept {
  const transition_attributes table = attributes_of(service, from, to);
  const qp_attributes missing = table.required - mask;
  const qp_attributes forbidden =
      mask - table.required - table.optional - qp_attributes{qp_attribute::state};
  if (!missing.empty()) writer.put("missing: ").put(missing);
  if (!missing.empty() && !forbidden.empty()) writer.put("; ");
  if (!forbidden.empty()) writer.put("not allowed here: ").put(forbidden);
  return !missing.empty() || !forbidden.empty();
}

/// Fills in all of a failed transition (no port where none is known): "INIT->RTR on rxe0:1 qp 0x11: EINVAL (…); sgid index 3 …".
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
        if (explain_attributes(writer, service, from, to, mask) || port == port_number{}) return;

        std::error_code unknown;
        const device_attributes device = context.query_device(unknown);
        if (mask.contains(qp_attribute::max_destination_read_atomic) &&
            explain_limit(writer, "max_destination_read_atomic", values.max_dest_rd_atomic,
                          device.max_destination_read_atomic()))
          return;
        if (mask.contains(qp_attribute::max_initiator_read_atomic) &&
            explain_limit(writer, "max_initiator_read_atomic", values.max_rd_atomic,
                          device.max_initiator_read_atomic()))
          return;

        failure why;
        const port_attributes attributes = context.query_port(port, why);
        if (why) {
          writer.put(why.explanation());
          return;
        }
        if (mask.contains(qp_attribute::pkey_index) &&
            values.pkey_index >= attributes.pkey_table_length()) {
          writer.put("P_Key index ").decimal(values.pkey_index).put(" is not in the table of ");
          writer.decimal(attributes.pkey_table_length());
          return;
        }
        const mtu path_mtu = static_cast<mtu>(values.path_mtu);
        if (mask.contains(qp_attribute::path_mtu) && path_mtu > attributes.active_mtu()) {
          writer.put("path MTU is ").put(path_mtu).put(", the active MTU of the port ");
          writer.put(attributes.active_mtu());
          return;
        }
        if (mask.contains(qp_attribute::address))
          explain_address(writer, context, values.ah_attr, description.code());
        else if (attributes.state() != port_state::active)
          writer.put("port ").put(port).put(" is ").put(attributes.state());
      });
}

}  // namespace adverb::inline ADVERB_ABI::detail
