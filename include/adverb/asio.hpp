// SPDX-License-Identifier: MIT
// Asynchronous connections on an io_context of Asio, with any completion token. Needs librdmacm,
// and Asio 1.22 or later; with ADVERB_BOOST_ASIO, Boost.Asio 1.81 or later.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#if defined(ADVERB_BOOST_ASIO)
#include <boost/asio.hpp>
#if BOOST_ASIO_VERSION < 102600
#error "<adverb/asio.hpp> needs Boost 1.81 or later"
#endif
#else
#include <asio.hpp>
#if ASIO_VERSION < 102200
#error "<adverb/asio.hpp> needs Asio 1.22 or later"
#endif
#endif

#include <adverb/async/connection.hpp>
#include <adverb/async/datagrams.hpp>
#include <adverb/async/device_events.hpp>
#include <adverb/async/device_loop.hpp>
#include <adverb/async/listener.hpp>
#include <adverb/async/sleep.hpp>
#include <adverb/async/waiter.hpp>
#include <adverb/core/detail/hardening.hpp>
#include <adverb/core/failure.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

#if defined(ADVERB_BOOST_ASIO)
namespace net = ::boost::asio;
using net_error = ::boost::system::error_code;
#else
namespace net = ::asio;
using net_error = std::error_code;
#endif

/// Memory of operations that have ended, for those that follow. The blocks of a connection's steps
/// are alike, so that a send takes that of a wait for messages. Not thread safe.
class block_cache {
 public:
  block_cache() = default;
  block_cache(const block_cache&) = delete;
  block_cache& operator=(const block_cache&) = delete;
  ~block_cache() {
    for (free_block* each : free_)
      while (each != nullptr) ::operator delete(std::exchange(each, each->next));
  }

  [[nodiscard]] void* allocate(std::size_t bytes) {
    const std::size_t size = class_of(bytes);
    if (size >= classes) return ::operator new(bytes);
    if (free_block* const first = free_[size]) {
      free_[size] = first->next;
      return first;
    }
    return ::operator new((size + 1) * granule);
  }
  void deallocate(void* block, std::size_t bytes) noexcept {
    const std::size_t size = class_of(bytes);
    if (size >= classes) return ::operator delete(block);
    free_[size] = new (block) free_block{free_[size]};
  }

 private:
  struct free_block {
    free_block* next;
  };
  static constexpr std::size_t granule = 512;
  static constexpr std::size_t classes = 8;
  static constexpr std::size_t class_of(std::size_t bytes) noexcept {
    return (bytes - 1) / granule;
  }
  free_block* free_[classes] = {};
};

/// Allocates the memory of operations in a cache.
template <class T>
struct cache_allocator {
  using value_type = T;

  explicit cache_allocator(block_cache& cache) noexcept : blocks{&cache} {}
  template <class Other>
  cache_allocator(const cache_allocator<Other>& other) noexcept : blocks{other.blocks} {}

  [[nodiscard]] T* allocate(std::size_t count) const {
    return static_cast<T*>(blocks->allocate(count * sizeof(T)));
  }
  void deallocate(T* memory, std::size_t count) const noexcept {
    blocks->deallocate(memory, count * sizeof(T));
  }
  template <class Other>
  [[nodiscard]] friend bool operator==(const cache_allocator& left,
                                       const cache_allocator<Other>& right) noexcept {
    return left.blocks == right.blocks;
  }

  block_cache* blocks;
};

/// A handler of the loop itself, with memory from its cache: Asio keeps the memory of two ended
/// operations only.
template <class Function>
struct cached_handler {
  using allocator_type = cache_allocator<std::byte>;

  cached_handler(block_cache& cache, Function run) noexcept : blocks{&cache}, function{run} {}
  [[nodiscard]] allocator_type get_allocator() const noexcept { return allocator_type{*blocks}; }
  template <class... Given>
  void operator()(const Given&... given) {
    function(given...);
  }

  block_cache* blocks;
  Function function;
};

/// The loop of an io_context. Watches its descriptors only while there is work, so that
/// `io_context::run` returns.
class net_loop final : public net::execution_context::service, public async::device_loop {
 public:
  using key_type = net_loop;
  static inline net::execution_context::id id;

