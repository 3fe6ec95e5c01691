// SPDX-License-Identifier: MIT
// What can be set of an identifier of librdmacm before it binds, resolves or connects.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <rdma/rdma_cma.h>

#include <adverb/cm/identifier_calls.hpp>
#include <adverb/cm/path_record.hpp>
#include <adverb/core/durations.hpp>
#include <adverb/queue/connection_enhancements.hpp>

namespace adverb::inline ADVERB_ABI::cm {

/// The options of an identifier, its paths and its enhancements.
template <class Storage>
class identifier_settings : public identifier_calls<Storage> {
 public:
  using identifier_calls<Storage>::identifier_calls;

  /// The type of service of the packets: the six bits of DSCP above the two of ECN, as in an IP
  /// header. InfiniBand and RoCE make their traffic class of it. Before the route is resolved.
  /// Wraps: rdma_set_option(3).
  void set_type_of_service(std::uint8_t type, on_failure policy = throwing{}) const {
    set(policy, RDMA_OPTION_ID_TOS, type);
  }
  /// Binds even if the address was used until just now, as SO_REUSEADDR does. Before it binds.
  /// Wraps: rdma_set_option(3).
  void set_reuse_address(bool reuse, on_failure policy = throwing{}) const {
    set(policy, RDMA_OPTION_ID_REUSEADDR, reuse ? 1 : 0);
  }
  /// On an IPv6 address: whether it is for IPv6 alone, as IPV6_V6ONLY says, so that another can
  /// listen on the same port for IPv4. Before it binds. Wraps: rdma_set_option(3).
  void set_address_family_only(bool only, on_failure policy = throwing{}) const {
    set(policy, RDMA_OPTION_ID_AFONLY, only ? 1 : 0);
  }
  /// How long its queue pair waits for an acknowledgement before it sends again; made of the path's
  /// packet life time unless it is said here. Before it connects; for RC and XRC alone, or else
  /// EINVAL. Wraps: rdma_set_option(3).
  void set_acknowledge_timeout(acknowledge_timeout time, on_failure policy = throwing{}) const {
    set(policy, RDMA_OPTION_ID_ACK_TIMEOUT, time.code());
  }

  /// Gives the way to the peer instead of having it resolved, once the address is; an event tells:
  /// route_resolved. Of InfiniBand; the kernel takes only the first way in both directions.
  /// Wraps: rdma_set_option(3).
  void set_path(const path_record& path, on_failure policy = throwing{}) const {
    ibv_path_data native = path.native();
    call(policy, "rdma_set_option", [&](rdma_cm_id* id) {
      return rdma_set_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, &native, sizeof native);
    });
  }
  /// How many ways to the peer are known: 0 before the route is resolved, and on iWARP.
  [[nodiscard]] int path_count() const noexcept { return this->native_handle()->route.num_paths; }
  /// One of them. `index` is less than `path_count()`.
  [[nodiscard]] path_record path(int index = 0) const noexcept {
    return path_record::from_native(this->native_handle()->route.path_rec[index]);
  }

  /// Tells the peer, with the request to connect or its acceptance, what this side supports beyond
  /// the specification. Only for a queue pair of one's own: for others librdmacm does it. Refuses
  /// (EINVAL) enhancements without a vendor. Wraps: rdma_set_local_ece(3).
  void set_local_enhancements(const connection_enhancements& enhancements,
                              on_failure policy = throwing{}) const {
    ibv_ece native{enhancements.vendor_id, enhancements.options, 0};
    call(policy, "rdma_set_local_ece",
         [&](rdma_cm_id* id) { return rdma_set_local_ece(id, &native); });
  }
  /// What the peer told of its own, with its request or its acceptance; no vendor when it told
  /// nothing. Only for a queue pair of one's own. Wraps: rdma_get_remote_ece(3).
  [[nodiscard]] connection_enhancements remote_enhancements(on_failure policy = throwing{}) const {
    ibv_ece native{};
    if (!call(policy, "rdma_get_remote_ece",
              [&](rdma_cm_id* id) { return rdma_get_remote_ece(id, &native); }))
      return {};
    return {native.vendor_id, native.options};
  }

 protected:
  using identifier_calls<Storage>::call;

 private:
  template <class Value>
  void set(on_failure policy, int option, Value value) const {
    call(policy, "rdma_set_option", [&](rdma_cm_id* id) {
      return rdma_set_option(id, RDMA_OPTION_ID, option, &value, sizeof value);
    });
  }
};

}  // namespace adverb::inline ADVERB_ABI::cm
