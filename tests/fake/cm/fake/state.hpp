// SPDX-License-Identifier: MIT
// The state of the fake of librdmacm, for the files that answer the calls.
#pragma once

#include <deque>
#include <map>
#include <optional>

#include "../../verbs/state.hpp"
#include "connection_manager.hpp"

// clang-format off
#define NAMED(prefix, name) named_value { prefix##name, #name }
// clang-format on

namespace fake {

/// The progress of an identifier, as the kernel sees it.
enum class cm_progress {
  idle,
  bound,
  resolving_address,
  address_resolved,
  resolving_route,
  route_resolved,
  listening,
  requested,
  connecting,
  connected,
  disconnected,
};

struct multicast_membership {
  sockaddr_storage group;
  bool attached;
  void* context;
};

/// An event, on its way or taken.
struct cm_event_in_flight {
  rdma_cm_event native;
  std::string private_data;
  /// In a connection request: the peer of the new identifier.
  sockaddr_in peer;
};

struct cm_identifier {
  rdma_cm_id native;
  cm_progress progress = cm_progress::idle;
  /// Without a channel from the program, the calls wait for their events.
  bool is_synchronous = false;
  bool shares_address = false;
  bool is_of_one_family = false;
  std::size_t unacknowledged = 0;
  std::vector<multicast_membership> groups;
  ibv_ece local_ece{};
  ibv_ece remote_ece{0x1234, 0x5, 0};
  /// The attributes of the pairs for requests to a listening endpoint.
  std::optional<ibv_qp_init_attr> pair_of_requests;
  /// The result of its lookup.
  rdma_addrinfo* found = nullptr;
};

/// The file of a channel counts the events that wait in it.
struct cm_channel {
  rdma_event_channel native;
  std::deque<std::unique_ptr<cm_event_in_flight>> waiting;
};

struct cm_address_information {
  rdma_addrinfo native;
  sockaddr_storage source;
  sockaddr_storage destination;
};

struct connection_manager::state {
  explicit state(machine& machine) : owner{machine} {}

  machine& owner;
  ibv_context* context = nullptr;
  ibv_pd* domain = nullptr;
  /// The number of live objects when the manager was made.
  std::size_t objects_at_start = 0;

  objects<rdma_event_channel, cm_channel> channels{"event_channel"};
  objects<rdma_cm_id, cm_identifier> identifiers{"id"};
  objects<rdma_cm_event, cm_event_in_flight> taken{"event"};
  objects<rdma_addrinfo, cm_address_information> addresses{"addrinfo"};
  objects<ibv_context*, std::vector<ibv_context*>> device_lists{"devices"};

  std::map<std::type_index, std::deque<std::vector<cm_event>>> answers;
  std::uint16_t last_port = 40000;
};

/// The state of the manager of the running test; the program ends when there is none.
connection_manager::state& managed();
[[nodiscard]] cm_identifier& known(const rdma_cm_id* id);

/// Ends the program, because of what the program under test did.
[[noreturn]] void misused(const char* what);

/// Records a call; -1 and errno when it is to fail, or 0.
template <class Call>
[[nodiscard]] int answer_of(const fields& arguments = {}, Call what = {}) {
  return refused<Call>(arguments, std::move(what)) ? -1 : 0;
}
/// -1 and errno.
[[nodiscard]] inline int failed_with(int error) {
  errno = error;
  return -1;
}

/// Queues the events of the call: those that the test has set, or `usual`. For an identifier
/// without a channel it waits for it, and gives -1 and errno when it is a failure.
[[nodiscard]] int lead_to(std::type_index kind, rdma_cm_id* id, const cm_event& usual);
template <class Call>
[[nodiscard]] int lead_to(rdma_cm_id* id, const cm_event& usual) {
  return lead_to(typeid(Call), id, usual);
}
/// Takes the event that a call without a channel waits for.
[[nodiscard]] int complete(rdma_cm_id* id);

rdma_event_channel* add_channel();
void remove_channel(rdma_event_channel* channel);
rdma_cm_id* add_identifier(rdma_event_channel* channel, void* context, rdma_port_space space);
void bind_to_device(rdma_cm_id* id);
/// Destroys an identifier, its events that wait, and its own channel.
void remove_identifier(rdma_cm_id* id);

[[nodiscard]] sockaddr_storage copy_of(const sockaddr* address);
/// Returns 0 for an unknown family.
[[nodiscard]] socklen_t length_of(const sockaddr* address);

// The text of values. An address is "10.0.0.1:7471", "[fe80::1%2]:7471" or "none".

[[nodiscard]] shown port_space(int space);
[[nodiscard]] shown show(const sockaddr_storage& address);
[[nodiscard]] shown show(const rdma_addrinfo& information);

/// Moves the pair of an identifier, if it has one; -1 and errno when that fails.
[[nodiscard]] int move_pair(rdma_cm_id* id, ibv_qp_state state);

}  // namespace fake
