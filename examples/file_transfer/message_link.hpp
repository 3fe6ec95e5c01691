// SPDX-License-Identifier: MIT
// A connection that carries messages: blocks to send from, blocks to receive into, and a wait for
// any event.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <poll.h>

#include <adverb/adverb.hpp>
#include <adverb/cm.hpp>

#include "file_transfer/interruption.hpp"
#include "file_transfer/messages.hpp"

namespace file_transfer {

namespace cm = adverb::cm;
using adverb::transport;

/// The peer sent the reason of its failure, or is gone: there is no peer to report to.
struct peer_failed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The time for which a peer may be silent while something is expected from it.
inline constexpr std::chrono::seconds patience{30};

/// Blocks of equal size, each with room for a message and its header.
class message_blocks {
 public:
  message_blocks(adverb::protection_domain_ref domain, std::uint32_t count, std::uint32_t size)
      : count_{count},
        block_size_{static_cast<std::uint32_t>(sizeof(message_header)) + size},
        memory_(std::size_t{count_} * block_size_),
        region_{domain, memory_} {}

  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
  [[nodiscard]] std::span<std::byte> memory(std::size_t block) noexcept {
    return std::span{memory_}.subspan(block * block_size_, block_size_);
  }
  [[nodiscard]] adverb::mutable_buffer buffer(std::size_t block, std::size_t length) const {
    return region_.slice(block * block_size_, length);
  }
  [[nodiscard]] adverb::mutable_buffer buffer(std::size_t block) const {
    return buffer(block, block_size_);
  }

 private:
  std::uint32_t count_;
  std::uint32_t block_size_;
  std::vector<std::byte> memory_;
  adverb::memory_region region_;
};

/// Set up in three steps: the objects on the device; a queue pair of `options()`, with
/// `post_receives`; the connection.
class message_link {
 public:
  struct shape {
    std::uint32_t incoming_blocks, incoming_size, outgoing_blocks, outgoing_size;
  };

  /// `peer` is the name of the other side in failures.
  message_link(adverb::context_ref device, const shape& size, const interruption& interruption,
               std::string peer)
      : interruption_{interruption},
        peer_{std::move(peer)},
        domain_{device},
        channel_{device},
        queue_{device, size.incoming_blocks + size.outgoing_blocks + 1, {.channel = channel_}},
        incoming_{domain_, size.incoming_blocks, size.incoming_size},
        outgoing_{domain_, size.outgoing_blocks + 1, size.outgoing_size},
        last_block_{size.outgoing_blocks} {
    channel_.set_non_blocking(true);
    for (std::size_t block = 0; block < size.outgoing_blocks; ++block) free_.push_back(block);
  }

  [[nodiscard]] adverb::queue_pair_options options() const {
    return {.send_cq = queue_,
            .recv_cq = queue_,
            .max_send_wr = outgoing_.count(),
            .max_recv_wr = incoming_.count()};
  }
  [[nodiscard]] adverb::protection_domain_ref domain() const noexcept { return domain_; }
  template <class QueuePair>
  void post_receives(const QueuePair& pair) const {
    for (std::size_t block = 0; block < incoming_.count(); ++block)
      pair.post(receive(incoming_.buffer(block)).id(block)).check();
  }
  void use(cm::connection<transport::rc>&& connection) { connection_ = std::move(connection); }

  // Sending

  /// Returns a block that no send uses; it belongs to the caller until it is posted.
  [[nodiscard]] std::optional<std::size_t> free_block() {
    if (free_.empty()) return std::nullopt;
    const std::size_t block = free_.front();
    free_.pop_front();
    return block;
  }
  /// The same, but waits for one.
  [[nodiscard]] std::size_t wait_for_block() {
    while (true) {
      if (const auto block = free_block()) return *block;
      wait();
    }
  }
  /// Returns the memory for the content of its message.
  [[nodiscard]] std::span<std::byte> content(std::size_t block) noexcept {
    return outgoing_.memory(block).subspan(sizeof(message_header));
  }
  /// Sends the first `length` bytes of the content. The receiver must have posted a receive for it.
  void post(std::size_t block, message_kind kind, std::size_t length) {
    const message_header header{kind, static_cast<std::uint32_t>(length)};
    std::memcpy(outgoing_.memory(block).data(), &header, sizeof header);
    connection_.queue_pair()
        .post(
            send(outgoing_.buffer(block, sizeof header + length)).id(block + first_send).signaled())
        .check();
  }
  /// Copies a value into the content.
  template <class T>
  void fill(std::size_t block, const T& value) noexcept {
    static_assert(std::is_trivially_copyable_v<T>);
    std::memcpy(content(block).data(), &value, sizeof value);
  }

  // Receiving

