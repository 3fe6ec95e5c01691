// SPDX-License-Identifier: MIT
// One start of a step as a sender.
#pragma once

#include <optional>
#include <system_error>
#include <type_traits>
#include <utility>

#include <adverb/async/device_loop.hpp>
#include <adverb/async/reliable_connection.hpp>
#include <adverb/async/senders/detail/execution.hpp>
#include <adverb/async/waiter.hpp>
#include <adverb/core/error.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// The ways in which a step completes.
template <class... Result>
using step_completions = execution::completion_signatures<execution::set_value_t(Result...),
                                                          execution::set_error_t(std::error_code),
                                                          execution::set_stopped_t()>;

/// One start of a step as a sender, which is the operation itself, so that nothing is allocated.
// Its symbols contain a type of the library, so that a program may use two.
template <class Step, class Receiver, class Library>
class sender_operation : async::waiter {
  /// Copying the name of a host takes memory.
  static constexpr bool is_copied_safely = std::is_nothrow_copy_constructible_v<Step>;
  struct running final : Step::template operation<running> {
    running(const Step& step, sender_operation& in) noexcept(is_copied_safely)
        : Step::template operation<running>{step}, owner{&in} {}
    /// Called when the operation has finished.
    void finished() noexcept { owner->complete(); }
    sender_operation* owner;
  };
  struct stopping {
    void operator()() const noexcept { operation->request_stop(); }
    sender_operation* operation;
  };
  using stop_token = std::remove_cvref_t<decltype(execution::get_stop_token(
      execution::get_env(std::declval<const Receiver&>())))>;
  static constexpr bool can_stop = !execution::unstoppable_token<stop_token>;
  struct nothing {
    static constexpr void reset() noexcept {}
  };
  using stop_callback = std::conditional_t<
      can_stop, std::optional<execution::stop_callback_for_t<stop_token, stopping>>, nothing>;

 public:
  using operation_state_concept = execution::operation_state_tag;

  template <class Given>
  sender_operation(const Step& step,
                   Given&& receiver) noexcept(is_copied_safely &&
                                              std::is_nothrow_constructible_v<Receiver, Given>)
      : waiter{&end_with_loop},
        step_{step},
        receiver_(std::forward<Given>(receiver)),
        running_{std::in_place, step_, *this} {}
  sender_operation(const sender_operation&) = delete;
  sender_operation& operator=(const sender_operation&) = delete;
  ~sender_operation() { leave_loop(); }

  void start() & noexcept {
    if (is_stop_requested()) return stop();
    if (!running_->start()) return complete();
    step_.loop().add_sender(*this);
    if constexpr (can_stop)
      on_stop_.emplace(execution::get_stop_token(execution::get_env(receiver_)), stopping{this});
  }

 private:
  static bool end_with_loop(waiter& which) {
    static_cast<sender_operation&>(which).stop();
    return true;
  }

  [[nodiscard]] bool is_stop_requested() const noexcept {
    if constexpr (can_stop)
      return execution::get_stop_token(execution::get_env(receiver_)).stop_requested();
    else
      return false;
  }
  void request_stop() noexcept {
    if constexpr (requires { running_->end_posted(); })
      if (!running_->is_waiting()) return running_->end_posted();
    stop();
  }

  /// Cancels what is left of the step. The receiver may destroy this operation after that.
  void end() noexcept {
    on_stop_.reset();
    running_.reset();
    leave_loop();
  }
  void leave_loop() noexcept {
    if (is_waiting()) step_.loop().remove_sender(*this);
  }
  void stop() noexcept {
    end();
    execution::set_stopped(std::move(receiver_));
  }
  void complete() noexcept {
    std::error_code code{0, step_.loop().no_error().category()};
    if (step_.policy().throws()) [[likely]]
      take(code, code);
    else
      take_reported(code);
  }
  [[gnu::cold, gnu::noinline]] void take_reported(const std::error_code& code) noexcept {
    take(step_.policy(), code);
  }
  void take(on_failure policy, const std::error_code& code) noexcept {
    if constexpr (std::is_void_v<async_result_of<Step>>) {
      running_->take(policy);
      complete_with(policy, code);
    } else {
      auto result = running_->take(policy);
      complete_with(policy, code, std::move(result));
    }
  }
  template <class... Result>
  void complete_with(on_failure policy, const std::error_code& code, Result&&... result) noexcept {
    if (policy.failed()) [[unlikely]] {
      if (is_stop_requested() || code == std::errc::operation_canceled) return stop();
    }
    end();
    if (code) [[unlikely]]
      execution::set_error(std::move(receiver_), std::error_code{code});
    else
      execution::set_value(std::move(receiver_), std::forward<Result>(result)...);
  }

  Step step_;
  Receiver receiver_;
  std::optional<running> running_;
  [[no_unique_address]] stop_callback on_stop_;
};

}  // namespace adverb::inline ADVERB_ABI::detail
