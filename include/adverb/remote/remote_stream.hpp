// SPDX-License-Identifier: MIT
// A stream of bytes between the memories of two peers.
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

#include <adverb/async/accept.hpp>
#include <adverb/async/device_loop.hpp>
#include <adverb/async/reliable_connection.hpp>
#include <adverb/async/waiter.hpp>
#include <adverb/core/error.hpp>
#include <adverb/remote/detail/stream_port.hpp>
#include <adverb/remote/stream_options.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Fails with EINVAL if the options of a stream are out of their ranges.
void check_stream(const stream_options& options, on_failure policy);
/// Returns the options of the connection of a stream.
[[nodiscard]] async::connection_options connection_of_stream(const stream_options& options);
/// Makes the port of a link, and its private data. `of_peer` is that of a request.
void prepare_stream(reliable_link& link, const stream_options& options,
                    const cm::private_data* of_peer, cm::private_data& data, on_failure policy);
/// Returns the connection if the peer has offered a stream; else an empty one.
[[nodiscard]] async::connection begin_stream(async::connection made, bool has_accepted,
                                             on_failure policy);
/// Reports why the peer has not read what was written.
[[gnu::cold]] void report_unwritten(const stream_port& of, const char* verb, on_failure policy);

/// A wait of a stream: for the reader, or in the order of the writers. `Derived::go_on` returns
/// true if it is over.
template <class Derived>
class stream_wait : public async::cancellable_waiter {
 public:
  stream_wait(stream_port& of, async::waiter_list& among) noexcept
      : cancellable_waiter{&resume}, port_{&of}, among_{&among} {}

  /// Starts it. Returns false if it has finished already.
  [[nodiscard]] bool start() {
    port_->begin();
    if (among_->empty() && is_over()) return false;
    among_->push_back(*this);
    port_->wait_for_completions();
    return true;
  }

 protected:
  [[nodiscard]] stream_port& port() const noexcept { return *port_; }
  /// Reports why the wait has not been met.
  void report(const char* verb, on_failure policy) const {
    if (is_cancelled() && !port_->has_ended()) return report_cancelled(policy, verb);
    port_->report(verb, policy);
  }

 private:
  [[nodiscard]] bool is_over() {
    return static_cast<Derived&>(*this).make_progress() || port_->has_ended();
  }
  static bool resume(async::waiter& which) {
    auto& self = static_cast<stream_wait&>(which);
    if (!self.is_cancelled() && !self.is_over()) return false;
    return leave_and_finish<Derived>(which);
  }

