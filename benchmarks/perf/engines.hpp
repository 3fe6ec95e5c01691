// SPDX-License-Identifier: MIT
// The two ways to post and to poll, spelled alike.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <span>

#include <adverb/adverb.hpp>

namespace perf {

/// The number of polls before a check of anything else: a check costs more than a poll.
inline constexpr int polls_between_looks = 1 << 14;

/// A completion queue that is polled, or slept for. `Queue` is one of adverb's.
template <class Queue>
class completions_of {
 public:
  completions_of(adverb::context_ref device, std::size_t capacity, bool sleep) {
    if (sleep) channel_ = adverb::completion_channel{device};
    queue_ = Queue{device, capacity, {.channel = channel_}};
  }

  [[nodiscard]] adverb::completion_queue_ref queue() const noexcept { return queue_; }

  /// Waits for completions, at most `Limit`, and calls `use` with each, which has succeeded. Calls
  /// the result of `make_patience` now and then; returns false when that returns false.
  template <std::size_t Limit, class Use, class MakePatience>
  [[nodiscard, gnu::always_inline]] bool wait(const Use& use, const MakePatience& make_patience) {
    if (!channel_ && take<Limit>(use, false)) [[likely]]
      return true;
    return wait_longer<Limit>(use, make_patience);
  }

 private:
  static constexpr std::size_t largest_batch = 16;

  template <std::size_t Limit, class Use, class MakePatience>
  [[nodiscard, gnu::noinline]] bool wait_longer(const Use& use, const MakePatience& make_patience) {
    if (look<Limit>(use)) [[likely]]
      return true;
    const auto go_on = make_patience();
    while (true) {
      // The last look takes what completed before the patience ended.
      const bool is_last = !go_on();
      if (look<Limit>(use)) return true;
      if (is_last) return false;
    }
  }

  template <std::size_t Limit, class Use>
  [[nodiscard]] bool look(const Use& use) {
    if (channel_) return take<Limit>(use, true);
    for (int count = 0; count < polls_between_looks; ++count)
      if (take<Limit>(use, false)) return true;
    return false;
  }

  /// True when there was a completion.
  template <std::size_t Limit, class Use>
  [[nodiscard, gnu::always_inline]] bool take(const Use& use, bool sleep) {
    static_assert(Limit <= largest_batch);
    const auto checked = [&](const auto& completion) {
      completion.check();
      use(completion);
    };
    if constexpr (std::same_as<Queue, adverb::completion_queue>) {
      const std::span<adverb::completion> room{batch_.data(), Limit};
      const std::span<adverb::completion> found = sleep ? queue_.wait(room) : queue_.poll(room);
      for (const adverb::completion& each : found) checked(each);
      return !found.empty();
    } else {
      // One at a time: on Soft-RoCE a loop that empties the queue loses its place
      // (docs/guide/completion.md).
      if (sleep) return queue_.wait(1, checked) != 0;
      bool found = false;
      for (const auto& each : queue_.poll(1)) {
        checked(each);
        found = true;
      }
      return found;
    }
  }

  adverb::completion_channel channel_;
  Queue queue_;
  std::array<adverb::completion, largest_batch> batch_;
};

template <adverb::transport Transport>
struct classic_engine {
  static constexpr adverb::transport transport = Transport;
  static constexpr adverb::send_operations operations{};
  using completions = completions_of<adverb::completion_queue>;
  using sender = adverb::queue_pair_ref<Transport>;

  [[nodiscard]] static sender sender_of(const adverb::queue_pair<Transport>& pair) { return pair; }

  /// A request that is posted again and again, one in a call.
  template <class Request>
  class single {
   public:
    single(sender to, const Request& request) : to_{to}, request_{request} {}

    void post(bool signaled) {
      request_.signaled(signaled);
      to_.post(request_).check();
    }

   private:
    sender to_;
    adverb::prepared_request<Request> request_;
  };

  /// The same, so many times in one call.
  template <class Request>
  class repeated {
   public:
    repeated(sender to, const Request& request, std::size_t count)
        : to_{to}, list_{request, count} {}

    /// The last one is signaled, or none is.
    void post(bool signaled) {
      list_[list_.size() - 1].signaled(signaled);
      to_.post(list_).check();
    }

   private:
    sender to_;
    adverb::prepared_list<Request> list_;
  };
};

template <adverb::transport Transport>
struct extended_engine {
  static constexpr adverb::transport transport = Transport;
  static constexpr adverb::send_operations operations = adverb::basic_operations(Transport);
  using completions = completions_of<adverb::extended_completion_queue<>>;
  using sender = adverb::extended_sender<Transport>;

  [[nodiscard]] static sender sender_of(const adverb::queue_pair<Transport>& pair) {
    return pair.extended();
  }

  template <class Request>
  class repeated {
   public:
    repeated(sender to, const Request& request, std::size_t count)
        : to_{to}, request_{request}, signaled_{request.signaled()}, count_{count} {}

    void post(bool signaled) {
      auto batch = to_.start();
      for (std::size_t left = count_; left > 1; --left) batch.add(request_);
      batch.add(signaled ? signaled_ : request_);
      batch.commit().check();
    }

   private:
    sender to_;
    Request request_;
    Request signaled_;
    std::size_t count_;
  };

  template <class Request>
  struct single : repeated<Request> {
    single(sender to, const Request& request) : repeated<Request>{to, request, 1} {}
  };
};

}  // namespace perf
