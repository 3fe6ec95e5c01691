// SPDX-License-Identifier: MIT
// As what a multicast group is joined.
#pragma once

#include <cstdint>

#include <rdma/rdma_cma.h>

namespace adverb::inline ADVERB_ABI::cm {

enum class multicast_role : std::uint32_t {
  /// Sends to the group, and receives what is sent to it.
  full_member = RDMA_MC_JOIN_FLAG_FULLMEMBER,
  /// Only sends to it. Where the subnet administrator does not know such members, joining fails.
  send_only = RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER,
};

}  // namespace adverb::inline ADVERB_ABI::cm