  stream_port* port_;
  async::waiter_list* among_;
};

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI {

/// A stream of bytes in both directions, as a TCP socket has, over RDMA writes into the memory of
/// the peer. It speaks the protocol of rsockets (rsocket(7)): the peer may be a program with
/// `rsocket`, or with this class.
///
///     remote_stream server = co_await remote_stream::connect(loop, address);
///     co_await server.write(request);
///     co_await server.shutdown();
///     while (const std::size_t size = co_await server.read(buffer)) use(buffer, size);
///     co_await server.close();
///
/// The program's memory needs no registration: bytes are copied from the memory to which the peer
/// writes, and to the memory from which they are written. The destructor ends the connection
/// without blocking, and what was written last may be lost: `close` first.
///
/// Not thread safe: used by the thread of its loop, which must outlive it.
class [[nodiscard]] remote_stream {
 public:
  template <class Step>
  class connecting_step;
  class read_step;
  class write_step;
  class shutdown_step;
  class close_step;
  /// The step of `connect`.
  using connect_step = connecting_step<async::connect_step>;
  /// The step of `accept`.
  using accept_step = connecting_step<async::accept_step>;

  /// Makes an empty stream.
  remote_stream() noexcept = default;
  /// Connects to a listener of streams. Fails with EINVAL if an option is out of its range, and
  /// with EPROTO if the peer offers no stream. Wraps: rdma_connect(3).
  [[nodiscard]] static connect_step connect(async::device_loop& loop,
                                            const cm::socket_address& address,
                                            const stream_options& options = {}) noexcept;
  /// Waits for the next request of a listener, and accepts it. Fails with EPROTO if the peer offers
  /// no stream; that rejects the request. Wraps: rdma_accept(3).
  [[nodiscard]] static accept_step accept(async::listener& from,
                                          const stream_options& options = {}) noexcept;
  /// Accepts a request, which must live until the step has started. Wraps: rdma_accept(3).
  [[nodiscard]] static accept_step accept(async::connection_request& request,
                                          const stream_options& options = {}) noexcept;

  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(connection_); }

  /// Reads into memory of the program. Waits until at least one byte is there, and returns the
  /// number of bytes: 0 if the peer has shut down its side or closed, or if there is no memory.
  /// Fails if the connection has ended without that; with EPROTO if the peer violates the protocol.
  [[nodiscard]] read_step read(std::span<std::byte> into) const noexcept;
  template <class T, std::size_t Extent>
  void read(std::span<const T, Extent>) const noexcept {
    static_assert(sizeof(T) == 0, "bytes are read into memory that is not const");
  }
  /// Writes all of the bytes. Waits until they are copied and posted, in the order in which writes
  /// were started. Fails with EPIPE after `shutdown` or `close`, with ECONNRESET if the peer has
  /// closed, and otherwise as `read`. Any part may have been written then, and also if the step is
  /// destroyed under way. Does not allocate. Wraps: ibv_post_send(3).
  [[nodiscard]] write_step write(std::span<const std::byte> bytes) const noexcept;
  /// Ends the writes after those that have started: the peer reads 0 behind them. Waits until the
  /// peer has everything in its memory; over iWARP, whose completions confirm nothing, until all is
  /// sent. This side can still read.
  [[nodiscard]] shutdown_step shutdown() const noexcept;
  /// Ends both directions after the writes that have started: waits until the peer has everything
  /// in its memory, and has confirmed the end of the connection. Fails with ETIMEDOUT if that takes
  /// longer than `stream_options::end_timeout`.
  [[nodiscard]] close_step close() const noexcept;

  /// Returns the number of bytes that `read` can return at once.
  [[nodiscard]] std::size_t readable() const noexcept { return port().state().readable(); }
  /// Returns its connection, for deadlines, addresses and `cancel`. Its messages belong to the
  /// stream.
  [[nodiscard]] const async::connection& connection() const& noexcept ADVERB_LIFETIME_BOUND {
    return connection_;
  }
  void connection() const&& = delete;

 private:
  /// Takes over a connection whose link has a stream.
  explicit remote_stream(async::connection&& of) noexcept : connection_{std::move(of)} {}

  [[nodiscard]] detail::stream_port& port() const noexcept {
    return detail::stream_port::of(connection_.link());
  }

  async::connection connection_;
};

/// A stream to a listener, or of a request.
template <class Step>
class remote_stream::connecting_step : public detail::async_step<connecting_step<Step>> {
 public:
  /// Makes the step of these arguments.
  template <class... From>
  explicit connecting_step(const stream_options& options, From&... from) noexcept
      : made_{from..., detail::connection_of_stream(options)}, options_{options} {}

  /// Returns the loop that runs it.
  [[nodiscard]] async::device_loop& loop() const noexcept { return made_.loop(); }

  /// One start of the step.
  template <class Derived>
  class operation : public Step::template operation<Derived> {
    using base = typename Step::template operation<Derived>;

   public:
    /// Makes an operation, and starts nothing.
    explicit operation(const connecting_step& step) noexcept
        : base{step.made_}, options_{step.options_} {}

    /// Returns the result, or reports the failure.
    [[nodiscard]] remote_stream take(on_failure policy) {
      async::connection made = base::take(policy);
      if (!made) return {};
      constexpr bool has_accepted = std::is_same_v<Step, async::accept_step>;
      return remote_stream{detail::begin_stream(std::move(made), has_accepted, policy)};
    }

   private:
    void prepare(detail::reliable_link& link, const cm::private_data* of_peer,
                 cm::private_data& data, on_failure policy) override {
      detail::prepare_stream(link, options_, of_peer, data, policy);
    }

