// SPDX-License-Identifier: MIT
// Asynchronous connections, and the steps that a program awaits.
#pragma once

#include <cerrno>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <adverb/async/connection_options.hpp>
#include <adverb/async/detail/link.hpp>
#include <adverb/async/device_loop.hpp>
#include <adverb/async/loop_memory.hpp>
#include <adverb/async/message.hpp>
#include <adverb/async/waiter.hpp>
#include <adverb/cm/connection_request.hpp>
#include <adverb/core/detail/hardening.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::async {

class connection;

/// The base of all steps. It makes Asio and senders find their functions here for the steps of
/// other namespaces, too.
struct step_base {};

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

class unknown_operation;
/// The result of the operations of a step.
template <class Step>
using async_result_of =
    decltype(std::declval<typename Step::template operation<unknown_operation>&>().take(
        std::declval<on_failure>()));

template <class Step>
class blocking_operation;

/// The base of every step, with the destination of its failure.
template <class Step>
class async_step : async::step_base {
 public:
  /// Reports the failure of the step to an error code or a failure, instead of throwing it. It must
  /// live until the step has finished.
  [[nodiscard]] Step report_to(on_failure policy) && noexcept {
    policy_ = policy;
    return std::move(static_cast<Step&>(*this));
  }
  /// Returns where the failure goes.
  [[nodiscard]] on_failure policy() const noexcept { return policy_; }

  /// Runs the loop until the step has finished, and returns its result: for programs that block.
  /// The tasks of the loop go on meanwhile, and not between the waits. Fails with ECANCELED if the
  /// loop is stopped first. The loop must be an `event_loop` that does not run. The exception of a
  /// task leaves this call, and cancels the step.
  ///
  ///     server.send(request).wait();
  template <class Result = Step>
  async_result_of<Result> wait() const {
    return blocking_operation<Result>{static_cast<const Step&>(*this)}.wait();
  }

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
  // The result is a parameter, so that the symbol differs between libraries of senders.
  template <class Receiver, class Operation = decltype(async_connect(std::declval<const Step&>(),
                                                                     std::declval<Receiver>()))>
  [[nodiscard]] Operation connect(Receiver&& receiver) const
      noexcept(std::is_nothrow_copy_constructible_v<Step> &&
               std::is_nothrow_constructible_v<std::remove_cvref_t<Receiver>, Receiver>) {
    return async_connect(static_cast<const Step&>(*this), std::forward<Receiver>(receiver));
  }

 private:
  on_failure policy_ = throwing{};
};

/// Runs a step while a thread waits for it.
template <class Step>
class blocking_operation : public Step::template operation<blocking_operation<Step>> {
  using base = typename Step::template operation<blocking_operation<Step>>;

 public:
  explicit blocking_operation(const Step& step) : base{step}, step_{&step} {}

  [[nodiscard]] async_result_of<Step> wait() {
    if (this->start() && !step_->loop().run_until(is_done_)) [[unlikely]] {
      report_cancelled(step_->policy(), "async::wait");
      return async_result_of<Step>();
    }
    return this->take(step_->policy());
  }
  /// Called when the operation has finished.
  void finished() noexcept { is_done_ = true; }

 private:
  const Step* step_;
  bool is_done_ = false;
};

/// True if a request refers to a list of buffers of the program.
template <class Request>
inline constexpr bool refers_to_list = false;
template <class Request>
  requires requires { typename Request::payload_type; }
inline constexpr bool refers_to_list<Request> = is_listed<typename Request::payload_type>;

/// Fails with EINVAL unless a queue pair completes on the queue of a loop. Returns true if it does.
[[nodiscard]] bool is_on_queue_of(async::device_loop& loop, const ibv_qp* pair, on_failure policy);

template <class Derived, class Step>
class perform_operation : public room_waiter {
 public:
  explicit perform_operation(const Step& step) noexcept
      : room_waiter{&resume_for_room}, step_{&step} {}
  perform_operation(const perform_operation&) = delete;
  perform_operation& operator=(const perform_operation&) = delete;
  ~perform_operation() {
    if (at_ == phase::posted) [[unlikely]]
      link().abandon(this);
  }

