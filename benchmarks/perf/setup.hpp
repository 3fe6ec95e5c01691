// SPDX-License-Identifier: MIT
// Everything that a side has to have before anything can be measured.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include <adverb/adverb.hpp>

#include "engines.hpp"
#include "options.hpp"
#include "peer.hpp"

namespace perf {

/// The peer's rights to the memory of a side.
inline constexpr adverb::access_rights remote_rights = adverb::access_right::remote_read |
                                                       adverb::access_right::remote_write |
                                                       adverb::access_right::remote_atomic;
using remote_memory = adverb::remote_buffer<std::byte, remote_rights>;

/// Memory that begins at a page and is there: written to once.
class page_memory {
 public:
  explicit page_memory(std::size_t size) : pages_((size + sizeof(page) - 1) / sizeof(page)) {}

  [[nodiscard]] std::span<std::byte> bytes() noexcept {
    return {pages_.data()->bytes.data(), pages_.size() * sizeof(page)};
  }

 private:
  struct alignas(4096) page {
    std::array<std::byte, 4096> bytes;
  };
  std::vector<page> pages_;
};

/// One queue pair, and how far it is.
template <class Engine>
struct lane {
  using pair_type = adverb::queue_pair<Engine::transport>;

  pair_type pair;
  typename Engine::sender sender;
  adverb::endpoint theirs;
  /// The way there, for datagrams.
  adverb::address_handle way{};

  /// Messages.
  std::uint64_t posted = 0;
  std::uint64_t completed = 0;
  std::uint32_t unsignaled = 0;
};

/// The datagrams of this program carry it.
inline constexpr adverb::queue_key datagram_key{0x11111111};

/// The objects of one side, connected to the other. `Engine` names the transport, too.
template <class Engine>
class side {
  static constexpr adverb::transport transport = Engine::transport;
  using waiting_pair = adverb::queue_pair<transport, adverb::qp_state::init>;

 public:
  /// Connects to the peer. `largest` is the size of the largest message.
  side(const options& wanted, adverb::context_ref device, const peer& other, std::size_t largest)
      : domain_{device},
        outgoing_{largest},
        incoming_{largest + adverb::grh_size},
        from_{domain_, outgoing_.bytes()},
        into_{domain_, incoming_.bytes(), adverb::access_right::local_write | remote_rights},
        sent_{device, *wanted.send_depth * wanted.queue_pairs, wanted.sleep},
        received_{device, receive_depth(wanted) * wanted.queue_pairs, wanted.sleep} {
    std::vector<waiting_pair> waiting;
    std::vector<adverb::endpoint> ours;
    for (std::uint32_t count = 0; count < wanted.queue_pairs; ++count) {
      waiting.push_back(initialized(wanted, create(wanted)));
      ours.push_back(waiting.back().endpoint());
    }
    const std::vector<adverb::endpoint> theirs = other.exchange(ours);
    remote_ =
        other.exchange(std::vector{into_.template remote<std::byte, remote_rights>()}).front();
    mtu_ = wanted.mtu.value_or(std::min(ours.front().mtu, theirs.front().mtu));
    // The addresses of lanes are in their requests.
    lanes_.reserve(waiting.size());
    for (std::size_t index = 0; index < waiting.size(); ++index)
      lanes_.push_back(connected(wanted, waiting[index], theirs[index]));
    if (wanted.has_messages()) post_receives(wanted.receive_depth);
  }

  [[nodiscard]] std::span<lane<Engine>> lanes() noexcept { return lanes_; }
  /// The queues on which sends and receives complete.
  [[nodiscard]] auto& sent() noexcept { return sent_; }
  [[nodiscard]] auto& received() noexcept { return received_; }
  /// The peer's memory.
  [[nodiscard]] const remote_memory& remote() const noexcept { return remote_; }
  /// The memory that is sent from, and that the peer reads and writes and messages come into.
  [[nodiscard]] std::span<std::byte> outgoing() noexcept { return outgoing_.bytes(); }
  [[nodiscard]] std::span<std::byte> incoming() noexcept { return incoming_.bytes(); }
  [[nodiscard]] const adverb::memory_region& from() const noexcept { return from_; }
  [[nodiscard]] const adverb::memory_region& into() const noexcept { return into_; }
  [[nodiscard]] adverb::mtu mtu() const noexcept { return mtu_; }
  /// The largest message that is posted inline, in bytes.
  [[nodiscard]] std::uint32_t inline_size() const noexcept { return inline_size_; }

