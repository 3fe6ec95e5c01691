// SPDX-License-Identifier: MIT
// The operations for which a queue pair with an extended sender can be created.
#pragma once

#include <cstdint>
#include <string_view>

#include <infiniband/verbs.h>

#include <adverb/core/flags.hpp>
#include <adverb/queue/transport.hpp>

namespace adverb::inline ADVERB_ABI {

/// An operation of the send queue.
enum class send_operation : std::uint64_t {
  write = IBV_QP_EX_WITH_RDMA_WRITE,
  write_with_immediate = IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM,
  send = IBV_QP_EX_WITH_SEND,
  send_with_immediate = IBV_QP_EX_WITH_SEND_WITH_IMM,
  read = IBV_QP_EX_WITH_RDMA_READ,
  compare_and_swap = IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP,
  fetch_and_add = IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD,
  local_invalidate = IBV_QP_EX_WITH_LOCAL_INV,
  bind_window = IBV_QP_EX_WITH_BIND_MW,
  send_with_invalidate = IBV_QP_EX_WITH_SEND_WITH_INV,
  tcp_segmentation = IBV_QP_EX_WITH_TSO,
  flush = 1 << 11,         // IBV_QP_EX_WITH_FLUSH, of later rdma-core
  atomic_write = 1 << 12,  // IBV_QP_EX_WITH_ATOMIC_WRITE, likewise
};
template <>
inline constexpr bool is_flag<send_operation> = true;
using send_operations = flags<send_operation>;

[[nodiscard]] constexpr std::string_view flag_name(send_operation operation) noexcept {
  switch (operation) {
    case send_operation::write: return "write";
    case send_operation::write_with_immediate: return "write_with_immediate";
    case send_operation::send: return "send";
    case send_operation::send_with_immediate: return "send_with_immediate";
    case send_operation::read: return "read";
    case send_operation::compare_and_swap: return "compare_and_swap";
    case send_operation::fetch_and_add: return "fetch_and_add";
    case send_operation::local_invalidate: return "local_invalidate";
    case send_operation::bind_window: return "bind_window";
    case send_operation::send_with_invalidate: return "send_with_invalidate";
    case send_operation::tcp_segmentation: return "tcp_segmentation";
    case send_operation::flush: return "flush";
    case send_operation::atomic_write: return "atomic_write";
  }
  return {};
}

namespace detail {

/// Returns the service class that an operation needs.
[[nodiscard]] constexpr service_class service_of(send_operation operation) noexcept {
  switch (operation) {
    case send_operation::send: return service_class::message;
    case send_operation::send_with_immediate: return service_class::message_with_immediate;
    case send_operation::tcp_segmentation: return service_class::segmentation;
    case send_operation::write:
    case send_operation::write_with_immediate:
    case send_operation::send_with_invalidate:
    case send_operation::local_invalidate:
    case send_operation::bind_window: return service_class::connection;
    case send_operation::read:
    case send_operation::compare_and_swap:
    case send_operation::fetch_and_add:
    case send_operation::flush:
    case send_operation::atomic_write: break;
  }
  return service_class::reliable_connection;
}

/// Returns all operations that a transport carries, whether or not a device supports them.
[[nodiscard]] constexpr send_operations operations_carried_by(transport service) noexcept {
  send_operations carried;
  for (auto operation = send_operation::write; !flag_name(operation).empty();
       operation = static_cast<send_operation>(static_cast<std::uint64_t>(operation) << 1))
    if (carries(service, service_of(operation))) carried |= operation;
  return carried;
}

}  // namespace detail

/// Returns the operations of a transport that every device with the transport supports.
[[nodiscard]] constexpr send_operations basic_operations(transport service) noexcept {
  using enum send_operation;
  switch (service) {
    case transport::rc:
    case transport::xrc_send:
      return write | write_with_immediate | send_operation::send | send_with_immediate |
             send_operation::read | compare_and_swap | fetch_and_add;
    case transport::uc:
      return write | write_with_immediate | send_operation::send | send_with_immediate;
    case transport::ud: return send_operation::send | send_with_immediate;
    case transport::raw_packet: return send_operation::send;
    case transport::xrc_recv:
    case transport::driver: break;
  }
  return {};
}

}  // namespace adverb::inline ADVERB_ABI