  /// Starts it. Returns false if it has finished already.
  [[nodiscard, gnu::always_inline]] bool start() {
    if (link().is_ready() || link().make_ready()) [[likely]] {
      if (post()) [[likely]]
        return at_ == phase::posted;
    } else if (!link().is_open()) {
      return false;
    }
    link().wait_for_room(*this);
    return true;
  }
  /// Returns the result, or reports the failure.
  void take(on_failure policy) const {
    if (at_ == phase::succeeded) [[likely]]
      return policy.clear();
    if (at_ == phase::refused) return result_.check(policy);
    link().report("ibv_post_send", policy);
  }
  /// Ends the connection, so that the device lets go of what is posted.
  void end_posted() { link().cancel(); }

 private:
  enum class phase : std::uint8_t { idle, posted, succeeded, failed, refused };

  [[nodiscard]] auto& link() const noexcept { return *step_->link_; }
  /// Returns false if there is no room.
  [[gnu::always_inline]] bool post() {
    const send_window_result posted = link().sends().post_for(this, &complete, step_->requests_);
    if (posted) [[likely]] {
      at_ = phase::posted;
      return true;
    }
    return note_refused(posted);
  }
  /// Returns false if there was no room.
  [[gnu::cold, gnu::noinline]] bool note_refused(send_window_result posted) {
    if (posted.full()) return false;
    if (link().sends().takes_slot(posted)) {
      // The device may use the memory of those that were accepted, so this waits for them.
      at_ = phase::posted;
      link().close(posted.code().value());
    } else {
      at_ = phase::refused;
      std::construct_at(&result_, posted);
    }
    return true;
  }

  static bool resume_for_room(async::waiter& which) {
    auto& self = static_cast<perform_operation&>(which);
    if (self.link().is_open() && !self.is_cancelled) {
      if (!self.post()) return false;
      self.leave();
      if (self.at_ == phase::posted) return true;
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
    if (each.status() == completion_status::success) [[likely]]
      pass_on<phase::succeeded>(slot, each);
    else
      pass_on_failure(slot, each);
  }
  template <phase Reached>
  [[gnu::always_inline]] static void pass_on(request_slot& slot, const completion& each) {
    auto& link = static_cast<typename Step::link_type&>(*slot.owner);
    auto* const self = static_cast<perform_operation*>(slot.waiting);
    // Operations that wait for room come later, because they may destroy this operation.
    link.complete(slot, each, [self]() __attribute__((always_inline)) {
      if (self == nullptr) [[unlikely]]
        return;
      self->at_ = Reached;
      static_cast<Derived*>(self)->finished();
    });
  }
  [[gnu::cold, gnu::noinline]] static void pass_on_failure(request_slot& slot,
                                                           const completion& each) {
    pass_on<phase::failed>(slot, each);
  }

  const Step* step_;
  union {
    /// Set in the phase `refused`.
    send_window_result result_;
  };
  phase at_ = phase::idle;
};

/// Waits for a message of a link.
template <class Derived>
class message_operation : public async::waiter {
 public:
  explicit message_operation(detail::link& of,
                             function* resume = &leave_and_finish<Derived>) noexcept
      : waiter{resume}, link_{&of} {}

  /// Returns true if a message is there for it, so that it need not start.
  [[nodiscard, gnu::always_inline]] bool is_met() const noexcept {
    detail::inbox& inbox = link_->inbox();
    return !inbox.empty() && inbox.waiters().empty();
  }
  /// Starts it. Returns false if it has finished already.
  [[nodiscard]] bool start() {
    if (is_met()) [[likely]]
      return false;
    detail::inbox& inbox = link_->inbox();
    if (!link_->is_ready()) [[unlikely]] {
      if (link_->has_no_more_messages() && inbox.empty() && inbox.waiters().empty()) return false;
      link_->note_late_start();
    }
    inbox.waiters().push_back(*this);
    return true;
  }
  /// Returns the result, or reports the failure.
  [[nodiscard]] async::message take(on_failure policy) {
    return take_from(*link_, "async::connection::next", policy);
  }

