// SPDX-License-Identifier: MIT
// The functions that create flushes of data written to the memory of a peer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include <infiniband/verbs.h>

#include <adverb/memory/registrable_memory.hpp>
#include <adverb/memory/remote_buffer.hpp>
#include <adverb/request/requests.hpp>
#include <adverb/request/send_operation.hpp>
#include <adverb/request/work_request.hpp>

namespace adverb::inline ADVERB_ABI {

/// The placement that a flush ensures for written data. Its type holds the rights that the remote
/// buffer needs. Join two with `|`.
template <access_rights Needed>
struct flush_placement {
  /// The rights that the remote buffer needs.
  static constexpr access_rights needed = Needed;

  template <access_rights Other>
  friend constexpr flush_placement<Needed | Other> operator|(flush_placement,
                                                             flush_placement<Other>) noexcept {
    return {};
  }
};

namespace placement {
/// The data is visible to all processors and devices of the peer.
inline constexpr flush_placement<access_right::flush_global> global{};
/// The data survives a power failure of the peer.
inline constexpr flush_placement<access_right::flush_persistent> persistent{};
}  // namespace placement

namespace detail {

/// The extent of a flush, as `level` of ibv_wr_flush.
enum class flush_extent : std::uint8_t {
  range = 0,   // IBV_FLUSH_RANGE, of later rdma-core
  region = 1,  // IBV_FLUSH_MR, likewise
};

/// Returns `type` of ibv_wr_flush: IBV_FLUSH_GLOBAL and IBV_FLUSH_PERSISTENT, of later rdma-core.
[[nodiscard]] constexpr std::uint8_t flush_type(access_rights rights) noexcept {
  return static_cast<std::uint8_t>((rights.contains(access_right::flush_global) ? 1U : 0U) |
                                   (rights.contains(access_right::flush_persistent) ? 2U : 0U));
}

/// A flush. Only the extended sender supports it.
struct flush_operation : remote_fields {
  using traits = operation_traits<send_operation::flush>;

  std::size_t length;
  std::uint8_t type;
  flush_extent extent;

  /// Wraps: ibv_wr_flush(3).
  template <class Sender>
  void build(Sender* sender) const noexcept {
    if constexpr (requires { sender->wr_flush; })
      ibv_wr_flush(sender, key, address, length, type, static_cast<std::uint8_t>(extent));
  }
};

template <class T, access_rights Rights, access_rights Needed>
[[nodiscard]] constexpr auto make_flush(const remote_buffer<T, Rights>& remote,
                                        flush_extent extent) noexcept {
  static_assert(
      !Needed.contains(access_right::flush_global) || Rights.contains(access_right::flush_global),
      "placement::global needs a remote buffer with the right flush_global");
  static_assert(!Needed.contains(access_right::flush_persistent) ||
                    Rights.contains(access_right::flush_persistent),
                "placement::persistent needs a remote buffer with the right flush_persistent");
  return send_request{
      flush_operation{fields_of(remote), remote.size_bytes(), flush_type(Needed), extent},
      no_payload{}};
}

}  // namespace detail

/// Creates a request that flushes earlier writes to the peer's memory through this queue pair. When
/// it completes, the data is at the given placement. The peer's program gets no notice. A buffer
/// whose size does not fit into 32 bits is flushed with the whole region, since requests carry no
/// longer ranges.
///
/// Requires the extended sender of a queue pair. The region and the queue pair of the peer both
/// need the right for the placement.
template <class T, access_rights Rights, access_rights Needed>
[[nodiscard]] constexpr auto flush(const remote_buffer<T, Rights>& remote,
                                   flush_placement<Needed>) noexcept {
  // See docs/decisions.md, "Flushes longer than 32 bits flush the region".
  const bool fits = remote.size_bytes() <= std::numeric_limits<std::uint32_t>::max();
  return detail::make_flush<T, Rights, Needed>(
      remote, fits ? detail::flush_extent::range : detail::flush_extent::region);
}

/// Creates a flush of all memory of the peer that the buffer's key covers.
template <class T, access_rights Rights, access_rights Needed>
[[nodiscard]] constexpr auto flush_region(const remote_buffer<T, Rights>& remote,
                                          flush_placement<Needed>) noexcept {
  return detail::make_flush<T, Rights, Needed>(remote, detail::flush_extent::region);
}

}  // namespace adverb::inline ADVERB_ABI
