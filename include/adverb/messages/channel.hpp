// SPDX-License-Identifier: MIT
// Channels of messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <adverb/async/detail/message_content.hpp>
#include <adverb/async/device_loop.hpp>
#include <adverb/async/event_loop.hpp>
#include <adverb/async/loop_memory.hpp>
#include <adverb/async/reliable_connection.hpp>
#include <adverb/async/task.hpp>
#include <adverb/core/detail/hardening.hpp>
#include <adverb/messages/channel_options.hpp>
#include <adverb/messages/channel_statistics.hpp>
#include <adverb/messages/detail/channel_state.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::messages {

class receive_into_step;
class send_step;

/// A message that has arrived, or the offer of a longer one. Its memory is posted again when this
/// object is destroyed; an offer that was not taken is refused then. An empty one means that the
/// peer has closed the channel. Not thread safe. It must not outlive the loop.
class [[nodiscard("a message that is destroyed at once is lost")]] incoming
    : public detail::message_content<incoming> {
 public:
  /// Makes an empty message.
  incoming() noexcept = default;
  /// Takes over a message of a channel.
  incoming(detail::channel_state& of, detail::arrived_message* taken) noexcept
      : channel_{&of}, message_{taken} {}
  incoming(incoming&& other) noexcept
      : message_content{},
        channel_{other.channel_},
        message_{std::exchange(other.message_, nullptr)} {}
  incoming& operator=(incoming&& other) noexcept {
    std::swap(channel_, other.channel_);
    std::swap(message_, other.message_);
    return *this;
  }
  ~incoming() {
    if (message_ != nullptr) channel_->give_back(*message_);
  }

  [[nodiscard]] explicit operator bool() const noexcept { return message_ != nullptr; }

  /// Returns the size of the message in bytes.
  [[nodiscard]] std::size_t size() const noexcept {
    return message_ != nullptr ? message_->header.length : 0;
  }
  /// Returns the lane on which the peer sent it.
  [[nodiscard]] std::uint8_t lane() const noexcept {
    return message_ != nullptr ? message_->header.lane : std::uint8_t{0};
  }
  /// Returns the tag with which the peer sent it, or 0.
  [[nodiscard]] std::uint64_t tag() const noexcept {
    return message_ != nullptr ? message_->tag : 0;
  }
  /// Returns true if the peer waits for a reply: a `caller` has sent it.
  [[nodiscard]] bool is_request() const noexcept {
    return message_ != nullptr && (message_->header.flags & detail::message_frame::tagged) != 0 &&
           (tag() & detail::reply_bit) == 0;
  }
  /// Replies to a request, with the parts of `channel::send`. Replies may be sent in any order. The
  /// request must live until the step has finished.
  template <class... Parts>
  [[nodiscard]] send_step reply(const Parts&... parts) const& noexcept;
  /// Returns true if the message is still with the peer: take it with `receive_into`, or destroy
  /// this object to refuse it.
  [[nodiscard]] bool is_offer() const noexcept {
    return message_ != nullptr && message_->is_offer();
  }
  /// Takes the message into registered memory, at its beginning, and returns these bytes. A message
  /// that has arrived is copied; the peer writes an offer there by RDMA. Fails with EMSGSIZE if the
  /// memory is shorter than the message, and with ECANCELED if the peer has withdrawn it. The
  /// memory must stay until the step has finished, and the message may go before. Destroying the
  /// step under way ends the channel.
  /// Wraps: ibv_reg_mr(3).
  [[nodiscard]] receive_into_step receive_into(mutable_buffer target) & noexcept;

 private:
  friend class receive_into_step;
  friend class detail::message_content<incoming>;

  [[nodiscard]] std::span<const std::byte> content() const noexcept {
    if (message_ == nullptr || message_->is_offer()) return {};
    return message_->block.bytes().subspan(message_->header.front_size());
  }
  [[gnu::cold]] void report_short(std::size_t wanted, on_failure policy) const {
    policy.report(EMSGSIZE, "messages::incoming::as", [&](failure_description& description) {
      description.explain("the message has {} bytes here, and the type {}",
                          {bytes().size(), wanted});
    });
  }

  detail::channel_state* channel_ = nullptr;
  detail::arrived_message* message_ = nullptr;
};

/// A message that is received into memory of the program.
class receive_into_step : public detail::async_step<receive_into_step> {
 public:
  /// Makes the step of this message.
  receive_into_step(incoming& of, mutable_buffer target) noexcept
      : channel_{of.channel_}, message_{of.message_}, target_{target} {
    detail::require(message_ != nullptr, "messages::incoming", "the message is empty");
  }

