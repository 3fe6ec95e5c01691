// SPDX-License-Identifier: MIT
#pragma once

#include <adverb/device/detail/explain_device.hpp>
#include <adverb/memory/provider_buffer.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC int provider_buffer_base::export_dmabuf(on_failure policy) const {
  if (!check_present(policy, "ibv_export_buf_dmabuf_fd", native_handle())) return -1;
  return export_buffer(
      native_handle(),
      [&](failure_description& description) {
        on_device(domain_.context().native_handle())(description);
        if (is_code(description.code(), std::errc::no_message_available))
          description.explain("the provider allocated ordinary memory, not a dma-buf");
      },
      policy);
}

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI {

ADVERB_FUNC provider_buffer provider_buffer::make(protection_domain_ref domain, std::size_t size,
                                                  on_failure policy) {
  if (!detail::check_present(policy, "ibv_alloc_buf", domain.native_handle())) return {};
  const detail::allocated_buffer made = detail::allocate_buffer(
      domain.native_handle(), size, detail::on_device(domain.context().native_handle()), policy);
  if (made.memory == nullptr) return {};
  return {adverb::adopt, made.buffer, domain, {static_cast<std::byte*>(made.memory), size}};
}

}  // namespace adverb::inline ADVERB_ABI