  explicit net_loop(net::execution_context& owner, const async::device_loop_options& options = {})
      : service{owner},
        device_loop{options},
        executor_{static_cast<net::io_context&>(owner).get_executor()},
        any_executor_{executor_},
        timer_{std::in_place, executor_},
        is_spinning_{options.waiting != async::waiting::events} {
    set_watch(&add_watch, this);
    set_wake(&wake, this);
  }

  [[nodiscard]] const net::io_context::executor_type& executor() const noexcept {
    return executor_;
  }
  [[nodiscard]] block_cache& blocks() noexcept { return blocks_; }

  /// Returns a loop as the one of an io_context, which it must be.
  [[nodiscard]] static net_loop& of(async::device_loop& loop) noexcept {
    if constexpr (hardened(ADVERB_HARDENING_FAST))
      if (!loop.is_watched_by(&add_watch)) [[unlikely]]
        end_program_over_other_loop();
    return static_cast<net_loop&>(loop);
  }

  /// Returns true if this executor is that of the io_context, alone or in an `any_io_executor`.
  template <class Executor>
  [[nodiscard]] bool owns(const Executor& executor) const noexcept {
    if constexpr (std::is_same_v<Executor, net::io_context::executor_type>)
      return executor == executor_;
    else if constexpr (std::is_same_v<Executor, net::any_io_executor>)
      return executor == any_executor_;
    else
      return false;
  }
  /// Returns true while it asks its descriptors, so that a handler may be called in place.
  [[nodiscard]] bool is_in_turn() const noexcept { return is_in_turn_; }

  /// Adds an operation, for which the loop watches until it is destroyed. `shutdown` resumes those
  /// that are left, to have them dropped.
  void add(async::waiter& started) {
    const bool is_first = !is_in_turn_ && operations_.empty();
    operations_.push_back(started);
    if (is_first) go_on();
  }
  /// Looks later whether the descriptors must still be watched.
  void note_end() {
    if (operations_.empty() && !is_in_turn_) post_turn();
  }

 private:
  struct watched {
    watched(const net::io_context::executor_type& executor, async::event_source& of)
        : descriptor{executor}, source{&of} {}
    net::posix::stream_descriptor descriptor;
    async::event_source* source;
    bool is_waiting = false;
    bool has_more = false;
  };

  /// While the sources are asked. Its end watches again, also if a handler throws.
  class turn {
   public:
    explicit turn(net_loop& of) noexcept : loop_{&of} {
      loop_->is_in_turn_ = true;
      loop_->is_settled_ = false;
    }
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;
    ~turn() {
      loop_->is_in_turn_ = false;
      loop_->go_on();
    }

   private:
    net_loop* loop_;
  };

  [[nodiscard]] bool must_run() const noexcept { return !operations_.empty() || has_work(); }

  [[noreturn, gnu::cold, gnu::noinline]] static void end_program_over_other_loop() noexcept {
    end_program("async_start", [](failure_description& description) {
      description.explain("the loop of the step is not the loop_of an io_context");
    });
  }

  static void add_watch(void* self, async::event_source& source, on_failure policy) {
    auto& loop = *static_cast<net_loop*>(self);
    auto added = std::make_unique<watched>(loop.executor_, source);
    net_error error;
    added->descriptor.assign(source.file_descriptor(), error);
    if (!check_returned(policy, "epoll_ctl", error.value(), [](const failure_description&) {}))
      return;
    loop.watched_.push_back(std::move(added));
    loop.watch_all();
  }
  static void wake(void* self) {
    auto& loop = *static_cast<net_loop*>(self);
    if (!loop.is_in_turn_) loop.post_turn();
  }

  void post_turn() {
    if (is_shut_down_ || std::exchange(is_turn_posted_, true)) return;
    net::post(executor_, cached_handler{blocks_, [this] {
                                          is_turn_posted_ = false;
                                          take_turn();
                                        }});
  }

