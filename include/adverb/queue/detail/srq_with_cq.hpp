// SPDX-License-Identifier: MIT
// Creates the shared receive queues that have a completion queue of their own.
#pragma once

#include <infiniband/verbs.h>

#include <adverb/core/detail/problem_list.hpp>
#include <adverb/memory/protection_domain.hpp>
#include <adverb/queue/detail/explain_other_device.hpp>
#include <adverb/queue/detail/queue_traits.hpp>

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
