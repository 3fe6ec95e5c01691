// SPDX-License-Identifier: MIT
// Shared by the tests of datagrams and of multicast groups: an endpoint with memory for the
// messages that it receives.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <adverb/cm.hpp>

#include "support.hpp"

namespace cm_test {

/// A message that came, with what it takes to answer.
struct letter {
  [[nodiscard]] adverb::global_route_header header() const noexcept {
    return adverb::global_route_header{header_bytes};
  }

  std::string text;
  adverb::completion done;
  std::array<std::byte, adverb::grh_size> header_bytes{};
};

/// Memory in which the messages to a queue pair arrive, in the order of the completions. It always
/// has room for `slots` of them.
class inbox {
 public:
  static constexpr std::uint32_t slots = 4;

  inbox(adverb::protection_domain_ref domain,
        adverb::queue_pair_ref<adverb::transport::ud> queue_pair)
      : region_{domain, bytes_, adverb::access_right::local_write}, queue_pair_{queue_pair} {
    for (std::size_t slot = 0; slot < slots; ++slot) post(slot);
  }

  [[nodiscard]] letter next(adverb::completion_queue_ref queue) {
    const adverb::completion done = next_success(queue);
    const auto slot = static_cast<std::size_t>(done.id());
    const auto came = std::span<const std::byte>{bytes_}.subspan(slot * slot_size, slot_size);
    const auto payload = adverb::datagram_payload(came, done.success().receive());
    letter found{{reinterpret_cast<const char*>(payload.data()), payload.size()}, done};
    std::copy_n(came.begin(), adverb::grh_size, found.header_bytes.begin());
    post(slot);
    return found;
  }

 private:
  static constexpr std::size_t slot_size = adverb::grh_size + 64;

  void post(std::size_t slot) const {
    queue_pair_.post(adverb::receive(region_.slice(slot * slot_size, slot_size)).id(slot)).check();
  }

  std::array<std::byte, slots * slot_size> bytes_{};
  adverb::memory_region region_;
  adverb::queue_pair_ref<adverb::transport::ud> queue_pair_;
};

inline constexpr adverb::queue_pair_options datagram_options{
    .max_send_wr = 4, .max_recv_wr = inbox::slots, .max_inline_data = 64};

/// Sends a message, and waits until it is gone.
inline void send_text(const adverb::cm::datagram_endpoint& from,
                      const adverb::datagram_destination& there, std::string_view text) {
  const auto bytes = std::as_bytes(std::span{text});
  from.queue_pair().post(adverb::send(adverb::inline_data{bytes}).signaled().to(there)).check();
  next_success(from.send_cq());
}

/// Sends a message to who sent another.
inline void answer(const adverb::cm::datagram_endpoint& from, const letter& question,
                   std::string_view text) {
  const adverb::address_handle way{from.protection_domain(), from.port(), question.done,
                                   question.header()};
  send_text(from,
            {.address = way,
             .queue_pair = question.done.success().receive().source_queue_pair(),
             .queue_key = adverb::cm::datagram_queue_key},
            text);
}

/// An endpoint and its inbox.
struct datagram_end {
  datagram_end()
      : datagram_end{adverb::cm::datagram_endpoint::create(device_address(), datagram_options)} {}
  explicit datagram_end(adverb::cm::datagram_endpoint&& from) : endpoint{std::move(from)} {}

  void send_to(const adverb::datagram_destination& there, std::string_view text) const {
    send_text(endpoint, there, text);
  }
  [[nodiscard]] letter received() { return mail.next(endpoint.recv_cq()); }

  adverb::cm::datagram_endpoint endpoint;
  inbox mail{endpoint.protection_domain(), endpoint.queue_pair()};
};

}  // namespace cm_test
