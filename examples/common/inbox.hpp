// SPDX-License-Identifier: MIT
// The memory into which datagrams are received.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <vector>

#include <adverb/adverb.hpp>

namespace examples {

/// Memory for messages, each behind the room for its header, and the receives into it.
class inbox {
 public:
  inbox(adverb::protection_domain_ref domain, std::size_t message_size, std::size_t count)
      : size_{adverb::grh_size + message_size},
        bytes_(size_ * std::max<std::size_t>(count, 1)),
        region_{domain, bytes_} {}

  /// Posts a receive for one place, with its number as the id.
  template <class Pair>
  void post(const Pair& pair, std::uint64_t place) const {
    pair.post(adverb::receive(region_.blocks(size_)[place]).id(place)).check();
  }
  [[nodiscard]] std::span<const std::byte> operator[](std::uint64_t place) const {
    return std::span{bytes_}.subspan(place * size_, size_);
  }

 private:
  std::size_t size_;
  std::vector<std::byte> bytes_;
  adverb::memory_region region_;
};

/// Returns one line about a datagram that arrived.
inline void print_datagram(const char* what, const adverb::completion& done,
                           std::span<const std::byte> buffer) {
  const auto message = done.success().receive();
  const adverb::global_route_header header{buffer.first<adverb::grh_size>()};
  std::printf("%s of %zu bytes from %s qp %s\n", what,
              adverb::datagram_payload(buffer, message).size(),
              adverb::to_string(header.source()).c_str(),
              adverb::to_string(message.source_queue_pair()).c_str());
}

}  // namespace examples
