// SPDX-License-Identifier: MIT
// A fake under the C ABI of librdmacm, beside that of libibverbs. Every call is recorded by the
// machine, which also makes it fail on demand. Otherwise it succeeds, and its event comes at once,
// unless a test sets others or none:
//
//     fake::machine machine;
//     fake::connection_manager manager{machine};
//     manager.answer<fake::called::rdma_connect>({{RDMA_CM_EVENT_REJECTED, 28, "not you"}});
//     manager.answer<fake::called::rdma_resolve_addr>({});
//     …
//     CHECK(machine.line<fake::called::rdma_listen>() == "rdma_listen id0 backlog=7");
//
// In lines ctx0 is the device of librdmacm, and pd0 its domain.
//
// The program ends where the C library would wait for ever, or would be misused: an identifier is
// destroyed whose event is not acknowledged, an event is acknowledged twice.
//
// Not thread safe.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <typeindex>
#include <vector>

#include <rdma/rdma_cma.h>

#include "../../fake.hpp"
#include "calls.hpp"

namespace fake {

/// The fields of an event. The pointers in `connection` and `datagram` are ignored: the private
/// data is given apart.
struct cm_event {
  rdma_cm_event_type type;
  int status = 0;
  std::string private_data = {};
  rdma_conn_param connection = {};
  /// For the events of a datagram service and of multicast groups, instead of `connection`.
  rdma_ud_param datagram = {};
};

class connection_manager {
 public:
  /// Manages the first device of the machine, with a domain of its own on it, which adverb keeps
  /// already: `adverb::detail::default_domains::release_all` changes that.
  explicit connection_manager(machine& machine);
  ~connection_manager();
  connection_manager(const connection_manager&) = delete;
  connection_manager& operator=(const connection_manager&) = delete;

  /// Sets the events of the next call of this kind, instead of that of its success.
  template <class Call>
  void answer(std::vector<cm_event> events) {
    answer_kind(typeid(Call), std::move(events));
  }
  /// Something happens to an identifier on its own.
  void raise(rdma_cm_id* id, cm_event event);
  /// A peer, at 10.0.0.2:4711, requests a connection from a listener, or a datagram service.
  void request(rdma_cm_id* listener, std::string private_data = {},
               const rdma_conn_param& parameters = {});

  /// The events that were taken and not acknowledged.
  [[nodiscard]] std::size_t unacknowledged(const rdma_cm_id* id) const;
  /// The events that are there to be taken.
  [[nodiscard]] std::size_t waiting(const rdma_event_channel* channel) const;

  /// The number of objects that were made and not destroyed, also of libibverbs; events that were
  /// not acknowledged count too. The manager's own objects do not count.
  [[nodiscard]] std::size_t live_objects() const;

  /// The device and the domain that identifiers are bound to.
  [[nodiscard]] ibv_context* context() const;
  [[nodiscard]] ibv_pd* domain() const;

  struct state;
  [[nodiscard]] state& internals() noexcept { return *state_; }

 private:
  void keep_domain();
  void answer_kind(std::type_index kind, std::vector<cm_event> events);

  std::unique_ptr<state> state_;
};

}  // namespace fake
