// SPDX-License-Identifier: MIT
// Several pairs that take their receives from one queue, each connected to one that sends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "support.hpp"

/// `count` pairs at the far end share a receive queue; each has a peer at the near end.
template <adverb::transport Transport>
class shared_loopback {
 public:
  explicit shared_loopback(std::size_t count,
                           const adverb::shared_receive_queue_options& options = {.max_wr = 32,
                                                                                  .max_sge = 2})
      : shared{domain, options} {
    for (std::size_t index = 0; index < count; ++index) connect_another();
  }

  adverb::context context = adverb::open_device();
  adverb::protection_domain domain{context};
  loopback_end near_end{context, domain};
  loopback_end far_end{context, domain};
  adverb::shared_receive_queue shared;
  std::vector<adverb::queue_pair<Transport>> near_pairs{};
  std::vector<adverb::queue_pair<Transport>> far_pairs{};
  /// The queue of the far pairs.
  std::vector<adverb::endpoint> endpoints{};

  /// The address of each far pair, for datagrams.
  [[nodiscard]] const adverb::address& to_far() const { return *to_far_; }

 private:
  [[nodiscard]] auto make(const loopback_end& end, adverb::reference<ibv_srq> queue) const {
    auto fresh = adverb::queue_pair<Transport>::create(domain, {.send_cq = end.queue,
                                                                .recv_cq = end.queue,
                                                                .srq = queue,
                                                                .max_send_wr = 32,
                                                                .max_recv_wr = 1,
                                                                .max_send_sge = 1});
    return initialised(fresh);
  }

  void connect_another() {
    auto near_waiting = make(near_end, {});
    auto far_waiting = make(far_end, shared);
    endpoints.push_back(far_waiting.endpoint());
    if (!to_far_) to_far_ = near_waiting.address_of(endpoints.back());
    if constexpr (Transport == adverb::transport::ud) {
      auto near_receiving = near_waiting.rtr().apply();
      auto far_receiving = far_waiting.rtr().apply();
      near_pairs.push_back(near_receiving.rts().apply());
      far_pairs.push_back(far_receiving.rts().apply());
    } else {
      const adverb::endpoint near_endpoint = near_waiting.endpoint();
      near_pairs.push_back(near_waiting.connect(endpoints.back(), unhurried<Transport>()));
      far_pairs.push_back(far_waiting.connect(near_endpoint, unhurried<Transport>()));
    }
  }

  std::optional<adverb::address> to_far_{};
};
