// SPDX-License-Identifier: MIT
// Requests with replies over a channel.
#pragma once

#include <cstddef>
#include <utility>

#include <adverb/async/reliable_connection.hpp>
#include <adverb/core/timeout.hpp>
#include <adverb/messages/channel.hpp>
#include <adverb/messages/detail/pending_calls.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::messages {

/// The reply to a request.
using reply = incoming;

/// A request, and its reply.
class call_step : public detail::async_step<call_step> {
 public:
  /// Makes the step of these parts.
  call_step(detail::pending_calls& of, const detail::message_parts& parts) noexcept
      : calls_{&of}, parts_{parts} {}

  /// Fails with ETIMEDOUT if the reply has not arrived after a time. A later reply is dropped. A
  /// request that is being sent is sent first, because its memory is in use.
  [[nodiscard]] call_step within(timeout limit) && noexcept {
    limit_ = limit;
    return std::move(*this);
  }

  /// Returns the loop that runs it.
  [[nodiscard]] async::device_loop& loop() const noexcept { return calls_->channel().loop(); }

  /// One start of the step.
  template <class Derived>
  class operation : public detail::pending_call {
   public:
    /// Makes an operation, and starts nothing.
    explicit operation(const call_step& step) noexcept
        : pending_call{[](pending_call& which) { static_cast<Derived&>(which).finished(); },
                       *step.calls_},
          step_{&step} {}

    /// Starts it. Returns false if it has finished already.
    [[nodiscard]] bool start() { return pending_call::start(step_->parts_, step_->limit_); }
    /// Returns the result, or reports the failure.
    [[nodiscard]] reply take(on_failure policy) { return take_reply(policy); }

   private:
    const call_step* step_;
  };

 private:
  detail::pending_calls* calls_;
  detail::message_parts parts_;
  timeout limit_ = timeout::endless();
};

/// Sends requests on a channel, and matches the replies to them: any number at a time, in any
/// order, each with its own time.
///
///     messages::caller call{server};
///     const messages::reply answer = co_await call(get_request{key}).within(10ms);
///
/// The other side takes each request with `channel::next`, and replies with `incoming::reply`. The
/// caller takes every message of its channel: others than replies are dropped, and `next` is not to
/// be called. It stays where it is. Its destructor ends the calls under way with ECANCELED. Not
/// thread safe: used by the thread of the loop, which must outlive it.
class caller {
 public:
  /// Takes the messages of a channel, which must not be empty.
  explicit caller(const channel& of) : calls_{of.state()} {}

  /// Sends a request of the parts of `channel::send`, and waits for the reply. Fails as `send`
  /// does, and with EPIPE if the peer closes the channel first. The parts must stay until the step
  /// has finished.
  template <class... Parts>
  [[nodiscard]] call_step operator()(const Parts&... parts) noexcept {
    return {calls_, detail::parts_of(parts...)};
  }

  /// Returns the number of requests whose replies have not arrived.
  [[nodiscard]] std::size_t outstanding() const noexcept { return calls_.size(); }

 private:
  detail::pending_calls calls_;
};

}  // namespace adverb::inline ADVERB_ABI::messages
