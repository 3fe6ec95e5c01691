// SPDX-License-Identifier: MIT
// Event channels and events. A channel is a file that counts, so that waiting on it and its
// non-blocking mode are real.
#include <algorithm>

#include <sys/eventfd.h>
#include <unistd.h>

#include "state.hpp"

using namespace fake;

namespace {

shown event_type(rdma_cm_event_type type) {
  return enumerator(
      type, {NAMED(RDMA_CM_EVENT_, ADDR_RESOLVED), NAMED(RDMA_CM_EVENT_, ADDR_ERROR),
             NAMED(RDMA_CM_EVENT_, ROUTE_RESOLVED), NAMED(RDMA_CM_EVENT_, ROUTE_ERROR),
             NAMED(RDMA_CM_EVENT_, CONNECT_REQUEST), NAMED(RDMA_CM_EVENT_, CONNECT_RESPONSE),
             NAMED(RDMA_CM_EVENT_, CONNECT_ERROR), NAMED(RDMA_CM_EVENT_, UNREACHABLE),
             NAMED(RDMA_CM_EVENT_, REJECTED), NAMED(RDMA_CM_EVENT_, ESTABLISHED),
             NAMED(RDMA_CM_EVENT_, DISCONNECTED), NAMED(RDMA_CM_EVENT_, DEVICE_REMOVAL),
             NAMED(RDMA_CM_EVENT_, MULTICAST_JOIN), NAMED(RDMA_CM_EVENT_, MULTICAST_ERROR),
             NAMED(RDMA_CM_EVENT_, ADDR_CHANGE), NAMED(RDMA_CM_EVENT_, TIMEWAIT_EXIT)});
}

}  // namespace

namespace fake {
namespace {

/// librdmacm moves the pair by itself when the peer has answered, if it has made it.
void drive_pair(rdma_cm_event& event) {
  if (event.id->qp == nullptr) return;
  if (event.event == RDMA_CM_EVENT_REJECTED && move_pair(event.id, IBV_QPS_ERR) != 0) return;
  if (event.event != RDMA_CM_EVENT_CONNECT_RESPONSE) return;
  if (move_pair(event.id, IBV_QPS_RTR) == 0 && move_pair(event.id, IBV_QPS_RTS) == 0) {
    event.event = RDMA_CM_EVENT_ESTABLISHED;
    known(event.id).progress = cm_progress::connected;
  } else {
    event.event = RDMA_CM_EVENT_CONNECT_ERROR;
    event.status = -errno;
  }
}

/// The identifier of a request is made when its event is taken.
void make_identifier_of_request(cm_event_in_flight& event) {
  rdma_cm_id* const listener = event.native.listen_id;
  rdma_cm_id* const made = add_identifier(listener->channel, listener->context, listener->ps);
  cm_identifier& added = known(made);
  added.progress = cm_progress::requested;
  added.is_synchronous = known(listener).is_synchronous;
  made->qp_type = listener->qp_type;
  made->route.addr.src_storage = listener->route.addr.src_storage;
  made->route.addr.dst_sin = event.peer;
  bind_to_device(made);
  event.native.id = made;
}

}  // namespace

rdma_event_channel* add_channel() {
  auto made = std::make_unique<cm_channel>();
  made->native.fd = ::eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
  if (made->native.fd == -1) return nullptr;
  rdma_event_channel* const native = &made->native;
  managed().channels.add(std::move(made), native);
  return native;
}

void remove_channel(rdma_event_channel* channel) {
  ::close(channel->fd);
  managed().channels.remove(channel);
}

int complete(rdma_cm_id* id) {
  if (id->event != nullptr) {
    ::rdma_ack_cm_event(id->event);
    id->event = nullptr;
  }
  if (::rdma_get_cm_event(id->channel, &id->event) != 0) return -1;
  if (id->event->status == 0) return 0;
  return failed_with(id->event->event == RDMA_CM_EVENT_REJECTED ? ECONNREFUSED
                                                                : -id->event->status);
}

}  // namespace fake

rdma_event_channel* rdma_create_event_channel() {
  return refused<called::rdma_create_event_channel>() ? nullptr : fake::add_channel();
}

