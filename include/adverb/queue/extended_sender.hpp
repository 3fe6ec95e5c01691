// SPDX-License-Identifier: MIT
// The extended engine for sends: function calls of the provider instead of a list of structs.
#pragma once

#include <cerrno>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include <infiniband/verbs.h>

#include <adverb/core/detail/hardening.hpp>
#include <adverb/core/handle.hpp>
#include <adverb/queue/detail/post.hpp>
#include <adverb/request/detail/queue_traits.hpp>
#include <adverb/request/send_operation.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

/// True if the rdma-core headers declare the call of an operation; older versions lack some.
/// `Sender` stands for `ibv_qp_ex`.
template <class Traits, class Sender>
inline constexpr bool is_call_declared =
    requires(const Sender& sender) { Traits::is_offered(sender); };

template <transport Transport, send_operations Operations, class Request>
[[nodiscard]] consteval bool is_buildable() noexcept {
  if constexpr (is_send_request<Request>) {
    using traits = typename Request::operation_type::traits;
    return suits<Transport, Request>() && Operations.contains(traits::operation) &&
           is_call_declared<traits, ibv_qp_ex>;
  } else {
    return false;
  }
}

template <class Sender, class Request>
  requires requires { Sender::operations; }
struct takes<Sender, Request>
    : std::bool_constant<is_buildable<Sender::transport_of, Sender::operations, Request>()> {};

template <transport Transport, send_operations Operations, class Request>
consteval void check_extended() noexcept {
  constexpr bool is_send = is_send_request<Request>;
  constexpr bool built_already = is_prepared<Request> || is_linked<Request>;
  static_assert(!built_already,
                "the extended sender cannot post prepared requests, because it builds each request "
                "anew: post them through the queue pair");
  static_assert(
      is_send || built_already,
      "the extended sender posts only send queue requests: post receives to the queue pair");
  if constexpr (is_send) {
    check_sendable<Transport, qp_state::rts, Request>();
    using traits = typename Request::operation_type::traits;
    static_assert(Operations.contains(traits::operation),
                  "the extended sender was created without this operation: name it in "
                  "extended<operations>()");
    constexpr bool declared = is_call_declared<traits, ibv_qp_ex>;
    if constexpr (requires { traits::template check_declared<declared>(); })
      traits::template check_declared<declared>();
  }
}

/// Rejects at compile time operations that a transport does not carry.
template <transport Transport, send_operations Operations>
consteval void check_all_carried() noexcept {
  constexpr std::uint64_t others = (Operations - operations_carried_by(Transport)).bits();
  constexpr auto first = static_cast<send_operation>(others & (~others + 1));
  if constexpr (others != 0) check_carried<Transport, operation_traits<first>::service>();
}

// The following functions are always inlined, for the same reason as posting.

/// Passes the requests built since ibv_wr_start to the device.
[[nodiscard, gnu::always_inline]] inline post_result complete(ibv_qp_ex* sender,
                                                              std::uint32_t size) noexcept {
  constexpr auto queue = posted_to::extended_send_queue;
  before_post_to(sender->qp_base.send_cq);
  const int result = ibv_wr_complete(sender);
  if (result != 0) [[unlikely]]
    return {&sender->qp_base, error_of_post(result), 0, queue};
  return {&sender->qp_base, 0, size, queue};
}

/// Notifies a built request of its refusal, if it has a member for that.
template <class Request>
constexpr void tell_refused(const Request& request) noexcept {
  if constexpr (requires { request.refused(); }) request.refused();
}

/// Returns the operations among `Asked` for which a provider has set a function, requested or not.
/// Reads no others, because the struct of a library that is older than the headers may end before
/// them. Not cold: GCC takes what follows a cold call for cold, too, which may be the program's
/// loop.
template <send_operations Asked>
[[nodiscard, gnu::noinline]] send_operations operations_among(const ibv_qp_ex& sender) noexcept {
  send_operations found;
  for_each_operation([&]<send_operation Each>() {
    using traits = operation_traits<Each>;
    if constexpr (Asked.contains(Each) && is_call_declared<traits, ibv_qp_ex>)
      if (traits::is_offered(sender)) found |= Each;
  });
  return found;
}

}  // namespace detail

