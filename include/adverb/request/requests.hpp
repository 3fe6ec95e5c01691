// SPDX-License-Identifier: MIT
// The functions that create work requests. A payload is any number of buffers or one std::span of
// buffers. The payload of a send or write may also be any number of inline_data or one std::span of
// them.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include <infiniband/verbs.h>

#include <adverb/core/detail/byte_order.hpp>
#include <adverb/core/detail/hardening.hpp>
#include <adverb/core/ids.hpp>
#include <adverb/memory/buffer.hpp>
#include <adverb/memory/registrable_memory.hpp>
#include <adverb/memory/remote_buffer.hpp>
#include <adverb/request/inline_data.hpp>
#include <adverb/request/send_operation.hpp>
#include <adverb/request/work_request.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

template <class T, access_rights Rights>
void take_remote(const remote_buffer<T, Rights>&);
/// True if the type is the memory of a peer.
template <class T>
inline constexpr bool is_remote_memory = requires(const T& memory) { take_remote(memory); };

/// True if the type is local memory that a request can use.
template <class T>
inline constexpr bool is_local_memory =
    std::convertible_to<const T&, const_buffer> || std::same_as<T, inline_data>;
template <class T, std::size_t Extent>
inline constexpr bool is_local_memory<std::span<T, Extent>> =
    is_local_memory<std::remove_const_t<T>>;

/// True if the type names memory of a peer: as a buffer, or by a key alone.
template <class T>
inline constexpr bool names_remote_memory = is_remote_memory<T> || std::same_as<T, rkey>;

/// The arguments suit a one-sided operation, except that the first is not the memory of the peer.
template <class First, class... Rest>
concept lacks_remote_first =
    !is_remote_memory<First> &&
    (is_local_memory<First> || names_remote_memory<First> || (names_remote_memory<Rest> || ...));

template <access_rights Rights>
consteval void check_writable() noexcept {
  static_assert(Rights.contains(access_right::remote_write),
                "a write needs a remote buffer with the right remote_write");
}

template <access_rights Rights>
consteval void check_readable() noexcept {
  static_assert(Rights.contains(access_right::remote_read),
                "a read needs a remote buffer with the right remote_read");
}

template <class T, access_rights Rights>
consteval void check_atomic() noexcept {
  static_assert(Rights.contains(access_right::remote_atomic),
                "an atomic operation needs a remote buffer with the right remote_atomic");
  static_assert(std::is_integral_v<T> && sizeof(T) == 8,
                "an atomic operation needs a remote buffer of 64-bit integers");
}

struct plain_send {
  using traits = operation_traits<send_operation::send>;

  static constexpr void fill(ibv_send_wr&) noexcept {}
  /// Wraps: ibv_wr_send(3).
  static void build(ibv_qp_ex* sender) noexcept { ibv_wr_send(sender); }
};

struct immediate_field {
  std::uint32_t network_order;

  void fill(ibv_send_wr& request) const noexcept { request.imm_data = network_order; }
};

struct immediate_send : immediate_field {
  using traits = operation_traits<send_operation::send_with_immediate>;

  /// Wraps: ibv_wr_send_imm(3).
  void build(ibv_qp_ex* sender) const noexcept { ibv_wr_send_imm(sender, network_order); }
};

struct remote_fields {
  using remote_type = remote_fields;

  std::uint64_t address;
  std::uint32_t key;

  void fill(ibv_send_wr& request) const noexcept {
    fill_address(request);
    request.wr.rdma.rkey = key;
  }
  void fill_address(ibv_send_wr& request) const noexcept { request.wr.rdma.remote_addr = address; }
  static std::uint32_t key_in(const ibv_send_wr& request) noexcept { return request.wr.rdma.rkey; }
};

struct plain_write : remote_fields {
  using traits = operation_traits<send_operation::write>;

  template <class T, access_rights Rights>
  static constexpr void check_remote() noexcept {
    check_writable<Rights>();
  }
  /// Wraps: ibv_wr_rdma_write(3).
  void build(ibv_qp_ex* sender) const noexcept { ibv_wr_rdma_write(sender, key, address); }
};

struct immediate_write : remote_fields, immediate_field {
  using traits = operation_traits<send_operation::write_with_immediate>;

