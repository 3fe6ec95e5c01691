// SPDX-License-Identifier: MIT
// Identifiers: made, destroyed, moved to another channel, and what is set on them.
#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include <arpa/inet.h>
#include <sys/eventfd.h>

#include "state.hpp"

using namespace fake;

namespace {

/// A small one is a number, as the C API has it, and any other one is bytes.
shown option_value(std::string_view value) {
  if (value.size() == 1) return hex(static_cast<unsigned char>(value[0]));
  int number = 0;
  if (value.size() != sizeof number) return {hex_bytes(value.data(), value.size()), false};
  std::memcpy(&number, value.data(), sizeof number);
  return number;
}

shown option_name(int level, int name) {
  const auto value = static_cast<unsigned>(name);
  if (level == RDMA_OPTION_IB) return enumerator(value, {NAMED(RDMA_OPTION_, IB_PATH)});
  return enumerator(value, {NAMED(RDMA_OPTION_, ID_TOS), NAMED(RDMA_OPTION_, ID_REUSEADDR),
                            NAMED(RDMA_OPTION_, ID_AFONLY), NAMED(RDMA_OPTION_, ID_ACK_TIMEOUT)});
}

}  // namespace

namespace fake {
namespace {

using events = std::deque<std::unique_ptr<cm_event_in_flight>>;

/// Takes the events that are about an identifier out of its channel.
events take_waiting(rdma_cm_id* id) {
  cm_channel& channel = managed().channels.at(id->channel);
  events taken;
  events kept;
  for (auto& each : channel.waiting) {
    const bool matches = each->native.id == id;
    if (matches) {
      eventfd_t one = 0;
      ::eventfd_read(channel.native.fd, &one);
    }
    (matches ? taken : kept).push_back(std::move(each));
  }
  channel.waiting = std::move(kept);
  return taken;
}

/// Destroys the channel that an identifier has of its own, unless another is on it still.
void give_up_channel(rdma_cm_id* id) {
  if (!known(id).is_synchronous) return;
  rdma_event_channel* const own = std::exchange(id->channel, nullptr);
  auto& all = managed().identifiers;
  if (std::none_of(all.begin(), all.end(),
                   [&](const auto& each) { return each.first->channel == own; }))
    remove_channel(own);
}

}  // namespace

rdma_cm_id* add_identifier(rdma_event_channel* channel, void* context, rdma_port_space space) {
  auto made = std::make_unique<cm_identifier>();
  rdma_cm_id& native = made->native;
  made->is_synchronous = channel == nullptr;
  native.channel = channel != nullptr ? channel : add_channel();
  native.context = context;
  native.ps = space;
  native.qp_type = space == RDMA_PS_UDP || space == RDMA_PS_IPOIB ? IBV_QPT_UD : IBV_QPT_RC;
  managed().identifiers.add(std::move(made), &native);
  return &native;
}

void remove_identifier(rdma_cm_id* id) {
  if (id->event != nullptr) ::rdma_ack_cm_event(std::exchange(id->event, nullptr));
  if (known(id).unacknowledged != 0)
    misused("an identifier was destroyed before an event of it was acknowledged");
  if (id->qp != nullptr) misused("an identifier was destroyed before its queue pair");
  if (id->srq != nullptr) misused("an identifier was destroyed before its shared receive queue");
  take_waiting(id);
  give_up_channel(id);
  managed().identifiers.remove(id);
}

void bind_to_device(rdma_cm_id* id) {
  id->verbs = managed().context;
  id->pd = managed().domain;
  id->port_num = 1;
}

}  // namespace fake

int rdma_create_id(rdma_event_channel* channel, rdma_cm_id** id, void* context,
                   rdma_port_space space) {
  if (answer_of<called::rdma_create_id>(
          about(channel).add_unless_zero("context", name_of(context)).add("ps", port_space(space)),
          {channel}) != 0)
    return -1;
  *id = fake::add_identifier(channel, context, space);
  return 0;
}

int rdma_destroy_id(rdma_cm_id* id) {
  if (answer_of<called::rdma_destroy_id>(about(id)) != 0) return -1;
  fake::remove_identifier(id);
  return 0;
}

