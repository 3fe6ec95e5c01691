// SPDX-License-Identifier: MIT
// The one message in each direction that rdma_client and rdma_server exchange.
#pragma once

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

#include <adverb/adverb.hpp>
#include <adverb/cm.hpp>

#include "common/cm_completion.hpp"

namespace examples {

/// Holds the memory of both messages, so it is made before the connection and outlives it.
class greeting {
 public:
  greeting(adverb::context_ref device, std::string_view words) : domain_{device} {
    std::memcpy(outgoing_.data(), words.data(), words.size());
  }

  [[nodiscard]] adverb::protection_domain_ref domain() const noexcept { return domain_; }

  /// Call this before the connection is made, so that the message cannot come too early.
  template <class Pair>
  void post_receive(const Pair& pair) const {
    pair.post(receive(into_.buffer())).check();
  }
  template <adverb::transport Transport>
  void send(adverb::cm::connection<Transport>& connection) const {
    connection.queue_pair().post(adverb::send(from_.buffer()).signaled()).check();
    // There is no completion if the peer disconnects as soon as it has the message (Soft-RoCE
    // acknowledges after that).
    if (next_completion(connection, connection.send_cq()))
      std::printf("sent %zu bytes to %s\n", outgoing_.size(),
                  adverb::to_string(connection.peer_address()).c_str());
  }
  template <adverb::transport Transport>
  void wait_received(adverb::cm::connection<Transport>& connection) const {
    const auto arrived = needed_completion(connection, connection.recv_cq());
    const std::size_t length = arrived.success().receive().length();
    if (length != incoming_.size())
      throw std::runtime_error{"the message has " + std::to_string(length) + " bytes, not " +
                               std::to_string(incoming_.size()) +
                               "; check the program of the peer"};
    std::printf("received %zu bytes from %s\n", length,
                adverb::to_string(connection.peer_address()).c_str());
  }

 private:
  adverb::protection_domain domain_;
  std::array<std::byte, 16> incoming_{};
  std::array<std::byte, 16> outgoing_{};
  adverb::memory_region into_{domain_, incoming_};
  adverb::memory_region from_{domain_, outgoing_};
};

}  // namespace examples
