// SPDX-License-Identifier: MIT
#pragma once

#include <utility>

#include <adverb/memory/memory_region_ref.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC void put_region(text_writer& writer, const ibv_mr* region) noexcept {
  put_device(writer, region->context).put(" mr ").put(static_cast<lkey>(region->lkey));
}

[[gnu::noinline]] ADVERB_FUNC void memory_region_base::report_slice(on_failure policy,
                                                                    const ibv_mr* region,
                                                                    std::size_t offset,
                                                                    std::size_t length,
                                                                    std::size_t size) {
  constexpr const char* verb = "memory_region::slice";
  if (!check_present(policy, verb, region)) return;
  const bool usable = size != 0 || region->length == 0;
  policy.report(usable ? ERANGE : EACCES, verb, [&](failure_description& description) {
    on_region(region)(description);
    description.explain([&](text_writer& writer) {
      const byte_extent extent{offset, length};
      if (!usable) {
        writer.put("the region was registered without local_write and cannot receive: ");
        writer.put("use const_buffer() or const_slice() to send from it");
      } else if (!extent.is_inside(size)) {
        extent.put_outside(writer, size, "region");
        if (size != region->length) writer.put(" at the time when the reference was made");
      } else {
        writer.decimal(length).put(" bytes exceed the limit of one buffer (4 GiB - 1)");
      }
    });
  });
}

ADVERB_FUNC void memory_region_base::redescribe(std::uint64_t device_address,
                                                access_rights rights) noexcept {
  if (!*this) return;
  device_address_ = device_address;
  rights_ = rights;
  size_ = native_handle()->length;
  receivable_size_ = rights.contains(access_right::local_write) ? size_ : 0;
  lkey_ = static_cast<adverb::lkey>(native_handle()->lkey);
}

}  // namespace adverb::inline ADVERB_ABI::detail
