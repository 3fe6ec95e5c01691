// SPDX-License-Identifier: MIT
// A loop for tasks, with epoll.
#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <adverb/async/detail/epoll.hpp>
#include <adverb/async/detail/shared_list.hpp>
#include <adverb/async/device_loop.hpp>
#include <adverb/async/task.hpp>
#include <adverb/core/detail/event_descriptor.hpp>
#include <adverb/core/timeout.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::async {

/// Runs tasks on one thread:
///
///     async::event_loop loop;
///     loop.spawn(serve(loop));
///     loop.run();
///
/// `post` and `stop` are thread safe; nothing else is.
class event_loop : public device_loop {
 public:
  /// Wraps: epoll_create(2), eventfd(2). A timer that is far takes another descriptor, if there is
  /// one: timerfd_create(2).
  explicit event_loop(const device_loop_options& options = {}, on_failure policy = throwing{});
  /// Destroys what was posted and not called, with the rest of the loop.
  ~event_loop();

  /// Runs until every task and every connection without a handle has ended and everything that was
  /// posted has been called, or until `stop`. Rethrows the exception of a task or of a posted
  /// function, and can then be called again: it goes on with the next.
  void run();
  /// Runs a task, and the loop until it has ended: for programs that block. Rethrows its exception.
  /// Throws ECANCELED if the loop is stopped first. The other tasks of the loop go on meanwhile,
  /// and an exception of theirs leaves this call.
  ///
  ///     messages::channel client = loop.wait(listener.accept());
  template <class T>
  T wait(task<T> started);

  /// Has `run` return, or the next `run` if this one is returning already. Thread safe; may be
  /// called by a signal handler.
  void stop() noexcept;

  /// Has the loop take these signals, and end `run` as `stop` does when one comes. Blocks them for
  /// the calling thread: call it before the program starts other threads, which inherit that. Call
  /// it once. Wraps: signalfd(2).
  ///
  ///     loop.stop_on({SIGINT, SIGTERM});
  void stop_on(std::initializer_list<int> signals, on_failure policy = throwing{});

  /// Has `function` called by the thread that runs the loop, in the order of the calls, and wakes
  /// it. If no thread runs the loop, the next `run` calls it. Allocates memory for the function
  /// alone, and takes no lock. Thread safe; not for signal handlers.
  ///
  ///     loop.post([&] { loop.spawn(ask(loop, question)); });  // From any thread.
  template <class Function>
    requires std::invocable<std::decay_t<Function>&>
  void post(Function&& function) {
    add(std::make_unique<posted_function<std::decay_t<Function>>>(
        std::forward<Function>(function)));
  }

  // For steps.

  /// Calls `ready` of a source in each turn in which its descriptor is readable. Fails with EEXIST
  /// if the descriptor is watched already. Wraps: epoll_ctl(2).
  void start_watching(event_source& source, on_failure policy);
  /// Stops that. The source itself may call it. Wraps: epoll_ctl(2).
  void stop_watching(event_source& source) noexcept;

 private:
  struct posted {
    posted() = default;
    posted(const posted&) = delete;
    posted& operator=(const posted&) = delete;
    virtual ~posted() = default;
    virtual void call() = 0;
    posted* next = nullptr;
  };
  template <class Function>
  struct posted_function final : posted {
    template <class Given>
    explicit posted_function(Given&& given) : function(std::forward<Given>(given)) {}
    void call() override { function(); }
    Function function;
  };

  /// A source whose descriptor belongs to the loop.
  struct own_source : event_source {
    own_source(event_loop& of, int descriptor) noexcept : event_source{descriptor}, loop{&of} {}
    own_source(const own_source&) = delete;
    own_source& operator=(const own_source&) = delete;
    event_loop* loop;

   protected:
    ~own_source();
  };
  /// Stops the loop when a signal comes.
  struct signal_source final : own_source {
    using own_source::own_source;
    ADVERB_FUNC bool ready() override;
  };
  /// Wakes the loop for a timer that is far: a sleep with a time limit has the kernel start a timer
  /// of its own and cancel it.
  struct alarm_source final : own_source {
    using own_source::own_source;
    ADVERB_FUNC bool ready() override;
  };

  void add(std::unique_ptr<posted> last) noexcept;
  void call_posted();
  /// While the loop runs.
  class running;
  [[nodiscard]] bool must_run() const noexcept {
    if (waits_for() != nullptr) return !*waits_for();
    return has_work() || to_call_ != nullptr || !posted_.empty();
  }
  /// Has the alarm wake the loop for its next timer. Returns false if it cannot.
  [[nodiscard, gnu::cold]] bool set_alarm();
  void turn();
  [[nodiscard]] bool run_to(const bool& is_done);

  /// The events that a turn takes.
  static constexpr std::size_t events_at_once = 16;

  detail::epoll epoll_;
  detail::event_descriptor wake_;
  std::optional<signal_source> signals_;
  /// Empty until a timer needs it.
  std::optional<alarm_source> alarm_;
  /// The time at which the alarm wakes the loop.
  std::int64_t alarm_time_ = timeout::endless().count();
  bool is_running_ = false;
  bool is_stopped_ = false;
  std::atomic<bool> is_stop_requested_ = false;
  /// The posted functions that the loop has not taken, the last one first.
  detail::shared_list<posted> posted_;
  /// The posted functions that it has taken, the first one first.
  posted* to_call_ = nullptr;
  /// Sources with more to do. Null in the place of a source that is not watched any more.
  std::vector<event_source*> unfinished_;
};

template <class T>
T event_loop::wait(task<T> started) {
  // The task may outlive this call.
  struct outcome {
    std::optional<std::conditional_t<std::is_void_v<T>, bool, T>> result;
    std::exception_ptr failure;
    bool is_done = false;
  };
  const auto shared = std::make_shared<outcome>();
  spawn(
      [](task<T> all, std::shared_ptr<outcome> to) -> task<void> {
        if constexpr (std::is_void_v<T>)
          co_await std::move(all);
        else
          to->result.emplace(co_await std::move(all));
      }(std::move(started), shared),
      [shared](std::exception_ptr why) {
        shared->failure = std::move(why);
        shared->is_done = true;
      });
  const bool has_ended = run_until(shared->is_done);
  if (shared->failure) std::rethrow_exception(shared->failure);
  if (!has_ended) detail::report_cancelled(throwing{}, "event_loop::wait");
  if constexpr (!std::is_void_v<T>) return std::move(*shared->result);
}

}  // namespace adverb::inline ADVERB_ABI::async

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/async/impl/event_loop.ipp>
#endif