 protected:
  [[nodiscard, gnu::always_inline]] static async::message take_from(detail::link& link,
                                                                    const char* verb,
                                                                    on_failure policy) {
    receive_block* const first = link.inbox().take();
    if (first == nullptr) [[unlikely]]
      return link.no_message(verb, policy);
    policy.clear();
    return async::message{first};
  }
  [[nodiscard]] detail::link& link() const noexcept { return *link_; }

 private:
  detail::link* link_;
};

template <class Derived>
class disconnect_operation : public async::waiter {
 public:
  explicit disconnect_operation(detail::link& of) noexcept
      : waiter{&leave_and_finish<Derived>}, link_{&of} {}

  /// Starts it. Returns false if it has finished already.
  [[nodiscard]] bool start() {
    link_->cancel();
    if (link_->life().end() != link_end::pending) return false;
    link_->end_waiters().push_back(*this);
    return true;
  }
  /// Returns the result, or reports the failure.
  void take(on_failure policy) const { link_->report_end(policy); }

 private:
  detail::link* link_;
};

/// Waits until a source has something to take: the requests of a listener, the events of a device.
/// The source stays where it is.
template <class Derived, class Source, auto Take>
class take_operation : public async::cancellable_waiter {
 public:
  explicit take_operation(Source& from) noexcept : cancellable_waiter{&resume}, source_{&from} {}

  /// Starts it. Returns false if it has finished already.
  [[nodiscard]] bool start() {
    next_ = (source_->*Take)();
    if (next_) return false;
    source_->waiters().push_back(*this);
    return true;
  }

 protected:
  /// Returns the result, or reports that the wait was cancelled.
  [[nodiscard]] auto take_next(const char* verb, on_failure policy) {
    policy.clear();
    if (!next_) report_cancelled(policy, verb);
    return std::move(next_);
  }

 private:
  static bool resume(waiter& which) {
    auto& self = static_cast<take_operation&>(which);
    self.leave();
    if (!self.is_cancelled()) self.next_ = (self.source_->*Take)();
    static_cast<Derived&>(self).finished();
    return true;
  }

  Source* source_;
  decltype((std::declval<Source&>().*Take)()) next_;
};

/// A connection on its way, of either side.
class connecting : public async::cancellable_waiter, public async_event_target {
 public:
  connecting(const connecting&) = delete;
  connecting& operator=(const connecting&) = delete;

 protected:
  using started = cm::connector<transport::rc>;
  using request = cm::connection_request<transport::rc>;

  connecting(waiter::function* resume, async::device_loop& loop,
             const async::connection_options& options) noexcept
      : cancellable_waiter{resume}, loop_{&loop}, options_{options} {}
  ~connecting();

  /// Starts to connect. Returns false if that failed.
  [[gnu::cold]] [[nodiscard]] bool connect_to(const cm::socket_address& address);
  /// Starts to accept a request. Returns false if that failed.
  [[gnu::cold]] [[nodiscard]] bool accept(request&& requested);
  [[gnu::cold]] [[nodiscard]] async::connection take_connection(on_failure policy);
  /// Ends the wait for the peer, if it waits for it.
  [[gnu::cold]] void stop_waiting_for_peer();
  /// Has the reason of the peer stored if it rejects.
  void set_rejection(std::optional<cm::rejection>* where) noexcept { rejection_ = where; }
  /// `cancel_waits` ended the wait for a request.
  void cancelled(const char* verb) { report_cancelled(why_, verb); }
  [[nodiscard]] bool has_link() const noexcept { return link_ != nullptr; }

