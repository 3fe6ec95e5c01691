// SPDX-License-Identifier: MIT
// A peer of a job, with a ring of entries in each direction over a connected queue pair.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <adverb/adverb.hpp>

namespace examples {

struct ring_options {
  std::uint32_t slots = 16;
  std::uint32_t slot_size = 4096;

  /// One send for each entry, and one for the message that returns slots.
  [[nodiscard]] std::uint32_t sends() const noexcept { return slots + 1; }
  /// One receive for each entry, and one for each slot that comes back.
  [[nodiscard]] std::uint32_t receives() const noexcept { return 2 * slots; }
  [[nodiscard]] std::size_t completions() const noexcept { return sends() + receives(); }
};

/// A ring in each direction. The writer puts entry n into slot n modulo the number of slots, by a
/// write whose immediate data is n. The reader takes the entries in order. It returns slots by a
/// message without bytes, whose immediate data is their number.
class ring_peer {
 public:
  using memory = adverb::remote_buffer<std::byte, adverb::access_right::remote_write>;
  using pair_ref = adverb::queue_pair_ref<adverb::transport::rc>;

  ring_peer(adverb::protection_domain_ref domain, const ring_options& options, std::uint32_t rank)
      : options_{options},
        rank_{rank},
        incoming_(std::size_t{options.slots} * options.slot_size),
        outgoing_(incoming_.size()),
        target_{domain, incoming_,
                adverb::access_right::local_write | adverb::access_right::remote_write},
        source_{domain, outgoing_} {}
  ring_peer(const ring_peer&) = delete;
  ring_peer& operator=(const ring_peer&) = delete;
  ~ring_peer() = default;

  /// Returns the number of the peer.
  [[nodiscard]] std::uint32_t rank() const noexcept { return rank_; }
  /// Returns the ring that the peer fills, for the peer.
  [[nodiscard]] memory incoming() const { return target_.remote_writable(); }
  /// Sets the ring that the peer reads.
  void write_to(const memory& of_peer) { of_peer_ = of_peer; }
  /// Sets the queue pair, and posts the receives. The peer must not send before that.
  void start(pair_ref connected) {
    pair_ = connected;
    for (std::uint32_t i = 0; i < options_.receives(); ++i) post_receive();
  }

  /// Returns the slot of the next entry, to be filled. Returns an empty span if no slot is free:
  /// the peer has to return one, and the device has to complete its write.
  [[nodiscard]] std::span<std::byte> claim() noexcept {
    if (sent_ - std::min(returned_, written_) == options_.slots) return {};
    return std::span{outgoing_}.subspan(offset_of(sent_), options_.slot_size);
  }
  /// Writes the slot that `claim` returned to the peer.
  void publish() {
    const std::size_t offset = offset_of(sent_);
    pair_
        .post(write_with_immediate(of_peer_.slice(offset, options_.slot_size),
                                   adverb::immediate{sent_},
                                   source_.slice(offset, options_.slot_size))
                  .signaled()
                  .id(this))
        .check();
    ++sent_;
  }

  /// Takes a completion whose id is this object. Returns the entry that arrived, or an empty span.
  [[nodiscard]] std::span<const std::byte> take(const adverb::completion& done) {
    const auto success = done.success();
    const auto received = success.receive();
    if (!received) {
      if (success.opcode() == adverb::completion_opcode::write)
        ++written_;
      else
        is_returning_ = false;
      return {};
    }
    post_receive();
    const auto number = static_cast<std::uint32_t>(received.immediate().value());
    if (!received.announces_write()) {
      returned_ += number;
      return {};
    }
    if (number != received_ || received.length() != options_.slot_size)
      throw std::runtime_error{"rank " + std::to_string(rank_) + " wrote entry " +
                               std::to_string(number) + " of " + std::to_string(received.length()) +
                               " bytes in place of entry " + std::to_string(received_) + " of " +
                               std::to_string(options_.slot_size) + " bytes"};
    ++received_;
    return std::span{incoming_}.subspan(offset_of(number), options_.slot_size);
  }
  /// Returns the slots of all entries that were taken.
  void release() {
    if (released_ == received_ || is_returning_) return;
    const adverb::immediate count{received_ - std::exchange(released_, received_)};
    pair_.post(send_with_immediate(count).signaled().id(this)).check();
    is_returning_ = true;
  }

  [[nodiscard]] std::uint32_t sent() const noexcept { return sent_; }
  [[nodiscard]] std::uint32_t received() const noexcept { return received_; }
  /// Returns true if no entry and no returned slot is in progress in either direction.
  [[nodiscard]] bool is_idle() const noexcept {
    return std::min(returned_, written_) == sent_ && released_ == received_ && !is_returning_;
  }

 private:
  [[nodiscard]] std::size_t offset_of(std::uint32_t entry) const noexcept {
    return std::size_t{entry % options_.slots} * options_.slot_size;
  }
  void post_receive() { pair_.post(adverb::receive().id(this)).check(); }

  ring_options options_;
  std::uint32_t rank_;
  std::vector<std::byte> incoming_;
  std::vector<std::byte> outgoing_;
  adverb::memory_region target_;
  adverb::memory_region source_;
  memory of_peer_{};
  pair_ref pair_{};
  /// Entries of this side: published, completed by the device, and with a slot that is free again.
  std::uint32_t sent_ = 0;
  std::uint32_t written_ = 0;
  std::uint32_t returned_ = 0;
  /// Entries of the peer: taken, and with a slot that was returned.
  std::uint32_t received_ = 0;
  std::uint32_t released_ = 0;
  /// True while the message that returns slots is in progress. There is one at a time.
  bool is_returning_ = false;
};

}  // namespace examples
