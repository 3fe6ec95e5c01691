// SPDX-License-Identifier: MIT
// The calls of a channel that wait for their replies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <adverb/async/device_loop.hpp>
#include <adverb/core/failure.hpp>
#include <adverb/core/timeout.hpp>
#include <adverb/messages/channel.hpp>
#include <adverb/messages/detail/channel_state.hpp>
#include <adverb/messages/detail/message_operations.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

class pending_call;

/// Numbers calls, and passes each reply to its call. Takes every message of the channel.
class pending_calls {
 public:
  explicit pending_calls(channel_state& of);
  pending_calls(const pending_calls&) = delete;
  pending_calls& operator=(const pending_calls&) = delete;
  /// Calls that wait end with ECANCELED.
  ~pending_calls();

  [[nodiscard]] channel_state& channel() const noexcept { return *channel_; }
  /// Returns the number of calls that wait.
  [[nodiscard]] std::size_t size() const noexcept { return waiting_; }

  /// Adds a call. Returns its number, which no call has had before, unless 2^31 have followed.
  [[nodiscard]] std::uint64_t add(pending_call& which);
  void remove(std::uint64_t number) noexcept;

 private:
  struct entry {
    pending_call* call = nullptr;
    std::uint32_t generation = 0;
    std::uint32_t next_free = 0;
  };
  struct reply_wait : async::waiter {
    explicit reply_wait(pending_calls& of) noexcept : waiter{&arrived}, owner{&of} {}
    pending_calls* owner;
  };

  static constexpr std::uint32_t none = ~std::uint32_t{0};

  static bool arrived(async::waiter& which);
  void take_replies();
  /// Takes a reply. Returns false at the end of the channel.
  bool take_reply(const bool& is_destroyed);
  [[nodiscard]] pending_call* find(std::uint64_t number) noexcept;
  /// Ends the calls, unless one of them destroys this.
  void end(const failure& why, const bool& is_destroyed);

  channel_state* channel_;
  reply_wait wait_{*this};
  std::vector<entry> entries_;
  std::uint32_t free_ = none;
  std::size_t waiting_ = 0;
  /// Set by the destructor, while replies are passed on.
  bool* is_destroyed_ = nullptr;
};

/// A call on its way: its message is sent, and its reply arrives, in any order.
class pending_call : public message_dispatch {
 public:
  /// The reply has arrived.
  void complete(messages::incoming&& reply);
  /// No reply will arrive.
  void fail(const failure& why);

 protected:
  using function = void(pending_call&);

  pending_call(function* finish, pending_calls& of) noexcept
      : message_dispatch{&sent, of.channel()}, finish_{finish}, calls_{&of} {}
  ~pending_call() { forget(); }

  /// Starts it. Returns false if it has finished already.
  [[nodiscard]] bool start(const message_parts& parts, timeout limit);
  /// Returns the result, or reports the failure.
  [[nodiscard]] messages::incoming take_reply(on_failure policy);

 private:
  struct call_timer : timer {
    explicit call_timer(pending_call& of) noexcept : timer{&expired}, owner{&of} {}
    pending_call* owner;
  };

  static bool sent(async::waiter& which);
  static void expired(timer& which);
  void forget() noexcept;
  void finish_if_sent();

  function* finish_;
  pending_calls* calls_;
  message_parts request_;
  std::uint64_t number_ = 0;
  messages::incoming reply_;
  failure why_;
  call_timer timer_{*this};
  bool is_sending_ = false;
  bool is_known_ = false;
};

}  // namespace adverb::inline ADVERB_ABI::detail

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/messages/impl/pending_calls.ipp>
#endif