 private:
  /// Takes an event of its identifiers.
  ADVERB_FUNC void handle(cm::event& happened) override;
  /// The parts of `accept` and `handle` that allocate.
  [[gnu::cold]] [[nodiscard]] bool start_accept(request&& requested);
  /// Takes the event. Returns true if the connection is established.
  [[gnu::cold]] [[nodiscard]] bool advance(cm::event& happened);
  [[nodiscard]] queue_pair_options pair_options() const noexcept;
  /// Has no later event find this operation, which has finished.
  void leave_events() noexcept;
  /// Waits for the peer, until the deadline.
  void wait_for_peer();
  void note_missing_heartbeats(const char* verb);
  /// Completes the private data for the peer, once the device is known: registers the memory that
  /// it names. `of_peer` is that of the request; null on the connecting side. Offers heartbeats,
  /// unless a layer above overrides it. A request is rejected if this fails.
  ADVERB_FUNC virtual void prepare(reliable_link& link, const cm::private_data* of_peer,
                                   cm::private_data& data, on_failure policy);

  async::device_loop* loop_;
  async::connection_options options_;
  reliable_link* link_ = nullptr;
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
using perform_step = basic_perform_step<detail::reliable_link, Requests...>;

/// The next message of a connection.
class message_step : public detail::async_step<message_step> {
 public:
  /// Makes the step of this link.
  explicit message_step(detail::link& of) noexcept : link_{&of} {}

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
  detail::link* link_;
};

/// The end of a connection, which the peer has confirmed.
class disconnect_step : public detail::async_step<disconnect_step> {
 public:
  /// Makes the step of this link.
  explicit disconnect_step(detail::link& of) noexcept : link_{&of} {}

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
  detail::link* link_;
};

/// A reliable connection (RC) of a loop. Its functions return steps to await:
///
///     while (const async::message message = co_await client.next())
///       co_await client.send(message.buffer());
///
/// The objects that a request refers to must live until its step has finished. Destroying a step
/// under way cancels it: a posted request ends the connection, because the device may still use its
/// memory. The destructor ends the connection without blocking.
///
/// Not thread safe: used by the thread of its loop, which must outlive it.
class [[nodiscard]] connection {
 public:
  /// Makes an empty connection.
  connection() noexcept = default;
  /// Takes over a link.
  explicit connection(detail::reliable_link& of) noexcept : link_{&of} {}
  /// Takes over a queue pair that the program has connected without librdmacm, and posts the
  /// receives. The peer may send earlier: its sends wait (RNR) until then. Its completion queues
  /// are those of the loop (`device_loop::queue`), and its device outlives the loop. The sizes of
  /// the options are at most those of the queue pair. The queue pair is destroyed on failure.
  ///
  /// No side notices the end of the other: agree on it in a message, or set deadlines. `disconnect`
  /// moves the queue pair to ERR, and waits until it is flushed. Wraps: ibv_modify_qp(3).
  connection(device_loop& loop, adverb::queue_pair<transport::rc> pair,
             const connection_options& options = {}, on_failure policy = throwing{});
  connection(connection&& other) noexcept : link_{std::exchange(other.link_, nullptr)} {}
  connection& operator=(connection&& other) noexcept {
    std::swap(link_, other.link_);
    return *this;
  }
  ~connection() {
    if (link_ != nullptr) link_->detach();
  }

  [[nodiscard]] explicit operator bool() const noexcept { return link_ != nullptr; }

  /// Posts requests with one doorbell, and waits for the completion of the last. Waits for room
  /// before, in order.
  template <class... Requests>
  [[nodiscard]] perform_step<Requests...> perform(const Requests&... requests) const noexcept {
    static_assert(sizeof...(Requests) > 0, "there is nothing to perform");
    return {link(), requests...};
  }
  /// Sends a message of one or more payloads. `perform(adverb::send(…))` has more to choose. More
  /// than one buffer needs `connection_options::max_send_sge`.
  template <class... Payloads>
  [[nodiscard]] auto send(const Payloads&... payloads) const noexcept {
    return perform(adverb::send(payloads...));
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
    return link().post(requests...);
  }

