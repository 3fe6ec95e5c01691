// SPDX-License-Identifier: MIT
// Asynchronous connections, and the steps that a program awaits.
#pragma once

#include <cerrno>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <adverb/async/device_loop.hpp>
#include <adverb/async/link.hpp>
#include <adverb/async/waiter.hpp>
#include <adverb/cm/connection_request.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::async {

class connection;

// A step describes what is to be done, and starts nothing. `step::operation<Derived>` is one start
// of it, which refers to the step, and stays where it is until it has finished:
//
// - `start` returns true if it is under way. `Derived::finished` is then called once, later, by the
//   thread of the loop.
// - `take` returns the result, or reports the failure.
//
// The destructor of an operation under way cancels it. Tasks, Asio and senders are each one
// `Derived`.

}  // namespace adverb::inline ADVERB_ABI::async

namespace adverb::inline ADVERB_ABI::detail {

/// Something that a coroutine can await: a description of an operation.
template <class Step>
concept async_step_type = requires { typename Step::template operation<Step>; };

/// What every step has: where its failure goes.
template <class Step>
class async_step {
 public:
  /// Reports the failure of the step to an error code or a failure, instead of throwing it. It must
  /// live until the step has finished.
  [[nodiscard]] Step report_to(on_failure policy) && noexcept {
    policy_ = policy;
    return std::move(static_cast<Step&>(*this));
  }
  /// Returns where the failure goes.
  [[nodiscard]] on_failure policy() const noexcept { return policy_; }

  /// Starts the step with a completion token of Asio. Needs <adverb/asio.hpp>.
  // Asio's awaitable tries a pointer to its frame before it sees that this is an operation.
  template <class Token>
    requires(!std::is_pointer_v<std::decay_t<Token>> ||
             std::is_function_v<std::remove_pointer_t<std::decay_t<Token>>>)
  auto operator()(Token&& token) const {
    return async_start(static_cast<const Step&>(*this), std::forward<Token>(token));
  }

  /// For libraries of senders: how the step completes. Needs <adverb/senders.hpp>.
  template <class...>
  [[nodiscard]] static consteval auto get_completion_signatures() noexcept {
    return decltype(async_completions(std::declval<const Step&>())){};
  }
  /// For libraries of senders: returns one start of the step. Needs <adverb/senders.hpp>.
  template <class Receiver>
  [[nodiscard]] auto connect(Receiver&& receiver) const
      noexcept(std::is_nothrow_constructible_v<std::remove_cvref_t<Receiver>, Receiver>) {
    return async_connect(static_cast<const Step&>(*this), std::forward<Receiver>(receiver));
  }

 private:
  on_failure policy_ = throwing{};
};

class unknown_operation;
/// What the operations of a step return.
template <class Step>
using async_result_of =
    decltype(std::declval<typename Step::template operation<unknown_operation>&>().take(
        std::declval<on_failure>()));

/// True if a request refers to a list of buffers of the program.
template <class Request>
inline constexpr bool refers_to_list = false;
template <class Request>
  requires requires { typename Request::payload_type; }
inline constexpr bool refers_to_list<Request> = is_listed<typename Request::payload_type>;

/// Reports that `cancel_waits` ended a wait.
[[gnu::cold]] void report_cancelled(on_failure policy, std::string_view verb);

/// Fails with EINVAL unless a queue pair completes on the queue of a loop. Returns true if it does.
[[nodiscard]] bool is_on_queue_of(async::device_loop& loop, const ibv_qp* pair, on_failure policy);

template <class Derived, class Step>
class perform_operation : public async::waiter {
 public:
  explicit perform_operation(const Step& step) noexcept : waiter{&resume_for_room}, step_{&step} {}
  perform_operation(const perform_operation&) = delete;
  perform_operation& operator=(const perform_operation&) = delete;
  ~perform_operation() {
    if (is_posted_) [[unlikely]]
      link().abandon(this);
  }

  /// Starts it. Returns false if it has finished already.
  [[nodiscard, gnu::always_inline]] bool start() {
    if (!link().is_open()) [[unlikely]]
      return false;
    if (link().room_waiters().empty()) [[likely]] {
      if (post()) [[likely]]
        return is_posted_;
    }
    link().room_waiters().push_back(*this);
    return true;
  }
  /// Returns the result, or reports the failure.
  void take(on_failure policy) const {
    if (succeeded_) [[likely]]
      return policy.clear();
    if (!result_) return result_.check(policy);
    link().report("ibv_post_send", policy);
  }
  /// Ends the connection, so that the device lets go of what is posted.
  void end_posted() { link().cancel(); }

