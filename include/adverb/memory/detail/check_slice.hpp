// SPDX-License-Identifier: MIT
// The check of a slice of a buffer, local or remote.
#pragma once

#include <cerrno>
#include <cstddef>
#include <string_view>

#include <adverb/core/detail/check.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Reports ERANGE when `count` from `offset` are not inside `size`, each in these units. True when
/// they are.
[[nodiscard]] constexpr bool check_slice(on_failure policy, std::string_view verb,
                                         std::size_t offset, std::size_t count, std::size_t size,
                                         std::string_view units) {
  if (offset > size || count > size - offset) [[unlikely]] {
    policy.report(ERANGE, verb, [&](failure_description& description) {
      description.explain([&](text_writer& writer) {
        writer.decimal(count).put(" ").put(units).put(" from ").decimal(offset);
        writer.put(" are not inside ").decimal(size);
      });
    });
    return false;
  }
  policy.clear();
  return true;
}

}  // namespace adverb::inline ADVERB_ABI::detail