  template <class T, access_rights Rights>
  static constexpr void check_remote() noexcept {
    check_writable<Rights>();
  }
  void fill(ibv_send_wr& request) const noexcept {
    immediate_field::fill(request);
    remote_fields::fill(request);
  }
  /// Wraps: ibv_wr_rdma_write_imm(3).
  void build(ibv_qp_ex* sender) const noexcept {
    ibv_wr_rdma_write_imm(sender, key, address, network_order);
  }
};

struct plain_read : remote_fields {
  using traits = operation_traits<send_operation::read>;

  template <class T, access_rights Rights>
  static constexpr void check_remote() noexcept {
    check_readable<Rights>();
  }
  /// Wraps: ibv_wr_rdma_read(3).
  void build(ibv_qp_ex* sender) const noexcept { ibv_wr_rdma_read(sender, key, address); }
};

struct atomic_fields {
  using remote_type = atomic_fields;

  std::uint64_t address;
  std::uint32_t key;

  template <class T, access_rights Rights>
  static constexpr void check_remote() noexcept {
    check_atomic<T, Rights>();
  }
  void fill(ibv_send_wr& request) const noexcept {
    fill_address(request);
    request.wr.atomic.rkey = key;
  }
  void fill_address(ibv_send_wr& request) const noexcept {
    request.wr.atomic.remote_addr = address;
  }
  static std::uint32_t key_in(const ibv_send_wr& request) noexcept {
    return request.wr.atomic.rkey;
  }
};

struct compare_and_swap_fields {
  std::uint64_t compare;
  std::uint64_t swap;

  void fill(ibv_send_wr& request) const noexcept {
    request.wr.atomic.compare_add = compare;
    request.wr.atomic.swap = swap;
  }
};

struct addend_field {
  std::uint64_t addend;

  void fill(ibv_send_wr& request) const noexcept { request.wr.atomic.compare_add = addend; }
};

struct plain_compare_and_swap : atomic_fields, compare_and_swap_fields {
  using traits = operation_traits<send_operation::compare_and_swap>;

  void fill(ibv_send_wr& request) const noexcept {
    atomic_fields::fill(request);
    compare_and_swap_fields::fill(request);
  }
  /// Wraps: ibv_wr_atomic_cmp_swp(3).
  void build(ibv_qp_ex* sender) const noexcept {
    ibv_wr_atomic_cmp_swp(sender, key, address, compare, swap);
  }
};

struct plain_fetch_and_add : atomic_fields, addend_field {
  using traits = operation_traits<send_operation::fetch_and_add>;

  void fill(ibv_send_wr& request) const noexcept {
    atomic_fields::fill(request);
    addend_field::fill(request);
  }
  /// Wraps: ibv_wr_atomic_fetch_add(3).
  void build(ibv_qp_ex* sender) const noexcept {
    ibv_wr_atomic_fetch_add(sender, key, address, addend);
  }
};

/// An atomic write of eight bytes. Only the extended sender supports it.
struct eight_byte_write : remote_fields {
  using traits = operation_traits<send_operation::atomic_write>;

  std::uint64_t value;

  /// Wraps: ibv_wr_atomic_write(3).
  template <class Sender>
  void build(Sender* sender) const noexcept {
    if constexpr (requires { sender->wr_atomic_write; })
      ibv_wr_atomic_write(sender, key, address, &value);
  }
};

struct segmented_send {
  using traits = operation_traits<send_operation::tcp_segmentation>;

  void* header;
  std::uint16_t header_size;
  std::uint16_t segment_size;

  void fill(ibv_send_wr& request) const noexcept {
    request.tso.hdr = header;
    request.tso.hdr_sz = header_size;
    request.tso.mss = segment_size;
  }
  /// Wraps: ibv_wr_send_tso(3).
  void build(ibv_qp_ex* sender) const noexcept {
    ibv_wr_send_tso(sender, header, header_size, segment_size);
  }
};

[[nodiscard]] constexpr std::uint32_t in_network_order(immediate data) noexcept {
  return swap_network_order(static_cast<std::uint32_t>(data));
}

template <class Fields = remote_fields, class T, access_rights Rights>
[[nodiscard]] constexpr Fields fields_of(const remote_buffer<T, Rights>& remote) noexcept {
  return {remote.address(), static_cast<std::uint32_t>(remote.key())};
}

