// SPDX-License-Identifier: MIT
// The calls that bind and unbind a memory window of type 1.
#pragma once

#include <cstdint>

#include <infiniband/verbs.h>

#include <adverb/memory/memory_window.hpp>
#include <adverb/queue/postable.hpp>
#include <adverb/queue/transport.hpp>

namespace adverb::inline ADVERB_ABI {

/// Completion options of a call that binds or unbinds a window of type 1.
struct bind_options {
  /// The `id()` of the completion.
  std::uint64_t id = 0;
  /// Requests a completion.
  bool signaled = false;
  /// Waits until all earlier reads and atomics of the queue pair have completed (RC).
  bool fenced = false;

  [[nodiscard]] unsigned send_flags() const noexcept;
};

namespace detail {

/// Rejects at compile time a queue pair that cannot bind or unbind a window.
template <transport Transport, qp_state State>
constexpr void check_can_bind() noexcept {
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
#include <adverb/queue/impl/window_calls.ipp>
#endif
