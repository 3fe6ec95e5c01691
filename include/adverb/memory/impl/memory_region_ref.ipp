// SPDX-License-Identifier: MIT
#pragma once

#include <utility>

#include <adverb/memory/memory_region_ref.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC void put_region(text_writer& writer, const ibv_mr* region) noexcept {
  put_device(writer, region->context).put(" mr ").put(static_cast<lkey>(region->lkey));
}

ADVERB_FUNC void slice_request::explain(failure_description& description) const noexcept {
  description.explain([&](text_writer& writer) {
    if (!writable) {
      writer.put("the region was registered without local_write: nothing can be received into ");
      writer.put("it; const_buffer() and const_slice() are there to send from it");
    } else if (!extent.is_inside(region_size)) {
      extent.put_outside(writer, region_size, "region");
    } else {
      writer.decimal(extent.length).put(" bytes are more than one buffer can hold (4 GiB - 1)");
    }
  });
}

ADVERB_FUNC void memory_region_base::redescribe(std::uint64_t device_address,
                                                access_rights rights) noexcept {
  device_address_ = device_address;
  rights_ = rights;
  if (*this) lkey_ = static_cast<adverb::lkey>(native_handle()->lkey);
}

}  // namespace adverb::inline ADVERB_ABI::detail
