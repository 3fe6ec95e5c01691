// SPDX-License-Identifier: MIT
// Received messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <adverb/async/detail/link.hpp>
#include <adverb/async/detail/message_content.hpp>
#include <adverb/async/detail/receive_blocks.hpp>
#include <adverb/core/detail/hardening.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::async {

class datagram;

/// A received message: a block of the connection, which is posted again when this object is
/// destroyed. It must not outlive the loop. An empty message means that the peer has ended the
/// connection. Not thread safe: used by the thread of its loop.
class [[nodiscard("a message that is destroyed at once is lost")]] message
    : public detail::message_content<message> {
 public:
  /// Makes an empty message.
  message() noexcept = default;
  /// Takes over a block with a message.
  explicit message(detail::receive_block* block) noexcept : block_{block} {}
  message(message&& other) noexcept
      : message_content{}, block_{std::exchange(other.block_, nullptr)} {}
  message& operator=(message&& other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~message() {
    if (block_ != nullptr) give_back(*block_);
  }

  [[nodiscard]] explicit operator bool() const noexcept { return block_ != nullptr; }

  /// Returns the fields of the receive: its length, and the immediate data. Empty for an empty
  /// message.
  [[nodiscard]] received_message fields() const noexcept {
    static constexpr ibv_wc none{};
    return block_ != nullptr ? block_->received.success().receive() : received_message{none, false};
  }
  /// Returns the bytes of the message as registered memory, to send them on. The message must stay
  /// until that has completed.
  [[nodiscard]] const_buffer buffer() const& noexcept ADVERB_LIFETIME_BOUND {
    if (block_ == nullptr) return {};
    return const_buffer{block_->memory}.unchecked_slice(0,
                                                        static_cast<std::uint32_t>(bytes().size()));
  }
  template <bool Named = false>
  const_buffer buffer() const&& {
    static_assert(Named,
                  "the message would be destroyed at the end of the expression, with its bytes: "
                  "give it a name first");
    return {};
  }

 private:
  friend class datagram;
  friend class detail::message_content<message>;

  [[nodiscard]] std::span<const std::byte> content() const noexcept {
    return block_ != nullptr ? block_->bytes() : std::span<const std::byte>{};
  }

  static void give_back(detail::receive_block& block) noexcept { block.owner->take_back(block); }
  [[gnu::cold]] void report_short(std::size_t wanted, on_failure policy) const {
    policy.report(EMSGSIZE, "async::message::as", [&](failure_description& description) {
      description.explain([&](text_writer& writer) {
        writer.put("the message has ").decimal(bytes().size()).put(" bytes, and the type has ");
        writer.decimal(wanted);
      });
    });
  }

  detail::receive_block* block_ = nullptr;
};

}  // namespace adverb::inline ADVERB_ABI::async

// Defines what a message calls of its link.
#include <adverb/async/device_loop.hpp>
