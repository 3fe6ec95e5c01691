// SPDX-License-Identifier: MIT
// Requests and calls that bind memory windows, and requests that invalidate their keys.
#pragma once

#include <cstdint>

#include <infiniband/verbs.h>

#include <adverb/fwd.hpp>
#include <adverb/memory/memory_window.hpp>
#include <adverb/memory/window_binding.hpp>
#include <adverb/request/inline_data.hpp>
#include <adverb/request/postable.hpp>
#include <adverb/request/queue_pair_state.hpp>
#include <adverb/request/send_operation.hpp>
#include <adverb/request/work_request.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

template <window_type Type>
class memory_window_base;

struct bind_window_operation {
  using traits = operation_traits<send_operation::bind_window>;

  ibv_mw* window;
  ibv_mr* region;
  std::uint64_t address;
  std::uint64_t length;
  unsigned rights;
  std::uint32_t key;
  std::uint32_t previous_key;

  void fill(ibv_send_wr& request) const noexcept {
    request.invalidate_rkey = 0;  // The provider of Soft-RoCE refuses anything else.
    request.bind_mw.mw = window;
    request.bind_mw.rkey = key;
    request.bind_mw.bind_info.mr = region;
    request.bind_mw.bind_info.addr = address;
    request.bind_mw.bind_info.length = length;
    request.bind_mw.bind_info.mw_access_flags = rights;
  }

  /// The provider reads the window's key from its struct, and most leave it to the program to write
  /// the new key there.
  void accepted() const noexcept { window->rkey = key; }
  void refused() const noexcept { window->rkey = previous_key; }
  /// The provider has read the key when this call returns, although the post may still be refused.
  /// Wraps: ibv_wr_bind_mw(3).
  void build(ibv_qp_ex* sender) const noexcept {
    const ibv_mw_bind_info info{region, address, length, rights};
    ibv_wr_bind_mw(sender, window, key, &info);
    accepted();
  }
};

struct invalidate_fields {
  std::uint32_t key;

  void fill(ibv_send_wr& request) const noexcept { request.invalidate_rkey = key; }
};

struct local_invalidate_operation : invalidate_fields {
  using traits = operation_traits<send_operation::local_invalidate>;

  /// Wraps: ibv_wr_local_inv(3).
  void build(ibv_qp_ex* sender) const noexcept { ibv_wr_local_inv(sender, key); }
};

struct send_with_invalidate_operation : invalidate_fields {
  using traits = operation_traits<send_operation::send_with_invalidate>;

  /// Wraps: ibv_wr_send_inv(3).
  void build(ibv_qp_ex* sender) const noexcept { ibv_wr_send_inv(sender, key); }
};

}  // namespace detail

/// Creates a request that binds a window of type 2 according to a prepared binding. Later requests
/// on the same queue pair may already announce the window to the peer. The window must not be
/// bound: invalidate its previous binding first, if desired in the same post. Bind a window only
/// once per post. `window.key()` returns the new key once the request is posted or added to an
/// extended batch. See `restore_key` for a request that completes with an error, or whose batch is
/// aborted or refused.
template <window_type Type, class T, access_rights Rights>
[[nodiscard]] constexpr auto bind_window(const window_binding<Type, T, Rights>& binding) noexcept {
  static_assert(Type == window_type::two,
                "a window of type 1 is bound by a call: queue_pair.bind(window, region, ...)");
  const ibv_mw_bind_info& info = binding.native();
  return send_request{
      detail::bind_window_operation{binding.native_window(), info.mr, info.addr, info.length,
                                    info.mw_access_flags, static_cast<std::uint32_t>(binding.key()),
                                    static_cast<std::uint32_t>(binding.previous_key())},
      detail::no_payload{}};
}

/// Rejected at compile time: a window alone specifies neither a region nor rights.
template <window_type Type>
void bind_window(const detail::memory_window_base<Type>&) noexcept {
  static_assert(Type != window_type::two,
                "bind_window takes a prepared binding: bind_window(window.prepare(region, ...))");
  static_assert(Type != window_type::one,
                "a window of type 1 is bound by a call: queue_pair.bind(window, region, ...)");
}

/// Creates a request that invalidates a local key of a window of type 2, which can then be bound
/// again. The window must be bound, and the peer must not invalidate the key too: on Soft-RoCE
/// (Linux 6.1) the second invalidation crashes the kernel.
[[nodiscard]] constexpr auto local_invalidate(rkey key) noexcept {
  return send_request{detail::local_invalidate_operation{{static_cast<std::uint32_t>(key)}},
                      detail::no_payload{}};
}
template <window_type Type, class T, access_rights Rights>
[[nodiscard]] constexpr auto local_invalidate(
    const window_binding<Type, T, Rights>& binding) noexcept {
  static_assert(Type == window_type::two,
                "a window of type 1 is unbound by a call: queue_pair.unbind(binding)");
  return local_invalidate(binding.key());
}

/// Creates a send that also invalidates a key granted by the peer, of a window of type 2. The
/// payload goes to a receive posted by the peer. The peer finds the key in its completion
/// (`invalidated_key`).
template <class... Payload>
[[nodiscard]] constexpr auto send_with_invalidate(rkey key, const Payload&... payload) noexcept {
  return send_request{detail::send_with_invalidate_operation{{static_cast<std::uint32_t>(key)}},
                      detail::gather(payload...)};
}
template <class T, access_rights Rights, class... Payload>
[[nodiscard]] constexpr auto send_with_invalidate(const remote_buffer<T, Rights>& remote,
                                                  const Payload&... payload) noexcept {
  return send_with_invalidate(remote.key(), payload...);
}

/// Completion options of a call that binds or unbinds a window of type 1.
struct bind_options {
  /// The `id()` of the completion.
  std::uint64_t id = 0;
  /// Requests a completion.
  bool signaled = false;
  /// Waits until all earlier reads and atomics of the queue pair have completed (RC).
  bool fenced = false;

  /// Returns the send flags of the C API.
  [[nodiscard]] unsigned send_flags() const noexcept;
};

namespace detail {

/// Rejects at compile time a queue pair that cannot bind or unbind a window.
template <transport Transport, qp_state State>
consteval void check_can_bind() noexcept {
  if constexpr (check_known<State>())
    static_assert(can_send_in(State),
                  "windows can be bound when the queue pair is ready to send: finish rts() or "
                  "connect() first");
  static_assert(carries(Transport, service_class::connection),
                "memory windows need a connection: UC, RC or XRC");
}

inline constexpr std::uint64_t largest_window_of_mlx5 = std::uint64_t{1} << 31;

/// Binds the window on the queue pair; a length of zero unbinds it. Returns true on success.
bool call_bind(on_failure policy, ibv_qp* pair, ibv_mw* window, const ibv_mw_bind_info& info,
               const bind_options& options);

template <class Binding>
[[nodiscard]] Binding bind_by_call(ibv_qp* pair, const window_request& request, ibv_mw* window,
                                   const bind_options& options, on_failure policy) {
  if (!check_window(policy, "ibv_bind_mw", request)) return {};
  const auto previous = static_cast<rkey>(window->rkey);
  const ibv_mw_bind_info info = request.native();
  if (!call_bind(policy, pair, window, info, options)) return {};
  return {adopt, window, info, static_cast<rkey>(window->rkey), previous};
}

void unbind_by_call(ibv_qp* pair, ibv_mw* window, const ibv_mw_bind_info& bound,
                    const bind_options& options, on_failure policy);

}  // namespace detail
}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/request/impl/window_requests.ipp>
#endif