void rdma_destroy_event_channel(rdma_event_channel* channel) {
  record<called::rdma_destroy_event_channel>(about(channel));
  auto& identifiers = managed().identifiers;
  if (std::any_of(identifiers.begin(), identifiers.end(),
                  [&](const auto& each) { return each.first->channel == channel; }))
    fake::misused("an event channel was destroyed before an identifier on it");
  fake::remove_channel(channel);
}

int rdma_get_cm_event(rdma_event_channel* channel, rdma_cm_event** event) {
  if (answer_of<called::rdma_get_cm_event>(about(channel)) != 0) return -1;
  eventfd_t one = 0;
  if (::eventfd_read(channel->fd, &one) != 0) return -1;
  auto& waiting = managed().channels.at(channel).waiting;
  std::unique_ptr<fake::cm_event_in_flight> taken = std::move(waiting.front());
  waiting.pop_front();
  rdma_cm_event& native = taken->native;
  if (native.event == RDMA_CM_EVENT_CONNECT_REQUEST) {
    fake::make_identifier_of_request(*taken);
    ++known(native.listen_id).unacknowledged;
  }
  if (native.event == RDMA_CM_EVENT_ADDR_RESOLVED) fake::bind_to_device(native.id);
  fake::drive_pair(native);
  ++known(native.id).unacknowledged;
  *event = &native;
  managed().taken.add(std::move(taken), &native);
  return 0;
}

int rdma_ack_cm_event(rdma_cm_event* event) {
  if (!managed().taken.contains(event)) fake::misused("an event was acknowledged twice");
  record<called::rdma_ack_cm_event>(about(event->id).word(event_type(event->event).text),
                                    {event->event});
  --known(event->id).unacknowledged;
  if (event->listen_id != nullptr) --known(event->listen_id).unacknowledged;
  managed().taken.remove(event);
  return 0;
}

const char* rdma_event_str(rdma_cm_event_type type) {
  record<called::rdma_event_str>(fields{}.word(event_type(type).text));
  // By number: later headers have more.
  switch (static_cast<int>(type)) {
    case RDMA_CM_EVENT_ADDR_RESOLVED: return "RDMA_CM_EVENT_ADDR_RESOLVED";
    case RDMA_CM_EVENT_ADDR_ERROR: return "RDMA_CM_EVENT_ADDR_ERROR";
    case RDMA_CM_EVENT_ROUTE_RESOLVED: return "RDMA_CM_EVENT_ROUTE_RESOLVED";
    case RDMA_CM_EVENT_ROUTE_ERROR: return "RDMA_CM_EVENT_ROUTE_ERROR";
    case RDMA_CM_EVENT_CONNECT_REQUEST: return "RDMA_CM_EVENT_CONNECT_REQUEST";
    case RDMA_CM_EVENT_CONNECT_RESPONSE: return "RDMA_CM_EVENT_CONNECT_RESPONSE";
    case RDMA_CM_EVENT_CONNECT_ERROR: return "RDMA_CM_EVENT_CONNECT_ERROR";
    case RDMA_CM_EVENT_UNREACHABLE: return "RDMA_CM_EVENT_UNREACHABLE";
    case RDMA_CM_EVENT_REJECTED: return "RDMA_CM_EVENT_REJECTED";
    case RDMA_CM_EVENT_ESTABLISHED: return "RDMA_CM_EVENT_ESTABLISHED";
    case RDMA_CM_EVENT_DISCONNECTED: return "RDMA_CM_EVENT_DISCONNECTED";
    case RDMA_CM_EVENT_DEVICE_REMOVAL: return "RDMA_CM_EVENT_DEVICE_REMOVAL";
    case RDMA_CM_EVENT_MULTICAST_JOIN: return "RDMA_CM_EVENT_MULTICAST_JOIN";
    case RDMA_CM_EVENT_MULTICAST_ERROR: return "RDMA_CM_EVENT_MULTICAST_ERROR";
    case RDMA_CM_EVENT_ADDR_CHANGE: return "RDMA_CM_EVENT_ADDR_CHANGE";
    case RDMA_CM_EVENT_TIMEWAIT_EXIT: return "RDMA_CM_EVENT_TIMEWAIT_EXIT";
  }
  return "UNKNOWN EVENT";
}
