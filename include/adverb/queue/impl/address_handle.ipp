// SPDX-License-Identifier: MIT
#pragma once

#include <adverb/queue/address_handle.hpp>
#include <adverb/queue/address_of_sender.hpp>
#include <adverb/queue/detail/explain_address.hpp>

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
