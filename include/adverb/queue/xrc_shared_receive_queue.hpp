// SPDX-License-Identifier: MIT
// The shared receive queues of extended reliable connections (XRC), which requests name by number.
#pragma once

#include <cstdint>

#include <infiniband/verbs.h>

#include <adverb/completion/completion_queue.hpp>
#include <adverb/queue/shared_receive_queue.hpp>
#include <adverb/queue/xrc_domain.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

/// Operations on an XRC shared receive queue, owned or referenced.
class xrc_shared_receive_queue_base : public shared_receive_queue_base {
 public:
  using shared_receive_queue_base::shared_receive_queue_base;

  /// Returns the number by which the peer's requests name this queue. Wraps: ibv_get_srq_num(3).
  [[nodiscard]] shared_receive_queue_number number(on_failure policy = throwing{}) const {
    if (!present(policy, "ibv_get_srq_num")) return {};
    std::uint32_t number = 0;
    const int result = ibv_get_srq_num(native_handle(), &number);
    if (!detail::check_returned(
            policy, "ibv_get_srq_num", result,
            detail::on_object<detail::shared_receive_queue_traits>(native_handle())))
      return {};
    return static_cast<shared_receive_queue_number>(number);
  }
};

}  // namespace detail

/// Refers to an XRC shared receive queue that another object keeps alive. Pass it by value; it
/// is as cheap as a pointer.
class xrc_shared_receive_queue_ref
    : public detail::reference_to<detail::xrc_shared_receive_queue_base> {
 public:
  using reference_to::reference_to;
};

/// Owns an XRC shared receive queue, which belongs to no queue pair. A message that arrives at any
/// target of its XRC domain takes a receive from the queue whose number it carries. Posting is
/// thread safe.
class [[nodiscard]] xrc_shared_receive_queue
    : public detail::owner<detail::xrc_shared_receive_queue_base, detail::srq_with_cq_traits> {
 public:
  using owner::owner;

  /// Creates a queue whose receives complete on `queue`. Wraps: ibv_create_srq_ex(3).
  xrc_shared_receive_queue(protection_domain_ref domain, xrc_domain_ref xrc_domain,
                           completion_queue_ref queue, const shared_receive_queue_options& options,
                           on_failure policy = throwing{})
      : owner{detail::make_completing<xrc_shared_receive_queue>(
            policy,
            {.srq_context = options.user_context,
             .attr = options.native(),
             .comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD |
                          IBV_SRQ_INIT_ATTR_CQ,
             .srq_type = IBV_SRQT_XRC,
             .pd = domain.native_handle(),
             .xrcd = xrc_domain.native_handle(),
             .cq = queue.native_handle(),
             .tm_cap = {}},
            [&](detail::problem_list& problems) {
              detail::explain_creation(problems, domain.context(), options);
            },
            domain, xrc_domain, queue)} {}
};

}  // namespace adverb::inline ADVERB_ABI
