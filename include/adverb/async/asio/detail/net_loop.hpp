// SPDX-License-Identifier: MIT
// The loop of an io_context.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <adverb/async/asio/detail/asio_library.hpp>
#include <adverb/async/asio/detail/block_cache.hpp>
#include <adverb/async/detail/loop_on_thread.hpp>
#include <adverb/async/device_loop.hpp>
#include <adverb/async/event_source.hpp>
#include <adverb/async/waiter.hpp>
#include <adverb/core/detail/check.hpp>
#include <adverb/core/detail/hardening.hpp>
#include <adverb/core/failure.hpp>
#include <adverb/core/timeout.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

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

  /// A scope in which the sources are checked. Its end watches again, also if a handler throws.
  class turn {
   public:
    explicit turn(net_loop& of) noexcept : loop_{&of} {
      loop_->is_in_turn_ = true;
      loop_->is_done_ = false;
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

  [[gnu::cold]] static void add_watch(void* self, async::event_source& source, on_failure policy) {
    auto& loop = *static_cast<net_loop*>(self);
    // The descriptor must not be closed twice.
    loop.watched_.reserve(loop.watched_.size() + 1);
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
    const loop_on_thread here{*this};
    const turn now{*this};
    for (std::size_t each = 0; each < watched_.size(); ++each) {
      watched& which = *watched_[each];
      // Stays set if a handler throws.
      if (which.has_more) which.has_more = !which.source->ready();
    }
    is_spinning_ = spin();
    tick_ = run_pending();
    is_done_ = tick_ != 0;
  }

  void go_on() {
    bool has_more = !is_done_ || (is_spinning_ && must_run());
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
  /// Has the timer expire with the first timer of the loop, unless it expires earlier.
  [[gnu::cold]] void set_timer() {
    // The time itself, because a length would end later by what it takes to get here. The next turn
    // would set the timer anew, which takes memory: the cancelled handler still has its own.
    const std::int64_t next = next_timer();
    if (next == timeout::endless().count() || (is_timing_ && next >= timed_for_)) return;
    is_timing_ = true;
    timed_for_ = next;
    // Cancels an earlier wait.
    timer_->expires_at(std::chrono::steady_clock::time_point{std::chrono::nanoseconds{next}});
    timer_->async_wait(cached_handler{blocks_, [this](const net_error& error) {
                                        if (error) return;
                                        is_timing_ = false;
                                        take_turn();
                                      }});
  }
  [[gnu::cold]] void stop_watching() {
    for (const auto& each : watched_)
      if (each->is_waiting) each->descriptor.cancel();
    if (std::exchange(is_timing_, false)) timer_->cancel();
  }

  /// The io_context ends: the handlers go first, and the connections, which their frames hold, with
  /// the destructor.
  [[gnu::cold]] void shutdown() override {
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
  bool is_done_ = true;
  /// The next turn polls before anything can be waited for.
  bool is_spinning_;
  bool is_turn_posted_ = false;
  bool is_timing_ = false;
  /// The time for which the timer was set, in nanoseconds of CLOCK_MONOTONIC.
  std::int64_t timed_for_ = 0;
  bool is_shut_down_ = false;
};

}  // namespace adverb::inline ADVERB_ABI::detail
