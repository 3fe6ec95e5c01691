// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>

#include <adverb/memory/reregistration.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC void reregistration_attempt::explain(text_writer& writer) const noexcept {
  if (memory == nullptr && !changes.domain && !changes.rights)
    writer.put("there is nothing to change");
  else if (changes.domain && changes.domain.context().native_handle() != region->context)
    writer.put("the domain is of another context");
  else if (rights.contains(access_right::zero_based) != zero_based)
    writer.put("whether a region is zero_based cannot be changed");
  else if (zero_based && memory != nullptr)
    writer.put("a zero-based region cannot be given other memory");
  else
    explain_constant(writer, constant, rights);
}

ADVERB_FUNC int reregistration_attempt::run() const noexcept {
  return ibv_rereg_mr(region,
                      (memory != nullptr ? IBV_REREG_MR_CHANGE_TRANSLATION : 0) |
                          (changes.domain ? IBV_REREG_MR_CHANGE_PD : 0) |
                          (changes.rights ? IBV_REREG_MR_CHANGE_ACCESS : 0),
                      changes.domain.native_handle(), memory != nullptr ? memory->begin : nullptr,
                      memory != nullptr ? memory->length : 0,
                      changes.rights ? static_cast<int>(rights.bits()) : 0);
}

}  // namespace adverb::inline ADVERB_ABI::detail
