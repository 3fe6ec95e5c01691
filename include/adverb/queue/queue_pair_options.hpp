// SPDX-License-Identifier: MIT
// What queue pairs are made with.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include <infiniband/verbs.h>

#include <adverb/completion/completion_queue.hpp>
#include <adverb/core/flags.hpp>
#include <adverb/queue/send_operation.hpp>
#include <adverb/queue/transport.hpp>

namespace adverb::inline ADVERB_ABI {

/// What a queue pair is made as.
enum class queue_pair_flag : std::uint32_t {
  /// Does not get back the multicast messages that it sends itself (UD).
  block_own_multicast = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB,
  /// Receives the frame check sequence with each packet (raw packets).
  scatter_frame_check_sequence = IBV_QP_CREATE_SCATTER_FCS,
  /// Has the VLAN tag taken out of each packet (raw packets).
  strip_vlan = IBV_QP_CREATE_CVLAN_STRIPPING,
  /// Writes whole cache lines over PCI.
  pci_write_end_padding = IBV_QP_CREATE_PCI_WRITE_END_PADDING,
};
template <>
inline constexpr bool is_flag<queue_pair_flag> = true;
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

/// Accepts queues of XRC.
void accept_xrc_queue(const xrc_shared_receive_queue_base& queue);

template <class Queue>
concept xrc_queue = requires(const Queue& queue) { detail::accept_xrc_queue(queue); };

/// Refers to a shared receive queue that a pair can take its receives from.
class shared_queue_of_pair : public reference<ibv_srq> {
 public:
  constexpr shared_queue_of_pair() noexcept = default;
  template <std::convertible_to<reference<ibv_srq>> Queue>
  constexpr shared_queue_of_pair(Queue&& queue) noexcept
      : reference<ibv_srq>{std::forward<Queue>(queue)} {
    constexpr bool is_of_xrc = xrc_queue<Queue>;
    static_assert(!is_of_xrc,
                  "a shared receive queue of XRC belongs to no queue pair: requests name it, by "
                  ".to(number)");
  }
};

}  // namespace detail

/// What a queue pair is made with.
struct queue_pair_options {
  /// Where sends complete.
  completion_queue_ref send_cq{};
  /// Where receives complete.
  completion_queue_ref recv_cq{};
  /// Where receives are taken from, instead of a receive queue of its own: a shared_receive_queue
  /// or a tag_matching_queue.
  detail::shared_queue_of_pair srq{};
  /// How many requests each queue holds, at least.
  std::uint32_t max_send_wr = 1;
  std::uint32_t max_recv_wr = 1;
  /// How many elements each request may have, at least.
  std::uint32_t max_send_sge = 1;
  std::uint32_t max_recv_sge = 1;
  /// How many bytes a request can carry inline, at least.
  std::uint32_t max_inline_data = 0;
  /// Gives a completion for every send, not only for signaled ones.
  bool signal_all_sends = false;
  /// Handed back by `user_context()`.
  void* user_context = nullptr;
  /// What can be sent through `extended()`; nothing unless it is said here.
  adverb::send_operations send_operations{};
  /// With these operations: they are preferred, not required. Where the device says that it has no
  /// extended calls for them (EOPNOTSUPP, ENOSYS), the pair is made without, and `with_sender`
  /// sends classically.
  bool fall_back_to_classic = false;
  queue_pair_flags flags{};
  /// The longest header of segmented sends, in bytes (UD, raw packets).
  std::uint16_t max_tso_header = 0;
  /// Sends under the number of another queue pair (UD).
  std::optional<qp_number> source_queue_pair{};

  /// True when only the extended call can make such a pair.
  [[nodiscard]] bool needs_extended_creation() const noexcept {
    return !send_operations.empty() || !flags.empty() || max_tso_header != 0 || source_queue_pair;
  }

  /// One of a transport without a receive queue asks for none: the provider might make room for it
  /// (mlx5 does) where the kernel makes none.
  [[nodiscard]] ibv_qp_init_attr native(transport service) const noexcept {
    const bool receives = detail::receives(service);
    return {.qp_context = user_context,
            .send_cq = send_cq.native_handle(),
            .recv_cq = recv_cq.native_handle(),
            .srq = srq.native_handle(),
            .cap = {.max_send_wr = max_send_wr,
                    .max_recv_wr = receives ? max_recv_wr : 0,
                    .max_send_sge = max_send_sge,
                    .max_recv_sge = receives ? max_recv_sge : 0,
                    .max_inline_data = max_inline_data},
            .qp_type = static_cast<ibv_qp_type>(service),
            .sq_sig_all = signal_all_sends ? 1 : 0};
  }

  /// The same for ibv_create_qp_ex.
  [[nodiscard]] ibv_qp_init_attr_ex native_extended(transport service,
                                                    ibv_pd* domain) const noexcept {
    const ibv_qp_init_attr plain = native(service);
    ibv_qp_init_attr_ex extended{};
    extended.qp_context = plain.qp_context;
    extended.send_cq = plain.send_cq;
    extended.recv_cq = plain.recv_cq;
    extended.srq = plain.srq;
    extended.cap = plain.cap;
    extended.qp_type = plain.qp_type;
    extended.sq_sig_all = plain.sq_sig_all;
    extended.comp_mask = IBV_QP_INIT_ATTR_PD;
    extended.pd = domain;
    if (!send_operations.empty()) {
      extended.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
      extended.send_ops_flags = send_operations.bits();
    }
    if (!flags.empty() || source_queue_pair) {
      extended.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
      extended.create_flags = flags.bits();
    }
    if (source_queue_pair) {
      extended.create_flags |= IBV_QP_CREATE_SOURCE_QPN;
      extended.source_qpn = static_cast<std::uint32_t>(*source_queue_pair);
    }
    if (max_tso_header != 0) {
      extended.comp_mask |= IBV_QP_INIT_ATTR_MAX_TSO_HEADER;
      extended.max_tso_header = max_tso_header;
    }
    return extended;
  }
};

}  // namespace adverb::inline ADVERB_ABI
