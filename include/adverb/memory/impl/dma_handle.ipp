// SPDX-License-Identifier: MIT
#pragma once

#include <adverb/device/context.hpp>
#include <adverb/memory/dma_handle.hpp>

namespace adverb::inline ADVERB_ABI {

ADVERB_FUNC ibv_dmah* dma_handle::make(context_ref context, const dma_handle_options& options,
                                       on_failure policy) {
  constexpr const char* verb = "ibv_alloc_dmah";
  if (!detail::check_present(policy, verb, context.native_handle())) return nullptr;
  const auto describe = detail::on_device(context.native_handle());
  return detail::call_if_declared<ibv_dmah*>(
      policy, verb, describe,
      [&]<class Attributes>(auto* native, Attributes*)
        requires requires(Attributes attributes) { ibv_alloc_dmah(native, &attributes); }
      {
        // The bits of IBV_DMAH_INIT_ATTR_MASK_…, whose enumeration only later headers have.
        constexpr std::uint32_t has_processor = 1U << 0U;
        constexpr std::uint32_t has_hint = 1U << 1U;
        constexpr std::uint32_t has_memory = 1U << 2U;
        Attributes attributes{};
        if (options.processor) {
          attributes.comp_mask |= has_processor;
          attributes.cpu_id = *options.processor;
        }
        if (options.processing_hint) {
          attributes.comp_mask |= has_hint;
          attributes.ph = *options.processing_hint;
        }
        if (options.memory) {
          attributes.comp_mask |= has_memory;
          attributes.tph_mem_type = static_cast<std::uint8_t>(*options.memory);
        }
        return detail::check_pointer(
            policy, verb, [&] { return ibv_alloc_dmah(native, &attributes); },
            [&](failure_description& description) {
              describe(description);
              if (detail::is_code(description.code(), std::errc::invalid_argument))
                description.explain(
                    "possible causes: the device does not take one of the hints; there is no such "
                    "processor");
            });
      },
      context.native_handle(), static_cast<ibv_dmah_init_attr*>(nullptr));
}

}  // namespace adverb::inline ADVERB_ABI
