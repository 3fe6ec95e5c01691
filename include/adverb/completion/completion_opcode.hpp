// SPDX-License-Identifier: MIT
// The operation that a completion reports.
#pragma once

#include <cstdint>
#include <string_view>

#include <infiniband/verbs.h>

#include <adverb/core/text.hpp>

namespace adverb::inline ADVERB_ABI {

/// The operation of a successful completion. `receive`, `receive_write_with_immediate`,
/// `receive_tagged` and `receive_without_tag` occur on the side that posted a receive, the others
/// on the side that posted the request.
enum class completion_opcode : std::uint32_t {
  send = IBV_WC_SEND,
  write = IBV_WC_RDMA_WRITE,
  read = IBV_WC_RDMA_READ,
  compare_and_swap = IBV_WC_COMP_SWAP,
  fetch_and_add = IBV_WC_FETCH_ADD,
  bind_window = IBV_WC_BIND_MW,
  local_invalidate = IBV_WC_LOCAL_INV,
  tcp_segmentation = IBV_WC_TSO,
  flush = 8,         // IBV_WC_FLUSH, of later rdma-core
  atomic_write = 9,  // IBV_WC_ATOMIC_WRITE, likewise
  receive = IBV_WC_RECV,
  receive_write_with_immediate = IBV_WC_RECV_RDMA_WITH_IMM,
  /// A tag was added to the list of a tag matching queue.
  tag_addition = IBV_WC_TM_ADD,
  /// A tag was removed from that list.
  tag_deletion = IBV_WC_TM_DEL,
  /// The list was synchronised with the device.
  tag_synchronization = IBV_WC_TM_SYNC,
  /// A message arrived at a tag matching queue.
  receive_tagged = IBV_WC_TM_RECV,
  /// A message without a tag arrived at a tag matching queue.
  receive_without_tag = IBV_WC_TM_NO_TAG,
  // The provider defines their meaning. Later rdma-core has more of them than 39.
  driver_1 = 135,  // IBV_WC_DRIVER1
  driver_2 = 136,  // IBV_WC_DRIVER2
  driver_3 = 137,  // IBV_WC_DRIVER3
};

[[nodiscard]] constexpr static_string<48> to_text(completion_opcode opcode) noexcept {
  const auto name = [&]() -> std::string_view {
    switch (opcode) {
      case completion_opcode::send: return "send";
      case completion_opcode::write: return "write";
      case completion_opcode::read: return "read";
      case completion_opcode::compare_and_swap: return "compare and swap";
      case completion_opcode::fetch_and_add: return "fetch and add";
      case completion_opcode::bind_window: return "bind window";
      case completion_opcode::local_invalidate: return "local invalidate";
      case completion_opcode::tcp_segmentation: return "TCP segmentation";
      case completion_opcode::flush: return "flush";
      case completion_opcode::atomic_write: return "atomic write";
      case completion_opcode::receive: return "receive";
      case completion_opcode::receive_write_with_immediate:
        return "receive of write with immediate";
      case completion_opcode::tag_addition: return "tag addition";
      case completion_opcode::tag_deletion: return "tag deletion";
      case completion_opcode::tag_synchronization: return "tag synchronization";
      case completion_opcode::receive_tagged: return "receive with tag matching";
      case completion_opcode::receive_without_tag: return "receive without tag";
      case completion_opcode::driver_1: return "driver 1";
      case completion_opcode::driver_2: return "driver 2";
      case completion_opcode::driver_3: return "driver 3";
    }
    return {};
  };
  return detail::name_or_number(name(), static_cast<std::uint32_t>(opcode));
}

namespace detail {

/// Returns true if a receive completed, other than one of a tag matching queue. Opcodes are less
/// than 256, and as signed bytes the two lowest receives are the least. So this is one comparison,
/// as cheap as testing the receive bit of the C API. That bit is also set for the list operations
/// of tag matching and for the opcodes of drivers, which have no message.
// See docs/decisions.md, "Receives are recognised by one comparison".
[[nodiscard]] constexpr bool completes_receive(std::uint32_t opcode) noexcept {
  constexpr auto last = static_cast<std::int8_t>(IBV_WC_RECV_RDMA_WITH_IMM);
  static_assert(static_cast<std::int8_t>(IBV_WC_RECV) == INT8_MIN && last == INT8_MIN + 1);
  return static_cast<std::int8_t>(opcode) <= last;
}

/// Returns true if a message arrived at a tag matching queue.
[[nodiscard]] constexpr bool completes_tagged_receive(std::uint32_t opcode) noexcept {
  return opcode == IBV_WC_TM_RECV || opcode == IBV_WC_TM_NO_TAG;
}

}  // namespace detail
}  // namespace adverb::inline ADVERB_ABI