int rdma_migrate_id(rdma_cm_id* id, rdma_event_channel* channel) {
  if (answer_of<called::rdma_migrate_id>(about(id).object(channel), {channel}) != 0) return -1;
  if (id->event != nullptr) ::rdma_ack_cm_event(std::exchange(id->event, nullptr));
  if (known(id).unacknowledged != 0)
    fake::misused("an identifier was migrated before an event of it was acknowledged");
  auto moved = fake::take_waiting(id);
  fake::give_up_channel(id);
  known(id).is_synchronous = channel == nullptr;
  id->channel = channel != nullptr ? channel : fake::add_channel();
  for (auto& each : moved) {
    managed().channels.at(id->channel).waiting.push_back(std::move(each));
    if (::eventfd_write(id->channel->fd, 1) != 0) return -1;
  }
  return 0;
}

int rdma_bind_addr(rdma_cm_id* id, sockaddr* address) {
  if (answer_of<called::rdma_bind_addr>(about(id).add("addr", show(fake::copy_of(address)))) != 0)
    return -1;
  if (fake::length_of(address) == 0 || known(id).progress != fake::cm_progress::idle)
    return failed_with(EINVAL);
  // Both families have the port at the same place.
  sockaddr_storage bound = fake::copy_of(address);
  auto& port = reinterpret_cast<sockaddr_in&>(bound).sin_port;
  if (port == 0) port = htons(++managed().last_port);
  for (const auto& [other, identifier] : managed().identifiers)
    if (other != id && other->route.addr.src_sin.sin_port == port && other->ps == id->ps &&
        identifier->progress != fake::cm_progress::requested &&
        !(identifier->shares_address && known(id).shares_address) &&
        !(identifier->is_of_one_family && known(id).is_of_one_family &&
          other->route.addr.src_addr.sa_family != address->sa_family))
      return failed_with(EADDRINUSE);
  id->route.addr.src_storage = bound;
  known(id).progress = fake::cm_progress::bound;
  const bool is_any = address->sa_family == AF_INET
                          ? id->route.addr.src_sin.sin_addr.s_addr == INADDR_ANY
                          : IN6_IS_ADDR_UNSPECIFIED(&id->route.addr.src_sin6.sin6_addr) != 0;
  if (!is_any) fake::bind_to_device(id);
  return 0;
}

__be16 rdma_get_src_port(rdma_cm_id* id) {
  record<called::rdma_get_src_port>(about(id));
  return id->route.addr.src_sin.sin_port;
}
__be16 rdma_get_dst_port(rdma_cm_id* id) {
  record<called::rdma_get_dst_port>(about(id));
  return id->route.addr.dst_sin.sin_port;
}

int rdma_set_option(rdma_cm_id* id, int level, int name, void* value, std::size_t length) {
  if (answer_of<called::rdma_set_option>(
          about(id)
              .add("level", enumerator(static_cast<unsigned>(level),
                                       {NAMED(RDMA_OPTION_, ID), NAMED(RDMA_OPTION_, IB)}))
              .add("optname", option_name(level, name))
              .add("optval", option_value({static_cast<const char*>(value), length}))
              .add("optlen", length)) != 0)
    return -1;
  if (level != RDMA_OPTION_ID && level != RDMA_OPTION_IB) return failed_with(ENOSYS);
  if (level == RDMA_OPTION_ID && name == RDMA_OPTION_ID_REUSEADDR)
    known(id).shares_address = *static_cast<const int*>(value) != 0;
  if (level == RDMA_OPTION_ID && name == RDMA_OPTION_ID_AFONLY)
    known(id).is_of_one_family = *static_cast<const int*>(value) != 0;
  return 0;
}

int rdma_notify(rdma_cm_id* id, ibv_event_type event) {
  const auto type = enumerator(event, {NAMED(IBV_EVENT_, COMM_EST), NAMED(IBV_EVENT_, PATH_MIG)});
  return answer_of<called::rdma_notify>(about(id).add("event", type));
}

int rdma_set_local_ece(rdma_cm_id* id, ibv_ece* options) {
  if (answer_of<called::rdma_set_local_ece>(about(id).members(fake::show(*options))) != 0)
    return -1;
  known(id).local_ece = *options;
  return 0;
}
int rdma_get_remote_ece(rdma_cm_id* id, ibv_ece* options) {
  if (answer_of<called::rdma_get_remote_ece>(about(id)) != 0) return -1;
  *options = known(id).remote_ece;
  return 0;
}
