// SPDX-License-Identifier: MIT
// A send window: counts the requests in progress, signals every n-th, and limits their number.
#pragma once

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

#include <infiniband/verbs.h>

#include <adverb/completion/completion.hpp>
#include <adverb/completion/completion_queue.hpp>
#include <adverb/completion/extended_completion.hpp>
#include <adverb/queue/detail/send_credits.hpp>
#include <adverb/queue/extended_sender.hpp>
#include <adverb/queue/queue_pair_ref.hpp>
#include <adverb/request/post_result.hpp>

namespace adverb::inline ADVERB_ABI {

/// The result of a post through a send window: all requests were accepted, or the window was full
/// and nothing was posted, or the post failed.
class [[nodiscard("a post can fail or meet a full window: check the result")]] send_window_result {
 public:
  /// Takes over the result of a post.
  constexpr send_window_result(const post_result& posted) noexcept : posted_{posted} {}

  /// Returns true if all requests were accepted.
  [[nodiscard]] constexpr explicit operator bool() const noexcept {
    return static_cast<bool>(posted_);
  }
  /// Returns true if nothing was posted because there were too few credits. Completions passed to
  /// `completed` return credits.
  [[nodiscard]] constexpr bool full() const noexcept {
    return posted_.queue() == detail::posted_to::full_send_window;
  }
  /// Returns the error; EAGAIN if the window was full.
  [[nodiscard]] std::error_code code() const noexcept {
    return full() ? detail::errno_code(EAGAIN) : posted_.code();
  }
  /// Returns the number of accepted requests like `post_result`; 0 if the window was full.
  [[nodiscard]] constexpr std::optional<std::size_t> accepted() const noexcept {
    if (full()) return 0;
    return posted_.accepted();
  }

  /// Fails if not all requests were accepted; with EAGAIN if the window was full.
  void check(on_failure policy = throwing{}) const {
    if (posted_) [[likely]]
      return policy.clear();
    report(*this, policy);
  }

 private:
  template <class Engine>
  friend class send_window;

  /// Returns the result for a full window of `size` requests, `outstanding` of them in progress.
  [[nodiscard]] static constexpr post_result of_full(const ibv_qp* pair, std::uint32_t outstanding,
                                                     std::uint32_t size) noexcept {
    return {pair, static_cast<int>(outstanding), size, detail::posted_to::full_send_window};
  }

  // Takes the result by value, so that it never has to be in memory.
  [[gnu::cold]] static void report(send_window_result result, on_failure policy);

  [[gnu::cold]] void describe_full(failure_description& description) const noexcept;

  post_result posted_;
};

}  // namespace adverb::inline ADVERB_ABI

namespace adverb::inline ADVERB_ABI::detail {

/// Iterates over the first `count` requests of a chain; each element is true if its request is
/// signaled.
class signaled_in_chain {
 public:
  class iterator {
   public:
    iterator(const ibv_send_wr* at, std::uint32_t left) noexcept : at_{at}, left_{left} {}
    [[nodiscard]] bool operator*() const noexcept {
      return (at_->send_flags & IBV_SEND_SIGNALED) != 0;
    }
    iterator& operator++() noexcept {
      at_ = at_->next;
      --left_;
      return *this;
    }
    [[nodiscard]] bool operator==(const iterator& other) const noexcept {
      return left_ == other.left_;
    }

   private:
    const ibv_send_wr* at_;
    std::uint32_t left_;
  };

  signaled_in_chain(const ibv_send_wr* first, std::uint32_t count) noexcept
      : first_{first}, count_{count} {}
  [[nodiscard]] iterator begin() const noexcept { return {first_, count_}; }
  [[nodiscard]] iterator end() const noexcept { return {nullptr, 0}; }