  /// Sends a message that nobody waits for, unless there is no room for it: returns false then, and
  /// after the end of the connection. `max_send_wr` bounds the messages in progress. The memory of
  /// a payload must stay until a later step has completed; that of `inline_data` need not.
  ///
  ///     if (!client.try_send(inline_data{line})) ++dropped;
  template <class... Payloads>
  [[nodiscard]] bool try_send(const Payloads&... payloads) const noexcept {
    return static_cast<bool>(post(adverb::send(payloads...)));
  }

  /// Waits for the next message. The result is empty if the peer has ended the connection.
  [[nodiscard]] message_step next() const noexcept { return message_step{link()}; }
  /// Ends the connection, and waits until the peer has confirmed it. Fails with ETIMEDOUT if that
  /// takes longer than `connection_options::end_timeout`.
  [[nodiscard]] disconnect_step disconnect() const noexcept { return disconnect_step{link()}; }

  /// Starts the deadline of what is under way and of what follows. When it passes, the connection
  /// ends with ETIMEDOUT. `timeout::endless()` stops it. It may be late by 20 milliseconds.
  void expires_after(timeout limit) const noexcept { link().expires_after(limit); }
  /// Ends what is under way with ECANCELED, and the connection.
  void cancel() const noexcept { link().cancel(); }
  /// Ends the waits for messages, for room and for the end, with ECANCELED, but not what is posted.
  void cancel_waits() const noexcept { link().cancel_waits(); }

  /// Returns the queue pair; empty once the loop has destroyed it.
  [[nodiscard]] queue_pair_ref<transport::rc, qp_state::any> queue_pair() const noexcept
      ADVERB_LIFETIME_BOUND {
    return link().queue_pair();
  }
  /// Returns the connection of librdmacm, with its addresses and the private data of the peer; null
  /// without librdmacm, and once the loop has destroyed it.
  [[nodiscard]] const cm::connection<>* established() const noexcept {
    return link().established();
  }
  /// Returns new registered memory for the requests of this connection, which the loop keeps until
  /// the device has let go of it. Wraps: ibv_reg_mr(3).
  [[nodiscard]] loop_memory memory(std::size_t size,
                                   access_rights rights = access_right::local_write,
                                   on_failure policy = throwing{}) const {
    return {link().loop(), link().device().context, size, rights, policy};
  }
  /// Returns why the connection makes no progress, as far as it can be seen here: the program holds
  /// every block in which a message could arrive, or as many requests as `max_send_wr` allows are
  /// in progress. Empty if there is no such reason, or if the connection is ending.
  [[nodiscard]] std::string_view why_stalled() const noexcept { return link().why_stalled(); }
  /// Returns the domain in which to register memory for the requests.
  [[nodiscard]] protection_domain_ref protection_domain() const noexcept { return link().domain(); }

  // For the operations, and for the layers above.
  /// Returns the link of the connection, which must not be empty.
  [[nodiscard]] detail::reliable_link& link() const noexcept {
    detail::require(link_ != nullptr, "async::connection",
                    "the connection is empty: moved from, or the result of a step that failed");
    link_->loop().thread().check("async::connection");
    return *link_;
  }

 private:
  detail::reliable_link* link_ = nullptr;
};

/// A connection to a listener.
class connect_step : public detail::async_step<connect_step> {
 public:
  /// Makes the step to this address.
  connect_step(device_loop& loop, const cm::socket_address& address,
               const connection_options& options) noexcept
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
      self.stop_waiting_for_peer();
      static_cast<Derived&>(self).finished();
      return true;
    }
    const connect_step* step_;
  };

 private:
  device_loop* loop_;
  cm::socket_address address_;
  connection_options options_;
  std::optional<cm::rejection>* rejection_ = nullptr;
};

/// Connects to a listener. Resolves the address and the route, creates the queue pair, and posts
/// the receives. Wraps: rdma_resolve_addr(3), rdma_resolve_route(3), rdma_connect(3).
[[nodiscard]] inline connect_step connect(device_loop& loop, const cm::socket_address& address,
                                          const connection_options& options = {}) noexcept {
  return {loop, address, options};
}

}  // namespace adverb::inline ADVERB_ABI::async

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/async/impl/reliable_connection.ipp>
#endif