  /// Returns the loop that runs it.
  [[nodiscard]] async::device_loop& loop() const noexcept { return channel_->loop(); }

  /// One start of the step.
  template <class Derived>
  class operation : public detail::message_receipt {
   public:
    /// Makes an operation, and starts nothing.
    explicit operation(const receive_into_step& step) noexcept
        : message_receipt{&detail::leave_and_finish<Derived>, *step.channel_, *step.message_},
          target_{step.target_} {}

    /// Starts it. Returns false if it has finished already.
    [[nodiscard]] bool start() { return message_receipt::start(target_); }
    /// Returns the result, or reports the failure.
    [[nodiscard]] std::span<std::byte> take(on_failure policy) const { return take_result(policy); }

   private:
    mutable_buffer target_;
  };

 private:
  detail::channel_state* channel_;
  detail::arrived_message* message_;
  mutable_buffer target_;
};

inline receive_into_step incoming::receive_into(mutable_buffer target) & noexcept {
  return {*this, target};
}

/// A message that is sent.
class send_step : public detail::async_step<send_step> {
 public:
  /// Makes the step of these parts.
  send_step(detail::channel_state& of, const detail::message_parts& parts) noexcept
      : channel_{&of}, parts_{parts} {}

  /// Sends it on a lane, which the receiver sees, 0 by default. Messages of a higher lane are sent
  /// before the others that wait.
  [[nodiscard]] send_step on_lane(std::uint8_t lane) && noexcept {
    parts_.lane = lane;
    return std::move(*this);
  }
  /// Sends it with a tag, which the receiver sees. Tags with the highest bit belong to replies.
  [[nodiscard]] send_step tagged(std::uint64_t tag) && noexcept {
    parts_.flags = detail::message_frame::tagged;
    parts_.tag = tag;
    return std::move(*this);
  }

  /// Returns the loop that runs it.
  [[nodiscard]] async::device_loop& loop() const noexcept { return channel_->loop(); }

  /// One start of the step.
  template <class Derived>
  class operation : public detail::message_dispatch {
   public:
    /// Makes an operation, and starts nothing.
    explicit operation(const send_step& step) noexcept
        : message_dispatch{&detail::leave_and_finish<Derived>, *step.channel_}, step_{&step} {}

    /// Starts it. Returns false if it has finished already.
    [[nodiscard]] bool start() { return message_dispatch::start(step_->parts_); }
    /// Returns the result, or reports the failure.
    void take(on_failure policy) const { take_result(policy); }

   private:
    const send_step* step_;
  };

 private:
  detail::channel_state* channel_;
  detail::message_parts parts_;
};

template <class... Parts>
send_step incoming::reply(const Parts&... parts) const& noexcept {
  detail::require(is_request(), "messages::incoming", "the message is no request");
  return send_step{*channel_, detail::parts_of(parts...)}.tagged(tag() | detail::reply_bit);
}

/// The next message of a channel.
class next_step : public detail::async_step<next_step> {
 public:
  /// Makes the step of this channel.
  explicit next_step(detail::channel_state& of) noexcept : channel_{&of} {}

  /// Fails with ETIMEDOUT if no message has arrived after a time. The channel goes on.
  [[nodiscard]] next_step within(timeout limit) && noexcept {
    limit_ = limit;
    return std::move(*this);
  }

  /// Returns the loop that runs it.
  [[nodiscard]] async::device_loop& loop() const noexcept { return channel_->loop(); }

  /// One start of the step.
  template <class Derived>
  class operation : public detail::sleeper {
   public:
    /// Makes an operation, and starts nothing.
    explicit operation(const next_step& step) noexcept
        : sleeper{&detail::stop_and_finish<Derived>},
          channel_{step.channel_},
          limit_{step.limit_} {}

    /// Starts it. Returns false if it has finished already.
    [[nodiscard]] bool start() noexcept {
      if (channel_->has_next()) return false;
      channel_->receivers().push_back(*this);
      if (!limit_.is_endless()) channel_->loop().set_timer_after(*this, limit_);
      return true;
    }
    /// Returns the result, or reports the failure.
    [[nodiscard]] incoming take(on_failure policy) {
      if (!channel_->has_next()) {
        channel_->report_late("messages::channel::next", policy);
        return {};
      }
      detail::arrived_message* const taken = channel_->take_next(policy);
      return taken != nullptr ? incoming{*channel_, taken} : incoming{};
    }

