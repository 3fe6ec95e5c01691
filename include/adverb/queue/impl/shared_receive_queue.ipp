// SPDX-License-Identifier: MIT
#pragma once

#include <adverb/queue/shared_receive_queue.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC shared_receive_queue_attributes
shared_receive_queue_base::query(on_failure policy) const {
  if (!present(policy, "ibv_query_srq")) return {};
  ibv_srq_attr attributes{};
  const int result = ibv_query_srq(native_handle(), &attributes);
  if (!detail::check_returned(
          policy, "ibv_query_srq", result,
          detail::on_object<detail::shared_receive_queue_traits>(native_handle())))
    return {};
  return shared_receive_queue_attributes{attributes};
}

ADVERB_FUNC void shared_receive_queue_base::resize(std::uint32_t max_wr, on_failure policy) const {
  modify({.max_wr = max_wr, .max_sge = 0, .srq_limit = 0}, IBV_SRQ_MAX_WR, policy);
}

ADVERB_FUNC void shared_receive_queue_base::set_limit(std::uint32_t limit,
                                                      on_failure policy) const {
  modify({.max_wr = 0, .max_sge = 0, .srq_limit = limit}, IBV_SRQ_LIMIT, policy);
}

ADVERB_FUNC void shared_receive_queue_base::modify(ibv_srq_attr attributes, int mask,
                                                   on_failure policy) const {
  if (!present(policy, "ibv_modify_srq")) return;
  const int result = ibv_modify_srq(native_handle(), &attributes, mask);
  detail::check_returned(policy, "ibv_modify_srq", result, [&](failure_description& description) {
    detail::on_object<detail::shared_receive_queue_traits>(native_handle())(description);
    detail::explain_modification(description, native_handle(), attributes, mask);
  });
}

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI {

ADVERB_FUNC shared_receive_queue::shared_receive_queue(protection_domain_ref domain,
                                                       const shared_receive_queue_options& options,
                                                       on_failure policy)
    : owner{adverb::adopt, detail::make_object(
                               policy, "ibv_create_srq",
                               [&] {
                                 ibv_srq_init_attr native{options.user_context, options.native()};
                                 return ibv_create_srq(domain.native_handle(), &native);
                               },
                               [&](failure_description& description) {
                                 detail::on_device(domain.native_handle()->context)(description);
                                 description.explain([&](text_writer& writer) {
                                   detail::problem_list problems{writer};
                                   detail::explain_creation(problems, domain.context(), options);
                                 });
                               },
                               domain)} {}

}  // namespace adverb::inline ADVERB_ABI
