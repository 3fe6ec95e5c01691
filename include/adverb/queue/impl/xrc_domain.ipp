// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <cstdint>
#include <system_error>

#include <infiniband/verbs.h>

#include <adverb/device/context.hpp>
#include <adverb/queue/xrc_domain.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC void explain_opening(failure_description& description, xrc_domain_opening opening) {
  description.explain([&](text_writer& writer) {
    const std::error_code code = description.code();
    if (is_code(code, std::errc::bad_file_descriptor))
      writer.put("the file is not open");
    else if (opening == xrc_domain_opening::existing &&
             is_code(code, std::errc::resource_unavailable_try_again))
      writer.put("no XRC domain is open through this file");
    else if (opening == xrc_domain_opening::only_new && is_code(code, std::errc::invalid_argument))
      writer.put("possible causes: an XRC domain is already open through this file");
  });
}

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI {

ADVERB_FUNC xrc_domain xrc_domain::open(context_ref context, std::optional<int> file_descriptor,
                                        xrc_domain_opening opening, on_failure policy) {
  return detail::make_handle<xrc_domain>(
      policy, "ibv_open_xrcd",
      [&]() -> ibv_xrcd* {
        // For the C call -1 means no file; for the caller, a file that could not be opened.
        if (file_descriptor && *file_descriptor < 0) {
          errno = EBADF;
          return nullptr;
        }
        ibv_xrcd_init_attr native{.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
                                  .fd = file_descriptor.value_or(-1),
                                  .oflags = static_cast<int>(opening)};
        return ibv_open_xrcd(context.native_handle(), &native);
      },
      [&](failure_description& description) {
        detail::on_device(context.native_handle())(description);
        detail::explain_opening(description, opening);
      },
      context);
}

}  // namespace adverb::inline ADVERB_ABI

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
        if (is_code(description.code(), std::errc::invalid_argument))
          description.explain("this XRC domain has no target with the number {}", {number});
      });
}

}  // namespace adverb::inline ADVERB_ABI::detail
