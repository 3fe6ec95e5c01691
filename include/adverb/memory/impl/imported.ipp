// SPDX-License-Identifier: MIT
#pragma once

#include <adverb/memory/imported.hpp>

namespace adverb::inline ADVERB_ABI {

ADVERB_FUNC imported_protection_domain::imported_protection_domain(context_ref context,
                                                                   protection_domain_handle handle,
                                                                   on_failure policy)
    : owner{adverb::adopt, detail::make_object(
                               policy, "ibv_import_pd",
                               [&] {
                                 return ibv_import_pd(context.native_handle(),
                                                      static_cast<std::uint32_t>(handle));
                               },
                               detail::on_device(context.native_handle()), context)} {}

ADVERB_FUNC imported_memory_region::imported_memory_region(protection_domain_ref domain,
                                                           memory_region_handle handle,
                                                           access_rights rights,
                                                           std::uint64_t device_address,
                                                           on_failure policy)
    : owner{adverb::adopt,
            detail::make_object(
                policy, "ibv_import_mr",
                [&] {
                  return ibv_import_mr(domain.native_handle(), static_cast<std::uint32_t>(handle));
                },
                [&](failure_description& description) {
                  detail::on_device(domain.context().native_handle())(description);
                },
                domain),
            rights, device_address} {}

ADVERB_FUNC imported_device_memory::imported_device_memory(context_ref context,
                                                           device_memory_handle handle,
                                                           std::size_t size, on_failure policy)
    : owner{adverb::adopt,
            detail::make_object(
                policy, "ibv_import_dm",
                [&] {
                  return ibv_import_dm(context.native_handle(), static_cast<std::uint32_t>(handle));
                },
                detail::on_device(context.native_handle()), context),
            size} {}

}  // namespace adverb::inline ADVERB_ABI