 private:
  [[nodiscard]] auto& link() const noexcept { return *step_->link_; }
  /// Returns false if there is no room.
  [[gnu::always_inline]] bool post() {
    const send_window_result posted = link().post_for(this, &complete, step_->requests_);
    is_posted_ = static_cast<bool>(posted);
    if (is_posted_) [[likely]]
      return true;
    if (posted.full()) return false;
    result_ = posted;
    return true;
  }

  static bool resume_for_room(waiter& which) {
    auto& self = static_cast<perform_operation&>(which);
    if (self.link().is_open() && !self.link().is_cancelling_waits()) {
      if (!self.post()) return false;
      self.leave();
      if (self.is_posted_) return true;
    } else {
      self.leave();
    }
    static_cast<Derived&>(self).finished();
    return true;
  }

  static void complete(async::operation& which, const completion& each) {
    auto& slot = static_cast<request_slot&>(which);
    // Siw of Linux 6.1 flushes a read in progress twice.
    if (!slot.is_taken()) [[unlikely]]
      return;
    auto& link = static_cast<typename Step::link_type&>(*slot.owner);
    auto* const self = static_cast<perform_operation*>(slot.waiting);
    const bool succeeded = each.status() == completion_status::success;
    link.completed(slot, each);
    // Those that wait for room come later, because they may destroy this operation.
    link.serve_room_after([&]() __attribute__((always_inline)) {
      if (self == nullptr) [[unlikely]]
        return;
      self->is_posted_ = false;
      self->succeeded_ = succeeded;
      static_cast<Derived*>(self)->finished();
    });
  }

  const Step* step_;
  send_window_result result_{post_result{}};
  bool is_posted_ = false;
  bool succeeded_ = false;
};

template <class Derived>
class message_operation : public async::waiter {
 public:
  explicit message_operation(async::link& of) noexcept
      : waiter{&leave_and_finish<Derived>}, link_{&of} {}

  /// Starts it. Returns false if it has finished already.
  [[nodiscard]] bool start() {
    if (link_->has_message() && link_->message_waiters().empty()) return false;
    link_->message_waiters().push_back(*this);
    return true;
  }
  /// Returns the result, or reports the failure.
  [[nodiscard]] async::message take(on_failure policy) { return link_->take_message(policy); }

 private:
  async::link* link_;
};

template <class Derived>
class disconnect_operation : public async::waiter {
 public:
  explicit disconnect_operation(async::link& of) noexcept
      : waiter{&leave_and_finish<Derived>}, link_{&of} {}

  /// Starts it. Returns false if it has finished already.
  [[nodiscard]] bool start() {
    link_->cancel();
    if (link_->has_peer_ended()) return false;
    link_->end_waiters().push_back(*this);
    return true;
  }
  /// Returns the result, or reports the failure.
  void take(on_failure policy) const { link_->report_end(policy); }

 private:
  async::link* link_;
};

/// A connection on its way, of either side.
class connecting : public async::cancellable_waiter, public async_event_target {
 public:
  connecting(const connecting&) = delete;
  connecting& operator=(const connecting&) = delete;

 protected:
  using started = cm::connector<transport::rc>;
  using request = cm::connection_request<transport::rc>;
  using request_ready = cm::connection_request<transport::rc, cm::step::ready>;

  connecting(waiter::function* resume, async::device_loop& loop,
             const async::link_options& options) noexcept
      : cancellable_waiter{resume}, loop_{&loop}, options_{options} {}
  ~connecting();

  /// Starts to connect. Returns false if that failed.
  [[nodiscard]] bool connect_to(const cm::socket_address& address);
  /// Starts to accept a request. Returns false if that failed.
  [[nodiscard]] bool accept(request&& requested);
  [[nodiscard]] async::connection take_connection(on_failure policy);
  /// Ends the wait for the peer. Returns false if it does not wait for it.
  [[nodiscard]] bool stop_waiting_for_peer();
  /// Has the reason of the peer stored if it rejects.
  void set_rejection(std::optional<cm::rejection>* where) noexcept { rejection_ = where; }
  /// `cancel_waits` ended the wait for a request.
  void cancelled(std::string_view verb) { report_cancelled(why_, verb); }

 private:
  /// Takes an event of its identifiers.
  void handle(cm::event& happened) override;
  /// Takes the event. Returns true if the connection is established.
  [[nodiscard]] bool advance(cm::event& happened);
  [[nodiscard]] queue_pair_options pair_options() const noexcept;
  /// Waits for the peer, until the deadline.
  void wait_for_peer();
  template <class Identified>
  void receive_events_of(const Identified& identified) noexcept;

