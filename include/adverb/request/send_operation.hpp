// SPDX-License-Identifier: MIT
// The operations of the send queue and their traits.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include <infiniband/verbs.h>

#include <adverb/core/flags.hpp>
#include <adverb/request/queue_pair_state.hpp>

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
/// A set of operations.
using send_operations = flags<send_operation>;

namespace detail {

/// The traits of an operation:
/// - `name`: that of its enumerator;
/// - `opcode` of the classic engine; absent if only the extended sender has the operation;
/// - `service`: what it needs from the transport;
/// - `is_offered`: returns true if the provider of a queue pair has its extended call. A template,
///   with `check_declared`, if only later rdma-core declares that call.
///
/// To add an operation, add its enumerator and its traits here, change `last_send_operation`, and
/// add its request in requests.hpp.
template <send_operation>
struct operation_traits;

template <send_operation Operation>
struct operation_defaults {
  static constexpr send_operation operation = Operation;
  /// Every device with a transport that carries the operation supports it.
  static constexpr bool is_basic = false;
  /// Completes a receive of the peer.
  static constexpr bool completes_receive = false;
  /// Returns data to local memory.
  static constexpr bool brings_data = false;
  /// Acts on this side only and has no destination at the peer.
  static constexpr bool stays_here = false;
};

template <>
struct operation_traits<send_operation::write> : operation_defaults<send_operation::write> {
  static constexpr std::string_view name = "write";
  static constexpr ibv_wr_opcode opcode = IBV_WR_RDMA_WRITE;
  static constexpr service_class service = service_class::connection;
  static constexpr bool is_basic = true;
  static bool is_offered(const ibv_qp_ex& sender) noexcept {
    return sender.wr_rdma_write != nullptr;
  }
};

template <>
struct operation_traits<send_operation::write_with_immediate>
    : operation_defaults<send_operation::write_with_immediate> {
  static constexpr std::string_view name = "write_with_immediate";
  static constexpr ibv_wr_opcode opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
  static constexpr service_class service = service_class::connection;
  static constexpr bool is_basic = true;
  static constexpr bool completes_receive = true;
  static bool is_offered(const ibv_qp_ex& sender) noexcept {
    return sender.wr_rdma_write_imm != nullptr;
  }
};

template <>
struct operation_traits<send_operation::send> : operation_defaults<send_operation::send> {
  static constexpr std::string_view name = "send";
  static constexpr ibv_wr_opcode opcode = IBV_WR_SEND;
  static constexpr service_class service = service_class::message;
  static constexpr bool is_basic = true;
  static constexpr bool completes_receive = true;
  static bool is_offered(const ibv_qp_ex& sender) noexcept { return sender.wr_send != nullptr; }
};

template <>
struct operation_traits<send_operation::send_with_immediate>
    : operation_defaults<send_operation::send_with_immediate> {
  static constexpr std::string_view name = "send_with_immediate";
  static constexpr ibv_wr_opcode opcode = IBV_WR_SEND_WITH_IMM;
  static constexpr service_class service = service_class::message_with_immediate;
  static constexpr bool is_basic = true;
  static constexpr bool completes_receive = true;
  static bool is_offered(const ibv_qp_ex& sender) noexcept { return sender.wr_send_imm != nullptr; }
};

template <>
struct operation_traits<send_operation::read> : operation_defaults<send_operation::read> {
  static constexpr std::string_view name = "read";
  static constexpr ibv_wr_opcode opcode = IBV_WR_RDMA_READ;
  static constexpr service_class service = service_class::reliable_connection;
  static constexpr bool is_basic = true;
  static constexpr bool brings_data = true;
  static bool is_offered(const ibv_qp_ex& sender) noexcept {
    return sender.wr_rdma_read != nullptr;
  }
};

template <>
struct operation_traits<send_operation::compare_and_swap>
    : operation_defaults<send_operation::compare_and_swap> {
  static constexpr std::string_view name = "compare_and_swap";
  static constexpr ibv_wr_opcode opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
  static constexpr service_class service = service_class::reliable_connection;
  static constexpr bool is_basic = true;
  static constexpr bool brings_data = true;
  static bool is_offered(const ibv_qp_ex& sender) noexcept {
    return sender.wr_atomic_cmp_swp != nullptr;
  }
};

template <>
struct operation_traits<send_operation::fetch_and_add>
    : operation_defaults<send_operation::fetch_and_add> {
  static constexpr std::string_view name = "fetch_and_add";
  static constexpr ibv_wr_opcode opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
  static constexpr service_class service = service_class::reliable_connection;
  static constexpr bool is_basic = true;
  static constexpr bool brings_data = true;
  static bool is_offered(const ibv_qp_ex& sender) noexcept {
    return sender.wr_atomic_fetch_add != nullptr;
  }
};

template <>
struct operation_traits<send_operation::local_invalidate>
    : operation_defaults<send_operation::local_invalidate> {
  static constexpr std::string_view name = "local_invalidate";
  static constexpr ibv_wr_opcode opcode = IBV_WR_LOCAL_INV;
  static constexpr service_class service = service_class::connection;
  static constexpr bool stays_here = true;
  static bool is_offered(const ibv_qp_ex& sender) noexcept {
    return sender.wr_local_inv != nullptr;
  }
};

template <>
struct operation_traits<send_operation::bind_window>
    : operation_defaults<send_operation::bind_window> {
  static constexpr std::string_view name = "bind_window";
  static constexpr ibv_wr_opcode opcode = IBV_WR_BIND_MW;
  static constexpr service_class service = service_class::connection;
  static constexpr bool stays_here = true;
  static bool is_offered(const ibv_qp_ex& sender) noexcept { return sender.wr_bind_mw != nullptr; }
};

template <>
struct operation_traits<send_operation::send_with_invalidate>
    : operation_defaults<send_operation::send_with_invalidate> {
  static constexpr std::string_view name = "send_with_invalidate";
  static constexpr ibv_wr_opcode opcode = IBV_WR_SEND_WITH_INV;
  static constexpr service_class service = service_class::connection;
  static constexpr bool completes_receive = true;
  static bool is_offered(const ibv_qp_ex& sender) noexcept { return sender.wr_send_inv != nullptr; }
};

template <>
struct operation_traits<send_operation::tcp_segmentation>
    : operation_defaults<send_operation::tcp_segmentation> {
  static constexpr std::string_view name = "tcp_segmentation";
  static constexpr ibv_wr_opcode opcode = IBV_WR_TSO;
  static constexpr service_class service = service_class::segmentation;
  static constexpr bool completes_receive = true;
  static bool is_offered(const ibv_qp_ex& sender) noexcept { return sender.wr_send_tso != nullptr; }
};

template <>
struct operation_traits<send_operation::flush> : operation_defaults<send_operation::flush> {
  static constexpr std::string_view name = "flush";
  static constexpr service_class service = service_class::reliable_connection;
  template <class Sender>
    requires requires(const Sender& sender) { sender.wr_flush; }
  static bool is_offered(const Sender& sender) noexcept {
    return sender.wr_flush != nullptr;
  }
  template <bool Declared>
  static constexpr void check_declared() noexcept {
    static_assert(Declared, "a flush (ibv_wr_flush) needs headers of rdma-core 45 or later");
  }
};

template <>
struct operation_traits<send_operation::atomic_write>
    : operation_defaults<send_operation::atomic_write> {
  static constexpr std::string_view name = "atomic_write";
  static constexpr service_class service = service_class::reliable_connection;
  template <class Sender>
    requires requires(const Sender& sender) { sender.wr_atomic_write; }
  static bool is_offered(const Sender& sender) noexcept {
    return sender.wr_atomic_write != nullptr;
  }
  template <bool Declared>
  static constexpr void check_declared() noexcept {
    static_assert(Declared,
                  "an atomic write (ibv_wr_atomic_write) needs headers of rdma-core 44 or later");
  }
};

inline constexpr auto last_send_operation = send_operation::atomic_write;

/// Calls the function with each operation as its template argument.
template <class Function>
constexpr void for_each_operation(const Function& function) {
  constexpr std::size_t count = std::bit_width(static_cast<std::uint64_t>(last_send_operation));
  [&]<std::size_t... Index>(std::index_sequence<Index...>) {
    (function.template operator()<static_cast<send_operation>(std::uint64_t{1} << Index)>(), ...);
  }(std::make_index_sequence<count>{});
}

/// A row of the table of traits, over which functions at run time loop.
struct operation_row {
  send_operation operation;
  service_class service;
  bool is_basic;
  std::string_view name;
};

inline constexpr auto operation_rows = []<std::size_t... Index>(std::index_sequence<Index...>) {
  return std::array{[]<send_operation Each>(std::integral_constant<send_operation, Each>) {
    using traits = operation_traits<Each>;
    return operation_row{Each, traits::service, traits::is_basic, traits::name};
  }(std::integral_constant<send_operation,
                           static_cast<send_operation>(std::uint64_t{1} << Index)>{})...};
}(std::make_index_sequence<std::bit_width(static_cast<std::uint64_t>(last_send_operation))>{});

}  // namespace detail

[[nodiscard]] constexpr std::string_view flag_name(send_operation operation) noexcept {
  for (const detail::operation_row& each : detail::operation_rows)
    if (each.operation == operation) return each.name;
  return {};
}

namespace detail {

/// Returns all operations that a transport carries, whether or not a device supports them.
[[nodiscard]] constexpr send_operations operations_carried_by(transport service) noexcept {
  send_operations carried;
  for (const operation_row& each : operation_rows)
    if (carries(service, each.service)) carried |= each.operation;
  return carried;
}

}  // namespace detail

/// Returns the operations of a transport that every device with the transport supports.
[[nodiscard]] constexpr send_operations basic_operations(transport service) noexcept {
  send_operations basic;
  if (service == transport::driver) return basic;
  for (const detail::operation_row& each : detail::operation_rows)
    if (each.is_basic && detail::carries(service, each.service)) basic |= each.operation;
  return basic;
}

}  // namespace adverb::inline ADVERB_ABI
