// SPDX-License-Identifier: MIT
// The state of the fake of librdmacm, and what calls lead to.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <arpa/inet.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <adverb/cm/detail/default_domains.hpp>

#include "state.hpp"

namespace fake {
namespace {

connection_manager* running = nullptr;

void put(cm_channel& channel, std::unique_ptr<cm_event_in_flight> event) {
  channel.waiting.push_back(std::move(event));
  if (::eventfd_write(channel.native.fd, 1) != 0) std::abort();
}

std::unique_ptr<cm_event_in_flight> event_about(rdma_cm_id* id, const cm_event& what) {
  auto made = std::make_unique<cm_event_in_flight>();
  made->private_data = what.private_data;
  made->native.id = id;
  made->native.event = what.type;
  made->native.status = what.status;
  const bool is_datagram = what.datagram.qp_num != 0;
  if (is_datagram)
    made->native.param.ud = what.datagram;
  else
    made->native.param.conn = what.connection;
  // A multicast event has the pointer of its join there (by default that of the last one), and no
  // length.
  if (static_cast<int>(what.type) == 18) return made;  // RDMA_CM_EVENT_USER has no private data
  if (what.type == RDMA_CM_EVENT_MULTICAST_JOIN || what.type == RDMA_CM_EVENT_MULTICAST_ERROR) {
    auto& context = made->native.param.ud.private_data;
    if (const auto& groups = known(id).groups; context == nullptr && !groups.empty())
      context = groups.back().context;
    return made;
  }
  const void* const bytes = made->private_data.empty() ? nullptr : made->private_data.data();
  const auto length = static_cast<std::uint8_t>(made->private_data.size());
  if (is_datagram) {
    made->native.param.ud.private_data = bytes;
    made->native.param.ud.private_data_len = length;
  } else {
    made->native.param.conn.private_data = bytes;
    made->native.param.conn.private_data_len = length;
  }
  return made;
}

/// Advances the state of an identifier after its event.
void follow(cm_progress& progress, rdma_cm_event_type type) {
  switch (type) {
    case RDMA_CM_EVENT_ADDR_RESOLVED: progress = cm_progress::address_resolved; return;
    case RDMA_CM_EVENT_ADDR_ERROR: progress = cm_progress::bound; return;
    case RDMA_CM_EVENT_ROUTE_RESOLVED: progress = cm_progress::route_resolved; return;
    case RDMA_CM_EVENT_ROUTE_ERROR: progress = cm_progress::address_resolved; return;
    case RDMA_CM_EVENT_ESTABLISHED: progress = cm_progress::connected; return;
    case RDMA_CM_EVENT_DISCONNECTED: progress = cm_progress::disconnected; return;
    default: return;
  }
}

}  // namespace

connection_manager::connection_manager(machine& machine)
    : state_{std::make_unique<state>(machine)} {
  if (running != nullptr) misused("there is another fake::connection_manager already");
  running = this;
  ::ibv_free_device_list(::ibv_get_device_list(nullptr));
  state_->context = open_context_on(0);
  state_->domain = ::ibv_alloc_pd(state_->context);
  keep_domain();
  machine.forget_calls();
  // In lines the first identifier of a test is id0.
  machine.internals().names = {};
  name_object(state_->context, "ctx");
  name_object(state_->domain, "pd");
  state_->objects_at_start = live_objects();
}

/// Imitates a program that has used the domain before.
void connection_manager::keep_domain() {
  // Not with the ports that tests find.
  const std::uint16_t last_port = std::exchange(state_->last_port, std::uint16_t{50000});
  rdma_cm_id* const id = add_identifier(nullptr, nullptr, RDMA_PS_TCP);
  sockaddr_in local{};
  local.sin_family = AF_INET;
  local.sin_addr.s_addr = htonl(0x0a000001);
  if (::rdma_bind_addr(id, reinterpret_cast<sockaddr*>(&local)) != 0) std::abort();
  adverb::detail::default_domains::keep(id);
  remove_identifier(id);
  state_->last_port = last_port;
}

connection_manager::~connection_manager() {
  adverb::detail::default_domains::release_all();
  for (auto& [native, leaked] : state_->channels) ::close(leaked->native.fd);
  running = nullptr;
}

void connection_manager::answer_kind(std::type_index kind, std::vector<cm_event> events) {
  state_->answers[kind].push_back(std::move(events));
}

void connection_manager::raise(rdma_cm_id* id, cm_event event) {
  follow(known(id).progress, event.type);
  put(state_->channels.at(id->channel), event_about(id, event));
}

void connection_manager::request(rdma_cm_id* listener, std::string private_data,
                                 const rdma_conn_param& parameters) {
  auto event = event_about(listener, {.type = RDMA_CM_EVENT_CONNECT_REQUEST,
                                      .private_data = std::move(private_data),
                                      .connection = parameters});
  event->native.listen_id = listener;
  event->peer.sin_family = AF_INET;
  event->peer.sin_port = htons(4711);
  event->peer.sin_addr.s_addr = htonl(0x0a000002);
  put(state_->channels.at(listener->channel), std::move(event));
}

std::size_t connection_manager::unacknowledged(const rdma_cm_id* id) const {
  return state_->identifiers.at(id).unacknowledged;
}
std::size_t connection_manager::waiting(const rdma_event_channel* channel) const {
  return state_->channels.at(channel).waiting.size();
}

std::size_t connection_manager::live_objects() const {
  return state_->channels.size() + state_->identifiers.size() + state_->taken.size() +
         state_->addresses.size() + state_->device_lists.size() + state_->owner.live_objects() -
         state_->objects_at_start;
}

ibv_context* connection_manager::context() const { return state_->context; }
ibv_pd* connection_manager::domain() const { return state_->domain; }

connection_manager::state& managed() {
  if (running == nullptr) misused("librdmacm was called, and there is no fake::connection_manager");
  return running->internals();
}

cm_identifier& known(const rdma_cm_id* id) {
  if (!managed().identifiers.contains(id)) misused("there is no such identifier");
  return managed().identifiers.at(id);
}

void misused(const char* what) {
  std::fprintf(stderr, "fake: %s\n", what);
  std::abort();
}

int lead_to(std::type_index kind, rdma_cm_id* id, const cm_event& usual) {
  std::vector<cm_event> events{usual};
  if (const auto found = managed().answers.find(kind);
      found != managed().answers.end() && !found->second.empty()) {
    events = std::move(found->second.front());
    found->second.pop_front();
  }
  for (const cm_event& event : events) running->raise(id, event);
  return known(id).is_synchronous ? complete(id) : 0;
}

sockaddr_storage copy_of(const sockaddr* address) {
  sockaddr_storage copy{};
  if (address != nullptr) std::memcpy(&copy, address, length_of(address));
  return copy;
}

socklen_t length_of(const sockaddr* address) {
  if (address == nullptr) return 0;
  switch (address->sa_family) {
    case AF_INET: return sizeof(sockaddr_in);
    case AF_INET6: return sizeof(sockaddr_in6);
    default: return 0;
  }
}

}  // namespace fake