    stream_options options_;
  };

 private:
  Step made_;
  stream_options options_;
};

/// Bytes of the peer.
class remote_stream::read_step : public detail::async_step<read_step> {
 public:
  /// Makes the step of this stream.
  read_step(detail::stream_port& of, std::span<std::byte> into) noexcept : of_{&of}, into_{into} {}

  /// Returns the loop that runs it.
  [[nodiscard]] async::device_loop& loop() const noexcept { return of_->link().loop(); }

  /// One start of the step.
  template <class Derived>
  class operation : public detail::stream_wait<Derived> {
   public:
    /// Makes an operation, and starts nothing.
    explicit operation(const read_step& step) noexcept
        : detail::stream_wait<Derived>{*step.of_, step.of_->readers()}, into_{step.into_} {}

    /// Reads what is there. Returns true if that was something, or if nothing will come.
    [[nodiscard]] bool make_progress() noexcept {
      count_ = this->port().read(into_);
      return count_ != 0 || is_at_end();
    }
    /// Returns the result, or reports the failure.
    [[nodiscard]] std::size_t take(on_failure policy) const {
      policy.clear();
      if (count_ == 0 && !is_at_end()) [[unlikely]]
        this->report("remote_stream::read", policy);
      return count_;
    }

   private:
    [[nodiscard]] bool is_at_end() const noexcept {
      const detail::stream_state& state = this->port().state();
      return into_.empty() || (state.readable() == 0 && state.has_peer_shut_down());
    }

    std::span<std::byte> into_;
    std::size_t count_ = 0;
  };

 private:
  detail::stream_port* of_;
  std::span<std::byte> into_;
};

/// Bytes for the peer.
class remote_stream::write_step : public detail::async_step<write_step> {
 public:
  /// Makes the step of this stream.
  write_step(detail::stream_port& of, std::span<const std::byte> bytes) noexcept
      : of_{&of}, bytes_{bytes} {}

  /// Returns the loop that runs it.
  [[nodiscard]] async::device_loop& loop() const noexcept { return of_->link().loop(); }

  /// One start of the step.
  template <class Derived>
  class operation : public detail::stream_wait<Derived> {
   public:
    /// Makes an operation, and starts nothing.
    explicit operation(const write_step& step) noexcept
        : detail::stream_wait<Derived>{*step.of_, step.of_->writers()}, left_{step.bytes_} {}

    /// Writes what there is room for. Returns true if that is all, or if nothing can be written.
    [[nodiscard]] bool make_progress() noexcept {
      detail::stream_port& port = this->port();
      if (port.state().is_shut_down() || port.state().is_peer_gone()) return true;
      left_ = left_.subspan(port.write(left_));
      return left_.empty();
    }
    /// Returns the result, or reports the failure.
    void take(on_failure policy) const {
      policy.clear();
      if (left_.empty()) [[likely]]
        return;
      const detail::stream_state& state = this->port().state();
      if ((state.is_shut_down() || state.is_peer_gone()) && !this->port().is_violated())
        detail::report_unwritten(this->port(), "remote_stream::write", policy);
      else
        this->report("remote_stream::write", policy);
    }

   private:
    std::span<const std::byte> left_;
  };

 private:
  detail::stream_port* of_;
  std::span<const std::byte> bytes_;
};

/// The end of the writes of a stream.
class remote_stream::shutdown_step : public detail::async_step<shutdown_step> {
 public:
  /// Makes the step of this stream.
  explicit shutdown_step(detail::stream_port& of) noexcept : of_{&of} {}

  /// Returns the loop that runs it.
  [[nodiscard]] async::device_loop& loop() const noexcept { return of_->link().loop(); }

  /// One start of the step.
  template <class Derived>
  class operation : public detail::stream_wait<Derived> {
   public:
    /// Makes an operation, and starts nothing.
    explicit operation(const shutdown_step& step) noexcept
        : detail::stream_wait<Derived>{*step.of_, step.of_->writers()} {}

