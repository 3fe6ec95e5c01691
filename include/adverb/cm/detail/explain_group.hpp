// SPDX-License-Identifier: MIT
// Why a multicast group was not joined.
#pragma once

#include <rdma/rdma_cma.h>

#include <adverb/cm/socket_address.hpp>
#include <adverb/core/detail/problem_list.hpp>
#include <adverb/core/failure.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Whether it is an IP address that is none of a group.
[[nodiscard]] inline bool is_single_address(const cm::socket_address& group) noexcept {
  return (group.ipv4() || group.ipv6()) && !group.is_multicast();
}

inline void explain_group(failure_description& description, const rdma_cm_id* id,
                          const cm::socket_address& group) {
  // The kernel's ENOTSUPP, which is not the ENOTSUP of POSIX.
  constexpr int not_supported = 524;
  description.explain([&](text_writer& writer) {
    problem_list problems{writer};
    if (id->verbs == nullptr)
      problems.add("the identifier has no device yet: bind() or resolve_address() first");
    if (is_single_address(group))
      problems.add(
          "it is no multicast address: these are 224.0.0.0 to 239.255.255.255, and ff00::/8");
    if (description.code().value() == not_supported && group.ipv6())
      problems.add("Linux joins IPv6 groups over InfiniBand and RoCE v1, and not over RoCE v2");
  });
}

}  // namespace adverb::inline ADVERB_ABI::detail