  void take_turn() {
    const turn now{*this};
    for (std::size_t each = 0; each < watched_.size(); ++each) {
      watched& which = *watched_[each];
      // Stays set if a handler throws.
      if (which.has_more) which.has_more = !which.source->ready();
    }
    is_spinning_ = spin();
    tick_ = settle();
    is_settled_ = tick_ != 0;
  }

  void go_on() {
    bool has_more = !is_settled_ || (is_spinning_ && must_run());
    for (const auto& each : watched_) has_more = has_more || each->has_more;
    if (has_more) post_turn();
    if (must_run())
      watch_all();
    else
      stop_watching();
  }

  void watch_all() {
    if (is_shut_down_ || !must_run()) return;
    for (const auto& each : watched_) {
      if (each->is_waiting || each->has_more) continue;
      each->is_waiting = true;
      each->descriptor.async_wait(
          net::posix::stream_descriptor::wait_read,
          cached_handler{blocks_, [this, which = each.get()](const net_error& error) {
                           which->is_waiting = false;
                           if (!error) which->has_more = true;
                           take_turn();
                         }});
    }
    if (tick_ > 0) set_timer();
  }
  /// Has the timer expire after `tick_`, unless it expires earlier.
  void set_timer() {
    const std::chrono::milliseconds limit{tick_};
    if (is_timing_ &&
        (limit >= timed_for_ || std::chrono::steady_clock::now() + limit >= timer_->expiry()))
      return;
    is_timing_ = true;
    timed_for_ = limit;
    // Cancels an earlier wait.
    timer_->expires_after(limit);
    timer_->async_wait(cached_handler{blocks_, [this](const net_error& error) {
                                        if (error) return;
                                        is_timing_ = false;
                                        take_turn();
                                      }});
  }
  void stop_watching() {
    for (const auto& each : watched_)
      if (each->is_waiting) each->descriptor.cancel();
    if (std::exchange(is_timing_, false)) timer_->cancel();
  }

  /// The io_context ends: the handlers go first, and the connections, which their frames hold, with
  /// the destructor.
  void shutdown() override {
    is_shut_down_ = true;
    set_wake(nullptr, nullptr);
    destroy_tasks();
    while (operations_.resume_first()) {
    }
    for (const auto& each : watched_) each->descriptor.release();
    watched_.clear();
    timer_.reset();
  }

  net::io_context::executor_type executor_;
  net::any_io_executor any_executor_;
  block_cache blocks_;
  std::vector<std::unique_ptr<watched>> watched_;
  std::optional<net::steady_timer> timer_;
  async::waiter_list operations_;
  int tick_ = -1;
  bool is_in_turn_ = false;
  bool is_settled_ = true;
  /// The next turn polls before anything can be waited for.
  bool is_spinning_;
  bool is_turn_posted_ = false;
  bool is_timing_ = false;
  /// The time for which the timer was set.
  std::chrono::milliseconds timed_for_{};
  bool is_shut_down_ = false;
};

/// What a handler gets after the error code.
template <class Result>
struct net_result {
  using signature = void(net_error, Result);
  using values = std::tuple<Result>;
};
template <>
struct net_result<void> {
  using signature = void(net_error);
  using values = std::tuple<>;
};
template <class Step>
using net_result_of = net_result<async_result_of<Step>>;

/// A base that comes before the operation, which refers to its step.
template <class Step>
struct step_holder {
  Step held_step;
};

