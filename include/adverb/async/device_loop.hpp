// SPDX-License-Identifier: MIT
// The core of an event loop: the connection manager, and the devices in use.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include <adverb/async/detail/link.hpp>
#include <adverb/async/detail/loop_devices.hpp>
#include <adverb/async/detail/loop_on_thread.hpp>
#include <adverb/async/detail/loop_sockets.hpp>
#include <adverb/async/detail/loop_tasks.hpp>
#include <adverb/async/detail/name_lookups.hpp>
#include <adverb/async/detail/timer_queue.hpp>
#include <adverb/async/event_source.hpp>
#include <adverb/async/waiter.hpp>
#include <adverb/cm/event.hpp>
#include <adverb/cm/event_channel.hpp>
#include <adverb/completion/completion_queue.hpp>
#include <adverb/core/detail/deadline.hpp>
#include <adverb/core/detail/hardening.hpp>
#include <adverb/core/failure.hpp>
#include <adverb/core/timeout.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// A waiter that the loop resumes at a time.
struct sleeper : async::cancellable_waiter, timer {
  explicit sleeper(async::waiter::function* resume) noexcept
      : cancellable_waiter{resume}, timer{&wake_up} {}

  /// It is resumed before its time, and was not cancelled.
  bool is_woken = false;

 private:
  static void wake_up(timer& which) { static_cast<sleeper&>(which).go_on(); }
};

/// The function of a sleeper that has finished when its list or its timer resumes it. The object
/// may live on, so its timer must not resume it again.
template <class Derived>
bool stop_and_finish(async::waiter& which) {
  static_cast<sleeper&>(which).stop();
  return leave_and_finish<Derived>(which);
}

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI::async {

class loop_memory;
template <class T>
class task;

}  // namespace adverb::inline ADVERB_ABI::async

