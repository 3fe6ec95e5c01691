// SPDX-License-Identifier: MIT
// One start of a step on Asio.
#pragma once

#include <memory>
#include <new>
#include <optional>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>

#include <adverb/async/asio/detail/asio_library.hpp>
#include <adverb/async/asio/detail/block_cache.hpp>
#include <adverb/async/asio/detail/net_loop.hpp>
#include <adverb/async/reliable_connection.hpp>
#include <adverb/async/waiter.hpp>
#include <adverb/core/failure.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// The arguments of a handler after the error code.
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

  /// Calls the handler in the turn of the loop, or passes it to its executor.
  [[gnu::always_inline]] void pass_on(outcome&& passed) {
    if (work_) [[unlikely]]
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
