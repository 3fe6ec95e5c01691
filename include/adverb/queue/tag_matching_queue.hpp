// SPDX-License-Identifier: MIT
// Tag matching: a shared receive queue with a list of tags that the device searches.
#pragma once

#include <cerrno>
#include <cstdint>
#include <utility>

#include <infiniband/verbs.h>

#include <adverb/completion/completion_queue.hpp>
#include <adverb/queue/shared_receive_queue.hpp>
#include <adverb/request/tag_requests.hpp>

namespace adverb::inline ADVERB_ABI {

/// The options for creating a tag matching queue.
struct tag_matching_queue_options {
  /// Minimum number of receives that it holds for messages whose tag is not in the list.
  std::uint32_t max_wr = 1;
  /// Minimum number of scatter/gather elements per such receive.
  std::uint32_t max_sge = 1;
  /// Maximum number of entries in the list.
  std::uint32_t max_tags = 1;
  /// Maximum number of operations on the list in progress.
  std::uint32_t max_operations = 1;
  /// Returned by `user_context()`.
  void* user_context = nullptr;

  /// Returns the options of the receives for messages whose tag matches no entry.
  [[nodiscard]] shared_receive_queue_options unexpected() const noexcept {
    return {.max_wr = max_wr, .max_sge = max_sge, .user_context = user_context};
  }
};

namespace detail {

/// Explains why a tag matching queue could not be created.
[[gnu::cold]] void explain_creation(problem_list& problems, context_ref context,
                                    const tag_matching_queue_options& options);

/// The traits for posting operations on the list.
struct posted_tag_list {
  using object_type = ibv_srq;
  using native_request = ibv_ops_wr;
  static constexpr posted_to kind = posted_to::tag_list;
  static void* completes_on(ibv_srq* queue) noexcept {
    return posted_shared_receive_queue::completes_on(queue);
  }
  static int post(ibv_srq* queue, ibv_ops_wr* first, ibv_ops_wr** bad) noexcept {
    return ibv_post_srq_ops(queue, first, bad);
  }
};

/// Operations on a tag matching queue, owned or referenced.
class tag_matching_queue_base : public shared_receive_queue_base {
 public:
  using shared_receive_queue_base::shared_receive_queue_base;

  /// Posts operations on the list, in order: `add_tag`, `delete_tag`, `synchronize_tags`. Does not
  /// allocate; the provider serialises posts from several threads. Terminates the program if the
  /// queue is empty (moved from) (ADVERB_HARDENING_FAST). Wraps: ibv_post_srq_ops(3).
  template <class... Operations>
  [[gnu::always_inline]] post_result post_operations(
      const Operations&... operations) const noexcept {
    static_assert(sizeof...(Operations) > 0, "there is nothing to post");
    constexpr bool all_operations = (detail::is_tag_operation<Operations> && ...);
    static_assert(all_operations,
                  "only operations on the tag list can be posted here: add_tag(...), "
                  "delete_tag(...), synchronize_tags(...); pass receives to post()");
    if constexpr (all_operations)
      return detail::post_requests<detail::posted_tag_list>(
          native_handle(), std::index_sequence_for<Operations...>{}, operations...);
    else
      return {native_handle(), EINVAL, 0, detail::posted_to::tag_list};
  }
};

}  // namespace detail

/// Refers to a tag matching queue that another object keeps alive. Pass it by value; it is as
/// cheap as a pointer.
class tag_matching_queue_ref : public detail::reference_to<detail::tag_matching_queue_base> {
 public:
  using reference_to::reference_to;
};

/// Owns a shared receive queue with a list of tags. A message whose tag is in the list goes to the
/// receive of that entry. Any other message is unexpected and goes to a receive posted with `post`.
/// Create queue pairs (RC) with it as with any shared receive queue. Posting is thread safe.
class [[nodiscard]] tag_matching_queue
    : public detail::owner<detail::tag_matching_queue_base, detail::srq_with_cq_traits> {
 public:
  using owner::owner;

  /// Creates a queue whose receives and operations complete on `queue`.
  /// Wraps: ibv_create_srq_ex(3).
  tag_matching_queue(protection_domain_ref domain, completion_queue_ref queue,
                     const tag_matching_queue_options& options, on_failure policy = throwing{})
      : owner{detail::make_completing<tag_matching_queue>(
            policy,
            {.srq_context = options.user_context,
             .attr = options.unexpected().native(),
             .comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ |
                          IBV_SRQ_INIT_ATTR_TM,
             .srq_type = IBV_SRQT_TM,
             .pd = domain.native_handle(),
             .xrcd = nullptr,
             .cq = queue.native_handle(),
             .tm_cap = {.max_num_tags = options.max_tags, .max_ops = options.max_operations}},
            [&](detail::problem_list& problems) {
              detail::explain_creation(problems, domain.context(), options);
            },
            domain, queue)} {}
};

}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/queue/impl/tag_matching_queue.ipp>
#endif
