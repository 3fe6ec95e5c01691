// SPDX-License-Identifier: MIT
// Asynchronous listeners, and the requests that they receive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

#include <adverb/async/device_loop.hpp>
#include <adverb/async/reliable_connection.hpp>
#include <adverb/async/waiter.hpp>
#include <adverb/cm/connection_request.hpp>
#include <adverb/cm/listener.hpp>
#include <adverb/core/detail/lack_of_memory.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Listens, and keeps the requests that nobody has taken.
template <transport Transport>
class request_queue : public async_event_target {
 public:
  /// Listens.
  request_queue(async::device_loop& loop, const cm::socket_address& address,
                const cm::listener_options& options = {}, on_failure policy = throwing{})
      : loop_{&loop},
        most_requests_{options.backlog > 0 ? static_cast<std::size_t>(options.backlog)
                                           : default_backlog},
        listener_{loop.has_channel(policy)
                      ? cm::listener<Transport>::create(loop.channel(), address, options, policy)
                      : cm::listener<Transport>{}} {
    if (listener_) listener_.set_user_context(static_cast<async_event_target*>(this));
  }
  request_queue(const request_queue&) = delete;
  request_queue& operator=(const request_queue&) = delete;

  /// Returns the port on which it listens.
  [[nodiscard]] std::uint16_t port() const noexcept { return listener_.port(); }

  /// Ends the waits for requests with ECANCELED, and rejects those that nobody has taken.
  void cancel_waits() noexcept {
    requests_.clear();
    loop_->cancel(waiters_);
  }

  // For the operations.
  /// Returns its loop.
  [[nodiscard]] async::device_loop& loop() const noexcept { return *loop_; }
  /// Returns those that wait for a request.
  [[nodiscard]] async::waiter_list& waiters() noexcept { return waiters_; }
  /// Returns the next request, or an empty one.
  [[nodiscard]] cm::connection_request<Transport> take_request() {
    cm::connection_request<Transport> next;
    if (!requests_.empty()) {
      next = std::move(requests_.front());
      requests_.pop_front();
    }
    return next;
  }

 protected:
  /// Ends the waits as `cancel_waits` does.
  ~request_queue() { cancel_waits(); }

 private:
  /// Takes an event of its identifiers.
  void handle(cm::event& happened) override {
    if (happened.type() != cm::event_type::connect_request) return;
    failure why;
    auto requested = listener_.take_request(happened, why);
    // The loop empties the queue of the kernel, so its limit is kept here. The destructor rejects.
    if (!requested || requests_.size() == most_requests_) return;
    // It has the context of this listener, which gets no other events of it.
    requested.identifier().native_handle()->context = nullptr;
    if (has_memory_for([&] { requests_.push_back(std::move(requested)); })) waiters_.resume_first();
  }

  /// The limit of the kernel for a backlog of 0, unless net.rdma_ucm.max_backlog is set.
  static constexpr std::size_t default_backlog = 1024;

  async::device_loop* loop_;
  std::size_t most_requests_;
  std::deque<cm::connection_request<Transport>> requests_;
  async::waiter_list waiters_;
  cm::listener<Transport> listener_;
};

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI::async {

class accept_step;
template <class Listener>
class basic_request_step;

/// A request to connect, which the program accepts or rejects:
///
///     async::connection_request request = co_await listener.next();
///     if (!welcome(request.private_data())) request.reject(cm::private_data::of("full"));
///     else loop.spawn(serve(co_await request.accept()));
///
/// The destructor rejects a request without an answer. Not thread safe. It must not outlive the
/// loop.
class [[nodiscard]] connection_request {
 public:
  /// Makes an empty request.
  connection_request() noexcept = default;
  /// Takes over a request of librdmacm whose events come to the channel of the loop.
  connection_request(device_loop& loop, cm::connection_request<>&& requested) noexcept
      : loop_{&loop}, request_{std::move(requested)} {}

  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(request_); }

  /// Returns the device that received the request.
  [[nodiscard]] context_ref context() const noexcept { return request_.context(); }
  /// Returns the address of the peer.
  [[nodiscard]] cm::socket_address peer_address() const noexcept { return request_.peer_address(); }
  /// Returns the private data of the request.
  [[nodiscard]] const cm::private_data& private_data() const noexcept {
    return request_.private_data();
  }
  /// Returns the connection parameters that the peer requests.
  [[nodiscard]] const cm::peer_parameters& parameters() const noexcept {
    return request_.parameters();
  }

  /// Accepts the request. `options.connection` carries the private data of the answer. The request
  /// must live until the step has started, which empties it if that succeeds, so it must not be a
  /// temporary. Wraps: rdma_accept(3).
  [[nodiscard]] accept_step accept(const connection_options& options = {}) & noexcept;
  /// Rejects the request, and empties this object. Does not block. Wraps: rdma_reject(3).
  void reject(const cm::private_data& data = {}, on_failure policy = throwing{}) {
    request_.reject(data, policy);
  }

  // For the operations.
  /// Returns its loop.
  [[nodiscard]] device_loop& loop() const noexcept {
    detail::require(loop_ != nullptr, "async::connection_request",
                    "the request is empty: moved from, answered, or the result of a failed step");
    return *loop_;
  }
  /// Returns the request of librdmacm.
  [[nodiscard]] cm::connection_request<>& managed() noexcept { return request_; }

 private:
  device_loop* loop_ = nullptr;
  cm::connection_request<> request_;
};