  using receive_request = decltype(adverb::receive(adverb::mutable_buffer{}));

  /// The receive that takes one message of a lane.
  [[nodiscard]] receive_request receive_for(lane<Engine>& each) const {
    return adverb::receive(into_.buffer()).id(&each);
  }

 private:
  static constexpr std::uint32_t usual_inline_size = 236;

  /// A pair without messages needs no receive queue, but every pair has one.
  [[nodiscard]] static std::uint32_t receive_depth(const options& wanted) noexcept {
    return wanted.has_messages() ? wanted.receive_depth : 1;
  }

  /// The default number of bytes that are posted inline, if the device can.
  [[nodiscard]] static std::uint32_t default_inline_size(const options& wanted) noexcept {
    const bool sends_payload =
        wanted.operation == operation::send || wanted.operation == operation::write;
    return wanted.is_latency() && sends_payload ? usual_inline_size : 0;
  }

  [[nodiscard]] auto create(const options& wanted) {
    adverb::queue_pair_options made_with{.send_cq = sent_.queue(),
                                         .recv_cq = received_.queue(),
                                         .max_send_wr = *wanted.send_depth,
                                         .max_recv_wr = receive_depth(wanted),
                                         .send_operations = Engine::operations};
    inline_size_ = wanted.inline_size.value_or(default_inline_size(wanted));
    made_with.max_inline_data = inline_size_;
    if (!wanted.inline_size && inline_size_ != 0) {
      std::error_code too_much;
      auto pair = adverb::queue_pair<transport>::create(domain_, made_with, too_much);
      if (!too_much) return pair;
      made_with.max_inline_data = inline_size_ = 0;
    }
    return adverb::queue_pair<transport>::create(domain_, made_with);
  }

  template <class Fresh>
  [[nodiscard]] static waiting_pair initialized(const options& wanted, Fresh fresh) {
    auto begun = fresh.init().port(wanted.port).gid(wanted.gid);
    if constexpr (transport == adverb::transport::ud)
      return std::move(begun).queue_key(datagram_key).apply();
    else if constexpr (transport == adverb::transport::uc)
      return std::move(begun).allow(adverb::access_right::remote_write).apply();
    else
      return std::move(begun).allow(remote_rights).apply();
  }

  [[nodiscard]] lane<Engine> connected(const options& wanted, waiting_pair& waiting,
                                       const adverb::endpoint& theirs) {
    if constexpr (transport == adverb::transport::ud) {
      adverb::address_handle way{domain_, waiting.address_of(theirs)};
      auto receiving = waiting.rtr().apply();
      auto pair = receiving.rts().apply();
      const auto sender = Engine::sender_of(pair);
      return {.pair = std::move(pair), .sender = sender, .theirs = theirs, .way = std::move(way)};
    } else {
      adverb::rtr_rts_attributes<transport> how{};
      how.path_mtu = wanted.mtu;
      if constexpr (transport == adverb::transport::rc)
        how.acknowledge_timeout = adverb::acknowledge_timeout::from_code(
            static_cast<std::uint8_t>(wanted.answer_timeout));
      auto pair = waiting.connect(theirs, how);
      const auto sender = Engine::sender_of(pair);
      return {.pair = std::move(pair), .sender = sender, .theirs = theirs};
    }
  }

  void post_receives(std::uint32_t depth) {
    for (lane<Engine>& each : lanes_)
      for (std::uint32_t count = 0; count < depth; ++count)
        each.pair.post(receive_for(each)).check();
  }

  adverb::protection_domain domain_;
  page_memory outgoing_;
  page_memory incoming_;
  adverb::memory_region from_;
  adverb::memory_region into_;
  typename Engine::completions sent_;
  typename Engine::completions received_;
  std::vector<lane<Engine>> lanes_;
  remote_memory remote_;
  adverb::mtu mtu_{};
  std::uint32_t inline_size_ = 0;
};

}  // namespace perf
