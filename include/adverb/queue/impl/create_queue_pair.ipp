// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>

#include <infiniband/verbs.h>

#include <adverb/device/detail/explain_device.hpp>
#include <adverb/queue/detail/create_queue_pair.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC void put_beyond_plain(text_writer& writer, const queue_pair_options& options) {
  std::string_view separator = ", or none with ";
  const auto put = [&](std::string_view name, std::string_view value) {
    writer.put(separator).put(name).put(value);
    separator = ", ";
  };
  if (!options.send_operations.empty())
    put("extended calls for ", to_text(options.send_operations));
  if (!options.flags.empty()) put("", to_text(options.flags));
  if (options.max_tso_header != 0) put("max_tso_header", "");
  if (options.source_queue_pair) put("source_queue_pair", "");
  if (!options.send_operations.empty())
    writer.put(
        "; fall_back_to_classic creates a pair without extended calls, which sends with post(...)");
}

ADVERB_FUNC void explain_creation(text_writer& writer, const std::error_code& code,
                                  context_ref context, transport service,
                                  const queue_pair_options& options) {
  const send_operations others = options.send_operations - operations_carried_by(service);
  if (!others.empty()) {
    writer.put(service).put(" queue pairs do not support ").put(others);
    writer.put(", which send_operations contains");
    return;
  }
  if (is_unsupported(code)) {
    put_device(writer, context.native_handle()).put(" has no ").put(service).put(" queue pairs");
    put_beyond_plain(writer, options);
    return;
  }
  std::error_code unknown;
  const device_attributes device = context.query_device(unknown);
  if (unknown) return;
  problem_list problems{writer};
  add_exceeded(problems, device,
               {limit<&device_attributes::max_work_requests>("max_send_wr", options.max_send_wr),
                limit<&device_attributes::max_work_requests>("max_recv_wr", options.max_recv_wr),
                limit<&device_attributes::max_sge>("max_send_sge", options.max_send_sge),
                limit<&device_attributes::max_sge>("max_recv_sge", options.max_recv_sge)});
  explain_other_device(problems, "cq", options.cq.native_handle(), context.native_handle());
  explain_other_device(problems, "send_cq", options.send_cq.native_handle(),
                       context.native_handle());
  explain_other_device(problems, "recv_cq", options.recv_cq.native_handle(),
                       context.native_handle());
  explain_other_device(problems, "srq", options.srq.native_handle(), context.native_handle());
  if (options.srq && srq_with_cq_traits::has_xrc_domain(options.srq.native_handle()))
    problems.add("srq is an XRC queue, which no queue pair owns: requests name it");
  if (!problems.empty()) return;
  if (is_code(code, std::errc::operation_not_permitted) && service == transport::raw_packet)
    problems.add("raw packets need the capability CAP_NET_RAW");
  else if (is_code(code, std::errc::not_enough_memory))
    problems.add(
        "possible causes: no memory is left, the device has no room for another queue pair, or the "
        "limit of locked memory (ulimit -l)");
  else if (is_code(code, std::errc::invalid_argument) && options.max_inline_data > 0)
    problems.add("possible causes: max_inline_data is {}, and the device allows less",
                 {options.max_inline_data});
}

ADVERB_FUNC bool check_queue_options(on_failure policy, const char* verb, transport service,
                                     const queue_pair_options& options, std::string_view missing) {
  const bool unclear = options.cq && (options.send_cq || options.recv_cq);
  const bool receives_nothing = options.srq && service == transport::xrc_send;
  const int result = unclear || receives_nothing || !missing.empty() ? EINVAL : 0;
  return check_returned(policy, verb, result, [&](failure_description& description) {
    if (unclear)
      description.explain(
          "cq is the completion queue of sends and receives: set either cq, or send_cq and "
          "recv_cq");
    else if (receives_nothing)
      description.explain(
          "an XRC initiator only sends, so it has no shared receive queue: leave srq out, and name "
          "the queue of the target in each request");
    else
      description.explain("{} is empty: moved from, closed, or never given", {missing});
  });
}

ADVERB_FUNC std::string_view missing_queue(transport service,
                                           const queue_pair_options& options) noexcept {
  if (options.cq) return {};
  const bool needs_receive_queue = receives(service);
  if (!options.send_cq) return needs_receive_queue && !options.recv_cq ? "cq" : "send_cq";
  return needs_receive_queue && !options.recv_cq ? "recv_cq" : "";
}

ADVERB_FUNC owned_queue_pair create_queue_pair_as_asked(transport service,
                                                        protection_domain_ref domain,
                                                        const queue_pair_options& options,
                                                        on_failure policy) {
  const bool extended = options.needs_extended_creation();
  const char* const verb = extended ? "ibv_create_qp_ex" : "ibv_create_qp";
  if (!check_queue_options(policy, verb, service, options, missing_queue(service, options)))
    return {};
  return make_handle<owned_queue_pair>(
      policy, verb,
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
        description.explain([&](text_writer& writer) {
          explain_creation(writer, description.code(), domain.context(), service, options);
        });
      },
      domain);
}

ADVERB_FUNC owned_queue_pair create_queue_pair(transport service, protection_domain_ref domain,
                                               const queue_pair_options& options,
                                               on_failure policy) {
  if (!prefers_extended(options))
    return create_queue_pair_as_asked(service, domain, options, policy);
  failure why;
  owned_queue_pair made = create_queue_pair_as_asked(service, domain, options, why);
  if (lacks_extended(service, options, why)) {
    queue_pair_options classic = options;
    classic.send_operations = {};
    return create_queue_pair_as_asked(service, domain, classic, policy);
  }
  if (why)
    policy.report(why);
  else
    policy.clear();
  return made;
}

}  // namespace adverb::inline ADVERB_ABI::detail
