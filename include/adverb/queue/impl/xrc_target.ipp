// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include <infiniband/verbs.h>

#include <adverb/queue/xrc_target.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC owned_queue_pair create_xrc_target(xrc_domain_ref domain,
                                               const xrc_target_options& options,
                                               on_failure policy) {
  return make_xrc_target(
      policy, "ibv_create_qp_ex", domain,
      [&] {
        ibv_qp_init_attr_ex native{};
        native.qp_context = options.user_context;
        native.qp_type = IBV_QPT_XRC_RECV;
        native.comp_mask = IBV_QP_INIT_ATTR_XRCD;
        native.xrcd = domain.native_handle();
        return ibv_create_qp_ex(domain.native_handle()->context, &native);
      },
      [](failure_description&) {});
}

ADVERB_FUNC owned_queue_pair open_xrc_target(xrc_domain_ref domain, qp_number number,
                                             const xrc_target_options& options, on_failure policy) {
  return make_xrc_target(
      policy, "ibv_open_qp", domain,
      [&] {
        ibv_qp_open_attr native{.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
                                             IBV_QP_OPEN_ATTR_CONTEXT | IBV_QP_OPEN_ATTR_TYPE,
                                .qp_num = static_cast<std::uint32_t>(number),
                                .xrcd = domain.native_handle(),
                                .qp_context = options.user_context,
                                .qp_type = IBV_QPT_XRC_RECV};
        return ibv_open_qp(domain.native_handle()->context, &native);
      },
      [&](failure_description& description) {
        if (description.code() == std::errc::invalid_argument)
          description.explain([&](text_writer& writer) {
            writer.put("no target with the number ").put(number).put(" is in this XRC domain");
          });
      });
}

}  // namespace adverb::inline ADVERB_ABI::detail