namespace adverb::inline ADVERB_ABI::detail {

/// A function that returns a task without a result.
template <class Function>
concept makes_task = std::is_same_v<std::invoke_result_t<Function&>, async::task<void>>;

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI::async {

/// The ways in which a loop waits for completions.
enum class waiting {
  /// Sleeps until an event.
  events,
  /// Polls without sleeping.
  busy,
  /// Polls until nothing has completed for `device_loop_options::spin`, then sleeps until an event.
  adaptive,
};

/// The options of a loop.
struct device_loop_options {
  /// The way in which the loop waits for completions.
  async::waiting waiting = async::waiting::events;
  /// The least time for which `waiting::adaptive` polls after the last completion.
  timeout spin = detail::default_duration<1'000'000>{50};
  /// Number of completions for which each device has room at first. The queue grows with the
  /// connections where the device can resize it.
  std::size_t completions = 4096;
  /// Number of blocks that the connections with `connection_options::shared` share on each device.
  std::uint32_t shared_receives = 0;
  /// Size of each shared block in bytes: of the longest message.
  std::uint32_t shared_block_size = 4096;
};

/// The part of an event loop for RDMA: one channel of the connection manager, and for each device
/// in use a protection domain, a completion channel and a completion queue. Any number of
/// connections share them. It watches nothing itself: `event_loop` does, or the loop of another
/// library:
///
/// - Watch the descriptors that `set_watch` names, and call `ready` of one that is readable, again
///   if it returns false.
/// - Call `spin` and `run_pending` before each sleep. Do not sleep if `spin` returns true, and
/// sleep
///   for at most as long as `run_pending` returns. If that cannot be done, `set_wake` names a
///   function that the loop calls when it is time.
///
/// Not thread safe.
class device_loop {
 public:
  /// Makes a loop without devices. On a machine without RDMA, the first use of a connection or of
  /// a listener fails, and the rest can be used. Wraps: rdma_create_event_channel(3).
  explicit device_loop(const device_loop_options& options = {}, on_failure policy = throwing{});
  device_loop(const device_loop&) = delete;
  device_loop& operator=(const device_loop&) = delete;
  /// Destroys the tasks that have not ended, the newest first, and the connections, and completes
  /// the senders in progress as stopped. No other operation may be waiting, and no message may be
  /// left.
  ~device_loop();

  /// Starts a task, which the loop owns. An exception that leaves it is thrown by `run_pending`.
  /// Needs <adverb/async/task.hpp>.
  void spawn(task<void> started);
  /// Starts a task, and calls `on_end` when it has ended and been destroyed: with the exception
  /// that left it, or null. The thread of the loop calls it, or this call if the task does not
  /// wait. An exception that leaves `on_end` is thrown by `run_pending`. If the loop destroys the
  /// task, it does not call `on_end`. Needs <adverb/async/task.hpp>.
  ///
  ///     loop.spawn(serve(client), [](std::exception_ptr failure) { if (failure) log(failure); });
  template <std::invocable<std::exception_ptr> OnEnd>
  void spawn(task<void> started, OnEnd on_end);
  /// Calls a function that returns a task, and starts the task. Keeps the function until the task
  /// has ended, so that a lambda may have captures:
  ///
  ///     loop.spawn([client = std::move(client)]() mutable { return serve(client); });
  template <class Function>
    requires detail::makes_task<Function>
  void spawn(Function function);
  /// Returns true while a spawned task, a sender, or the end of a connection without a handle is in
  /// progress.
  [[nodiscard]] bool has_work() const noexcept {
    return !tasks_.empty() || !senders_.empty() || ending_ != 0;
  }

  /// Returns the protection domain of a device. The memory of its connections is registered there.
  [[nodiscard]] protection_domain_ref domain(context_ref context, on_failure policy = throwing{});

  /// Returns new memory, registered in the domain of a device, which the loop keeps until the
  /// device has let go of it. Fails if it cannot be registered. Needs
  /// <adverb/async/loop_memory.hpp>. Wraps: ibv_reg_mr(3).
  [[nodiscard]] loop_memory memory(context_ref context, std::size_t size,
                                   access_rights rights = access_right::local_write,
                                   on_failure policy = throwing{});

  /// Returns the completion queue of a device, for queue pairs that a `connection` takes over.
  [[nodiscard]] completion_queue_ref queue(context_ref context, on_failure policy = throwing{});

  /// Returns the shared receive queue of a device, from which the connections with
  /// `connection_options::shared` take their receives. Fails with EINVAL if the options of the loop
  /// have none. Wraps: ibv_create_srq(3).
  [[nodiscard]] shared_receive_queue_ref shared_receives(context_ref context,
                                                         on_failure policy = throwing{});

  /// Returns the asynchronous events of a device, and has its descriptor watched. `device_events`
  /// awaits them.
  [[nodiscard]] detail::device_event_source* events(context_ref context, on_failure policy);

  /// Watches the descriptor of a source, or reports a failure.
  using watch_function = void(void* argument, event_source& source, on_failure policy);

  /// Returns the TCP sockets of the loop, and has their descriptor watched. Returns null on
  /// failure.
  [[nodiscard]] detail::loop_sockets* sockets(on_failure policy);

  /// Returns the lookups of names, and has their descriptor watched. `look_up` awaits them.
  [[nodiscard]] detail::name_lookups* lookups(on_failure policy);

  /// Has each new source passed to `function`, with `argument`; those that are there, at once. The
  /// call that needs a new source fails if its descriptor cannot be watched.
  [[gnu::cold]] void set_watch(watch_function* function, void* argument,
                               on_failure policy = throwing{});

  /// Returns true if `set_watch` has named this function.
  [[nodiscard]] bool is_watched_by(watch_function* function) const noexcept {
    return watch_ == function;
  }

  /// Has `wake` called, with `argument`, when there is something new for `run_pending`. It must not
  /// call `run_pending` itself.
  void set_wake(void (*wake)(void* argument), void* argument) noexcept;

  /// Runs a loop until something is done. Returns false if it was stopped before.
  using run_function = bool(device_loop& loop, const bool& is_done);
  /// Runs the loop until something is done. Returns false if it was stopped before. It must be an
  /// `event_loop` that does not run.
  [[nodiscard]] bool run_until(const bool& is_done) {
    detail::require(run_until_ != nullptr, "async::wait",
                    "the loop is no event_loop: the program that owns it runs it");
    return run_until_(*this, is_done);
  }

  /// Returns true if an event is requested again whenever one has come. If not, `spin` requests it
  /// where the loop would sleep.
  [[nodiscard]] bool arms_on_wake() const noexcept { return arms_on_wake_; }

  /// Polls the completions of every device for a while, as `device_loop_options::waiting` selects.
  /// Returns true if the loop must not sleep yet: look at the descriptors without waiting, and call
  /// it again.
  [[nodiscard]] bool spin() { return !arms_on_wake_ && spin_or_arm(); }

  /// Does what was put off: resumes operations, destroys ended connections, and ends what is late.
  /// Returns the number of milliseconds after which it must be called again: -1 for never. Rethrows
  /// the exception of a task or of a handler; each further call rethrows the next.
  int run_pending();

  /// Ends every `sleep_for` of the loop with ECANCELED.
  void cancel_sleeps() noexcept { wake_sleepers(sleepers_, true); }

  /// Returns the number of connections, including those that are ending.
  [[nodiscard]] std::size_t connections() const noexcept { return links_.size(); }

  // For links and their operations.

  /// Returns the part that names the thread which runs the loop.
  [[nodiscard]] detail::loop_on_thread::of_loop& thread() noexcept { return thread_; }
  /// Returns the options of the loop.
  [[nodiscard]] const device_loop_options& options() const noexcept { return options_; }
  /// Returns the channel of the connection manager; empty on a machine without RDMA.
  [[nodiscard]] cm::event_channel_ref channel() const noexcept { return channel_; }
  /// Returns true if this machine has RDMA: there is a channel. Reports why not otherwise.
  [[nodiscard]] bool has_channel(on_failure policy) const {
    policy.clear();
    if (no_channel_) [[unlikely]]
      policy.report(no_channel_);
    return !no_channel_;
  }
  /// Returns the shared blocks of a device, which it creates if they do not exist; null on failure.
  [[nodiscard]] detail::shared_receives* shared_blocks(context_ref context, on_failure policy);
  /// Returns a device with room for another link. Fails with EINVAL if the options of the link are
  /// impossible. Returns null on failure.
  [[nodiscard]] detail::loop_device* device_for(context_ref context,
                                                const connection_options& options,
                                                on_failure policy);
  /// Returns a new link on a device, which the loop owns; null on failure.
  template <class Link>
  [[nodiscard]] Link* add_link(context_ref context, const connection_options& options,
                               on_failure policy) {
    detail::loop_device* const device = device_for(context, options, policy);
    if (device == nullptr) return nullptr;
    auto made = std::make_unique<Link>(*this, *device);
    Link* const added = made.get();
    added->position = links_.size();
    links_.push_back(std::move(made));
    return added;
  }
  /// Destroys a link whose handle has gone.
  [[gnu::cold]] void destroy(detail::link& which) noexcept;
  /// Ends the links of a device that was removed.
  [[gnu::cold]] void lose(const detail::loop_device& removed) noexcept;
  /// Registers memory of a device. Returns null on failure.
  [[gnu::cold]] [[nodiscard]] detail::kept_memory* keep_memory(context_ref context,
                                                               std::size_t size,
                                                               access_rights rights,
                                                               on_failure policy);
  /// Frees memory when no link uses it any more.
  [[gnu::cold]] void give_back_memory(context_ref context, detail::kept_memory& memory) noexcept;
  /// Frees memory that no device uses.
  [[gnu::cold]] void free_memory(context_ref context, const detail::kept_memory& memory) noexcept;
  /// Has `run_pending` advance a link.
  void schedule(detail::link& which) noexcept;
  /// Cancels the waiters of a list, which are `cancellable_waiter`s, and has `run_pending` resume
  /// them.
  [[gnu::cold]] void cancel(waiter_list& waiters) noexcept;
  /// Has `run_pending` resume a waiter, which is in no list.
  void resume_later(waiter& which) {
    to_resume_.push_back(which);
    wake();
  }
  /// Has `run_pending` let a timer expire at a time.
  void set_timer(detail::timer& which, std::int64_t time) noexcept;
  /// Has `run_pending` let a timer expire after a time.
  void set_timer_after(detail::timer& which, timeout length) noexcept {
    set_timer(which, detail::later_by(detail::deadline::now(), length));
  }
  /// Has `run_pending` resume a waiter after a time.
  void add_sleeper(detail::sleeper& which, timeout limit) noexcept;
  /// Has `run_pending` resume the sleepers of a list, cancelled or not, before their times.
  [[gnu::cold]] void wake_sleepers(waiter_list& sleepers, bool are_cancelled) noexcept;
  /// Counts a link whose handle has gone.
  void count_ending() noexcept { ++ending_; }
  /// Calls a function. If it throws, `run_pending` rethrows that later.
  template <class Function>
  [[gnu::always_inline]] void call_and_keep_exception(const Function& function) noexcept {
#if defined(__cpp_exceptions)
    try {
      function();
    } catch (...) {
      keep_exception();
    }
#else
    function();
#endif
  }
  /// Has a descriptor watched.
  void watch(event_source& source, on_failure policy) {
    if (watch_ != nullptr) watch_(watch_argument_, source, policy);
  }
  /// Has the function of `set_wake` called, if there is one.
  void wake() noexcept {
    if (wake_ != nullptr) wake_(wake_argument_);
  }
  /// Adds a sender in progress, which keeps the loop running. The destructor resumes it.
  void add_sender(waiter& started) noexcept {
    const bool is_first = senders_.empty();
    senders_.push_back(started);
    if (is_first) wake();
  }
  /// Removes a sender that has completed.
  void remove_sender(waiter& completed) noexcept {
    completed.leave();
    if (senders_.empty()) wake();
  }
  /// Has the destructor resume a waiter that is in no list: the loop ends.
  void tell_end_to(waiter& which) noexcept { at_end_.push_back(which); }
  /// Returns a code without an error: the constructor of std::error_code would call a function.
  [[nodiscard]] const std::error_code& no_error() const noexcept { return no_error_; }
  /// Returns the time after `length`, or up to 10 milliseconds later, in nanoseconds of
  /// CLOCK_MONOTONIC: reads the coarse clock, which costs less.
  [[nodiscard]] static std::int64_t soon(timeout length) noexcept;

 protected:
  /// Names the function that runs the loop.
  void set_run_until(run_function* function) noexcept { run_until_ = function; }
  /// A thread waits for one step. Requests that it posts afterwards may complete before it waits
  /// again, and then need no event.
  void begin_wait(const bool& is_done) noexcept {
    waits_for_ = &is_done;
    arms_on_wake_ = false;
  }
  void end_wait() noexcept { waits_for_ = nullptr; }
  /// Returns what is true when the wait of a thread in `run_until` is over; null if no thread
  /// waits.
  [[nodiscard]] const bool* waits_for() const noexcept { return waits_for_; }
  /// Ends what the destructor ends, earlier.
  [[gnu::cold]] void end_all() noexcept;
  /// Returns the time of the first timer, in nanoseconds of CLOCK_MONOTONIC; the latest time if
  /// there is none.
  [[nodiscard]] std::int64_t next_timer() const noexcept {
    return timers_.empty() ? timeout::endless().count() : timers_.next_time();
  }
  /// Destroys the tasks that have not ended, the newest first.
  void destroy_tasks() { tasks_.destroy_all(); }

 private:
  struct manager_source final : event_source {
    explicit manager_source(device_loop& of);
    ADVERB_FUNC bool ready() override;
    device_loop* loop;
  };

  [[nodiscard]] bool spin_or_arm();
  /// Requests an event for the next completion. Returns true if the loop must not sleep yet.
  [[nodiscard]] bool arm_before_sleep();
  int advance_links();
  /// Has the timers expire whose time has come. Returns the number of milliseconds until the next:
  /// -1 for never.
  int expire_timers();
  [[gnu::cold, gnu::noinline]] void keep_exception() noexcept {
    tasks_.keep_exception();
    wake();
  }
  /// Returns true if `run_pending` has something to do, whatever the time is.
  [[nodiscard]] bool is_anything_pending() const noexcept {
    return !to_resume_.empty() || !to_advance_.empty() || tasks_.has_exception();
  }

  device_loop_options options_;
  /// Why there is no channel.
  failure no_channel_;
  cm::event_channel channel_;
  manager_source manager_;
  std::unique_ptr<detail::name_lookups> lookups_;
  std::unique_ptr<detail::loop_sockets> sockets_;
  detail::timer_queue timers_;
  detail::loop_devices devices_;
  std::vector<std::unique_ptr<detail::link>> links_;
  waiter_list to_advance_;
  waiter_list to_resume_;
  waiter_list sleepers_;
  waiter_list senders_;
  waiter_list at_end_;
  watch_function* watch_ = nullptr;
  void* watch_argument_ = nullptr;
  run_function* run_until_ = nullptr;
  void (*wake_)(void*) = nullptr;
  void* wake_argument_ = nullptr;
  detail::deadline end_of_spin_;
  bool arms_on_wake_ = options_.waiting == waiting::events;
  const bool* waits_for_ = nullptr;
  /// The number of links whose handles have gone.
  std::size_t ending_ = 0;
  /// Memory was given back that links may still use.
  bool has_memory_to_free_ = false;
  std::error_code no_error_;
  detail::loop_on_thread::of_loop thread_;
  detail::loop_tasks tasks_;
};

}  // namespace adverb::inline ADVERB_ABI::async

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/async/impl/device_loop.ipp>
#include <adverb/async/impl/heartbeat.ipp>
#include <adverb/async/impl/kept_memory.ipp>
#include <adverb/async/impl/link.ipp>
#include <adverb/async/impl/loop_devices.ipp>
#include <adverb/async/impl/shared_receives.ipp>
#endif