/// Returns the payload. Terminates the program if it exceeds the peer's memory and that is checked.
template <class T, access_rights Rights, class Payload>
[[nodiscard, gnu::always_inline]] constexpr Payload that_fits(
    [[maybe_unused]] const remote_buffer<T, Rights>& remote, [[maybe_unused]] const char* call,
    Payload payload) noexcept {
  if constexpr (hardened(ADVERB_HARDENING_DEBUG)) {
    const std::uint64_t wanted = length_of(payload);
    const std::uint64_t there = remote.size_bytes();
    if (wanted > there) [[unlikely]]
      end_program(call, [length = wanted, room = there](failure_description& description) {
        description.explain("{} bytes exceed the {} of the remote buffer", {length, room});
      });
  }
  return payload;
}

}  // namespace detail

/// Creates a request that sends the payload to a receive posted by the peer.
template <class... Payload>
  requires(std::is_class_v<Payload> && ...)  // so that send(2) of POSIX stays itself
[[nodiscard]] constexpr auto send(const Payload&... payload) noexcept {
  return send_request{detail::plain_send{}, detail::gather(payload...)};
}

/// Creates a send with 32 bits of immediate data, which the peer finds in its completion.
template <class... Payload>
[[nodiscard]] constexpr auto send_with_immediate(immediate data,
                                                 const Payload&... payload) noexcept {
  return send_request{detail::immediate_send{{detail::in_network_order(data)}},
                      detail::gather(payload...)};
}

/// Creates a request that writes the payload to the start of the peer's memory. The peer's program
/// gets no notice. Terminates the program if the payload exceeds that memory
/// (ADVERB_HARDENING_DEBUG).
template <class T, access_rights Rights, class... Payload>
[[nodiscard]] constexpr auto write(const remote_buffer<T, Rights>& remote,
                                   const Payload&... payload) noexcept {
  detail::check_writable<Rights>();
  return send_request{detail::plain_write{detail::fields_of(remote)},
                      detail::that_fits(remote, "write", detail::gather(payload...))};
}

/// Creates a write that also completes a receive of the peer, with 32 bits of immediate data.
template <class T, access_rights Rights, class... Payload>
[[nodiscard]] constexpr auto write_with_immediate(const remote_buffer<T, Rights>& remote,
                                                  immediate data,
                                                  const Payload&... payload) noexcept {
  detail::check_writable<Rights>();
  return send_request{
      detail::immediate_write{detail::fields_of(remote), {detail::in_network_order(data)}},
      detail::that_fits(remote, "write_with_immediate", detail::gather(payload...))};
}

// Each of these operations has an overload whose static_assert names the first argument. It accepts
// only the arguments of one-sided operations, so that write(2) and read(2) of POSIX still work.
template <class First, class... Rest>
  requires detail::lacks_remote_first<First, Rest...>
[[nodiscard]] constexpr auto write(const First&, const Rest&...) noexcept {
  static_assert(detail::is_remote_memory<First>,
                "the first argument must be the remote buffer: write(remote, local...)");
  return send_request{detail::plain_write{}, detail::no_payload{}};
}
template <class First, class... Rest>
  requires detail::lacks_remote_first<First, Rest...>
[[nodiscard]] constexpr auto write_with_immediate(const First&, const Rest&...) noexcept {
  static_assert(detail::is_remote_memory<First>,
                "the first argument must be the remote buffer, the second the immediate: "
                "write_with_immediate(remote, immediate{...}, local...)");
  return send_request{detail::immediate_write{}, detail::no_payload{}};
}

/// Creates a request that reads from the start of the peer's memory and fills the local buffers.
/// Terminates the program if the buffers exceed the peer's memory (ADVERB_HARDENING_DEBUG).
template <class T, access_rights Rights, class... Payload>
[[nodiscard]] constexpr auto read(const remote_buffer<T, Rights>& remote,
                                  const Payload&... payload) noexcept {
  detail::check_readable<Rights>();
  return send_request{detail::plain_read{detail::fields_of(remote)},
                      detail::that_fits(remote, "read", detail::scatter(payload...))};
}

