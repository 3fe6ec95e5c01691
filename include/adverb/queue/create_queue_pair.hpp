// SPDX-License-Identifier: MIT
// How a queue pair is made, and why it could not be.
#pragma once

#include <string_view>
#include <system_error>
#include <utility>

#include <infiniband/verbs.h>

#include <adverb/device/device_limit.hpp>
#include <adverb/memory/protection_domain.hpp>
#include <adverb/queue/explain_other_device.hpp>
#include <adverb/queue/queue_pair_options.hpp>
#include <adverb/queue/queue_traits.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Says why a queue pair could not be made.
inline void explain_creation(failure_description& description, context_ref context,
                             const queue_pair_options& options) {
  description.explain([&](text_writer& writer) {
    std::error_code unknown;
    const device_attributes device = context.query_device(unknown);
    if (unknown) return;
    problem_list problems{writer};
    add_exceeded(problems, device,
                 {limit<&device_attributes::max_work_requests>("max_send_wr", options.max_send_wr),
                  limit<&device_attributes::max_work_requests>("max_recv_wr", options.max_recv_wr),
                  limit<&device_attributes::max_sge>("max_send_sge", options.max_send_sge),
                  limit<&device_attributes::max_sge>("max_recv_sge", options.max_recv_sge)});
    explain_other_device(problems, "send_cq", options.send_cq.native_handle(), context);
    explain_other_device(problems, "recv_cq", options.recv_cq.native_handle(), context);
    explain_other_device(problems, "srq", options.srq.native_handle(), context);
    if (options.srq && completing_receive_queue_traits::has_xrc_domain(options.srq.native_handle()))
      problems.add("srq is one of XRC, which belongs to no queue pair: requests name it");
    const bool unsupported = description.code() == std::errc::operation_not_supported;
    if (problems.empty() && options.max_inline_data > 0 && !unsupported)
      problems.add([&](text_writer& out) {
        out.put("max_inline_data is ").decimal(options.max_inline_data);
        out.put(", which may be more than the device allows");
      });
  });
}

/// Makes a pair in a protection domain. The extended call is used only where it is needed: not
/// every provider has it.
template <error_policy Policy>
[[nodiscard]] unique_handle<queue_pair_traits> create_queue_pair(transport service,
                                                                 protection_domain_ref domain,
                                                                 const queue_pair_options& options,
                                                                 Policy&& policy) {
  const bool extended = options.needs_extended_creation();
  const std::string_view verb = extended ? "ibv_create_qp_ex" : "ibv_create_qp";
  if (service != transport::xrc_send &&
      !check_present(std::forward<Policy>(policy), verb, options.recv_cq.native_handle()))
    return {};
  return make_handle<unique_handle<queue_pair_traits>>(
      std::forward<Policy>(policy), verb,
      [&] {
        if (extended) {
          ibv_qp_init_attr_ex native = options.native_extended(service, domain.native_handle());
          return ibv_create_qp_ex(domain.native_handle()->context, &native);
        }
        ibv_qp_init_attr native = options.native(service);
        return ibv_create_qp(domain.native_handle(), &native);
      },
      [&](failure_description& description) {
        on_device(domain.native_handle()->context)(description);
        explain_creation(description, domain.context(), options);
      },
      domain, options.send_cq);
}

}  // namespace adverb::inline ADVERB_ABI::detail
