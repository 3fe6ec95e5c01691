// SPDX-License-Identifier: MIT
// The lines of device lists, contexts, and what they are asked.
#include <endian.h>

#include "../calls.hpp"
#include "../render.hpp"

namespace fake::called {

namespace {

/// The object that an asynchronous event is about.
shown element_of(const ibv_async_event& event) {
  switch (event.event_type) {
    case IBV_EVENT_CQ_ERR: return fake::name_of(event.element.cq);
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED: return fake::name_of(event.element.qp);
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED: return fake::name_of(event.element.srq);
    case IBV_EVENT_WQ_FATAL: return fake::name_of(event.element.wq);
    case IBV_EVENT_DEVICE_FATAL: return {"device", false};
    default: return {"port=" + std::to_string(event.element.port_num), false};
  }
}

shown event_name(ibv_event_type type) {
  return enumerator(type, {{IBV_EVENT_CQ_ERR, "CQ_ERR"},
                           {IBV_EVENT_QP_FATAL, "QP_FATAL"},
                           {IBV_EVENT_QP_REQ_ERR, "QP_REQ_ERR"},
                           {IBV_EVENT_QP_ACCESS_ERR, "QP_ACCESS_ERR"},
                           {IBV_EVENT_COMM_EST, "COMM_EST"},
                           {IBV_EVENT_SQ_DRAINED, "SQ_DRAINED"},
                           {IBV_EVENT_PATH_MIG, "PATH_MIG"},
                           {IBV_EVENT_PATH_MIG_ERR, "PATH_MIG_ERR"},
                           {IBV_EVENT_DEVICE_FATAL, "DEVICE_FATAL"},
                           {IBV_EVENT_PORT_ACTIVE, "PORT_ACTIVE"},
                           {IBV_EVENT_PORT_ERR, "PORT_ERR"},
                           {IBV_EVENT_LID_CHANGE, "LID_CHANGE"},
                           {IBV_EVENT_PKEY_CHANGE, "PKEY_CHANGE"},
                           {IBV_EVENT_SM_CHANGE, "SM_CHANGE"},
                           {IBV_EVENT_SRQ_ERR, "SRQ_ERR"},
                           {IBV_EVENT_SRQ_LIMIT_REACHED, "SRQ_LIMIT_REACHED"},
                           {IBV_EVENT_QP_LAST_WQE_REACHED, "QP_LAST_WQE_REACHED"},
                           {IBV_EVENT_CLIENT_REREGISTER, "CLIENT_REREGISTER"},
                           {IBV_EVENT_GID_CHANGE, "GID_CHANGE"},
                           {IBV_EVENT_WQ_FATAL, "WQ_FATAL"}});
}

}  // namespace

std::string get_device_list::line() const { return "ibv_get_device_list"; }
std::string free_device_list::line() const { return "ibv_free_device_list"; }
std::string open_device::line() const { return "ibv_open_device " + device; }
std::string close_device::line() const { return fields{"ibv_close_device"}.object(context).text(); }
std::string import_device::line() const {
  return fields{"ibv_import_device"}.add("cmd_fd", command_file_descriptor).text();
}
std::string get_device_index::line() const { return "ibv_get_device_index " + device; }
std::string get_device_guid::line() const { return "ibv_get_device_guid " + device; }
std::string fork_init::line() const { return "ibv_fork_init"; }
std::string is_fork_initialized::line() const { return "ibv_is_fork_initialized"; }

std::string get_async_event::line() const {
  return fields{"ibv_get_async_event"}.object(context).text();
}
std::string ack_async_event::line() const {
  return fields{"ibv_ack_async_event"}
      .word(event_name(event.event_type).text)
      .word(element_of(event).text)
      .text();
}

std::string query_device::line() const {
  return extended ? "ibv_query_device_ex" : "ibv_query_device";
}
std::string query_port::line() const {
  return fields{extended ? "ibv_query_port" : "ibv_query_port (the old function)"}
      .add("port_num", port)
      .text();
}
std::string query_gid::line() const {
  return fields{"ibv_query_gid"}.add("port_num", port).add("index", index).text();
}
std::string query_gid_ex::line() const {
  return fields{"ibv_query_gid_ex"}.add("port_num", port).add("gid_index", index).text();
}
std::string query_gid_table::line() const {
  return fields{"ibv_query_gid_table"}.add("max_entries", max_entries).text();
}
std::string query_pkey::line() const {
  return fields{"ibv_query_pkey"}.add("port_num", port).add("index", index).text();
}
std::string get_pkey_index::line() const {
  return fields{"ibv_get_pkey_index"}.add("port_num", port).add("pkey", hex(be16toh(key))).text();
}
std::string query_rt_values::line() const {
  return fields{"ibv_query_rt_values_ex"}
      .add("comp_mask", bits(wanted, {{IBV_VALUES_MASK_RAW_CLOCK, "RAW_CLOCK"}}))
      .text();
}
std::string resolve_eth_l2_from_gid::line() const {
  return fields{"ibv_resolve_eth_l2_from_gid"}.object(context).add("attr", show(attributes)).text();
}

}  // namespace fake::called
