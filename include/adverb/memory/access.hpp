// SPDX-License-Identifier: MIT
// Access rights of registered memory and of queue pairs.
#pragma once

#include <cstdint>
#include <string_view>

#include <infiniband/verbs.h>

#include <adverb/core/flags.hpp>

namespace adverb::inline ADVERB_ABI {

/// An access right to memory. Local reads are always allowed.
enum class access_right : std::uint32_t {
  local_write = IBV_ACCESS_LOCAL_WRITE,
  remote_write = IBV_ACCESS_REMOTE_WRITE,
  remote_read = IBV_ACCESS_REMOTE_READ,
  remote_atomic = IBV_ACCESS_REMOTE_ATOMIC,
  window_bind = IBV_ACCESS_MW_BIND,
  zero_based = IBV_ACCESS_ZERO_BASED,
  on_demand = IBV_ACCESS_ON_DEMAND,
  huge_pages = IBV_ACCESS_HUGETLB,
  // IBV_ACCESS_FLUSH_GLOBAL and IBV_ACCESS_FLUSH_PERSISTENT, which rdma-core 44 lacks.
  flush_global = 1U << 8,
  flush_persistent = 1U << 9,
  relaxed_ordering = IBV_ACCESS_RELAXED_ORDERING,
};
template <>
inline constexpr bool is_flag<access_right> = true;
using access_rights = flags<access_right>;

[[nodiscard]] constexpr std::string_view flag_name(access_right right) noexcept {
  switch (right) {
    case access_right::local_write: return "local_write";
    case access_right::remote_write: return "remote_write";
    case access_right::remote_read: return "remote_read";
    case access_right::remote_atomic: return "remote_atomic";
    case access_right::window_bind: return "window_bind";
    case access_right::zero_based: return "zero_based";
    case access_right::on_demand: return "on_demand";
    case access_right::huge_pages: return "huge_pages";
    case access_right::flush_global: return "flush_global";
    case access_right::flush_persistent: return "flush_persistent";
    case access_right::relaxed_ordering: return "relaxed_ordering";
  }
  return {};
}

namespace detail {
/// The rights that a region can grant to a peer.
inline constexpr access_rights remote_rights =
    access_right::remote_write | access_right::remote_read | access_right::remote_atomic |
    access_right::flush_global | access_right::flush_persistent;
/// The rights that change memory.
inline constexpr access_rights writing_rights =
    access_right::local_write | access_right::remote_write | access_right::remote_atomic;

/// Returns whether `address` has the alignment that the rights need.
[[nodiscard]] constexpr bool is_aligned_for(access_rights rights, std::uint64_t address) noexcept {
  return !rights.contains(access_right::remote_atomic) || address % 8 == 0;
}
inline constexpr std::string_view unaligned_for_atomics =
    "atomic operations need an address that is a multiple of 8";
}  // namespace detail

}  // namespace adverb::inline ADVERB_ABI