 private:
  const ibv_send_wr* first_;
  std::uint32_t count_;
};

/// Signals the first `count` requests of a chain.
inline void signal_all(ibv_send_wr* first, std::uint32_t count) noexcept {
  for (; count != 0; --count, first = first->next) first->send_flags |= IBV_SEND_SIGNALED;
}

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI {

/// Options of a send window.
struct send_window_options {
  /// Maximum number of requests in progress; by default the size of the send queue.
  std::optional<std::uint32_t> size{};
  /// Signal one request in this many; by default a quarter of the size.
  std::optional<std::uint32_t> signal_every{};
};

namespace detail {

/// Returns the queue pair that an engine posts to.
template <transport Transport, qp_state State>
[[nodiscard]] ibv_qp* posting_pair(const queue_pair_ref<Transport, State>& pair) noexcept {
  return pair.native_handle();
}
template <transport Transport, send_operations Operations>
[[nodiscard]] ibv_qp* posting_pair(const extended_sender<Transport, Operations>& sender) noexcept {
  ibv_qp_ex* const native = sender.native_handle();
  return native == nullptr ? nullptr : &native->qp_base;
}

/// Rejects at compile time an engine that cannot have a send window.
template <class Engine>
consteval void check_window_engine() noexcept {
  if constexpr (requires { Engine::state_of; })
    if constexpr (check_known<Engine::state_of>())
      static_assert(can_send_in(Engine::state_of),
                    "a send window needs a queue pair that is ready to send: finish rts() or "
                    "connect() first");
}

}  // namespace detail

/// Posts sends so that neither the send queue nor the completion queue overflows, although few
/// sends are signaled:
///
///     send_window window{pair};
///     while (…) {
///       const auto posted = window.post(write(remote, buffer).id(n));
///       if (posted.full())
///         for (const completion& each : queue.poll(batch)) window.completed(each);
///       else
///         posted.check();
///     }
///
/// The window counts one credit per request. It signals every n-th request, the request that takes
/// the last credit, and those that the program has signaled; on a pair that signals every send,
/// each request. `completed` returns the credits. The
/// window reserves one entry of the completion queue per request, because an unsignaled request
/// also completes when it fails.
///
/// Post all sends of the queue pair through its one window, and pass all their completions to
/// `completed`. The window posts through the classic engine (`send_window{pair}`) or the extended
/// one (`send_window{pair.extended()}`). Only construction allocates. The queue pair must outlive
/// the window. Not thread safe.
template <class Engine>
class [[nodiscard]] send_window {
 public:
  /// The engine that posts: a queue pair or an extended sender.
  using engine_type = Engine;

  /// Constructs an empty window, which has no credits.
  send_window() noexcept = default;

  /// Creates a window over an engine. Fails with EINVAL if the size is zero or exceeds the send
  /// queue, or if `signal_every` is zero. Fails with ENOBUFS if the completion queue has too few
  /// unreserved entries. Fails if the queue pair cannot be queried. Wraps: ibv_query_qp(3).
  explicit send_window(const Engine& engine, const send_window_options& options = {},
                       on_failure policy = throwing{}) {
    detail::check_window_engine<Engine>();
    ibv_qp* const pair = detail::posting_pair(engine);
    if (!detail::check_present(policy, verb, pair)) return;
    const queue_pair_ref<Engine::transport_of, qp_state::any> any{adopt, pair, policy};
    if (policy.failed()) return;
    const queue_pair_attributes attributes = any.query(policy);
    if (policy.failed()) return;
    const std::uint32_t size = options.size.value_or(attributes.max_send_wr());
    const std::uint32_t every = options.signal_every.value_or(size < 4 ? 1 : size / 4);
    if (!check_numbers(policy, pair, size, every, attributes.max_send_wr())) return;
    reservation_ = {any.send_cq(), size, verb, policy};
    if (policy.failed()) return;
    const bool all_complete = attributes.signals_all_sends();
    credits_ = {size, all_complete ? 1 : every < size ? every : size, all_complete};
    engine_ = engine;
    number_ = any.number();
  }
  send_window(const Engine& engine, on_failure policy)
      : send_window{engine, send_window_options{}, policy} {}

  send_window(send_window&& other) noexcept
      : credits_{std::exchange(other.credits_, {})},
        engine_{std::exchange(other.engine_, {})},
        number_{std::exchange(other.number_, {})},
        reservation_{std::move(other.reservation_)} {}
  send_window& operator=(send_window&& other) noexcept {
    credits_ = std::exchange(other.credits_, {});
    engine_ = std::exchange(other.engine_, {});
    number_ = std::exchange(other.number_, {});
    reservation_ = std::move(other.reservation_);
    return *this;
  }
  ~send_window() = default;

  [[nodiscard]] explicit operator bool() const noexcept { return size() != 0; }

  /// Returns the maximum number of requests in progress.
  [[nodiscard]] std::uint32_t size() const noexcept { return credits_.size(); }
  /// Returns n if at least every n-th request is signaled; 1 if the queue pair signals all sends.
  [[nodiscard]] std::uint32_t signal_every() const noexcept { return credits_.signal_every(); }
  /// Returns the number of requests in progress, by the completions passed to `completed`.
  [[nodiscard]] std::uint32_t outstanding() const noexcept { return credits_.outstanding(); }
  /// Returns the number of requests that may be posted now.
  [[nodiscard]] std::uint32_t available() const noexcept { return credits_.available(); }
  /// Returns how many of the last requests have no completion of their own; 0 once broken. The
  /// completion of a later request returns their credits. To wait for all requests, signal the last
  /// one (`window.post(request.signaled())`), or post an empty signaled request after it.
  [[nodiscard]] std::uint32_t unsignaled() const noexcept { return credits_.unsignaled(); }
  /// Returns true after a failed completion, or after a post that accepted an unknown number of
  /// requests. The queue pair is then in ERR, or has to be brought to RESET. From then on
  /// `outstanding()` is an upper bound, because earlier unsignaled requests may have succeeded
  /// without a completion. Requests posted then are flushed, and complete after all others: post
  /// one signaled request, whose completion marks the end of all earlier requests. See `restart`.
  [[nodiscard]] bool broken() const noexcept { return credits_.broken(); }

  /// Posts requests in order with one doorbell, or posts none if there are too few credits. Signals
  /// the last request if a signal is due. A chain of at most size() - signal_every() + 1 requests
  /// eventually finds room, unless an earlier post was accepted in part, which may have left more
  /// requests unsignaled. Fails with EINVAL if the chain does not fit and no request that completes
  /// is in progress, because no completion could make room. After a failed post the window counts
  /// the accepted requests only, so there is room for the rest. Does not allocate.
  /// Wraps: ibv_post_send(3), ibv_wr_complete(3).
  // Always inline: a call would pass the requests through memory.
  template <class... Requests>
  [[gnu::always_inline]] send_window_result post(const Requests&... requests) noexcept {
    constexpr std::size_t count = sizeof...(Requests);
    static_assert(count > 0, "there is nothing to post");
    constexpr bool plain = !(detail::is_prepared<Requests> || ...);
    static_assert(plain,
                  "a prepared request, batch or list must be the only argument, and not const: the "
                  "window may signal its last request");
    (detail::check_not_linked<Requests>(), ...);
    constexpr bool single = !(detail::is_linked<Requests> || ...);
    constexpr bool all_sends = (detail::requests_of<Requests>::all_send && ...);
    // Skip this check for linked requests: check_not_linked already rejects them.
    check_all_send<all_sends || !single>();
    if constexpr (count > 0 && plain && all_sends && single) {
      if ((requests.is_signaled() || ...) || !credits_.stays_in_stretch(count)) [[unlikely]]
        return post_signaled(requests.signaled(count == 1 || requests.is_signaled())...);
      assume_engine();
      const post_result posted = engine_.post(requests...);
      if (posted) [[likely]]
        credits_.count_unsignaled(count);
      else
        count_refused(std::array<bool, count>{}, posted.accepted().value_or(unknown));
      return posted;
    }
  }

  /// Posts a prepared request, batch, list or part of a list. If its last request must be signaled,
  /// it is signaled for this post only. On a pair that signals every send, its requests become
  /// signaled.
  template <class Prepared>
    requires(detail::is_prepared<std::remove_reference_t<Prepared>> &&
             !std::is_const_v<std::remove_reference_t<Prepared>>)
  [[gnu::always_inline]] send_window_result post(Prepared&& prepared) noexcept {
    using prepared_type = std::remove_reference_t<Prepared>;
    constexpr bool all_sends = detail::requests_of<prepared_type>::all_send;
    check_all_send<all_sends>();
    if constexpr (all_sends) {
      constexpr unsigned signal = IBV_SEND_SIGNALED;
      const auto chain = std::as_const(prepared).chain();
      if (chain.count == 0) return post_result{};
      if (credits_.all_complete()) [[unlikely]]
        detail::signal_all(chain.first, chain.count);
      if (!credits_.fits(chain.count)) [[unlikely]]
        return no_room(chain.count);
      assume_engine();
      const detail::signaled_in_chain signaled{chain.first, chain.count};
      if constexpr (requires { prepared_type::is_unsignaled; }) {
        if (credits_.stays_in_stretch(chain.count)) [[likely]] {
          const post_result posted = engine_.post(std::as_const(prepared));
          if (posted) [[likely]]
            credits_.count_unsignaled(chain.count);
          else
            count_refused(signaled, posted.accepted().value_or(unknown));
          return posted;
        }
      }
      const unsigned flags = chain.last->send_flags;
      if (credits_.is_last_due(signaled)) chain.last->send_flags = flags | signal;
      const post_result posted = engine_.post(std::as_const(prepared));
      count_posted(signaled, posted);
      chain.last->send_flags = flags;
      return posted;
    }
  }

  /// Returns the credits of a completed request and of all requests before it. Pass every
  /// completion of the queue pair's sends, failed ones too, in the order in which they were polled,
  /// and no other completion.
  ///
  /// Fails with EINVAL if the completion belongs to another queue pair or to a successful receive,
  /// or if no request that completes is in progress. A failed receive looks like a failed send: the
  /// program distinguishes them by their ids.
  void completed(const completion& each, on_failure policy = throwing{}) {
    const bool is_success = each.status() == completion_status::success;
    const bool is_other = each.queue_pair() != number_;
    const bool is_receive = is_success && each.success().receive();
    if (is_other || is_receive) [[unlikely]]
      return report_foreign(policy, each.queue_pair(), is_other);
    retire(is_success, policy);
  }
  /// Returns the credits as `completed` does, for a completion that is known to be of a send of
  /// this window. Returns false if no request that completes is in progress.
  [[gnu::always_inline]] bool unchecked_completed(completion_status status) {
    return status == completion_status::success ? credits_.succeeded() : credits_.failed();
  }
  /// Returns credits for a completion of the extended engine. Does not check the queue pair of the
  /// completion, which would need two calls of the provider.
  template <completion_fields Fields>
  void completed(const extended_completion<Fields>& each, on_failure policy = throwing{}) {
    retire(each.status() == completion_status::success, policy);
  }

  /// Restores all credits. Call it after bringing the queue pair to RESET, which discards the
  /// requests in progress, and then polling the completion queue until it is empty. Do not pass
  /// earlier completions to `completed` afterwards.
  void restart() noexcept { credits_.restart(); }

 private:
  static constexpr const char* verb = "send_window";
  /// Replaces the number of accepted requests if that is unknown.
  static constexpr std::size_t unknown = static_cast<std::size_t>(-1);

  /// Lets the compiler drop a check for null: a window without an engine has no credits.
  [[gnu::always_inline]] void assume_engine() const noexcept {
    if (!engine_) __builtin_unreachable();
  }

  template <bool AllSend>
  static constexpr void check_all_send() noexcept {
    static_assert(AllSend,
                  "a send window posts only send queue requests: post receives to the queue pair");
  }

  /// Posts requests of which one may have to be signaled. Works on copies, so that the originals
  /// need not be in memory. A single request is signaled already.
  template <class... Requests>
  [[gnu::always_inline]] send_window_result post_signaled(const Requests&... requests) noexcept {
    constexpr std::size_t count = sizeof...(Requests);
    if (!credits_.fits(count)) [[unlikely]]
      return no_room(count);
    std::array<bool, count> signaled{requests.is_signaled()...};
    if constexpr (count > 1) {
      if (credits_.all_complete()) [[unlikely]]
        signaled.fill(true);
      else
        signaled.back() = credits_.is_last_due(signaled);
    }
    const post_result posted =
        post_with(signaled, std::index_sequence_for<Requests...>{}, requests...);
    count_posted(signaled, posted);
    return posted;
  }

  template <class Flags, std::size_t... Index, class... Requests>
  [[nodiscard, gnu::always_inline]] post_result post_with(
      const Flags& signaled, std::index_sequence<Index...>,
      const Requests&... requests) const noexcept {
    assume_engine();
    return engine_.post(requests.signaled(signaled[Index])...);
  }

  template <class Flags>
  [[gnu::always_inline]] void count_posted(const Flags& signaled,
                                           const post_result& posted) noexcept {
    if (posted) [[likely]]
      for (const bool each : signaled) credits_.count(each);
    else
      count_refused(signaled, posted.accepted().value_or(unknown));
  }

  /// Counts the accepted requests of a chain. Counts all of them if their number is unknown,
  /// because they may be in the queue.
  template <class Flags>
  [[gnu::cold, gnu::noinline]] void count_refused(Flags signaled, std::size_t accepted) noexcept {
    if (accepted == unknown) credits_.set_broken();
    for (const bool each : signaled) {
      if (accepted-- == 0) return;
      credits_.count(each);
    }
  }

  /// Returns a full window, or EINVAL if no completion can make room and a wait would never end.
  [[nodiscard, gnu::cold, gnu::noinline]] post_result no_room(std::size_t count) const noexcept {
    const ibv_qp* const pair = detail::posting_pair(engine_);
    if (count > size() || !credits_.makes_room())
      return {pair, EINVAL, 0, detail::posted_to::send_window};
    return send_window_result::of_full(pair, outstanding(), size());
  }

  void retire(bool is_success, on_failure policy) {
    if (is_success ? credits_.succeeded() : credits_.failed()) [[likely]]
      return policy.clear();
    report_completion(
        policy, [](text_writer& writer) { writer.put("no signaled request is in progress"); });
  }

  [[gnu::cold, gnu::noinline]] void report_foreign(on_failure policy, qp_number pair,
                                                   bool is_other) const {
    report_completion(policy, [&](text_writer& writer) {
      if (is_other)
        writer.put("the completion belongs to qp ").put(pair);
      else
        writer.put("the completion belongs to a receive");
    });
  }
  template <class Explain>
  void report_completion(on_failure policy, const Explain& explain) const {
    policy.report(EINVAL, "send_window::completed", [&](failure_description& description) {
      on_pair(description);
      description.explain(explain);
    });
  }

  /// Fails if the options are invalid.
  static bool check_numbers(on_failure policy, const ibv_qp* pair, std::uint32_t size,
                            std::uint32_t every, std::uint32_t room) {
    const bool possible = size != 0 && size <= room && every != 0;
    return detail::check_returned(
        policy, verb, possible ? 0 : EINVAL, [&](failure_description& description) {
          detail::on_object<detail::queue_pair_traits>(pair)(description);
          description.explain([&](text_writer& writer) {
            if (size > room)
              writer.decimal(size).put(" requests do not fit: the send queue holds ").decimal(room);
            else if (size == 0)
              writer.put("a window needs room for at least one request");
            else
              writer.put("the interval of signaled requests is 0: it must be at least 1");
          });
        });
  }

  void on_pair(failure_description& description) const noexcept {
    if (const ibv_qp* const pair = detail::posting_pair(engine_))
      detail::on_object<detail::queue_pair_traits>(pair)(description);
  }

  detail::send_credits credits_;
  Engine engine_{};
  qp_number number_{};
  completion_reservation reservation_;
};

template <transport Transport, qp_state State>
send_window(const queue_pair<Transport, State>&, const send_window_options& = {},
            on_failure = throwing{}) -> send_window<queue_pair_ref<Transport, State>>;
template <transport Transport, qp_state State>
send_window(const queue_pair<Transport, State>&, on_failure)
    -> send_window<queue_pair_ref<Transport, State>>;

}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/queue/impl/send_window.ipp>
#endif