/// Listens for connections.
///
///     async::listener listener{loop, cm::socket_address::any(7471)};
///     while (true) loop.spawn(serve(co_await listener.next()));
///
/// It stays where it is, because the loop refers to it. Not thread safe.
class listener final : public detail::request_queue<transport::rc> {
 public:
  /// Listens. Wraps: rdma_listen(3).
  using request_queue::request_queue;

  /// Waits for the next request, and accepts it. A request that fails on the way ends this step
  /// only: await the next. A peer that does not finish the handshake holds up this step, but not
  /// `next`. Wraps: rdma_accept(3).
  [[nodiscard]] accept_step accept(const connection_options& options = {}) noexcept;
  /// Waits for the next request, to accept or reject it.
  [[nodiscard]] basic_request_step<listener> next() noexcept;

  /// Returns the next request, or an empty one.
  [[nodiscard]] connection_request take_request() {
    return {loop(), request_queue::take_request()};
  }
};

/// The connection of a request: of a given one, or of the next one of a listener.
class accept_step : public detail::async_step<accept_step> {
 public:
  /// Makes the step of the next request of this listener.
  accept_step(listener& of, const connection_options& options) noexcept
      : loop_{&of.loop()}, listener_{&of}, options_{options} {}
  /// Makes the step of this request.
  accept_step(connection_request& of, const connection_options& options) noexcept
      : loop_{&of.loop()}, request_{&of}, options_{options} {}

  /// Returns the loop that runs it.
  [[nodiscard]] device_loop& loop() const noexcept { return *loop_; }

  /// One start of the step.
  template <class Derived>
  class operation : public detail::connecting {
   public:
    /// Makes an operation, and starts nothing.
    explicit operation(const accept_step& step) noexcept
        : connecting{&resume, *step.loop_, step.options_},
          listener_{step.listener_},
          request_{step.request_} {}

    /// Starts it. Returns false if it has finished already.
    [[nodiscard]] bool start() {
      if (request_ != nullptr) return answer(*request_);
      if (connection_request next = listener_->take_request()) return answer(next);
      listener_->waiters().push_back(*this);
      return true;
    }
    /// Returns the result, or reports the failure.
    [[nodiscard]] connection take(on_failure policy) { return take_connection(policy); }

   private:
    [[nodiscard]] bool answer(connection_request& requested) {
      return accept(std::move(requested.managed()));
    }
    static bool resume(waiter& which) {
      auto& self = static_cast<operation&>(which);
      if (self.has_link()) {
        self.stop_waiting_for_peer();
      } else if (self.is_waiting()) {
        self.leave();
        if (self.is_cancelled()) {
          self.cancelled("async::listener::accept");
        } else {
          connection_request next = self.listener_->take_request();
          if (self.answer(next)) return true;
        }
      }
      static_cast<Derived&>(self).finished();
      return true;
    }

    listener* listener_;
    connection_request* request_;
  };

 private:
  device_loop* loop_;
  listener* listener_ = nullptr;
  connection_request* request_ = nullptr;
  connection_options options_;
};

/// The next request of a listener.
template <class Listener>
class basic_request_step : public detail::async_step<basic_request_step<Listener>> {
  using request = decltype(std::declval<Listener&>().take_request());

 public:
  /// Makes the step of this listener.
  explicit basic_request_step(Listener& of) noexcept : loop_{&of.loop()}, listener_{&of} {}

  /// Returns the loop that runs it.
  [[nodiscard]] device_loop& loop() const noexcept { return *loop_; }

  /// One start of the step.
  template <class Derived>
  class operation : public detail::take_operation<Derived, Listener, &Listener::take_request> {
   public:
    /// Makes an operation, and starts nothing.
    explicit operation(const basic_request_step& step) noexcept
        : detail::take_operation<Derived, Listener, &Listener::take_request>{*step.listener_} {}

    /// Returns the result, or reports the failure.
    [[nodiscard]] request take(on_failure policy) {
      return this->take_next("async::listener::next", policy);
    }
  };

 private:
  /// The step may end after its listener.
  device_loop* loop_;
  Listener* listener_;
};

inline accept_step connection_request::accept(const connection_options& options) & noexcept {
  return {*this, options};
}
inline accept_step listener::accept(const connection_options& options) noexcept {
  return {*this, options};
}
inline basic_request_step<listener> listener::next() noexcept {
  return basic_request_step<listener>{*this};
}

}  // namespace adverb::inline ADVERB_ABI::async