  async::device_loop* loop_;
  async::link_options options_;
  async::link* link_ = nullptr;
  std::variant<std::monostate, started, cm::connector<transport::rc, cm::step::address_resolved>,
               cm::connector<transport::rc, cm::step::route_resolved>>
      at_;
  failure why_;
  std::optional<cm::rejection>* rejection_ = nullptr;
};

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI::async {

/// Sends, reads, writes or any other requests of a link, awaited as one.
template <class Link, class... Requests>
class basic_perform_step : public detail::async_step<basic_perform_step<Link, Requests...>> {
  static_assert(!(detail::refers_to_list<Requests> || ...),
                "a step may start after the list of its buffers has gone: pass the buffers one by "
                "one, or post the request");
  template <class, class>
  friend class detail::perform_operation;

 public:
  /// The type of the link.
  using link_type = Link;

  /// Makes the step of these requests.
  basic_perform_step(Link& of, const Requests&... requests) noexcept
      : link_{&of}, requests_{requests...} {}

  /// Returns the loop that runs it.
  [[nodiscard]] device_loop& loop() const noexcept { return link_->loop(); }

  /// One start of the step.
  template <class Derived>
  struct operation : detail::perform_operation<Derived, basic_perform_step> {
    /// Makes an operation, and starts nothing.
    explicit operation(const basic_perform_step& step) noexcept
        : detail::perform_operation<Derived, basic_perform_step>{step} {}
  };

 private:
  Link* link_;
  std::tuple<Requests...> requests_;
};

/// Requests of a connection, awaited as one.
template <class... Requests>
using perform_step = basic_perform_step<link, Requests...>;

/// The next message of a connection.
class message_step : public detail::async_step<message_step> {
 public:
  /// Makes the step of this link.
  explicit message_step(link& of) noexcept : link_{&of} {}

  /// Returns the loop that runs it.
  [[nodiscard]] device_loop& loop() const noexcept { return link_->loop(); }

  /// One start of the step.
  template <class Derived>
  struct operation : detail::message_operation<Derived> {
    /// Makes an operation, and starts nothing.
    explicit operation(const message_step& step) noexcept
        : detail::message_operation<Derived>{*step.link_} {}
  };

 private:
  link* link_;
};

/// The end of a connection, which the peer has confirmed.
class disconnect_step : public detail::async_step<disconnect_step> {
 public:
  /// Makes the step of this link.
  explicit disconnect_step(link& of) noexcept : link_{&of} {}

  /// Returns the loop that runs it.
  [[nodiscard]] device_loop& loop() const noexcept { return link_->loop(); }

  /// One start of the step.
  template <class Derived>
  struct operation : detail::disconnect_operation<Derived> {
    /// Makes an operation, and starts nothing.
    explicit operation(const disconnect_step& step) noexcept
        : detail::disconnect_operation<Derived>{*step.link_} {}
  };

 private:
  link* link_;
};

/// A reliable connection (RC) of a loop. Its functions return steps to await:
///
///     while (const async::message message = co_await client.next())
///       co_await client.send(message.buffer());
///
/// What a request refers to must live until its step has finished. Destroying a step under way
/// cancels it: a posted request ends the connection, because the device may still use its memory.
/// The destructor ends the connection without blocking.
///
/// Not thread safe: used by the thread of its loop, which must outlive it.
class [[nodiscard]] connection {
 public:
  /// Makes an empty connection.
  connection() noexcept = default;
  /// Takes over a link.
  explicit connection(link& of) noexcept : link_{&of} {}
  /// Takes over a queue pair that the program has connected without librdmacm, and posts the
  /// receives. The peer may send earlier: its sends wait (RNR) until then. Its completion queues
  /// are those of the loop (`device_loop::queue`), and its device outlives the loop. The sizes of
  /// the options are at most those of the queue pair. The queue pair is destroyed on failure.
  ///
  /// No side notices the end of the other: agree on it in a message, or set deadlines. `disconnect`
  /// moves the queue pair to ERR, and waits until it is flushed. Wraps: ibv_modify_qp(3).
  connection(device_loop& loop, adverb::queue_pair<transport::rc> pair,
             const link_options& options = {}, on_failure policy = throwing{});
  connection(connection&& other) noexcept : link_{std::exchange(other.link_, nullptr)} {}
  connection& operator=(connection&& other) noexcept {
    std::swap(link_, other.link_);
    return *this;
  }
  ~connection() {
    if (link_ != nullptr) link_->abandon();
  }

  [[nodiscard]] explicit operator bool() const noexcept { return link_ != nullptr; }

  /// Posts requests with one doorbell, and waits for the completion of the last. Waits for room
  /// before, in order.
  template <class... Requests>
  [[nodiscard]] perform_step<Requests...> perform(const Requests&... requests) const noexcept {
    static_assert(sizeof...(Requests) > 0, "there is nothing to perform");
    return {*link_, requests...};
  }
  /// Sends a message. `perform(adverb::send(…))` has more to choose.
  template <class Payload>
  [[nodiscard]] auto send(const Payload& payload) const noexcept {
    return perform(adverb::send(payload));
  }
  /// Writes to memory of the peer.
  template <class Remote, class Payload>
  [[nodiscard]] auto write(const Remote& remote, const Payload& payload) const noexcept {
    return perform(adverb::write(remote, payload));
  }
  /// Reads memory of the peer.
  template <class Remote, class Buffer>
  [[nodiscard]] auto read(const Remote& remote, const Buffer& into) const noexcept {
    return perform(adverb::read(remote, into));
  }
  /// Posts requests that nobody waits for. See `link::post`.
  template <class... Requests>
  [[gnu::always_inline]] send_window_result post(const Requests&... requests) const noexcept {
    return link_->post(requests...);
  }

  /// Waits for the next message. The result is empty if the peer has ended the connection.
  [[nodiscard]] message_step next() const noexcept { return message_step{*link_}; }
  /// Ends the connection, and waits until the peer has confirmed it. Fails with ETIMEDOUT if that
  /// takes longer than `link_options::end_timeout`.
  [[nodiscard]] disconnect_step disconnect() const noexcept { return disconnect_step{*link_}; }

  /// Starts the deadline of what is under way and of what follows. When it passes, the connection
  /// ends with ETIMEDOUT. `timeout::endless()` stops it. It may be late by 20 milliseconds.
  void expires_after(timeout limit) const noexcept { link_->expires_after(limit); }
  /// Ends what is under way with ECANCELED, and the connection.
  void cancel() const noexcept { link_->cancel(); }
  /// Ends the waits for messages, for room and for the end, with ECANCELED, but not what is posted.
  void cancel_waits() const noexcept { link_->cancel_waits(); }

  /// Returns the queue pair; empty once the loop has destroyed it.
  [[nodiscard]] queue_pair_ref<transport::rc, qp_state::rts> queue_pair() const noexcept {
    return link_->queue_pair();
  }
  /// Returns the connection of librdmacm, with its addresses and the private data of the peer; null
  /// without librdmacm, and once the loop has destroyed it.
  [[nodiscard]] const cm::connection<>* established() const noexcept {
    return link_->established();
  }
  /// Returns the domain in which to register memory for the requests.
  [[nodiscard]] protection_domain_ref protection_domain() const noexcept { return link_->domain(); }

 private:
  link* link_ = nullptr;
};

/// A connection to a listener.
class connect_step : public detail::async_step<connect_step> {
 public:
  /// Makes the step to this address.
  connect_step(device_loop& loop, const cm::socket_address& address,
               const link_options& options) noexcept
      : loop_{&loop}, address_{address}, options_{options} {}

  /// Stores the reason and the private data of the peer if it rejects. `why` must live until the
  /// step has finished.
  [[nodiscard]] connect_step rejection_to(std::optional<cm::rejection>& why) && noexcept {
    rejection_ = &why;
    return std::move(*this);
  }

  /// Returns the loop that runs it.
  [[nodiscard]] device_loop& loop() const noexcept { return *loop_; }

  /// One start of the step.
  template <class Derived>
  class operation : public detail::connecting {
   public:
    /// Makes an operation, and starts nothing.
    explicit operation(const connect_step& step) noexcept
        : connecting{&resume, *step.loop_, step.options_}, step_{&step} {
      set_rejection(step.rejection_);
    }

    /// Starts it. Returns false if it has finished already.
    [[nodiscard]] bool start() { return connect_to(step_->address_); }
    /// Returns the result, or reports the failure.
    [[nodiscard]] connection take(on_failure policy) { return take_connection(policy); }

   private:
    static bool resume(waiter& which) {
      auto& self = static_cast<operation&>(which);
      static_cast<void>(self.stop_waiting_for_peer());
      static_cast<Derived&>(self).finished();
      return true;
    }
    const connect_step* step_;
  };

 private:
  device_loop* loop_;
  cm::socket_address address_;
  link_options options_;
  std::optional<cm::rejection>* rejection_ = nullptr;
};

/// Connects to a listener. Resolves the address and the route, creates the queue pair, and posts
/// the receives. Wraps: rdma_resolve_addr(3), rdma_resolve_route(3), rdma_connect(3).
[[nodiscard]] inline connect_step connect(device_loop& loop, const cm::socket_address& address,
                                          const link_options& options = {}) noexcept {
  return {loop, address, options};
}

}  // namespace adverb::inline ADVERB_ABI::async

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/async/impl/connection.ipp>
#endif
