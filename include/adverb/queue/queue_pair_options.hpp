// SPDX-License-Identifier: MIT
// The options for creating queue pairs.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include <infiniband/verbs.h>

#include <adverb/completion/completion_queue.hpp>
#include <adverb/core/flags.hpp>
#include <adverb/request/send_operation.hpp>

namespace adverb::inline ADVERB_ABI {

/// Flags for creating a queue pair.
enum class queue_pair_flag : std::uint32_t {
  /// Does not receive the multicast messages that it sends itself (UD).
  block_own_multicast = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB,
  /// Receives the frame check sequence with each packet (raw packets).
  scatter_frame_check_sequence = IBV_QP_CREATE_SCATTER_FCS,
  /// Strips the VLAN tag from each packet (raw packets).
  strip_vlan = IBV_QP_CREATE_CVLAN_STRIPPING,
  /// Writes whole cache lines over PCI.
  pci_write_end_padding = IBV_QP_CREATE_PCI_WRITE_END_PADDING,
};
template <>
inline constexpr bool is_flag<queue_pair_flag> = true;
/// A set of creation flags.
using queue_pair_flags = flags<queue_pair_flag>;

[[nodiscard]] constexpr std::string_view flag_name(queue_pair_flag flag) noexcept {
  switch (flag) {
    case queue_pair_flag::block_own_multicast: return "block_own_multicast";
    case queue_pair_flag::scatter_frame_check_sequence: return "scatter_frame_check_sequence";
    case queue_pair_flag::strip_vlan: return "strip_vlan";
    case queue_pair_flag::pci_write_end_padding: return "pci_write_end_padding";
  }
  return {};
}

namespace detail {

class xrc_shared_receive_queue_base;

/// Accepts the shared receive queues of XRC.
void accept_xrc_queue(const xrc_shared_receive_queue_base& queue);

template <class Queue>
concept xrc_queue = requires(const Queue& queue) { detail::accept_xrc_queue(queue); };

/// Refers to a shared receive queue from which a queue pair can take its receives.
class shared_queue_of_pair : public reference<ibv_srq> {
 public:
  constexpr shared_queue_of_pair() noexcept = default;
  template <std::convertible_to<reference<ibv_srq>> Queue>
  constexpr shared_queue_of_pair(Queue&& queue) noexcept
      : reference<ibv_srq>{std::forward<Queue>(queue)} {
    constexpr bool is_of_xrc = xrc_queue<Queue>;
    static_assert(!is_of_xrc,
                  "a queue pair cannot use an XRC shared receive queue: each request names it with "
                  ".to(number)");
  }
};

}  // namespace detail

/// The options for creating a queue pair.
struct queue_pair_options {
  /// Completion queue of the sends and of the receives. Creating a queue pair fails with EINVAL if
  /// `send_cq` or `recv_cq` is set too.
  completion_queue_ref cq{};
  /// Completion queue of the sends.
  completion_queue_ref send_cq{};
  /// Completion queue of the receives.
  completion_queue_ref recv_cq{};
  /// Source of the receives instead of an own receive queue: a shared_receive_queue or
  /// tag_matching_queue.
  detail::shared_queue_of_pair srq{};
  /// Minimum number of requests that each queue holds.
  std::uint32_t max_send_wr = 1;
  /// Minimum number of receives that the queue holds.
  std::uint32_t max_recv_wr = 1;
  /// Minimum number of scatter/gather elements per request.
  std::uint32_t max_send_sge = 1;
  /// Minimum number of scatter elements per receive.
  std::uint32_t max_recv_sge = 1;
  /// Minimum number of bytes that a request can carry inline.
  std::uint32_t max_inline_data = 0;
  /// Generates a completion for every send, not only for signaled ones.
  bool signal_all_sends = false;
  /// Returned by `user_context()`.
  void* user_context = nullptr;
  /// Operations that can be sent through `extended()`; none by default.
  adverb::send_operations send_operations{};
  /// Makes the operations above preferred, not required. If the device has no extended calls for
  /// them (EOPNOTSUPP, ENOSYS), the queue pair is created without them, and `with_sender` sends
  /// classically.
  bool fall_back_to_classic = false;
  /// Creation flags.
  queue_pair_flags flags{};
  /// Longest header of segmented sends, in bytes (UD, raw packets).
  std::uint16_t max_tso_header = 0;
  /// Number of another queue pair to send under (UD).
  std::optional<qp_number> source_queue_pair{};

  /// Returns true if only the extended call can create this queue pair.
  [[nodiscard]] bool needs_extended_creation() const noexcept {
    return !send_operations.empty() || !flags.empty() || max_tso_header != 0 || source_queue_pair;
  }

  /// Returns the attributes for ibv_create_qp. For a transport without a receive queue, they
  /// request none: the provider might otherwise allocate one (mlx5 does) where the kernel does not.
  [[nodiscard]] ibv_qp_init_attr native(transport service) const noexcept;

  /// Returns the attributes for ibv_create_qp_ex.
  [[nodiscard]] ibv_qp_init_attr_ex native_extended(transport service,
                                                    ibv_pd* domain) const noexcept;
};

}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/queue/impl/queue_pair_options.ipp>
#endif
