// SPDX-License-Identifier: MIT
// Work requests: small values that say what is to be done. They are made by the functions in
// <adverb/queue/requests.hpp> and posted by a queue pair.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include <infiniband/verbs.h>

#include <adverb/queue/destination.hpp>
#include <adverb/queue/detail/payload.hpp>
#include <adverb/queue/transport.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

/// What a work request can be identified by: an integer, or a pointer to what is not const (it is
/// given back as it was).
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

/// An operation that waits for all earlier reads and atomics, which only RC has.
template <class Operation>
struct fenced_operation : Operation {
  static constexpr bool is_fenced = true;
};

/// Writes three fields that follow each other. Where all are known when it is compiled, it zeroes
/// the one behind them as well, before the operations that have it write it: four fields are one
/// store, and three take more. GCC joins stores of one type only, hence the unsigned.
[[gnu::always_inline]] inline void fill_kind(ibv_send_wr& request, int count, ibv_wr_opcode opcode,
                                             unsigned flags) noexcept {
  reinterpret_cast<unsigned&>(request.num_sge) = static_cast<unsigned>(count);
  request.opcode = opcode;
  request.send_flags = flags;
  if (__builtin_constant_p(count) && __builtin_constant_p(flags)) request.imm_data = 0;
}

}  // namespace detail

/// A request for the send queue. `Operation` says what it does and fills in its own fields;
/// `Payload` is its local memory. The modifiers return a changed copy, so that they chain:
///
///     queue_pair.post(send(buffer).id(&job).signaled());
///
/// It refers to the lists of buffers and the inline bytes that it was made from: these have to
/// live until it is posted.
template <class Operation, class Payload, class Destination = detail::no_destination>
class send_request {
 public:
  using operation_type = Operation;
  using payload_type = Payload;
  using native_type = ibv_send_wr;
  static constexpr detail::destination_kind destination = Destination::kind;

  constexpr send_request(const Operation& operation, const Payload& payload,
                         const Destination& there = {}, std::uint64_t id = 0,
                         unsigned flags = Payload::send_flags) noexcept
      : id_{id}, flags_{flags}, payload_{payload}, operation_{operation}, destination_{there} {}

  /// What its completion carries as `id()` or `pointer<T>()`.
  template <detail::request_id_type Id>
  [[nodiscard]] constexpr send_request id(Id value) const noexcept {
    return {operation_, payload_, destination_, detail::request_id(value), flags_};
  }
  /// Asks for a completion, or for none. Requests without one leave the queue only when a later
  /// signaled one has completed.
  [[nodiscard]] constexpr send_request signaled(bool wanted = true) const noexcept {
    constexpr unsigned signal = IBV_SEND_SIGNALED;
    return {operation_, payload_, destination_, id_, wanted ? flags_ | signal : flags_ & ~signal};
  }
  [[nodiscard]] constexpr bool is_signaled() const noexcept {
    return (flags_ & IBV_SEND_SIGNALED) != 0;
  }
  /// Waits until all earlier reads and atomics of this queue pair are done (RC).
  [[nodiscard]] constexpr auto fenced() const noexcept {
    return send_request<detail::fenced_operation<Operation>, Payload, Destination>{
        {operation_}, payload_, destination_, id_, flags_ | IBV_SEND_FENCE};
  }
  /// Wakes a peer that waits for solicited completions only.
  [[nodiscard]] constexpr send_request solicited() const noexcept {
    static_assert(Operation::completes_receive,
                  "only requests that complete a receive of the peer can be solicited");
    return with(IBV_SEND_SOLICITED);
  }
  /// Has the device fill in the checksums of IPv4 and of TCP or UDP, where it can (datagrams and
  /// raw packets; see the device capabilities).
  [[nodiscard]] constexpr send_request ip_checksum() const noexcept {
    return with(IBV_SEND_IP_CSUM);
  }
  /// Sends it there: for datagrams (UD).
  [[nodiscard]] auto to(const datagram_destination& there) const noexcept {
    return towards(detail::destination_fields(there));
  }
  /// Sends it to a shared receive queue of the peer (XRC).
  [[nodiscard]] constexpr auto to(shared_receive_queue_number there) const noexcept {
    return towards(detail::destination_fields(there));
  }

  /// What it needs beside the C struct while it is posted.
  using memory = typename Payload::memory;

  /// Writes the fields that the device reads, in the order of the C struct, and no others (but see
  /// detail::fill_kind).
  [[gnu::always_inline]] void fill(ibv_send_wr& request, ibv_send_wr* next,
                                   memory& elements) const noexcept {
    request.wr_id = id_;
    request.next = next;
    request.sg_list = payload_.lower(elements);
    detail::fill_kind(request, payload_.count(), Operation::opcode, flags_);
    operation_.fill(request);
    destination_.fill(request);
  }

  /// The same through the extended calls, between ibv_wr_start and ibv_wr_complete. The call for
  /// inline data says that it is inline, but librxe sends nothing of it without the flag.
  [[gnu::always_inline]] void build(ibv_qp_ex* sender) const noexcept {
    sender->wr_id = id_;
    // See docs/decisions.md, "Extended calls keep the inline flag".
    sender->wr_flags = flags_;
    operation_.build(sender);
    destination_.build(sender);
    payload_.build(sender);
  }

  /// Told when the queue pair has taken it, to operations that want to know.
  void accepted(const ibv_send_wr&) const noexcept
    requires requires(const Operation& operation) { operation.accepted(); }
  {
    operation_.accepted();
  }
  /// The same when it was built through the extended calls and then refused.
  void refused() const noexcept
    requires requires(const Operation& operation) { operation.refused(); }
  {
    operation_.refused();
  }

 private:
  template <class Fields>
  [[nodiscard]] constexpr auto towards(const Fields& fields) const noexcept {
    static_assert(destination == detail::destination_kind::none,
                  "the request has a destination already");
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

/// What a receive does.
struct receive_operation {
  static constexpr bool brings_data = true;
};

}  // namespace detail

/// A request for the receive queue.
template <class Payload>
class receive_request {
 public:
  using operation_type = detail::receive_operation;
  using payload_type = Payload;
  using native_type = ibv_recv_wr;

  constexpr explicit receive_request(const Payload& payload, std::uint64_t id = 0) noexcept
      : id_{id}, payload_{payload} {}

  template <detail::request_id_type Id>
  [[nodiscard]] constexpr receive_request id(Id value) const noexcept {
    return receive_request{payload_, detail::request_id(value)};
  }

  // The same as those of send_request.
  using memory = typename Payload::memory;
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

/// Whether only the extended calls have what a request does.
template <class Request>
[[nodiscard]] consteval bool needs_extended_sender() noexcept {
  return requires { Request::operation_type::only_extended; };
}

/// Requests that are posted together.
template <class... Requests>
struct request_list {
  static constexpr bool all_send = (is_send_request<Requests> && ...);
  static constexpr bool all_receive = (is_receive_request<Requests> && ...);
};

/// The requests that one argument of a post stands for: itself, or what was prepared.
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

/// Whether something holds requests that are built already, to be posted again and again.
template <class T>
inline constexpr bool is_prepared = requires { typename T::prepared_requests; };

/// Whether something is one of several requests that were prepared to be posted together.
template <class T>
inline constexpr bool is_linked = requires { typename T::linked_request_type; };

}  // namespace detail
}  // namespace adverb::inline ADVERB_ABI
