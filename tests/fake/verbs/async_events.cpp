// SPDX-License-Identifier: MIT
// Asynchronous events: a pipe, so that waiting for them and the non-blocking mode are real.
#include <cstdlib>

#include <unistd.h>

#include "state.hpp"

using namespace fake;

namespace {

shown element_of(const ibv_async_event& event) {
  switch (event.event_type) {
    case IBV_EVENT_CQ_ERR: return name_of(event.element.cq);
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED: return name_of(event.element.qp);
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED: return name_of(event.element.srq);
    case IBV_EVENT_WQ_FATAL: return name_of(event.element.wq);
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

int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  if (refused<called::get_async_event>(about(context))) return -1;
  return ::read(context->async_fd, event, sizeof *event) == sizeof *event ? 0 : -1;
}

void ibv_ack_async_event(ibv_async_event* event) {
  record<called::ack_async_event>(
      fields{}.word(event_name(event->event_type).text).word(element_of(*event).text));
}

namespace fake {

void open_async_events(open_context& context) {
  int ends[2];
  if (::pipe(ends) != 0) std::abort();
  context.native.context.async_fd = ends[0];
  context.async_writing_end = ends[1];
}

void close_async_events(open_context& context) {
  ::close(context.native.context.async_fd);
  ::close(context.async_writing_end);
}

void machine::raise(ibv_context* context, const ibv_async_event& event) {
  const int end = state_->contexts.at(context).async_writing_end;
  if (::write(end, &event, sizeof event) != sizeof event) std::abort();
}

}  // namespace fake
