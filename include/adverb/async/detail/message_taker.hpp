// SPDX-License-Identifier: MIT
// Takes the messages of a link as they arrive, for the layers above.
#pragma once

#include <adverb/async/reliable_connection.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Calls `Owner::take_message` with the block of each message of a link, and
/// `Owner::messages_ended` when none will come. Neither throws.
template <class Owner>
class message_taker : public message_operation<message_taker<Owner>> {
  using base = message_operation<message_taker<Owner>>;

 public:
  message_taker(reliable_link& link, Owner& of) noexcept : base{link, &resume}, owner_{&of} {}

  /// Begins. Takes at once the messages that have arrived.
  void begin() {
    this->link().set_on_receive(&complete);
    if (!this->start()) take_messages();
  }

 private:
  /// A receive of the link has completed.
  static void complete(async::operation& which, const completion& each) {
    auto& block = static_cast<receive_block&>(which);
    detail::link& link = *block.owner;
    if (!link.has_received(block, each)) [[unlikely]]
      return;
    async::waiter& first = link.inbox().waiters().front();
    if (!link.is_ready() || !first.calls(&resume)) [[unlikely]]
      return link.arrive(block, each);
    link.inbox().hold(block, each);
    static_cast<message_taker&>(first).owner_->take_message(block);
  }
  /// A message has arrived, or none will come, or the wait was cancelled. While the link is open,
  /// the taker stays where it waits.
  static bool resume(async::waiter& which) {
    auto& self = static_cast<message_taker&>(which);
    detail::link& link = self.link();
    if (link.is_ready() && &link.inbox().waiters().front() == &which) [[likely]]
      if (receive_block* const block = link.inbox().take()) [[likely]] {
        self.owner_->take_message(*block);
        return true;
      }
    self.leave();
    self.take_messages();
    return true;
  }
  [[gnu::cold]] void take_messages() {
    do {
      receive_block* const block = this->link().inbox().take();
      if (block == nullptr) [[unlikely]]
        return owner_->messages_ended();
      owner_->take_message(*block);
    } while (!this->start());
  }

  Owner* owner_;
};

}  // namespace adverb::inline ADVERB_ABI::detail
