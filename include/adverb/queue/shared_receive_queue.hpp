// SPDX-License-Identifier: MIT
// Shared receive queues: receives for several queue pairs.
#pragma once

#include <cstdint>
#include <string_view>

#include <infiniband/verbs.h>

#include <adverb/core/failure.hpp>
#include <adverb/device/detail/explain_device.hpp>
#include <adverb/memory/protection_domain.hpp>
#include <adverb/queue/detail/explain_shared_receive_queue.hpp>
#include <adverb/queue/detail/post.hpp>
#include <adverb/queue/shared_receive_queue_options.hpp>
#include <adverb/request/detail/queue_traits.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

/// The traits that posting needs for a shared receive queue.
struct posted_shared_receive_queue {
  using object_type = ibv_srq;
  using native_request = ibv_recv_wr;
  static constexpr posted_to kind = posted_to::shared_receive_queue;
  static constexpr bool may_leave_bad_request = true;  // cxgb4, where the queue is full.
  // Each queue pair determines where its receives complete.
  static void* completes_on(ibv_srq* queue) noexcept { return queue; }
  static int post(ibv_srq* queue, ibv_recv_wr* first, ibv_recv_wr** bad) noexcept {
    return ibv_post_srq_recv(queue, first, bad);
  }
};

/// Operations on a shared receive queue, owned or referenced.
class shared_receive_queue_base : public handle_base<ibv_srq> {
 public:
  using handle_base::handle_base;

  /// Returns the context that the object belongs to.
  [[nodiscard]] context_ref context() const noexcept { return checked_handle()->context; }
  /// Returns the protection domain that the object was created in.
  [[nodiscard]] protection_domain_ref protection_domain() const noexcept {
    return checked_handle()->pd;
  }
  /// Returns the pointer that was passed at creation.
  [[nodiscard]] void* user_context() const noexcept { return checked_handle()->srq_context; }

  /// Posts receives in order with one doorbell. A message takes the next receive at whichever queue
  /// pair it arrives; the completion names that queue pair. Does not allocate and takes no lock of
  /// its own; the provider serialises posts from several threads. Terminates the program if the
  /// queue is empty (moved from) (ADVERB_HARDENING_FAST). Wraps: ibv_post_srq_recv(3).
  template <class... Requests>
  [[gnu::always_inline]] post_result post(const Requests&... requests) const noexcept {
    return detail::post_receives_to<detail::posted_shared_receive_queue>(native_handle(),
                                                                         requests...);
  }

  /// Returns the size of the queue and its limit. Wraps: ibv_query_srq(3).
  [[nodiscard]] shared_receive_queue_attributes query(on_failure policy = throwing{}) const;

  /// Resizes the queue to hold at least `max_wr` receives, which must not be less than the limit.
  /// Posted receives stay. Not every device supports it
  /// (device_capability::resize_shared_receive_queue). Wraps: ibv_modify_srq(3).
  void resize(std::uint32_t max_wr, on_failure policy = throwing{}) const;

  /// Requests one asynchronous event (IBV_EVENT_SRQ_LIMIT_REACHED) when fewer than `limit` receives
  /// are posted. After the event post more, and set the limit again. 0 requests none.
  /// Wraps: ibv_modify_srq(3).
  void set_limit(std::uint32_t limit, on_failure policy = throwing{}) const;

 protected:
  [[nodiscard]] bool present(on_failure policy, const char* verb) const {
    return detail::check_present(policy, verb, native_handle());
  }

 private:
  void modify(ibv_srq_attr attributes, int mask, on_failure policy) const;
};

}  // namespace detail

/// Refers to a shared receive queue that another object keeps alive. Pass it by value; it is as
/// cheap as a pointer.
class shared_receive_queue_ref : public detail::reference_to<detail::shared_receive_queue_base> {
 public:
  using reference_to::reference_to;
};

/// Owns a shared receive queue, for queue pairs of its protection domain that are created with it
/// (`queue_pair_options::srq`). It must outlive them. Posting is thread safe.
class [[nodiscard]] shared_receive_queue
    : public detail::owner<detail::shared_receive_queue_base, detail::shared_receive_queue_traits> {
 public:
  using owner::owner;

  /// Creates a shared receive queue. Wraps: ibv_create_srq(3).
  shared_receive_queue(protection_domain_ref domain, const shared_receive_queue_options& options,
                       on_failure policy = throwing{});
};

}  // namespace adverb::inline ADVERB_ABI

namespace adverb::inline ADVERB_ABI::detail {

/// Creates a queue according to `native`, and records the parents that its C struct does not name.
/// `explain` adds to a problem_list why it could not be created.
template <class Queue, class Explain, class... Parents>
[[nodiscard]] Queue make_completing(on_failure policy, ibv_srq_init_attr_ex native,
                                    const Explain& explain, protection_domain_ref domain,
                                    const Parents&... parents) {
  return make_handle<Queue>(
      policy, "ibv_create_srq_ex",
      [&] {
        return with_parents(ibv_create_srq_ex(native.pd->context, &native),
                            {native.cq, native.xrcd});
      },
      [&](failure_description& description) {
        on_device(native.pd->context)(description);
        description.explain([&](text_writer& writer) {
          problem_list problems{writer};
          explain(problems);
          explain_other_device(problems, "the completion queue", native.cq, native.pd->context);
          explain_other_device(problems, "the XRC domain", native.xrcd, native.pd->context);
        });
      },
      domain, parents...);
}

}  // namespace adverb::inline ADVERB_ABI::detail

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/queue/impl/shared_receive_queue.ipp>
#endif
