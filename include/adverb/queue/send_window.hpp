// SPDX-License-Identifier: MIT
// A send window: counts the requests in progress, signals every n-th, and says when it is full.
#pragma once

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include <infiniband/verbs.h>

#include <adverb/completion/completion.hpp>
#include <adverb/completion/completion_reservation.hpp>
#include <adverb/completion/extended_completion.hpp>
#include <adverb/queue/detail/send_credits.hpp>
#include <adverb/queue/extended_sender.hpp>
#include <adverb/queue/post_result.hpp>
#include <adverb/queue/queue_pair_ref.hpp>
#include <adverb/queue/send_window_result.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Which requests of a linked chain are signaled.
class signaled_in_chain {
 public:
  class iterator {
   public:
    explicit iterator(const ibv_send_wr* at) noexcept : at_{at} {}
    [[nodiscard]] bool operator*() const noexcept {
      return (at_->send_flags & IBV_SEND_SIGNALED) != 0;
    }
    iterator& operator++() noexcept {
      at_ = at_->next;
      return *this;
    }
    [[nodiscard]] bool operator==(const iterator&) const noexcept = default;

   private:
    const ibv_send_wr* at_;
  };

  explicit signaled_in_chain(const ibv_send_wr* first) noexcept : first_{first} {}
  [[nodiscard]] iterator begin() const noexcept { return iterator{first_}; }
  [[nodiscard]] iterator end() const noexcept { return iterator{nullptr}; }

 private:
  const ibv_send_wr* first_;
};

/// What was prepared, as an engine takes it: `post_linked` has the say of how it is posted.
template <class Prepared, class PostLinked>
struct prepared_for_window {
  using prepared_requests = typename Prepared::prepared_requests;
  static constexpr bool is_just_one = Prepared::is_just_one;

  const Prepared& prepared;
  const PostLinked& post_linked;