/// One start of a step on Asio, with its handler.
template <class Step, class Handler>
class net_step_operation final
    : step_holder<Step>,
      public Step::template operation<net_step_operation<Step, Handler>> {
  using base = typename Step::template operation<net_step_operation>;
  using executor = net::associated_executor_t<Handler, net::io_context::executor_type>;

  enum class way { dispatch, post };

 public:
  template <class Given>
  [[gnu::always_inline]] static void run(const Step& step, Given&& handler) {
    net_loop& loop = net_loop::of(step.loop());
    void* const memory = allocator_of(handler, loop).allocate(1);
    auto* const made = new (memory) net_step_operation{loop, step, std::forward<Given>(handler)};
    made->begin();
  }
  net_step_operation(const net_step_operation&) = delete;
  net_step_operation& operator=(const net_step_operation&) = delete;

  /// Called when the operation has finished.
  [[gnu::always_inline]] void finished() { pass_on(take_outcome()); }

 private:
  struct outcome {
    net_error error;
    typename net_result_of<Step>::values result;
  };
  /// Its place in the list of the loop.
  struct registration : async::waiter {
    explicit registration(net_step_operation& of) noexcept : waiter{&drop}, operation{&of} {}
    net_step_operation* operation;
  };
  /// Resumes an operation that finished when it was started, because a handler must not be called
  /// there.
  struct resumption : async::waiter {
    resumption(net_step_operation& of, outcome&& taken) noexcept
        : waiter{&go_on}, operation{&of}, result{std::move(taken)} {}
    static bool go_on(async::waiter& which) {
      auto& self = static_cast<resumption&>(which);
      self.operation->pass_on(std::move(self.result));
      return true;
    }
    net_step_operation* operation;
    outcome result;
  };

  /// The handler with its result, as an executor calls it.
  struct call {
    using allocator_type = net::associated_allocator_t<Handler>;
    [[nodiscard]] allocator_type get_allocator() const noexcept {
      return net::get_associated_allocator(handler);
    }
    void operator()() {
      std::apply([this](auto&... each) { std::move(handler)(passed.error, std::move(each)...); },
                 passed.result);
    }

    // Before the handler, whose taking destroys the operation.
    outcome passed;
    Handler handler;
  };

  /// Returns the allocator of the handler; if it has none, that of the loop's cache.
  [[nodiscard]] static auto allocator_of(const Handler& handler, net_loop& loop) {
    using associated = typename std::allocator_traits<
        net::associated_allocator_t<Handler>>::template rebind_alloc<net_step_operation>;
    if constexpr (std::is_same_v<associated, std::allocator<net_step_operation>>)
      return cache_allocator<net_step_operation>{loop.blocks()};
    else
      return associated{net::get_associated_allocator(handler)};
  }

  /// Destroys the operation with its handler, which may destroy the program's frames.
  static bool drop(async::waiter& which) {
    static_cast<void>(static_cast<registration&>(which).operation->take_handler());
    return true;
  }

  template <class Given>
  net_step_operation(net_loop& loop, const Step& step, Given&& handler)
      : step_holder<Step>{step},
        base{this->held_step},
        loop_{&loop},
        handler_{std::forward<Given>(handler)} {
    // The loop itself keeps its io_context running.
    const auto& where = net::get_associated_executor(handler_, loop.executor());
    if (!loop.owns(where)) work_.emplace(where);
  }
  ~net_step_operation() = default;

  [[gnu::always_inline]] void begin() {
    loop_->add(registration_);
    if (!this->start()) {
      if (work_) return pass_to_executor(take_outcome(), way::post);
      return loop_->resume_later(resumption_.emplace(*this, take_outcome()));
    }
    if (auto slot = net::get_associated_cancellation_slot(handler_); slot.is_connected()) {
      slot.assign([this](net::cancellation_type type) { cancel(type); });
      is_in_slot_ = true;
    }
  }

  void cancel(net::cancellation_type type) {
    if ((type & (net::cancellation_type::total | net::cancellation_type::partial |
                 net::cancellation_type::terminal)) == net::cancellation_type::none)
      return;
    if constexpr (requires { this->end_posted(); }) {
      if (!this->is_waiting()) {
        if ((type & net::cancellation_type::terminal) != net::cancellation_type::none)
          this->end_posted();
        return;
      }
    }
    pass_to_executor({net::error::operation_aborted, {}}, way::post);
  }

  [[nodiscard, gnu::always_inline]] Handler take_handler() noexcept {
    net_loop& loop = *loop_;
    Handler taken = std::move(handler_);
    if (is_in_slot_) net::get_associated_cancellation_slot(taken).clear();
    this->~net_step_operation();
    allocator_of(taken, loop).deallocate(this, 1);
    return taken;
  }

  /// Takes the result, or the code of what went wrong.
  [[nodiscard, gnu::always_inline]] outcome take_outcome() {
    std::error_code code{0, loop_->no_error().category()};
    if (this->held_step.policy().throws()) [[likely]]
      return take_outcome(code, code);
    return take_reported(code);
  }
  [[nodiscard, gnu::cold, gnu::noinline]] outcome take_reported(const std::error_code& code) {
    return take_outcome(this->held_step.policy(), code);
  }
  [[nodiscard, gnu::always_inline]] outcome take_outcome(on_failure policy,
                                                         const std::error_code& code) {
    outcome taken{no_error(), {}};
    if constexpr (std::is_same_v<decltype(taken.result), std::tuple<>>)
      this->take(policy);
    else
      std::get<0>(taken.result) = this->take(policy);
    if (code) [[unlikely]]
      taken.error =
          code == std::errc::operation_canceled ? net::error::operation_aborted : net_error{code};
    return taken;
  }
  [[nodiscard]] net_error no_error() const noexcept {
    if constexpr (std::is_same_v<net_error, std::error_code>)
      return loop_->no_error();
    else
      return {};
  }

  /// Calls the handler here, if it may be called here.
  [[gnu::always_inline]] void pass_on(outcome&& passed) {
    if (work_ || !loop_->is_in_turn()) [[unlikely]]
      return pass_to_executor(std::move(passed), way::dispatch);
    call{std::move(passed), take_handler()}();
  }
  [[gnu::noinline]] void pass_to_executor(outcome&& passed, way how) {
    net_loop& loop = *loop_;
    const auto work = std::move(work_);
    call completed{std::move(passed), take_handler()};
    if (!work)
      net::post(loop.executor(), std::move(completed));
    else if (how == way::dispatch)
      net::dispatch(work->get_executor(), std::move(completed));
    else
      net::post(work->get_executor(), std::move(completed));
    loop.note_end();
  }

  net_loop* loop_;
  registration registration_{*this};
  Handler handler_;
  /// Empty for a handler that runs on the io_context of the loop.
  std::optional<net::executor_work_guard<executor>> work_;
  std::optional<resumption> resumption_;
  /// The cancellation slot of the handler refers to this operation.
  bool is_in_slot_ = false;
};

