// SPDX-License-Identifier: MIT
#pragma once

#include <cstring>

#include <adverb/device/context_ref.hpp>
#include <adverb/device/detail/explain_device.hpp>
#include <adverb/request/address_handle.hpp>
#include <adverb/request/detail/explain_address.hpp>

namespace adverb::inline ADVERB_ABI {

ADVERB_FUNC address_handle address_handle::make(protection_domain_ref domain, ibv_ah_attr native,
                                                on_failure policy) {
  return detail::make_handle<address_handle>(
      policy, "ibv_create_ah", [&] { return ibv_create_ah(domain.native_handle(), &native); },
      [&](failure_description& description) {
        detail::on_port(domain.native_handle()->context, port_number{native.port_num})(description);
        description.explain([&](text_writer& writer) {
          detail::problem_list problems{writer};
          port_attributes port;
          if (detail::explain_port(problems, domain.context(), port_number{native.port_num}, port))
            detail::explain_address(problems, description.code(), domain.context(), port, native);
        });
      },
      domain);
}

ADVERB_FUNC address_handle address_handle::make(protection_domain_ref domain, port_number port,
                                                const completion& received,
                                                const global_route_header& header,
                                                on_failure policy) {
  return detail::make_handle<address_handle>(
      policy, "ibv_create_ah_from_wc",
      [&] {
        ibv_wc native = received.native();
        ibv_grh grh = detail::header_to_answer(domain.context(), port, header);
        return ibv_create_ah_from_wc(domain.native_handle(), &native, &grh,
                                     static_cast<std::uint8_t>(port));
      },
      [&](failure_description& description) {
        detail::explain_sender(description, domain.context(), port, received, header);
      },
      domain);
}

}  // namespace adverb::inline ADVERB_ABI

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC gid gid_to_answer_from(context_ref context, port_number port, const gid& sender) {
  std::error_code unknown;
  gid best;
  int preference = 0;
  for (const gid_entry& entry : context.gid_table(unknown)) {
    if (entry.port() != port || entry.gid().is_ipv4_mapped() != sender.is_ipv4_mapped()) continue;
    if (gid_preference(entry) <= preference) continue;
    best = entry.gid();
    preference = gid_preference(entry);
  }
  return best;
}

ADVERB_FUNC ibv_grh header_to_answer(context_ref context, port_number port,
                                     const global_route_header& header) {
  ibv_grh native = header.native();
  if (header.version() == 0 || !header.destination().is_multicast()) return native;
  const gid own = gid_to_answer_from(context, port, header.source());
  if (own.is_empty()) return native;
  if (header.is_ipv4()) {
    // Without anything before it that looks like IPv6, the checksum is not examined.
    std::memset(&native, 0, grh_size / 2);
    std::memcpy(native.dgid.raw + 12, own.bytes().data() + 12, 4);
  } else {
    native.dgid = own.native();
  }
  return native;
}

ADVERB_FUNC void explain_sender(failure_description& description, context_ref context,
                                port_number port, const completion& received,
                                const global_route_header& header) {
  on_port(context.native_handle(), port)(description);
  description.explain([&](text_writer& writer) {
    problem_list problems{writer};
    port_attributes attributes;
    if (!explain_port(problems, context, port, attributes) ||
        (received.native().wc_flags & IBV_WC_GRH) == 0)
      return;
    if (header.version() == 0) {
      problems.add("the header (GRH) is neither IPv6 nor IPv4: pass the start of the buffer");
      return;
    }
    problems.add([&](text_writer& out) {
      out.put("the datagram went from ").put(header.source()).put(" to ").put(header.destination());
      out.put("; ");
      put_usable_gids(out, context, port);
    });
  });
}

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI {

ADVERB_FUNC address address_of_sender(context_ref context, port_number port,
                                      const completion& received, const global_route_header& header,
                                      on_failure policy) {
  constexpr const char* verb = "ibv_init_ah_from_wc";
  if (!detail::check_present(policy, verb, context.native_handle())) return {};
  ibv_wc native = received.native();
  ibv_grh grh = detail::header_to_answer(context, port, header);
  ibv_ah_attr found{};
  const bool known = detail::check_minus_one(
      policy, verb,
      [&] {
        return ibv_init_ah_from_wc(context.native_handle(), static_cast<std::uint8_t>(port),
                                   &native, &grh, &found);
      },
      [&](failure_description& description) {
        detail::explain_sender(description, context, port, received, header);
      });
  return known ? address::from_native(found) : address{};
}

}  // namespace adverb::inline ADVERB_ABI
