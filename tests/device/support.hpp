// SPDX-License-Identifier: MIT
// The first RDMA device, and two queue pairs on it that are connected to each other.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <initializer_list>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <adverb/adverb.hpp>
#include <support/catch.hpp>
#include <support/device_facts.hpp>
#include <support/skip.hpp>

inline constexpr adverb::port_number first_port{1};
inline constexpr adverb::access_rights every_right =
    adverb::access_right::local_write | adverb::access_right::remote_write |
    adverb::access_right::remote_read | adverb::access_right::remote_atomic;

/// The status of a send whose buffer the device refuses although its lkey is that of a region.
[[nodiscard]] inline adverb::completion_status refused_buffer_on(adverb::context_ref context) {
  return holds(device_facts::local_error_is_flushed, context)
             ? adverb::completion_status::flushed
             : adverb::completion_status::local_protection_error;
}

/// The status of a send whose lkey is of no region.
[[nodiscard]] inline adverb::completion_status refused_key_on(adverb::context_ref context) {
  return holds(device_facts::wrong_key_is_operation_error, context)
             ? adverb::completion_status::local_queue_pair_operation_error
             : refused_buffer_on(context);
}

[[nodiscard]] inline adverb::completion_status refused_bind_on(adverb::context_ref context) {
  return holds(device_facts::local_error_is_flushed, context)
             ? adverb::completion_status::flushed
             : adverb::completion_status::memory_window_bind_error;
}

/// The status of a refused local invalidation.
[[nodiscard]] inline adverb::completion_status refused_invalidation_on(
    adverb::context_ref context) {
  return holds(device_facts::refused_invalidation_is_operation_error, context)
             ? adverb::completion_status::local_queue_pair_operation_error
             : refused_bind_on(context);
}

/// The status of a receive whose buffer the device refuses.
[[nodiscard]] inline adverb::completion_status refused_receive_on(adverb::context_ref context) {
  return holds(device_facts::refused_receive_is_operation_error, context)
             ? adverb::completion_status::local_queue_pair_operation_error
             : adverb::completion_status::local_protection_error;
}

/// The sum of counters of the first port of a device; none if it does not have them.
[[nodiscard]] inline std::optional<std::uint64_t> device_counters(
    adverb::context_ref context, std::initializer_list<const char*> names) {
  // The kernel reads its counters at most every ten milliseconds.
  std::this_thread::sleep_for(std::chrono::milliseconds{15});
  std::uint64_t all = 0;
  for (const char* each : names) {
    std::ifstream counter{"/sys/class/infiniband/" + std::string{context.device().name()} +
                          "/ports/1/hw_counters/" + each};
    std::uint64_t count = 0;
    if (!(counter >> count)) return std::nullopt;
    all += count;
  }
  return all;
}

/// The size of a completion queue beside which one context makes many queue pairs: on soft-iWARP it
/// contains the page at which no queue can start.
[[nodiscard]] inline std::size_t completions_for_many_pairs() {
  const adverb::context device = adverb::open_device();
  return holds(device_facts::takes_a_page_for_no_page, device) ? 32768 : 4096;
}

/// The next completion of a queue; fails the test when none comes within ten seconds.
[[nodiscard]] inline adverb::completion next_completion(adverb::completion_queue_ref queue) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{10};
  std::array<adverb::completion, 1> found;
  while (queue.poll(found).empty()) {
    if (std::chrono::steady_clock::now() > deadline) FAIL("no completion within ten seconds");
    std::this_thread::yield();
  }
  return found[0];
}

/// The same for a request that must succeed.
inline adverb::completion next_success(adverb::completion_queue_ref queue) {
  const adverb::completion found = next_completion(queue);
  found.check();
  return found;
}

/// Waits until the device has moved a pair to ERR: it may do so just after the completion.
template <class Pair>
void check_fails_soon(const Pair& pair) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{10};
  while (pair.query().state() != adverb::qp_state::error) {
    if (std::chrono::steady_clock::now() > deadline) FAIL("the pair is not in ERR");
    std::this_thread::yield();
  }
}

/// Options of connecting for a busy machine, where an acknowledgement may be late: a packet is sent
/// again after a second. Soft-RoCE counts these times while a message waits for a receive, too.
template <adverb::transport Transport = adverb::transport::rc>
[[nodiscard]] adverb::rtr_rts_attributes<Transport> unhurried() {
  adverb::rtr_rts_attributes<Transport> options;
  if constexpr (requires { options.acknowledge_timeout; })
    options.acknowledge_timeout = adverb::acknowledge_timeout::from_code(18);
  return options;
}