/// Starts a step when Asio has a handler for it. A stored lazy operation has its own copy.
template <class Step>
struct net_initiation {
  using executor_type = net::io_context::executor_type;
  [[nodiscard]] executor_type get_executor() const noexcept {
    return net_loop::of(step.loop()).executor();
  }
  template <class Handler>
  [[gnu::always_inline]] void operator()(Handler&& handler) const {
    net_step_operation<Step, std::decay_t<Handler>>::run(step, std::forward<Handler>(handler));
  }
  Step step;
};

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI::async {

/// Returns the loop of an io_context, which owns it. The options count at the first call. Its
/// connections are used by the thread that runs the io_context; only one may.
///
///     asio::io_context context;
///     async::listener listener{async::loop_of(context), 7471};
[[nodiscard]] inline device_loop& loop_of(detail::net::io_context& context,
                                          const device_loop_options& options = {}) {
  auto& owner = static_cast<detail::net::execution_context&>(context);
  if (!detail::net::has_service<detail::net_loop>(owner))
    return detail::net::make_service<detail::net_loop>(owner, options);
  return detail::net::use_service<detail::net_loop>(owner);
}

/// Starts a step of a connection whose loop is `loop_of` an io_context, with any completion token.
/// The handler gets an error code, and the result if the step has one. From Asio 1.24 on a
/// coroutine (`asio::awaitable`) awaits a step without a token: `co_await client.next()`.
///
/// Cancellation: `total` and `partial` end what only waits for software; `terminal` ends the
/// connection too if the device has the request, and completes with `operation_aborted` once the
/// device has let go of it.
template <detail::async_step_type Step, class Token>
auto async_start(const Step& step, Token&& token) {
  return detail::net::async_initiate<Token, typename detail::net_result_of<Step>::signature>(
      detail::net_initiation<Step>{step}, token);
}

}  // namespace adverb::inline ADVERB_ABI::async