/// A batch of requests that are posted together: created by `sender.start()`, filled by `add`, and
/// posted by `commit`. Destroying it without a commit aborts it, and posts nothing.
///
/// From start to commit the send queue is in a critical section, for which some providers hold a
/// lock. Post nothing else to the queue pair meanwhile, and do not block.
template <transport Transport, send_operations Operations>
class [[nodiscard("nothing is posted before .commit()")]] extended_batch {
 public:
  /// Starts a batch. Wraps: ibv_wr_start(3).
  [[gnu::always_inline]] explicit extended_batch(ibv_qp_ex* sender) noexcept : sender_{sender} {
    detail::require_present("ibv_wr_start", sender_);
    ibv_wr_start(sender_);
  }
  extended_batch(extended_batch&& other) noexcept
      : sender_{std::exchange(other.sender_, nullptr)}, size_{other.size_} {}
  extended_batch& operator=(extended_batch&&) = delete;
  /// Aborts the batch if it was not committed. Wraps: ibv_wr_abort(3).
  [[gnu::always_inline]] ~extended_batch() {
    if (sender_ != nullptr) ibv_wr_abort(sender_);
  }

  /// Adds a request. Reads its buffer lists and inline bytes now.
  template <class Request>
  [[gnu::always_inline]] extended_batch& add(const Request& request) & noexcept {
    detail::check_extended<Transport, Operations, Request>();
    if constexpr (detail::is_send_request<Request>) request.build(sender_);
    ++size_;
    return *this;
  }
  /// Adds a request to a temporary, which must be committed in the same expression.
  template <class Request>
  [[nodiscard, gnu::always_inline]] extended_batch&& add(const Request& request) && noexcept {
    return std::move(add(request));
  }

  /// Posts all requests: either all are accepted, or none. Call it once. Wraps: ibv_wr_complete(3).
  [[gnu::always_inline]] post_result commit() noexcept {
    return detail::complete(std::exchange(sender_, nullptr), size_);
  }

 private:
  ibv_qp_ex* sender_;
  std::uint32_t size_ = 0;
};

/// Sends through the extended calls of a queue pair. Returned by `pair.extended()`. Pass it by
/// value; it is as cheap as a pointer. The queue pair must have been created with these operations
/// (`queue_pair_options::send_operations`) and be ready to send.
template <transport Transport, send_operations Operations = basic_operations(Transport)>
class extended_sender {
 public:
  /// The transport of the queue pair.
  static constexpr adverb::transport transport_of = Transport;
  /// The operations that it can send.
  static constexpr send_operations operations = Operations;

  extended_sender() noexcept = default;

  /// Creates the sender of a queue pair. Fails with EOPNOTSUPP if the queue pair was not created
  /// for these operations. Wraps: ibv_qp_to_qp_ex(3).
  extended_sender(adopt_t, ibv_qp* pair, on_failure policy = throwing{}) {
    detail::check_all_carried<Transport, Operations>();
    constexpr const char* verb = "ibv_qp_to_qp_ex";
    if (!detail::check_present(policy, verb, pair)) return;
    ibv_qp_ex* const sender = ibv_qp_to_qp_ex(pair);
    const send_operations missing =
        sender == nullptr ? Operations : Operations - detail::operations_among<Operations>(*sender);
    const int result = sender == nullptr || !missing.empty() ? EOPNOTSUPP : 0;
    const bool usable =
        detail::check_returned(policy, verb, result, [&](failure_description& description) {
          detail::on_object<detail::queue_pair_traits>(pair)(description);
          description.explain(
              "the queue pair was not created with extended calls for {}: add them to "
              "queue_pair_options::send_operations, or use post(...) of the pair",
              {missing});
        });
    if (usable) sender_ = sender;
  }

  /// Returns the C object, or null if empty.
  [[nodiscard]] ibv_qp_ex* native_handle() const noexcept { return sender_; }
  [[nodiscard]] explicit operator bool() const noexcept { return sender_ != nullptr; }

  /// Posts work requests in order: either all are accepted, or none. Does not allocate.
  template <class... Requests>
  [[gnu::always_inline]] post_result post(const Requests&... requests) const noexcept {
    static_assert(sizeof...(Requests) > 0, "there is nothing to post");
    (detail::check_extended<Transport, Operations, Requests>(), ...);
    constexpr bool all_sends = (detail::is_send_request<Requests> && ...);
    if constexpr (all_sends) {
      // GCC needs four more instructions for each request after a check.
      if constexpr (detail::hardened(ADVERB_HARDENING_DEBUG))
        detail::require_present("ibv_wr_start", sender_);
      ibv_wr_start(sender_);
      (requests.build(sender_), ...);
      const post_result result = detail::complete(sender_, sizeof...(Requests));
      if (!result) [[unlikely]]
        (detail::tell_refused(requests), ...);
      return result;
    } else {
      return {nullptr, EINVAL, 0, detail::posted_to::extended_send_queue};
    }
  }

  /// Starts a batch, to which requests are added one by one.
  [[nodiscard, gnu::always_inline]] extended_batch<Transport, Operations> start() const noexcept {
    return extended_batch<Transport, Operations>{sender_};
  }

 private:
  ibv_qp_ex* sender_ = nullptr;
};

}  // namespace adverb::inline ADVERB_ABI