  template <class Post>
  [[nodiscard]] post_result hand_over(const Post& post) const noexcept {
    return prepared.hand_over(
        [&](ibv_send_wr* first, std::uint32_t count) { return post_linked(first, count, post); });
  }
};

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI {

/// How a send window is made.
struct send_window_options {
  /// How many requests may be in progress; as many as the send queue holds unless it is said.
  std::optional<std::uint32_t> size{};
  /// How many requests follow each other before one is signaled; a quarter of the size unless it is
  /// said.
  std::optional<std::uint32_t> signal_every{};
};

namespace detail {

/// The pair that an engine posts to.
template <transport Transport, qp_state State>
[[nodiscard]] ibv_qp* posting_pair(const queue_pair_ref<Transport, State>& pair) noexcept {
  return pair.native_handle();
}
template <transport Transport, send_operations Operations>
[[nodiscard]] ibv_qp* posting_pair(const extended_sender<Transport, Operations>& sender) noexcept {
  ibv_qp_ex* const native = sender.native_handle();
  return native == nullptr ? nullptr : &native->qp_base;
}

/// Says in a sentence over what no window can be made.
template <class Engine>
consteval void check_window_engine() noexcept {
  if constexpr (requires { Engine::state_of; })
    if constexpr (check_known<Engine::state_of>())
      static_assert(can_send_in(Engine::state_of),
                    "a send window is made over a queue pair that is ready to send: finish rts() "
                    "or connect() first");
}

}  // namespace detail

/// Posts sends to a queue pair so that neither its send queue nor the completion queue overflows,
/// although few of them are signaled:
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
/// It counts credits, one a request; signals every n-th request and the one that takes the last
/// credit, besides those that ask for it; and takes the credits back when it is told of a
/// completion. Of the completion queue it reserves an entry for each request, because one that is
/// not signaled completes too when it fails.
///
/// All sends of the pair go through its one window, and all their completions come back to it. Over
/// the classic engine (`send_window{pair}`) or the extended one (`send_window{pair.extended()}`).
/// Allocates when it is made, and never again. The pair has to outlive it. By one thread at a time.
template <class Engine>
class [[nodiscard]] send_window {
 public:
  using engine_type = Engine;

  /// Empty: for nothing, not even one request.
  send_window() noexcept = default;

  /// Reports EINVAL for a size that is zero or more than the send queue holds, and for every zeroth
  /// request; ENOBUFS when the completion queue has not that many entries left to reserve; and what
  /// keeps the pair from being queried. Wraps: ibv_query_qp(3).
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

  /// How many requests may be in progress.
  [[nodiscard]] std::uint32_t size() const noexcept { return credits_.size(); }
  /// Every n-th request is signaled, or an earlier one; 1 for a pair that signals all sends.
  [[nodiscard]] std::uint32_t signal_every() const noexcept { return credits_.signal_every(); }
  /// How many requests are in progress, as far as the completions that were handed in tell.
  [[nodiscard]] std::uint32_t outstanding() const noexcept { return credits_.outstanding(); }
  /// How many requests may be posted now.
  [[nodiscard]] std::uint32_t available() const noexcept { return credits_.available(); }
  /// How many of the last requests have no completion to come: they are done, as far as the window
  /// can tell, when a later one is. To wait for all, see that the last request is signaled, by
  /// itself (`window.post(request.signaled())`) or by an empty one behind it.
  [[nodiscard]] std::uint32_t unsignaled() const noexcept { return credits_.unsignaled(); }
  /// True from the first failed completion on, and after a post of which it is unknown what was
  /// accepted. The pair is then in ERR, or has to be brought to RESET; `outstanding()` is an upper
  /// bound from then on, because it cannot be told which requests before the failed one succeeded
  /// without a completion. What is posted is flushed, and its completion comes last of all: post
  /// one signaled request to know when everything before it has come back. See `restart`.
  [[nodiscard]] bool broken() const noexcept { return credits_.broken(); }

  /// Posts requests in their order and with one doorbell, or none when there are fewer credits
  /// left. The last one is signaled when one is due. A chain of at most size() - signal_every() + 1
  /// requests finds room in the end, unless a post before it was accepted in part, which may have
  /// left more unsignaled. One that does not fit is refused (EINVAL) when no request that completes
  /// is in progress, so that there is nothing to wait for. What a failed post has accepted is
  /// counted: there is room for the rest. Allocates nothing. Wraps: ibv_post_send(3),
  /// ibv_wr_complete(3).
  // Always inline: a call would take the requests through memory.
  template <class... Requests>
  [[gnu::always_inline]] send_window_result post(const Requests&... requests) noexcept {
    constexpr std::size_t count = sizeof...(Requests);
    static_assert(count > 0, "there is nothing to post");
    constexpr bool plain = !(detail::is_prepared<Requests> || ...);
    static_assert(plain,
                  "a prepared request, batch or list is posted by itself, and is not const: the "
                  "window may have to signal its last request");
    (detail::check_not_linked<Requests>(), ...);
    constexpr bool single = !(detail::is_linked<Requests> || ...);
    constexpr bool all_sends = (detail::requests_of<Requests>::all_send && ...);
    // Of what is not to be posted by itself it is not asked what it is.
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

  /// The same for what was prepared: a request, a batch, a list or a part of one. Where its last
  /// request has to be signaled, it is so for this post alone.
  template <class Prepared>
    requires(detail::is_prepared<std::remove_reference_t<Prepared>> &&
             !std::is_const_v<std::remove_reference_t<Prepared>>)
  [[gnu::always_inline]] send_window_result post(Prepared&& prepared) noexcept {
    using prepared_type = std::remove_reference_t<Prepared>;
    constexpr bool all_sends = detail::requests_of<prepared_type>::all_send;
    check_all_send<all_sends>();
    if constexpr (all_sends) {
      const auto post_linked = [this](ibv_send_wr* first, std::uint32_t count, const auto& post) {
        return this->post_linked<prepared_type::is_just_one>(first, count, post);
      };
      return engine_.post(
          detail::prepared_for_window<prepared_type, decltype(post_linked)>{prepared, post_linked});
    }
  }

  /// Takes back the credits of a request that has completed, and of all before it. To be told of
  /// every completion of the pair's sends, failed ones too, in the order in which they were polled,
  /// and of no other.
  ///
  /// Reports EINVAL for one of another pair, one of a receive that succeeded, and one when no
  /// request that completes is in progress. A receive that failed looks like a send that failed:
  /// the program tells them apart by their ids.
  void completed(const completion& each, on_failure policy = throwing{}) {
    const bool is_success = each.status() == completion_status::success;
    const bool is_other = each.queue_pair() != number_;
    const bool is_receive = is_success && each.success().receive();
    if (is_other || is_receive) [[unlikely]]
      return report_foreign(policy, each.queue_pair(), is_other);
    retire(is_success, policy);
  }
  /// The same for the extended engine, where it is not checked whose completion it is: to read that
  /// would be two calls of the provider.
  template <completion_fields Fields>
  void completed(const extended_completion<Fields>& each, on_failure policy = throwing{}) {
    retire(each.status() == completion_status::success, policy);
  }

  /// Starts anew, with all credits. For a pair that was brought to RESET, which forgets what is in
  /// progress, after which the completion queue was polled until it was empty: a completion of
  /// before that must not be handed in later.
  void restart() noexcept { credits_.restart(); }

 private:
  static constexpr std::string_view verb = "send_window";
  /// In place of how many requests were accepted.
  static constexpr std::size_t unknown = static_cast<std::size_t>(-1);

  /// A window without a pair has no credits, so there is nothing to check again.
  [[gnu::always_inline]] void assume_engine() const noexcept {
    if (!engine_) __builtin_unreachable();
  }

  template <bool AllSend>
  static constexpr void check_all_send() noexcept {
    static_assert(AllSend,
                  "only requests that send go through a send window: post receives to the pair");
  }

  /// Posts requests of which one may have to be signaled: copies, so that what they were made from
  /// need not be in memory. A single one is signaled already.
  template <class... Requests>
  [[gnu::always_inline]] send_window_result post_signaled(const Requests&... requests) noexcept {
    constexpr std::size_t count = sizeof...(Requests);
    if (!credits_.fits(count)) [[unlikely]]
      return no_room(count);
    std::array<bool, count> signaled{requests.is_signaled()...};
    if constexpr (count > 1) signaled.back() = credits_.is_last_due(signaled);
    const post_result posted =
        hand_over(signaled, std::index_sequence_for<Requests...>{}, requests...);
    count_posted(signaled, posted);
    return posted;
  }

  template <class Flags, std::size_t... Index, class... Requests>
  [[nodiscard, gnu::always_inline]] post_result hand_over(
      const Flags& signaled, std::index_sequence<Index...>,
      const Requests&... requests) const noexcept {
    assume_engine();
    return engine_.post(requests.signaled(signaled[Index])...);
  }

  /// Posts a chain that was prepared.
  template <bool JustOne, class Post>
  [[gnu::always_inline]] post_result post_linked(ibv_send_wr* first, std::uint32_t count,
                                                 const Post& post) noexcept {
    constexpr unsigned signal = IBV_SEND_SIGNALED;
    const detail::signaled_in_chain signaled{first};
    if (!credits_.fits(count)) [[unlikely]]
      return no_room(count);
    ibv_send_wr* last = first;
    if constexpr (!JustOne)
      while (last->next != nullptr) last = last->next;
    const unsigned flags = last->send_flags;
    if (credits_.is_last_due(signaled)) last->send_flags = flags | signal;
    const post_result posted = post(first, count);
    count_posted(signaled, posted);
    last->send_flags = flags;
    return posted;
  }

  template <class Flags>
  [[gnu::always_inline]] void count_posted(const Flags& signaled,
                                           const post_result& posted) noexcept {
    if (posted) [[likely]]
      for (const bool each : signaled) credits_.count(each);
    else
      count_refused(signaled, posted.accepted().value_or(unknown));
  }

  /// Counts those requests of a chain that were accepted. When it is unknown which these are, all
  /// are counted: they may be in the queue.
  template <class Flags>
  [[gnu::cold, gnu::noinline]] void count_refused(Flags signaled, std::size_t accepted) noexcept {
    if (accepted == unknown) credits_.set_broken();
    for (const bool each : signaled) {
      if (accepted-- == 0) return;
      credits_.count(each);
    }
  }

  /// Where no completion can make room, it is an error: to wait would be for ever.
  [[nodiscard, gnu::cold, gnu::noinline]] post_result no_room(std::size_t count) const noexcept {
    const ibv_qp* const pair = detail::posting_pair(engine_);
    if (count > size() || !credits_.makes_room())
      return {pair, EINVAL, 0, detail::posted_to::send_window};
    return send_window_result::of_full(pair, outstanding(), size());
  }

  void retire(bool is_success, on_failure policy) {
    const bool known = is_success ? credits_.succeeded() : credits_.failed();
    if (known) [[likely]]
      return policy.clear();
    report_completion(policy, [](text_writer& writer) {
      writer.put("no request that completes is in progress");
    });
  }

  [[gnu::cold, gnu::noinline]] void report_foreign(on_failure policy, qp_number pair,
                                                   bool is_other) const {
    report_completion(policy, [&](text_writer& writer) {
      if (is_other)
        writer.put("the completion is of qp ").put(pair);
      else
        writer.put("the completion is of a receive");
    });
  }
  template <class Explain>
  void report_completion(on_failure policy, const Explain& explain) const {
    policy.report(EINVAL, "send_window::completed", [&](failure_description& description) {
      on_pair(description);
      description.explain(explain);
    });
  }

  /// Reports a window that cannot be.
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
              writer.put("every request may be signaled (1) or fewer, but not every 0th");
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
