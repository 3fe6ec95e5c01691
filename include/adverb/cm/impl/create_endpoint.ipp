// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>

#include <rdma/rdma_cma.h>

#include <adverb/cm/detail/create_endpoint.hpp>
#include <adverb/cm/detail/explain_call.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC void explain_endpoint(text_writer& writer, const std::error_code& code,
                                  const cm::socket_address& from, const cm::socket_address& to) {
  // No identifier exists that could provide details.
  const rdma_cm_id none{};
  const bool passive = to.is_empty();
  if (code == std::errc::timed_out)
    writer.put("no neighbour answers for ")
        .put(to.with_port(0))
        .put(", or there is no route to it");
  else
    explain_call(writer, {passive ? "rdma_bind_addr" : "rdma_resolve_addr", code, &none,
                          passive ? from : to, passive ? cm::socket_address{} : from});
}

ADVERB_FUNC cm::identifier create_endpoint(on_failure policy, transport service,
                                           const cm::socket_address& from,
                                           const cm::socket_address& to) {
  const cm::socket_address& named = to.is_empty() ? from : to;
  rdma_addrinfo information{};
  information.ai_flags = to.is_empty() ? RAI_PASSIVE : 0;
  information.ai_family = static_cast<int>(named.family());
  information.ai_qp_type = static_cast<int>(service);
  information.ai_port_space = RDMA_PS_IB;
  information.ai_src_addr = from.native();
  information.ai_src_len = from.length();
  information.ai_dst_addr = to.native();
  information.ai_dst_len = to.length();
  rdma_cm_id* made = nullptr;
  const bool done = check_minus_one(
      policy, "rdma_create_ep",
      [&] { return rdma_create_ep(&made, &information, nullptr, nullptr); },
      [&](failure_description& description) {
        description.detail(to_text(named));
        description.explain(
            [&](text_writer& writer) { explain_endpoint(writer, description.code(), from, to); });
      });
  return done ? cm::identifier{adopt, made} : cm::identifier{};
}

ADVERB_FUNC void refuse_to_reuse(on_failure policy, const cm::socket_address& address) {
  policy.report(EOPNOTSUPP, "rdma_create_ep", [&](failure_description& description) {
    description.detail(to_text(address));
    description.explain(
        "librdmacm binds a listener of UC or XRC as it makes it, before it could be "
        "told to reuse the address");
  });
}

}  // namespace adverb::inline ADVERB_ABI::detail