/// One side of a loopback: its memory, its completions, and the rights that it grants. `Queue` is a
/// completion queue of either engine.
template <class Queue>
struct end_with {
  end_with(adverb::context_ref context, adverb::protection_domain_ref domain,
           const adverb::completion_queue_options& options = {})
      : queue{context, 64, options}, region{domain, bytes, every_right} {}

  std::vector<std::byte> bytes = std::vector<std::byte>(32768);
  Queue queue;
  adverb::memory_region region;

  /// Fills a part of the memory with a pattern that starts with `seed`.
  void fill(std::size_t offset, std::size_t length, unsigned seed) {
    for (std::size_t index = 0; index < length; ++index)
      bytes[offset + index] = static_cast<std::byte>(seed + index * 7);
  }
  [[nodiscard]] bool holds(std::size_t offset, std::size_t length, unsigned seed) const {
    for (std::size_t index = 0; index < length; ++index)
      if (bytes[offset + index] != static_cast<std::byte>(seed + index * 7)) return false;
    return true;
  }

  template <adverb::access_rights Rights = adverb::access_right::remote_read |
                                           adverb::access_right::remote_write,
            class T = std::byte>
  [[nodiscard]] adverb::remote_buffer<T, Rights> remote() const {
    return region.remote<T, Rights>();
  }
};

using loopback_end = end_with<adverb::completion_queue>;

/// The options of the pairs of a loopback, and of their completion queues.
template <adverb::transport Transport>
struct loopback_options {
  adverb::queue_pair_options pair{.max_send_wr = 32,
                                  .max_recv_wr = 32,
                                  .max_send_sge = 4,
                                  .max_recv_sge = 4,
                                  .max_inline_data = 64};
  adverb::access_rights far_grants = every_right;
  adverb::rtr_rts_attributes<Transport> connect = unhurried<Transport>();
  bool with_channels = false;
  adverb::completion_queue_options queue{};
};

/// A pair of a transport in INIT, with a queue key where it needs one.
template <adverb::transport Transport>
[[nodiscard]] auto initialised(adverb::queue_pair<Transport, adverb::qp_state::reset>& fresh,
                               adverb::access_rights rights = every_right) {
  auto init = fresh.init().port(first_port);
  if constexpr (Transport == adverb::transport::ud)
    return std::move(init).queue_key(adverb::queue_key{0x11111111}).apply();
  else
    return std::move(init).allow(rights).apply();
}

/// Two pairs of one process that talk to each other through the device.
template <adverb::transport Transport, class Queue = adverb::completion_queue>
class loopback {
 public:
  explicit loopback(loopback_options<Transport> options = {}) : options_{options} {}

 private:
  [[nodiscard]] adverb::completion_queue_options announcing_on(
      adverb::completion_channel_ref channel) const {
    adverb::completion_queue_options options = options_.queue;
    options.channel = channel;
    return options;
  }

  loopback_options<Transport> options_;

 public:
  adverb::context context = adverb::open_device();
  adverb::protection_domain domain{context};
  adverb::completion_channel near_channel =
      options_.with_channels ? adverb::completion_channel{context} : adverb::completion_channel{};
  adverb::completion_channel far_channel =
      options_.with_channels ? adverb::completion_channel{context} : adverb::completion_channel{};
  end_with<Queue> near_end{context, domain, announcing_on(near_channel)};
  end_with<Queue> far_end{context, domain, announcing_on(far_channel)};

 private:
  using waiting = adverb::queue_pair<Transport, adverb::qp_state::init>;

  [[nodiscard]] waiting make(const end_with<Queue>& end, adverb::access_rights rights) const {
    adverb::queue_pair_options options = options_.pair;
    options.send_cq = end.queue;
    options.recv_cq = end.queue;
    auto fresh = adverb::queue_pair<Transport>::create(domain, options);
    return initialised(fresh, rights);
  }
  [[nodiscard]] adverb::queue_pair<Transport> connect(waiting& pair,
                                                      const adverb::endpoint& peer) const {
    if constexpr (Transport == adverb::transport::ud) {
      auto receiving = pair.rtr().apply();
      return receiving.rts().apply();
    } else {
      return pair.connect(peer, options_.connect);
    }
  }

  waiting near_waiting_ = make(near_end, every_right);
  waiting far_waiting_ = make(far_end, options_.far_grants);

 public:
  adverb::endpoint near_endpoint = near_waiting_.endpoint();
  adverb::endpoint far_endpoint = far_waiting_.endpoint();
  adverb::address to_far = near_waiting_.address_of(far_endpoint);
  adverb::queue_pair<Transport> near_pair = connect(near_waiting_, far_endpoint);
  adverb::queue_pair<Transport> far_pair = connect(far_waiting_, near_endpoint);
};
