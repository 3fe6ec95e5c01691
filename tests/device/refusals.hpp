// SPDX-License-Identifier: MIT
// Refused requests: buffers that the library does not hand out, and pairs after a refusal.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "support.hpp"

/// A buffer of the region, with a changed key, or at another place.
[[nodiscard]] inline adverb::mutable_buffer forged(const adverb::memory_region& region,
                                                   std::uint32_t key_change = 0,
                                                   std::uint64_t offset = 0) {
  return {adverb::adopt,
          {.addr = region.device_address() + offset,
           .length = 8,
           .lkey = static_cast<std::uint32_t>(region.lkey()) ^ key_change}};
}

/// A remote buffer that the peer did not hand out.
template <adverb::access_rights Rights, class T = std::byte>
[[nodiscard]] adverb::remote_buffer<T, Rights> claimed(const adverb::memory_region& region,
                                                       std::uint64_t offset = 0,
                                                       std::uint32_t key_change = 0) {
  return {adverb::adopt, region.device_address() + offset, 1024,
          static_cast<adverb::rkey>(static_cast<std::uint32_t>(region.rkey()) ^ key_change)};
}

/// A region whose buffers only the device judges: ADVERB_HARDENING_DEBUG does not judge those of C
/// code.
class unjudged_region {
 public:
  unjudged_region(adverb::protection_domain_ref domain, std::vector<std::byte>& bytes,
                  adverb::access_rights rights = every_right)
      : region_{adverb::memory_region{domain, bytes, rights}.release()} {}
  unjudged_region(const unjudged_region&) = delete;
  unjudged_region& operator=(const unjudged_region&) = delete;
  ~unjudged_region() {
    if (region_ != nullptr) deregister();
  }

  /// Returns a part of the region, or bytes beyond it.
  [[nodiscard]] adverb::mutable_buffer buffer(std::uint64_t offset, std::uint32_t length) const {
    return {adverb::adopt,
            {.addr = reinterpret_cast<std::uintptr_t>(region_->addr) + offset,
             .length = length,
             .lkey = region_->lkey}};
  }
  void deregister() {
    CHECK(ibv_dereg_mr(region_) == 0);
    region_ = nullptr;
  }

 private:
  ibv_mr* region_;
};

/// Resets both pairs, whatever state they are in, and connects them again.
inline void reconnect(loopback<adverb::transport::rc>& link) {
  const auto restarted = [](adverb::queue_pair<adverb::transport::rc>& pair) {
    auto fresh = pair.reset();
    return initialised(fresh);
  };
  auto near_waiting = restarted(link.near_pair);
  auto far_waiting = restarted(link.far_pair);
  const adverb::endpoint near_endpoint = near_waiting.endpoint();
  link.near_pair = near_waiting.connect(far_waiting.endpoint(), unhurried());
  link.far_pair = far_waiting.connect(near_endpoint, unhurried());
}

inline void check_traffic(loopback<adverb::transport::rc>& link) {
  std::array<adverb::completion, 64> rest;
  (void)link.near_end.queue.poll(rest);
  (void)link.far_end.queue.poll(rest);
  link.near_end.fill(0, 100, 9);
  link.far_pair.post(adverb::receive(link.far_end.region.slice(0, 100)).id(1)).check();
  link.near_pair.post(adverb::send(link.near_end.region.slice(0, 100)).signaled().id(2)).check();
  CHECK(next_success(link.near_end.queue).id() == 2);
  CHECK(next_success(link.far_end.queue).id() == 1);
  CHECK(link.far_end.holds(0, 100, 9));
}

/// Two more RC pairs that are connected to each other, each in a domain of the caller.
class more_pairs {
  using waiting = adverb::queue_pair<adverb::transport::rc, adverb::qp_state::init>;

  [[nodiscard]] static waiting make(adverb::protection_domain_ref domain,
                                    const adverb::completion_queue& queue) {
    auto fresh = adverb::queue_pair<adverb::transport::rc>::create(
        domain, {.send_cq = queue, .recv_cq = queue, .max_send_sge = 1, .max_recv_sge = 1});
    return initialised(fresh);
  }

 public:
  more_pairs(adverb::context_ref context, adverb::protection_domain_ref near_domain,
             adverb::protection_domain_ref far_domain)
      : near_queue{context, 64},
        far_queue{context, 64},
        near_waiting_{make(near_domain, near_queue)},
        far_waiting_{make(far_domain, far_queue)} {}

  adverb::completion_queue near_queue;
  adverb::completion_queue far_queue;

 private:
  waiting near_waiting_;
  waiting far_waiting_;
  adverb::endpoint near_endpoint_ = near_waiting_.endpoint();

 public:
  adverb::queue_pair<adverb::transport::rc> near_pair =
      near_waiting_.connect(far_waiting_.endpoint(), unhurried());
  adverb::queue_pair<adverb::transport::rc> far_pair =
      far_waiting_.connect(near_endpoint_, unhurried());

  /// The status of a request of the near pair.
  template <class Request>
  [[nodiscard]] adverb::completion_status status_of(const Request& request) const {
    near_pair.post(request.signaled()).check();
    return next_completion(near_queue).status();
  }
};
