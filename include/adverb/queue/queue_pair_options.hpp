// SPDX-License-Identifier: MIT
// What queue pairs are made with.
#pragma once

#include <cstdint>
#include <string_view>
#include <system_error>

#include <infiniband/verbs.h>

#include <adverb/completion/completion_queue.hpp>
#include <adverb/core/problem_list.hpp>
#include <adverb/queue/transport.hpp>

namespace adverb::inline ADVERB_ABI {

/// What a queue pair is made with.
struct queue_pair_options {
  /// Where sends complete.
  completion_queue_ref send_cq{};
  /// Where receives complete.
  completion_queue_ref recv_cq{};
  /// Where receives are taken from, instead of a receive queue of its own.
  reference<ibv_srq> srq{};
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

  [[nodiscard]] ibv_qp_init_attr native(transport service) const noexcept {
    return {.qp_context = user_context,
            .send_cq = send_cq.native_handle(),
            .recv_cq = recv_cq.native_handle(),
            .srq = srq.native_handle(),
            .cap = {.max_send_wr = max_send_wr,
                    .max_recv_wr = max_recv_wr,
                    .max_send_sge = max_send_sge,
                    .max_recv_sge = max_recv_sge,
                    .max_inline_data = max_inline_data},
            .qp_type = static_cast<ibv_qp_type>(service),
            .sq_sig_all = signal_all_sends ? 1 : 0};
  }
};

namespace detail {

/// Says why a queue pair could not be made.
inline void explain_creation(failure_description& description, context_ref context,
                             const queue_pair_options& options) {
  description.explain([&](text_writer& writer) {
    std::error_code unknown;
    const device_attributes device = context.query_device(unknown);
    if (unknown) return;
    problem_list problems{writer};
    problems.add_if_over("max_send_wr", options.max_send_wr, device.max_work_requests());
    problems.add_if_over("max_recv_wr", options.max_recv_wr, device.max_work_requests());
    problems.add_if_over("max_send_sge", options.max_send_sge, device.max_sge());
    problems.add_if_over("max_recv_sge", options.max_recv_sge, device.max_sge());
    if (problems.empty() && options.max_inline_data > 0)
      problems.add([&](text_writer& out) {
        out.put("max_inline_data is ").decimal(options.max_inline_data);
        out.put(", which may be more than the device allows");
      });
  });
}

}  // namespace detail
}  // namespace adverb::inline ADVERB_ABI
