// SPDX-License-Identifier: MIT
// A fake device with all that a queue pair stands on, and queue pairs brought up on it.
#pragma once

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <infiniband/verbs.h>

#include <adverb/adverb.hpp>

#include "fake.hpp"
#include "log.hpp"

class test_bench {
 public:
  fake::machine machine;
  adverb::context context = adverb::open_device();
  adverb::protection_domain domain{context};
  adverb::completion_queue queue{context, 16};

  /// The one port, and the limits of the one device, as the next queries see them.
  [[nodiscard]] fake::port& port() { return machine.devices[0].ports[0]; }
  [[nodiscard]] ibv_device_attr& limits() { return machine.devices[0].attributes; }

  /// A peer on the same Ethernet, whose limits lie below and above those of the device.
  static inline const adverb::endpoint peer{.number = adverb::qp_number{0x77},
                                            .psn = adverb::psn{0x123456},
                                            .lid = adverb::lid{0},
                                            .gid = adverb::gid{fake::ipv4_gid(10, 0, 0, 2)},
                                            .mtu = adverb::mtu::bytes_4096,
                                            .max_destination_read_atomic = 4,
                                            .max_initiator_read_atomic = 8};

  /// The kernel takes the device from the process: every call but polls, which are no system calls,
  /// fails with EIO from now on. The device file has this path then.
  void take_device(const char* path = "/no/such/file") {
    machine.fail_by(
        [](const fake::call& made) { return made.line().starts_with("ibv_poll_cq") ? 0 : EIO; });
    std::strcpy(context.native_handle()->device->dev_path, path);
  }

  /// Makes a queue pair with these options and the completion queue of the bench.
  template <adverb::transport Transport>
  [[nodiscard]] auto fresh(adverb::queue_pair_options options = {}) const {
    options.send_cq = queue;
    options.recv_cq = queue;
    return adverb::queue_pair<Transport>::create(domain, options);
  }
  /// In INIT, with sequence number 0xabcdef, where the transport has such numbers.
  template <adverb::transport Transport>
  [[nodiscard]] auto waiting(const adverb::queue_pair_options& options = {}) const {
    auto pair = fresh<Transport>(options);
    auto init = pair.init().port(adverb::port_number{1});
    constexpr adverb::psn first{0xabcdef};
    if constexpr (Transport == adverb::transport::raw_packet)
      return init.apply();
    else if constexpr (Transport == adverb::transport::ud)
      return std::move(init).psn(first).queue_key(adverb::queue_key{0x1111}).apply();
    else
      return std::move(init).psn(first).apply();
  }
  template <adverb::transport Transport>
  [[nodiscard]] auto receiving(const adverb::queue_pair_options& options = {}) const {
    auto pair = waiting<Transport>(options);
    if constexpr (Transport == adverb::transport::ud || Transport == adverb::transport::raw_packet)
      return pair.rtr().apply();
    else
      return pair.rtr().remote(peer).apply();
  }
  template <adverb::transport Transport>
  [[nodiscard]] auto ready(const adverb::queue_pair_options& options = {}) const {
    auto pair = receiving<Transport>(options);
    return pair.rts().apply();
  }

  /// The last call of ibv_modify_qp, as text.
  [[nodiscard]] std::string modification() const { return machine.line<fake::called::modify_qp>(); }
};

/// Runs the test for each transport.
template <class Test>
void for_each_transport(const Test& test) {
  using adverb::transport;
  test(std::integral_constant<transport, transport::rc>{});
  test(std::integral_constant<transport, transport::uc>{});
  test(std::integral_constant<transport, transport::ud>{});
}

[[nodiscard]] inline ibv_gid_entry table_entry(const ibv_gid& gid, std::uint32_t index,
                                               std::uint32_t type, std::uint32_t port = 1) {
  ibv_gid_entry entry{};
  entry.gid = gid;
  entry.gid_index = index;
  entry.port_num = port;
  entry.gid_type = type;
  return entry;
}

/// The link-local address fe80::LAST, and the global one PREFIX::LAST.
[[nodiscard]] inline ibv_gid link_local_gid(std::uint8_t last) {
  return {.raw = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last}};
}
[[nodiscard]] inline ibv_gid global_gid(std::uint8_t last, std::uint8_t prefix = 1) {
  return {.raw = {0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, prefix, 0, 0, 0, 0, 0, 0, 0, last}};
}

/// Makes the port one of InfiniBand, with a LID and one GID.
inline void make_infiniband(fake::port& port) {
  port.attributes.link_layer = IBV_LINK_LAYER_INFINIBAND;
  port.attributes.lid = 0x21;
  port.gids = {table_entry(global_gid(1), 0, IBV_GID_TYPE_IB)};
}
