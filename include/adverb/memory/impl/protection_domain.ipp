// SPDX-License-Identifier: MIT
#pragma once

#include <adverb/core/detail/missing_feature.hpp>
#include <adverb/memory/protection_domain.hpp>

namespace adverb::inline ADVERB_ABI {

ADVERB_FUNC ibv_pd* parent_domain::make(protection_domain_ref domain,
                                        const parent_domain_options& options, on_failure policy) {
  constexpr const char* verb = "ibv_alloc_parent_domain";
  if (!detail::check_present(policy, verb, domain.native_handle())) return nullptr;
  ibv_parent_domain_init_attr attributes{};
  attributes.pd = domain.native_handle();
  attributes.td = options.thread_domain.native_handle();
  options.allocator.install(attributes);
  return detail::check_pointer(
      policy, verb,
      [&] {
        return detail::with_parents(
            ibv_alloc_parent_domain(domain.context().native_handle(), &attributes),
            {attributes.pd, attributes.td});
      },
      [&](failure_description& description) {
        description.object(
            [&](text_writer& writer) { detail::put_domain(writer, domain.native_handle()); });
        const bool refused = detail::is_code(description.code(), std::errc::invalid_argument) ||
                             detail::is_unsupported(description.code());
        if (options.allocator && refused)
          description.explain("the device has no parent domains, or none with allocators");
      });
}

ADVERB_FUNC protection_domain::protection_domain(context_ref context, on_failure policy)
    : owner{adverb::adopt,
            detail::make_object(
                policy, "ibv_alloc_pd", [&] { return ibv_alloc_pd(context.native_handle()); },
                detail::on_device(context.native_handle()), context)} {}

ADVERB_FUNC thread_domain::thread_domain(context_ref context, on_failure policy)
    : owner{adverb::adopt, detail::make_object(
                               policy, "ibv_alloc_td",
                               [&] {
                                 ibv_td_init_attr attributes{};
                                 return ibv_alloc_td(context.native_handle(), &attributes);
                               },
                               detail::on_device(context.native_handle()), context)} {}

}  // namespace adverb::inline ADVERB_ABI