    /// Ends the writes. Returns true if the peer has everything, or reads nothing.
    [[nodiscard]] bool make_progress() noexcept {
      this->port().shut_down();
      return is_met();
    }
    /// Returns the result, or reports the failure.
    void take(on_failure policy) const {
      policy.clear();
      if (!is_met()) this->report("remote_stream::shutdown", policy);
    }

   private:
    [[nodiscard]] bool is_met() const noexcept {
      const detail::stream_state& state = this->port().state();
      return state.has_finished() || state.is_peer_gone();
    }
  };

 private:
  detail::stream_port* of_;
};

/// The end of a stream.
class remote_stream::close_step : public detail::async_step<close_step> {
 public:
  /// Makes the step of this stream.
  explicit close_step(detail::stream_port& of) noexcept : of_{&of} {}

  /// Returns the loop that runs it.
  [[nodiscard]] async::device_loop& loop() const noexcept { return of_->link().loop(); }

  /// One start of the step.
  template <class Derived>
  class operation : public async::cancellable_waiter {
   public:
    /// Makes an operation, and starts nothing.
    explicit operation(const close_step& step) noexcept
        : cancellable_waiter{&resume}, port_{step.of_} {}

    /// Starts it. Returns false if it has finished already.
    [[nodiscard]] bool start() {
      port_->begin();
      if (port_->link().is_open()) port_->link().expires_after(port_->end_timeout());
      has_turn_ = port_->writers().empty();
      if (has_turn_ && has_delivered()) return disconnect();
      port_->writers().push_back(*this);
      port_->wait_for_completions();
      return true;
    }
    /// Returns the result, or reports the failure.
    void take(on_failure policy) const {
      policy.clear();
      const detail::stream_state& state = port_->state();
      if (!has_turn_ || (!state.has_delivered() && !state.is_peer_gone()))
        port_->report("remote_stream::close", policy);
      else
        port_->link().report_end(policy);
    }

   private:
    [[nodiscard]] bool has_delivered() noexcept {
      port_->disconnect();
      return port_->state().has_finished() || port_->has_ended();
    }
    /// Ends the connection. Returns false if it has ended.
    [[nodiscard]] bool disconnect() {
      is_disconnecting_ = true;
      port_->link().cancel();
      if (port_->link().life().end() != detail::link_end::pending) return false;
      port_->link().end_waiters().push_back(*this);
      return true;
    }
    static bool resume(async::waiter& which) {
      auto& self = static_cast<operation&>(which);
      if (!self.is_disconnecting_) {
        self.has_turn_ = self.has_turn_ || !self.port_->has_ended();
        if (!self.is_cancelled() && !self.has_delivered()) return false;
        self.leave();
        if (!self.is_cancelled() && self.disconnect()) return true;
      }
      return detail::leave_and_finish<Derived>(which);
    }

    detail::stream_port* port_;
    /// The writes before it are over.
    bool has_turn_ = false;
    bool is_disconnecting_ = false;
  };

 private:
  detail::stream_port* of_;
};

inline remote_stream::connect_step remote_stream::connect(async::device_loop& loop,
                                                          const cm::socket_address& address,
                                                          const stream_options& options) noexcept {
  return connect_step{options, loop, address};
}
inline remote_stream::accept_step remote_stream::accept(async::listener& from,
                                                        const stream_options& options) noexcept {
  return accept_step{options, from};
}
inline remote_stream::accept_step remote_stream::accept(async::connection_request& request,
                                                        const stream_options& options) noexcept {
  return accept_step{options, request};
}
inline remote_stream::read_step remote_stream::read(std::span<std::byte> into) const noexcept {
  return {port(), into};
}
inline remote_stream::write_step remote_stream::write(
    std::span<const std::byte> bytes) const noexcept {
  return {port(), bytes};
}
inline remote_stream::shutdown_step remote_stream::shutdown() const noexcept {
  return shutdown_step{port()};
}
inline remote_stream::close_step remote_stream::close() const noexcept {
  return close_step{port()};
}

}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/remote/impl/remote_stream.ipp>
#endif
