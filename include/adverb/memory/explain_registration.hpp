// SPDX-License-Identifier: MIT
// Why memory could not be registered.
#pragma once

#include <cstddef>
#include <system_error>

#include <sys/resource.h>

#include <adverb/core/failure.hpp>
#include <adverb/memory/access.hpp>

namespace adverb::inline ADVERB_ABI::detail {

inline void explain_registration(failure_description& description, std::size_t length,
                                 access_rights rights) {
  description.explain([&](text_writer& writer) {
    const std::error_code& code = description.code();
    const access_rights writing_peers =
        rights & (access_right::remote_write | access_right::remote_atomic);
    if (length == 0) {
      writer.put("there are no bytes to register");
    } else if (!writing_peers.empty() && !rights.contains(access_right::local_write)) {
      writer.put(writing_peers).put(" needs local_write too");
    } else if (code == std::errc::not_enough_memory || code == std::errc::operation_not_permitted) {
      rlimit limit{};
      if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
      writer.decimal(length).put(" bytes were asked for, and this process may lock ");
      writer.decimal(limit.rlim_cur)
          .put(" in all: raise the limit with \"ulimit -l unlimited\" or ");
      writer.put("LimitMEMLOCK=infinity");
    } else if (code == std::errc::bad_address) {
      writer.put("a part of the range is not mapped, or not writable");
    }
  });
}

}  // namespace adverb::inline ADVERB_ABI::detail