  /// Returns a message that has arrived, if there is one. Throws if the message reports a failure.
  [[nodiscard]] std::optional<message> next() {
    if (arrived_.empty()) return std::nullopt;
    const auto [block, length] = arrived_.front();
    arrived_.pop_front();
    const auto memory = incoming_.memory(block).first(length);
    message_header header{};
    if (memory.size() >= sizeof header) std::memcpy(&header, memory.data(), sizeof header);
    if (memory.size() < sizeof header || header.length != memory.size() - sizeof header)
      throw std::runtime_error{peer_ + " sent a malformed message"};
    const message found{block, header.kind, memory.subspan(sizeof header)};
    if (found.kind == message_kind::failure)
      throw peer_failed{peer_ + " gave up: " + printable(found.as<last_words>().view())};
    return found;
  }
  /// The same, but waits for one.
  [[nodiscard]] message wait_for_message() {
    while (true) {
      if (const auto found = next()) return *found;
      wait();
    }
  }
  /// Posts the block of a message again.
  void give_back(const message& used) const {
    connection_.queue_pair().post(receive(incoming_.buffer(used.block)).id(used.block)).check();
  }

  // Waiting

  /// Handles completed sends and receives, and Ctrl-C.
  void look() {
    interruption_.check();
    static_cast<void>(take(queue_.poll(batch_)));
  }
  /// Waits until a send or a receive completes. Throws `peer_failed` if none does within `limit`,
  /// or if the peer is gone.
  void wait(std::chrono::milliseconds limit = patience) {
    while (!take(queue_.wait(batch_))) {
      if (ended_) throw peer_failed{peer_ + " is gone: it ended the connection"};
      std::array<pollfd, 3> descriptors{{{channel_.file_descriptor(), POLLIN, 0},
                                         {connection_.file_descriptor(), POLLIN, 0},
                                         {interruption_.file_descriptor(), POLLIN, 0}}};
      if (::poll(descriptors.data(), descriptors.size(), static_cast<int>(limit.count())) == 0)
        throw peer_failed{
            peer_ + " sent nothing for " +
            std::to_string(std::chrono::duration_cast<std::chrono::seconds>(limit).count()) +
            " seconds"};
      interruption_.check();
      look_at_events();
    }
  }

  /// Waits until the peer has ended the connection, whatever it sends meanwhile.
  void wait_for_end(std::chrono::milliseconds limit) {
    const auto until = std::chrono::steady_clock::now() + limit;
    try {
      while (std::chrono::steady_clock::now() < until) wait(limit);
    } catch (const peer_failed&) {
      // The peer has ended the connection.
    }
  }

  /// Sends the peer the reason of this side's failure, if it is still reachable, and waits for it
  /// to disconnect.
  void tell_failure(const std::string& why) noexcept {
    try {
      fill(last_block_, last_words{why});
      post(last_block_, message_kind::failure, sizeof(last_words));
      wait_for_end(std::chrono::seconds{2});
    } catch (const std::exception&) {
      // The peer will see that the connection ends.
    }
  }

 private:
  /// The ids of receives are the numbers of their blocks; those of sends begin here.
  static constexpr std::size_t first_send = 1U << 16;

  /// Returns true if a send or a receive has completed.
  bool take(std::span<adverb::completion> found) {
    bool any = false;
    for (const adverb::completion& each : found) {
      if (each.status() == adverb::completion_status::flushed) {
        ended_ = true;
        continue;
      }
      if (each.status() != adverb::completion_status::success) {
        ended_ = true;
        throw peer_failed{peer_ + " is gone or unreachable: " + adverb::to_string(each.status())};
      }
      if (each.id() >= first_send)
        free_.push_back(each.id() - first_send);
      else
        arrived_.push_back({each.id(), each.success().receive().length()});
      any = true;
    }
    return any;
  }

  void look_at_events() {
    while (const auto event = connection_.next_event())
      if (event->type() == cm::event_type::disconnected ||
          event->type() == cm::event_type::device_removal)
        ended_ = true;
  }

  struct arrival {
    std::size_t block;
    std::size_t length;
  };

  const interruption& interruption_;
  std::string peer_;
  // librdmacm's own protection domain would be destroyed with the connection, which ends before its
  // blocks.
  adverb::protection_domain domain_;
  adverb::completion_channel channel_;
  adverb::completion_queue queue_;
  message_blocks incoming_;
  message_blocks outgoing_;
  /// The block that is reserved for reporting a failure.
  std::size_t last_block_;
  std::deque<std::size_t> free_;
  std::deque<arrival> arrived_;
  std::array<adverb::completion, 16> batch_;
  bool ended_ = false;
  // Destroyed first, so that the device no longer writes into the blocks.
  cm::connection<transport::rc> connection_;
};

}  // namespace file_transfer