template <class First, class... Rest>
  requires detail::lacks_remote_first<First, Rest...>
[[nodiscard]] constexpr auto read(const First&, const Rest&...) noexcept {
  static_assert(detail::is_remote_memory<First>,
                "the first argument must be the remote buffer: read(remote, local...)");
  return send_request{detail::plain_read{}, detail::no_payload{}};
}

/// The two values of a compare-and-swap.
struct compare_and_swap_values {
  /// The value that the memory must have for the swap.
  std::uint64_t expected;
  /// The new value.
  std::uint64_t desired;
};

/// Creates a request that replaces the peer's first 64-bit number if it equals `expected`. The
/// previous value arrives in `result`, 8 bytes, in host byte order.
template <class T, access_rights Rights, class Result>
[[nodiscard]] constexpr auto compare_and_swap(const remote_buffer<T, Rights>& remote,
                                              const compare_and_swap_values& values,
                                              const Result& result) noexcept {
  detail::check_atomic<T, Rights>();
  return send_request{
      detail::plain_compare_and_swap{detail::fields_of<detail::atomic_fields>(remote),
                                     {values.expected, values.desired}},
      detail::scatter(result)};
}

template <class First, class Last>
  requires detail::lacks_remote_first<First, Last>
[[nodiscard]] constexpr auto compare_and_swap(const First&, const compare_and_swap_values&,
                                              const Last&) noexcept {
  static_assert(detail::is_remote_memory<First>,
                "the first argument must be the remote buffer, the last the result buffer: "
                "compare_and_swap(remote, values, result)");
  return send_request{detail::plain_compare_and_swap{}, detail::no_payload{}};
}

/// Creates a request that adds to the first 64-bit number of the peer's memory. The previous value
/// arrives in `result`, 8 bytes, in host byte order.
template <class T, access_rights Rights, class Result>
[[nodiscard]] constexpr auto fetch_and_add(const remote_buffer<T, Rights>& remote,
                                           std::uint64_t addend, const Result& result) noexcept {
  detail::check_atomic<T, Rights>();
  return send_request{
      detail::plain_fetch_and_add{detail::fields_of<detail::atomic_fields>(remote), {addend}},
      detail::scatter(result)};
}

template <class First, class Last>
  requires detail::lacks_remote_first<First, Last>
[[nodiscard]] constexpr auto fetch_and_add(const First&, std::uint64_t, const Last&) noexcept {
  static_assert(detail::is_remote_memory<First>,
                "the first argument must be the remote buffer, the last the result buffer: "
                "fetch_and_add(remote, addend, result)");
  return send_request{detail::plain_fetch_and_add{}, detail::no_payload{}};
}

/// Creates a request that writes the first 64-bit number of the peer's memory atomically. Requires
/// the extended sender of a queue pair.
template <class T, access_rights Rights>
[[nodiscard]] constexpr auto atomic_write(const remote_buffer<T, Rights>& remote,
                                          std::uint64_t value) noexcept {
  detail::check_writable<Rights>();
  static_assert(std::is_integral_v<T> && sizeof(T) == 8,
                "an atomic write needs a remote buffer of 64-bit integers");
  return send_request{detail::eight_byte_write{detail::fields_of(remote), value},
                      detail::no_payload{}};
}

/// Creates a request that sends the payload in segments of `segment_size` bytes, each with the same
/// headers in front (TCP segmentation offload: datagrams and raw packets). The post reads the
/// header bytes: at most `max_tso_header` of the queue pair.
template <class... Payload>
[[nodiscard]] auto send_segmented(std::span<const std::byte> header, std::uint16_t segment_size,
                                  const Payload&... payload) noexcept {
  // A size beyond 16 bits exceeds every device; the request must fail for that reason.
  return send_request{
      detail::segmented_send{
          const_cast<std::byte*>(header.data()),
          static_cast<std::uint16_t>(header.size() < 65535 ? header.size() : 65535), segment_size},
      detail::gather(payload...)};
}

/// Creates a request that receives one message of a peer into local buffers.
template <class... Payload>
[[nodiscard]] constexpr auto receive(const Payload&... payload) noexcept {
  return receive_request{detail::scatter(payload...)};
}

}  // namespace adverb::inline ADVERB_ABI