   private:
    detail::channel_state* channel_;
    timeout limit_;
  };

 private:
  detail::channel_state* channel_;
  timeout limit_ = timeout::endless();
};

/// The end of a channel, which the peer has confirmed.
class close_step : public detail::async_step<close_step> {
 public:
  /// Makes the step of this channel.
  explicit close_step(detail::channel_state& of) noexcept : channel_{&of} {}

  /// Returns the loop that runs it.
  [[nodiscard]] async::device_loop& loop() const noexcept { return channel_->loop(); }

  /// One start of the step.
  template <class Derived>
  class operation : public async::waiter {
   public:
    /// Makes an operation, and starts nothing.
    explicit operation(const close_step& step) noexcept
        : waiter{&detail::leave_and_finish<Derived>}, channel_{step.channel_} {}

    /// Starts it. Returns false if it has finished already.
    [[nodiscard]] bool start() {
      if (channel_->start_close()) return false;
      channel_->closers().push_back(*this);
      return true;
    }
    /// Returns the result, or reports the failure.
    void take(on_failure policy) const { channel_->report_close(policy); }

   private:
    detail::channel_state* channel_;
  };

 private:
  detail::channel_state* channel_;
};

/// A channel of whole messages of any size, in order, over a reliable connection (RC or iWARP), or
/// over TCP where a machine has no RDMA:
///
///     messages::channel server = co_await messages::connect(loop, "storage-1", 7471);
///     co_await server.send(request);
///     while (const messages::incoming got = co_await server.next()) use(got.bytes());
///     co_await server.close();
///
/// Credits keep each end from sending more than the other has receives for, so the receiver is
/// never unready (RNR). A message that fits into one receive is sent at once. A longer one is
/// offered: its receiver takes it into its memory (`incoming::receive_into`), where RDMA writes it
/// without a copy, or refuses it. A key is valid for one message.
///
/// Its functions return steps to await, as those of `async::connection` do; a program that blocks
/// calls `wait` of each. Destroying the channel
/// ends it without blocking, and loses what the peer has not received (`unconfirmed`); `close` does
/// not. Not thread safe: used by the thread of its loop, which must outlive it.
class [[nodiscard]] channel {
 public:
  /// Makes an empty channel.
  channel() noexcept = default;
  /// Takes over the state of a channel.
  explicit channel(detail::channel_state& of) noexcept : state_{&of} {}
  channel(channel&& other) noexcept
      : own_loop_{std::move(other.own_loop_)}, state_{std::exchange(other.state_, nullptr)} {}
  channel& operator=(channel&& other) noexcept {
    std::swap(own_loop_, other.own_loop_);
    std::swap(state_, other.state_);
    return *this;
  }
  ~channel() {
    if (state_ != nullptr) state_->detach();
  }

  [[nodiscard]] explicit operator bool() const noexcept { return state_ != nullptr; }

  /// Sends a message of up to three parts that are copied (bytes, text, or values of trivially
  /// copyable types) and up to three buffers of registered memory behind them, which are not. Waits
  /// for room, in order. When the step has finished, the memory is the program's again. Fails with
  /// EPIPE if a side has closed the channel, EMSGSIZE if the message is longer than agreed, ENOBUFS
  /// if a message that needs registered memory has none, and ECONNREFUSED if the peer refuses the
  /// offer.
  ///
  /// The parts must stay until the step has finished. Destroying the step under way withdraws an
  /// offer, and ends the channel if the device uses the memory.
  template <class... Parts>
  [[nodiscard]] send_step send(const Parts&... parts) const noexcept {
    return {state(), detail::parts_of(parts...)};
  }
  /// Sends a message whose parts are all copied, if there is room for it: nothing waits, so a slow
  /// peer delays nobody. Returns false if other messages wait for room, if the peer has no receive
  /// or `max_frames` are in progress, if the message is longer than `longest_eager`, and at the end
  /// of the channel.
  ///
  ///     if (!client.try_send(name, text)) ++missed;
  template <class... Parts>
  [[nodiscard]] bool try_send(const Parts&... parts) const {
    static_assert(!(std::is_convertible_v<const Parts&, const_buffer> || ...),
                  "nobody would wait for the end of the message, until which registered memory "
                  "must stay: use send");
    return state().try_send(detail::parts_of(parts...));
  }
  /// Waits for the next message. The result is empty if the peer has closed the channel. Fails if
  /// the channel has ended otherwise: with ECONNRESET if the peer has gone without closing it.
  [[nodiscard]] next_step next() const noexcept { return next_step{state()}; }
  /// Delivers what was sent, and ends the channel. Finishes when the peer has confirmed every
  /// message; fails with ETIMEDOUT if that takes longer than `channel_options::close_timeout`.
  /// Messages of the peer that arrive until then can still be taken.
  [[nodiscard]] close_step close() const noexcept { return close_step{state()}; }
  /// Ends the channel at once. Steps under way fail.
  void cancel() const noexcept { state().cancel(); }

