// SPDX-License-Identifier: MIT
// The requests in progress of a link, and the operations that wait for room.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include <adverb/async/operation.hpp>
#include <adverb/async/waiter.hpp>
#include <adverb/queue/send_window.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

class link;

/// A request in progress that an operation waits for. The link owns it, because the device may
/// complete it after the operation has gone.
struct request_slot : async::operation {
  explicit request_slot(link& of) noexcept : operation{nullptr}, owner{&of} {}
  /// Returns true while its request is in progress.
  [[nodiscard]] bool is_taken() const noexcept { return next_free == this; }

  link* owner;
  /// The operation that waits for it; null if it has gone.
  void* waiting = nullptr;
  /// Its request was refused, and others of the same post were accepted.
  bool is_refused = false;
  request_slot* next_free = nullptr;
};

/// An operation that waits for room.
struct room_waiter : async::waiter {
  using waiter::waiter;
  /// True if `cancel_waits` has ended its wait.
  bool is_cancelled = false;
};

/// The operation of every request that nobody waits for.
struct unattended_operation : async::operation {
  unattended_operation(link& of, function* completed) noexcept : operation{completed}, owner{&of} {}
  link* owner;
};

/// The part of `send_slots` that does not depend on the engine.
class request_slots {
 public:
  explicit request_slots(link& owner, async::operation::function* completed) noexcept
      : unattended_{owner, completed} {}
  request_slots(const request_slots&) = delete;
  request_slots& operator=(const request_slots&) = delete;
  ~request_slots() = default;

  /// Returns the operations that wait for room.
  [[nodiscard]] async::waiter_list& room() noexcept { return room_; }
  [[nodiscard]] bool is_any_in_progress() const noexcept {
    return std::ranges::any_of(slots_, &request_slot::is_taken);
  }
  /// Returns the id of prepared requests that nobody waits for.
  [[nodiscard]] async::operation* unattended() noexcept { return &unattended_; }

  void put_back(request_slot& slot) noexcept {
    slot.next_free = free_;
    free_ = &slot;
  }

  /// Calls `function` with each slot whose request is in progress.
  template <class Function>
  void for_each_taken(const Function& function) {
    for (request_slot& each : slots_)
      if (each.is_taken()) function(each);
  }

 protected:
  void create(std::uint32_t count) {
    slots_.reserve(count);
    for (std::uint32_t each = 0; each < count; ++each) {
      slots_.emplace_back(*unattended_.owner).next_free = free_;
      free_ = &slots_.back();
    }
  }
  void take(request_slot& slot) noexcept {
    free_ = slot.next_free;
    slot.next_free = &slot;  // Marks it as taken.
  }

  request_slot* free_ = nullptr;
  async::waiter_list room_;
  unattended_operation unattended_;
  std::vector<request_slot> slots_;
};

/// The requests in progress of one queue pair: its window, and a slot for each request that an
/// operation waits for.
template <class Engine>
class send_slots : public request_slots {
 public:
  using request_slots::request_slots;

  /// Creates the window over an engine, and `count` slots.
  void create(const Engine& engine, std::uint32_t count, on_failure policy) {
    window_ = send_window<Engine>{engine, {.size = count}, policy};
    if (!policy.failed()) request_slots::create(count);
  }

  /// Posts requests that nobody waits for.
  template <class... Requests>
  [[gnu::always_inline]] send_window_result post(const Requests&... requests) noexcept {
    return window_.post(requests.id(&unattended_)...);
  }

  /// Posts prepared requests that nobody waits for, whose ids are `unattended`.
  template <class Prepared>
  [[gnu::always_inline]] send_window_result post_prepared(Prepared& prepared) noexcept {
    return window_.post(prepared);
  }

  /// Posts requests, of which the last completes `completed` with its slot. The result is full() if
  /// there is no room. See `takes_slot`.
  template <class... Requests>
  [[gnu::always_inline]] send_window_result post_for(void* waiting,
                                                     async::operation::function* completed,
                                                     const std::tuple<Requests...>& requests) {
    request_slot* const slot = free_;
    if (slot == nullptr) [[unlikely]]
      return full(nullptr);
    slot->set(completed);
    slot->waiting = waiting;
    const auto post_each =
        [&]<std::size_t... Index>(std::index_sequence<Index...>) __attribute__((always_inline)) {
          constexpr std::size_t last = sizeof...(Requests) - 1;
          return window_.post(
              std::get<Index>(requests)
                  .id(Index == last ? static_cast<async::operation*>(slot) : &unattended_)
                  .signaled(Index == last || std::get<Index>(requests).is_signaled())...);
        };
    take(*slot);
    const send_window_result posted = post_each(std::index_sequence_for<Requests...>{});
    if (!posted) [[unlikely]] {
      slot->is_refused = takes_slot(posted);
      if (!slot->is_refused) put_back(*slot);
    }
    return posted;
  }
  /// Returns true if the slot of a post will complete: also if only some requests were accepted,
  /// whose memory the device may use. The link ends then, and its slot with it.
  [[nodiscard, gnu::always_inline]] static bool takes_slot(
      const send_window_result& posted) noexcept {
    return posted || posted.accepted() != 0U;
  }

  /// Posts an empty request for each slot whose own one was refused: when the queue pair, which is
  /// in ERR, flushes it, those before have been flushed, too.
  [[gnu::cold]] void end_refused(const Engine& engine) noexcept {
    for_each_taken([&](request_slot& each) {
      if (!std::exchange(each.is_refused, false)) return;
      // If it is refused, too, the slot completes when the queue pair is destroyed.
      static_cast<void>(engine.post(send().id(static_cast<async::operation*>(&each)).signaled()));
    });
  }

  /// Returns the credits of a completed request.
  [[gnu::always_inline]] void retire(completion_status status) {
    window_.unchecked_completed(status);
  }

  /// Returns the number of requests that can be in progress.
  [[nodiscard]] std::uint32_t size() const noexcept { return window_.size(); }
  /// Returns the number of requests for which there is room now.
  [[nodiscard]] std::uint32_t available() const noexcept { return window_.available(); }
  /// Returns true while requests are in progress, as far as completions show.
  [[nodiscard]] bool has_outstanding() const noexcept { return window_.outstanding() != 0; }
  /// Returns the result of a post that finds no room.
  [[gnu::cold]] [[nodiscard]] send_window_result full(const ibv_qp* pair) const noexcept {
    return post_result{pair, static_cast<int>(window_.outstanding()), window_.size(),
                       posted_to::full_send_window};
  }

 private:
  send_window<Engine> window_;
};

}  // namespace adverb::inline ADVERB_ABI::detail
