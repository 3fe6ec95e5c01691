// SPDX-License-Identifier: MIT
// One turn of each kind of latency: `give` posts a request, `take` waits for its result, and
// returns false if that will not come. Work that can be done while a message is in flight is done
// then.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engines.hpp"
#include "options.hpp"
#include "patient.hpp"
#include "setup.hpp"

namespace perf {

/// Waits for the completion of the one request in progress.
template <class Engine>
void wait_until_sent(side<Engine>& own) {
  static_cast<void>(own.sent().template wait<1>([](const auto&) {}, [] { return own_patience{}; }));
}

/// A message, and the message that answers it.
template <class Engine, class Request>
class message_turns {
 public:
  /// True if the latency is the whole turn, false if it is half of it.
  static constexpr bool is_answered = false;

  message_turns(side<Engine>& own, const options& wanted, const Request& request,
                std::uint32_t size)
      : own_{&own},
        lane_{&own.lanes().front()},
        request_{lane_->sender, request},
        receive_{own.receive_for(*lane_)},
        interval_{wanted.signal_interval(size)} {}

  void give() {
    // There may be more unsignaled requests of an earlier size than the interval.
    const bool signaled = ++lane_->unsignaled >= interval_;
    request_.post(signaled);
    replace_receive();
    if (!signaled) return;
    lane_->unsignaled = 0;
    wait_until_sent(*own_);
  }

  template <class MakePatience>
  [[nodiscard]] bool take(const MakePatience& make_patience) {
    if (!own_->received().template wait<1>([](const auto&) {}, make_patience)) return false;
    receive_is_used_ = true;
    return true;
  }

  void finish() { replace_receive(); }

 private:
  void replace_receive() {
    if (!receive_is_used_) return;
    lane_->pair.post(receive_).check();
    receive_is_used_ = false;
  }

  side<Engine>* own_;
  lane<Engine>* lane_;
  typename Engine::template single<Request> request_;
  adverb::prepared_request<typename side<Engine>::receive_request> receive_;
  std::uint32_t interval_;
  bool receive_is_used_ = false;
};

/// A write, and the write that answers it: the last byte of each is the number of the turn.
template <class Engine, class Request>
class write_turns {
 public:
  static constexpr bool is_answered = false;

  write_turns(side<Engine>& own, const options&, const Request& request, std::uint32_t size)
      : own_{&own},
        lane_{&own.lanes().front()},
        request_{lane_->sender, request},
        written_{own.outgoing()[size - 1]},
        arriving_{own.incoming()[size - 1]} {
    arriving_.store(std::byte{0});
  }

  void give() {
    written_.store(static_cast<std::byte>(++given_), std::memory_order_relaxed);
    request_.post(true);
    wait_until_sent(*own_);
  }

  template <class MakePatience>
  [[nodiscard]] bool take(const MakePatience& make_patience) {
    const auto awaited = static_cast<std::byte>(++taken_);
    if (look(awaited)) [[likely]]
      return true;
    const auto go_on = make_patience();
    while (go_on())
      if (look(awaited)) return true;
    return false;
  }

  void finish() {}

 private:
  [[nodiscard]] bool look(std::byte awaited) const noexcept {
    for (int count = 0; count < polls_between_looks; ++count)
      if (arriving_.load(std::memory_order_acquire) == awaited) return true;
    return false;
  }

  side<Engine>* own_;
  lane<Engine>* lane_;
  typename Engine::template single<Request> request_;
  std::atomic_ref<std::byte> written_;
  std::atomic_ref<std::byte> arriving_;
  std::uint64_t given_ = 0;
  std::uint64_t taken_ = 0;
};

/// A read or an atomic operation, which brings its answer itself.
template <class Engine, class Request>
class answered_turns {
 public:
  static constexpr bool is_answered = true;

  answered_turns(side<Engine>& own, const options&, const Request& request, std::uint32_t)
      : own_{&own}, request_{own.lanes().front().sender, request} {}

  void give() { request_.post(true); }

  template <class MakePatience>
  [[nodiscard]] bool take(const MakePatience&) {
    wait_until_sent(*own_);
    return true;
  }

  void finish() {}

 private:
  side<Engine>* own_;
  typename Engine::template single<Request> request_;
};

}  // namespace perf
