// SPDX-License-Identifier: MIT
// Work requests: small values that describe an operation, created by the functions in
// <adverb/request/requests.hpp> and posted by a queue pair.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include <infiniband/verbs.h>

#include <adverb/request/destination.hpp>
#include <adverb/request/inline_data.hpp>
#include <adverb/request/queue_pair_state.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

/// A type for the id of a work request: an integer, or a pointer to a non-const object, which is
/// returned unchanged.
template <class Id>
concept request_id_type =
    std::integral<Id> || (std::is_pointer_v<Id> && !std::is_const_v<std::remove_pointer_t<Id>>);

template <request_id_type Id>
[[nodiscard]] constexpr std::uint64_t request_id(Id value) noexcept {
  if constexpr (std::is_pointer_v<Id>)
    return reinterpret_cast<std::uintptr_t>(value);
  else
    return static_cast<std::uint64_t>(value);
}

/// An operation that waits for all earlier reads and atomics. Only RC has it.
template <class Operation>
struct fenced_operation : Operation {
  static constexpr bool is_fenced = true;
};

/// Writes three consecutive fields. If all are known at compile time, it also zeroes the next
/// field, which the operations that use it write later: four fields are one store, and three take
/// more. GCC joins four stores only if they have the same type, hence the unsigned. If the flags
/// are not known, it joins the other two only if their types differ.
[[gnu::always_inline]] inline void fill_kind(ibv_send_wr& request, int count, ibv_wr_opcode opcode,
                                             unsigned flags) noexcept {
  // Not const: GCC would evaluate it before the values are known.
  bool is_known = __builtin_constant_p(count) && __builtin_constant_p(flags);
  if (is_known)
    reinterpret_cast<unsigned&>(request.num_sge) = static_cast<unsigned>(count);
  else
    request.num_sge = count;
  request.opcode = opcode;
  request.send_flags = flags;
  if (is_known) request.imm_data = 0;
}

}  // namespace detail

/// A request for the send queue. `Operation` specifies the operation and fills in its own fields;
/// `Payload` is its local memory. The modifiers return a changed copy, so that they can be chained:
///
///     queue_pair.post(send(buffer).id(&job).signaled());
///
/// The request refers to the lists of buffers and the inline bytes that it was created from. They
/// must live until it is posted.
template <class Operation, class Payload, class Destination = detail::no_destination>
class send_request {
 public:
  /// For `post`: the operation.
  using operation_type = Operation;
  /// For `post`: what the request carries.
  using payload_type = Payload;
  using native_type = ibv_send_wr;
  /// For `post`: whether the request names its destination.
  static constexpr detail::destination_kind destination = Destination::kind;

  /// Made by `send(…)`, `write(…)` and the others.
  constexpr send_request(const Operation& operation, const Payload& payload,
                         const Destination& there = {}, std::uint64_t id = 0,
                         unsigned flags = Payload::send_flags) noexcept
      : id_{id}, flags_{flags}, payload_{payload}, operation_{operation}, destination_{there} {}

  /// Sets the `id()` or `pointer<T>()` of the completion.
  template <detail::request_id_type Id>
  [[nodiscard]] constexpr send_request id(Id value) const noexcept {
    return {operation_, payload_, destination_, detail::request_id(value), flags_};
  }
  /// Requests a completion, or none. An unsignaled request leaves the queue only when a later
  /// signaled one has completed.
  [[nodiscard]] constexpr send_request signaled(bool wanted = true) const noexcept {
    constexpr unsigned signal = IBV_SEND_SIGNALED;
    return {operation_, payload_, destination_, id_, wanted ? flags_ | signal : flags_ & ~signal};
  }
  /// Returns true if the request generates a completion.
  [[nodiscard]] constexpr bool is_signaled() const noexcept {
    return (flags_ & IBV_SEND_SIGNALED) != 0;
  }
  /// Waits until all earlier reads and atomics of this queue pair have completed (RC).
  [[nodiscard]] constexpr auto fenced() const noexcept {
    return send_request<detail::fenced_operation<Operation>, Payload, Destination>{
        {operation_}, payload_, destination_, id_, flags_ | IBV_SEND_FENCE};
  }
  /// Wakes a peer that waits for solicited completions only.
  [[nodiscard]] constexpr send_request solicited() const noexcept {
    static_assert(Operation::traits::completes_receive,
                  "only requests that complete a receive of the peer can be solicited");
    return with(IBV_SEND_SOLICITED);
  }
  /// Offloads the checksums of IPv4 and of TCP or UDP to the device, if it supports this (datagrams
  /// and raw packets; see the device capabilities).
  [[nodiscard]] constexpr send_request ip_checksum() const noexcept {
    return with(IBV_SEND_IP_CSUM);
  }
  /// Sets the destination of a datagram (UD).
  [[nodiscard]] auto to(const datagram_destination& there) const noexcept {
    return towards(detail::datagram_fields{there});
  }
  /// Sets a shared receive queue of the peer as the destination (XRC).
  [[nodiscard]] constexpr auto to(shared_receive_queue_number there) const noexcept {
    return towards(detail::shared_receive_queue_field{there});
  }