  /// Returns true if nothing arrives and nothing can be sent any more: both sides have closed the
  /// channel, or it has failed. A step that fails with ETIMEDOUT alone leaves it false.
  [[nodiscard]] bool has_ended() const noexcept { return state().has_ended(); }
  /// Returns the number of messages that were sent and that the peer may not have received.
  [[nodiscard]] std::uint32_t unconfirmed() const noexcept {
    return state().session().unconfirmed();
  }
  /// Returns the size of the longest message that is sent without an offer. Messages with a tag,
  /// such as requests and replies, have 8 bytes less.
  [[nodiscard]] std::uint32_t longest_eager() const noexcept {
    const detail::message_session& session = state().session();
    return session.longest_eager() < session.limits().longest ? session.longest_eager()
                                                              : session.limits().longest;
  }
  /// Returns why the channel makes no progress, as far as it can be seen here. Empty if there is no
  /// such reason.
  [[nodiscard]] std::string_view why_stalled() const noexcept { return state().why_stalled(); }
  /// Returns the address of the peer. It may be empty when the channel has ended, and
  /// while its link is broken.
  [[nodiscard]] cm::socket_address peer_address() const noexcept {
    return state().carrier().peer_address();
  }
  /// Returns what the channel runs over: RDMA or TCP.
  [[nodiscard]] network over() const noexcept { return state().carrier().network(); }
  /// Returns the counts of the channel since its start.
  [[nodiscard]] const channel_statistics& statistics() const noexcept {
    return state().statistics();
  }
  /// Returns the domain in which to register memory for messages. It is empty over TCP, which needs
  /// no registration.
  [[nodiscard]] protection_domain_ref protection_domain() const noexcept {
    return state().carrier().protection_domain();
  }
  /// Returns new memory for messages of this channel, registered over RDMA, which the loop keeps
  /// until the device has let go of it. Wraps: ibv_reg_mr(3).
  [[nodiscard]] async::loop_memory memory(std::size_t size,
                                          access_rights rights = access_right::local_write,
                                          on_failure policy = throwing{}) const {
    return state().carrier().memory(size, rights, policy);
  }

  // For the operations, and for the layers above.
  /// Takes over the loop of the channel.
  void keep(std::unique_ptr<async::event_loop> loop) noexcept { own_loop_ = std::move(loop); }
  /// Returns the state of the channel, which must not be empty.
  [[nodiscard]] detail::channel_state& state() const noexcept {
    detail::require(state_ != nullptr, "messages::channel",
                    "the channel is empty: moved from, or the result of a step that failed");
    state_->loop().thread().check("messages::channel");
    return *state_;
  }

 private:
  std::unique_ptr<async::event_loop> own_loop_;
  detail::channel_state* state_ = nullptr;
};

/// Connects to a `messages::listener`, at an address, or at a port of a host given by name. Fails
/// with EPROTO if the peer is none. `network::any` means RDMA, whose
/// answer may take two seconds for each address, and then TCP. Tasks for coroutines of tasks.
/// Wraps: rdma_connect(3), connect(2).
[[nodiscard]] async::task<channel> connect(async::device_loop& loop, cm::socket_address address,
                                           channel_options options = {});
[[nodiscard]] async::task<channel> connect(async::device_loop& loop, std::string host,
                                           std::uint16_t port, channel_options options = {});

/// Connects a program that blocks, with a loop of the channel's own: each step waits.
///
///     const messages::channel server = messages::connect("storage-1", 7471);
///     server.send(std::string_view{"hello"}).wait();
///     const messages::incoming answer = server.next().within(1s).wait();
///
/// Every message must be destroyed before the channel.
[[nodiscard]] channel connect(const cm::socket_address& address, channel_options options = {});
[[nodiscard]] channel connect(std::string host, std::uint16_t port, channel_options options = {});

}  // namespace adverb::inline ADVERB_ABI::messages

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/messages/impl/channel.ipp>
#endif
