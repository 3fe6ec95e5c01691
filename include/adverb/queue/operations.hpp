// SPDX-License-Identifier: MIT
// The functions that make work requests. A payload is any number of buffers, one std::span of
// buffers, or (where data is sent) one inline_data.
#pragma once

#include <cstdint>
#include <type_traits>

#include <infiniband/verbs.h>

#include <adverb/core/byte_order.hpp>
#include <adverb/core/ids.hpp>
#include <adverb/memory/remote_buffer.hpp>
#include <adverb/queue/work_request.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

struct send_operation {
  static constexpr ibv_wr_opcode opcode = IBV_WR_SEND;
  static constexpr service_class needs = service_class::message;
  static constexpr bool completes_receive = true;

  static constexpr void fill(ibv_send_wr&) noexcept {}
};

struct send_with_immediate_operation {
  static constexpr ibv_wr_opcode opcode = IBV_WR_SEND_WITH_IMM;
  static constexpr service_class needs = service_class::message_with_immediate;
  static constexpr bool completes_receive = true;

  std::uint32_t network_order;

  void fill(ibv_send_wr& request) const noexcept { request.imm_data = network_order; }
};

struct remote_fields {
  std::uint64_t address;
  std::uint32_t key;

  void fill(ibv_send_wr& request) const noexcept {
    request.wr.rdma.remote_addr = address;
    request.wr.rdma.rkey = key;
  }
};

struct write_operation : remote_fields {
  static constexpr ibv_wr_opcode opcode = IBV_WR_RDMA_WRITE;
  static constexpr service_class needs = service_class::connection;
  static constexpr bool completes_receive = false;
};

struct write_with_immediate_operation : remote_fields {
  static constexpr ibv_wr_opcode opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
  static constexpr service_class needs = service_class::connection;
  static constexpr bool completes_receive = true;

  std::uint32_t network_order;

  void fill(ibv_send_wr& request) const noexcept {
    request.imm_data = network_order;
    remote_fields::fill(request);
  }
};

struct read_operation : remote_fields {
  static constexpr ibv_wr_opcode opcode = IBV_WR_RDMA_READ;
  static constexpr service_class needs = service_class::reliable_connection;
  static constexpr bool completes_receive = false;
};

template <ibv_wr_opcode Opcode>
struct atomic_operation {
  static constexpr ibv_wr_opcode opcode = Opcode;
  static constexpr service_class needs = service_class::reliable_connection;
  static constexpr bool completes_receive = false;

  std::uint64_t address;
  std::uint64_t compare_or_add;
  std::uint64_t swap;
  std::uint32_t key;

  void fill(ibv_send_wr& request) const noexcept {
    request.wr.atomic.remote_addr = address;
    request.wr.atomic.compare_add = compare_or_add;
    if constexpr (Opcode == IBV_WR_ATOMIC_CMP_AND_SWP) request.wr.atomic.swap = swap;
    request.wr.atomic.rkey = key;
  }
};

[[nodiscard]] constexpr std::uint32_t in_network_order(immediate data) noexcept {
  return swap_network_order(static_cast<std::uint32_t>(data));
}

template <class T, access_rights Rights>
[[nodiscard]] constexpr remote_fields fields_of(const remote_buffer<T, Rights>& remote) noexcept {
  return {remote.address(), static_cast<std::uint32_t>(remote.key())};
}

template <class T, access_rights Rights>
constexpr void check_writable() noexcept {
  static_assert(Rights.contains(access_right::remote_write),
                "a write needs a remote buffer with the right remote_write");
}

template <class T, access_rights Rights>
constexpr void check_atomic() noexcept {
  static_assert(Rights.contains(access_right::remote_atomic),
                "an atomic operation needs a remote buffer with the right remote_atomic");
  static_assert(std::is_integral_v<T> && sizeof(T) == 8,
                "an atomic operation needs a remote buffer of 64-bit integers");
}

}  // namespace detail

/// Sends the payload to a receive that the peer has posted.
template <class... Payload>
  requires(std::is_class_v<Payload> && ...)  // so that send(2) of POSIX stays itself
[[nodiscard]] constexpr auto send(const Payload&... payload) noexcept {
  return send_request{detail::send_operation{}, detail::gather(payload...)};
}

/// The same, with 32 bits that the peer finds in its completion.
template <class... Payload>
[[nodiscard]] constexpr auto send_with_immediate(immediate data,
                                                 const Payload&... payload) noexcept {
  return send_request{detail::send_with_immediate_operation{detail::in_network_order(data)},
                      detail::gather(payload...)};
}

/// Writes the payload to the start of the peer's memory; the peer's program is not told.
template <class T, access_rights Rights, class... Payload>
[[nodiscard]] constexpr auto write(const remote_buffer<T, Rights>& remote,
                                   const Payload&... payload) noexcept {
  detail::check_writable<T, Rights>();
  return send_request{detail::write_operation{detail::fields_of(remote)},
                      detail::gather(payload...)};
}

/// The same, and completes a receive that the peer has posted with 32 bits.
template <class T, access_rights Rights, class... Payload>
[[nodiscard]] constexpr auto write_with_immediate(const remote_buffer<T, Rights>& remote,
                                                  immediate data,
                                                  const Payload&... payload) noexcept {
  detail::check_writable<T, Rights>();
  return send_request{detail::write_with_immediate_operation{detail::fields_of(remote),
                                                             detail::in_network_order(data)},
                      detail::gather(payload...)};
}

/// Reads from the start of the peer's memory into local buffers, as much as they hold.
template <class T, access_rights Rights, class... Payload>
[[nodiscard]] constexpr auto read(const remote_buffer<T, Rights>& remote,
                                  const Payload&... payload) noexcept {
  static_assert(Rights.contains(access_right::remote_read),
                "a read needs a remote buffer with the right remote_read");
  return send_request{detail::read_operation{detail::fields_of(remote)},
                      detail::scatter(payload...)};
}

/// The two values of a compare-and-swap.
struct compare_and_swap_values {
  std::uint64_t expected;
  std::uint64_t desired;
};

/// Replaces the first 64-bit number of the peer's memory if it is the expected one; what was there
/// before arrives in `result`, 8 bytes, in host byte order.
template <class T, access_rights Rights, class Result>
[[nodiscard]] constexpr auto compare_and_swap(const remote_buffer<T, Rights>& remote,
                                              const compare_and_swap_values& values,
                                              const Result& result) noexcept {
  detail::check_atomic<T, Rights>();
  return send_request{detail::atomic_operation<IBV_WR_ATOMIC_CMP_AND_SWP>{
                          remote.address(), values.expected, values.desired,
                          static_cast<std::uint32_t>(remote.key())},
                      detail::scatter(result)};
}

/// Adds to the first 64-bit number of the peer's memory; what was there before arrives in
/// `result`, 8 bytes, in host byte order.
template <class T, access_rights Rights, class Result>
[[nodiscard]] constexpr auto fetch_and_add(const remote_buffer<T, Rights>& remote,
                                           std::uint64_t addend, const Result& result) noexcept {
  detail::check_atomic<T, Rights>();
  return send_request{detail::atomic_operation<IBV_WR_ATOMIC_FETCH_AND_ADD>{
                          remote.address(), addend, 0, static_cast<std::uint32_t>(remote.key())},
                      detail::scatter(result)};
}

/// Takes one message of a peer into local buffers.
template <class... Payload>
[[nodiscard]] constexpr auto receive(const Payload&... payload) noexcept {
  return receive_request{detail::scatter(payload...)};
}

}  // namespace adverb::inline ADVERB_ABI