  /// Additional memory that a post of it needs beside the C struct.
  using memory = typename Payload::memory;

  /// Writes the fields that the device reads, in the order of the C struct, and no others (except
  /// in detail::fill_kind).
  [[gnu::always_inline]] void fill(ibv_send_wr& request, ibv_send_wr* next,
                                   memory& elements) const noexcept {
    request.wr_id = id_;
    request.next = next;
    request.sg_list = payload_.lower(elements);
    detail::fill_kind(request, payload_.count(), Operation::traits::opcode, flags_);
    operation_.fill(request);
    destination_.fill(request);
  }

  /// Builds the request through the extended calls, between ibv_wr_start and ibv_wr_complete. The
  /// call for inline data implies the inline flag, but librxe sends none of the data without the
  /// flag.
  [[gnu::always_inline]] void build(ibv_qp_ex* sender) const noexcept {
    sender->wr_id = id_;
    // See docs/decisions.md, "Extended calls keep the inline flag".
    sender->wr_flags = flags_;
    operation_.build(sender);
    destination_.build(sender);
    payload_.build(sender);
  }

  /// Called when the queue pair has accepted the request, if the operation needs it.
  void accepted(const ibv_send_wr&) const noexcept
    requires requires(const Operation& operation) { operation.accepted(); }
  {
    operation_.accepted();
  }
  /// Called when the extended engine refuses the built request, if the operation needs it.
  void refused() const noexcept
    requires requires(const Operation& operation) { operation.refused(); }
  {
    operation_.refused();
  }

 private:
  template <class Fields>
  [[nodiscard]] constexpr auto towards(const Fields& fields) const noexcept {
    static_assert(destination == detail::destination_kind::none,
                  "the request already has a destination");
    return send_request<Operation, Payload, Fields>{operation_, payload_, fields, id_, flags_};
  }
  [[nodiscard]] constexpr send_request with(unsigned flag) const noexcept {
    return {operation_, payload_, destination_, id_, flags_ | flag};
  }

  std::uint64_t id_;
  unsigned flags_;
  [[no_unique_address]] Payload payload_;
  [[no_unique_address]] Operation operation_;
  [[no_unique_address]] Destination destination_;
};

namespace detail {

/// The operation of a receive.
struct receive_operation {
  struct traits {
    static constexpr bool brings_data = true;
  };
};

}  // namespace detail

/// A request for the receive queue.
template <class Payload>
class receive_request {
 public:
  /// For `post`: the operation.
  using operation_type = detail::receive_operation;
  /// For `post`: what the request carries.
  using payload_type = Payload;
  using native_type = ibv_recv_wr;

  /// Made by `receive(…)`.
  constexpr explicit receive_request(const Payload& payload, std::uint64_t id = 0) noexcept
      : id_{id}, payload_{payload} {}

  /// Sets the number that the completion returns.
  template <detail::request_id_type Id>
  [[nodiscard]] constexpr receive_request id(Id value) const noexcept {
    return receive_request{payload_, detail::request_id(value)};
  }

  // The same members as in send_request.
  /// For `post`: the memory that the request needs while it is posted.
  using memory = typename Payload::memory;
  /// For `post`: writes the fields that the device reads.
  [[gnu::always_inline]] void fill(ibv_recv_wr& request, ibv_recv_wr* next,
                                   memory& elements) const noexcept {
    request.wr_id = id_;
    request.next = next;
    request.sg_list = payload_.lower(elements);
    request.num_sge = payload_.count();
  }

 private:
  std::uint64_t id_;
  [[no_unique_address]] Payload payload_;
};

namespace detail {

template <class T>
inline constexpr bool is_send_request = false;
template <class Operation, class Payload, class Destination>
inline constexpr bool is_send_request<send_request<Operation, Payload, Destination>> = true;

template <class T>
inline constexpr bool is_receive_request = false;
template <class Payload>
inline constexpr bool is_receive_request<receive_request<Payload>> = true;

/// Returns true if only the extended calls support the operation of a request.
template <class Request>
[[nodiscard]] consteval bool needs_extended_sender() noexcept {
  return is_send_request<Request> && !requires { Request::operation_type::traits::opcode; };
}

/// Requests that are posted together.
template <class... Requests>
struct request_list {
  static constexpr bool all_send = (is_send_request<Requests> && ...);
  static constexpr bool all_receive = (is_receive_request<Requests> && ...);
};

/// The requests in one argument of a post: the request itself, or the prepared ones.
template <class T>
struct requests_in {
  using type = request_list<T>;
};
template <class T>
  requires requires { typename T::prepared_requests; }
struct requests_in<T> {
  using type = typename T::prepared_requests;
};
template <class T>
using requests_of = typename requests_in<T>::type;

/// True if a type holds built requests, to be posted repeatedly.
template <class T>
inline constexpr bool is_prepared = requires { typename T::prepared_requests; };

/// True if a type is one of several prepared requests that are posted together.
template <class T>
inline constexpr bool is_linked = requires { typename T::linked_request_type; };

}  // namespace detail
}  // namespace adverb::inline ADVERB_ABI
