// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>
#include <system_error>

#include <adverb/core/failure.hpp>
#include <adverb/steering/receive_side_scaling_pair.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC void explain_scaling(failure_description& description, context_ref context,
                                 transport service, const receive_hash& hash,
                                 indirection_table_ref table) {
  description.explain([&](text_writer& writer) {
    if (is_code(description.code(), std::errc::operation_not_permitted)) {
      writer.put("raw packets need the capability CAP_NET_RAW");
      return;
    }
    std::error_code unknown;
    const receive_side_scaling limits = context.query_device(unknown).receive_side_scaling();
    if (unknown) return;
    problem_list problems{writer};
    if (!limits.transports.contains(service)) {
      problems.add("{} has no receive-side scaling for {} pairs",
                   {context.native_handle()->device->name, service});
    } else {
      if (!limits.functions.contains(hash_function::toeplitz))
        problems.add("the device has no Toeplitz hash");
      const hash_fields missing = hash.fields() - limits.fields;
      if (!missing.empty()) problems.add("the device cannot hash {}", {missing});
    }
    if (table.native_handle()->context != context.native_handle())
      problems.add("the table belongs to another context");
    if (problems.empty() && hash.fields().empty())
      problems.add("no field is hashed: only a table with one entry allows that");
  });
}

}  // namespace adverb::inline ADVERB_ABI::detail
