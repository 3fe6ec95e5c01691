// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <span>
#include <utility>

#include <adverb/device/context.hpp>
#include <adverb/device/detail/explain_device.hpp>
#include <adverb/memory/device_memory.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC void put_device_memory(text_writer& writer, const ibv_dm* memory) noexcept {
  put_device(writer, memory->context).put(" dm");
  if ((memory->comp_mask & IBV_DM_MASK_HANDLE) != 0) writer.put(" ").decimal(memory->handle);
}

ADVERB_FUNC device_memory_handle device_memory_base::handle(on_failure policy) const {
  constexpr const char* verb = "device_memory::handle";
  if (!detail::check_present(policy, verb, native_handle())) return {};
  const bool told = (native_handle()->comp_mask & IBV_DM_MASK_HANDLE) != 0;
  const bool usable = detail::check_returned(
      policy, verb, told ? 0 : EOPNOTSUPP, [&](failure_description& description) {
        on_device_memory(native_handle())(description);
        description.explain("the provider does not report the handle for an import");
      });
  return static_cast<device_memory_handle>(usable ? native_handle()->handle : 0);
}

ADVERB_FUNC int device_memory_base::export_dmabuf(on_failure policy) const {
  constexpr const char* verb = "ibv_dm_export_dmabuf_fd";
  if (!detail::check_present(policy, verb, native_handle())) return -1;
  const auto describe = on_device_memory(native_handle());
  int descriptor = -1;
  call_if_declared<bool>(
      policy, verb, describe,
      [&](auto* native)
        requires requires { ibv_dm_export_dmabuf_fd(native); }
      {
        return check_minus_one(
            policy, verb, [&] { return descriptor = ibv_dm_export_dmabuf_fd(native); }, describe);
      },
      native_handle());
  return descriptor;
}

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI {

ADVERB_FUNC ibv_dm* device_memory::make(context_ref context, std::size_t size,
                                        const device_memory_options& options, on_failure policy) {
  constexpr const char* verb = "ibv_alloc_dm";
  const bool aligned = std::has_single_bit(options.alignment);
  const auto describe = [&](failure_description& description) {
    detail::on_device(context.native_handle())(description);
    description.explain([&](text_writer& writer) {
      detail::problem_list problems{writer};
      if (!aligned) problems.add("the alignment is not a power of two");
      if (size == 0) problems.add("the size is 0");
      std::error_code unknown;
      const device_attributes device = context.query_device(unknown);
      const std::uint64_t most = device.max_device_memory_size();
      // The error code already reports a device without device memory.
      if (most != 0)
        detail::add_exceeded(
            problems, device,
            {detail::limit<&device_attributes::max_device_memory_size>("the size", size)});
      if (problems.empty() && most != 0 &&
          detail::is_code(description.code(), std::errc::not_enough_memory))
        problems.add("the device has {} bytes in total, for all its users", {most});
    });
  };
  if (context && !aligned) {
    policy.report(EINVAL, verb, describe);
    return nullptr;
  }
  return detail::make_object(
      policy, verb,
      [&] {
        ibv_alloc_dm_attr attributes{};
        attributes.length = size;
        attributes.log_align_req = static_cast<std::uint32_t>(std::countr_zero(options.alignment));
        return ibv_alloc_dm(context.native_handle(), &attributes);
      },
      describe, context);
}

}  // namespace adverb::inline ADVERB_ABI
