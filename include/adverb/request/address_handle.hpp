// SPDX-License-Identifier: MIT
// Address handles: the destinations of datagrams.
#pragma once

#include <infiniband/verbs.h>

#include <adverb/completion/completion.hpp>
#include <adverb/device/context_ref.hpp>
#include <adverb/fwd.hpp>
#include <adverb/memory/protection_domain.hpp>
#include <adverb/request/address.hpp>
#include <adverb/request/datagram.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

/// Operations on an address handle, owned or referenced.
class address_handle_base : public handle_base<ibv_ah> {
 public:
  using handle_base::handle_base;

  /// Returns the context that the object belongs to.
  [[nodiscard]] context_ref context() const noexcept { return checked_handle()->context; }
};

}  // namespace detail

/// Refers to an address handle that another object keeps alive. Pass it by value; it is as cheap
/// as a pointer.
class address_handle_ref : public detail::reference_to<detail::address_handle_base> {
 public:
  using reference_to::reference_to;
};

namespace detail {

struct address_handle_traits {
  using native_type = ibv_ah;
  static constexpr const char* destroy_verb = "ibv_destroy_ah";
  static int destroy(ibv_ah* handle) noexcept { return ibv_destroy_ah(handle); }
  static void list_parents(const ibv_ah* handle, parent_visitor& parents) noexcept {
    parents.add(handle->pd);
  }
  static void describe(const ibv_ah* handle, text_writer& writer) noexcept {
    put_device(writer, handle->context).put(" ah ").decimal(handle->handle);
  }
};

}  // namespace detail

/// Owns an address handle. It must live until every send that uses it has completed. Thread safe.
class [[nodiscard]] address_handle
    : public detail::owner<detail::address_handle_base, detail::address_handle_traits> {
 public:
  using owner::owner;

  /// Creates an address handle for an address. Wraps: ibv_create_ah(3).
  address_handle(protection_domain_ref domain, const address& destination,
                 on_failure policy = throwing{})
      : owner{make(domain, destination.native(), policy)} {}

  /// Creates an address handle for the sender of a datagram: see `address_of_sender`.
  /// Wraps: ibv_create_ah_from_wc(3).
  address_handle(protection_domain_ref domain, port_number port, const completion& received,
                 const global_route_header& header, on_failure policy = throwing{})
      : owner{make(domain, port, received, header, policy)} {}

 private:
  static address_handle make(protection_domain_ref domain, ibv_ah_attr native, on_failure policy);

  static address_handle make(protection_domain_ref domain, port_number port,
                             const completion& received, const global_route_header& header,
                             on_failure policy);
};

namespace detail {

/// Returns the local GID to answer a sender from: the best one of the same address family, or the
/// empty GID if there is none.
[[nodiscard]] gid gid_to_answer_from(context_ref context, port_number port, const gid& sender);

/// Returns the header in the form that the C API needs for an answer. Replaces the destination of a
/// multicast datagram by a local GID, because a group cannot be the source of an answer.
[[nodiscard]] ibv_grh header_to_answer(context_ref context, port_number port,
                                       const global_route_header& header);

/// Adds the reason why the sender has no address.
[[gnu::cold]] void explain_sender(failure_description& description, context_ref context,
                                  port_number port, const completion& received,
                                  const global_route_header& header);

}  // namespace detail

/// Returns the address of the sender of a datagram. `received` is the completion of the datagram,
/// and `header` the start of its buffer (ignored if the completion reports no header). The answer
/// leaves from the GID to which the datagram was sent; if that was a multicast group, from the best
/// local GID of the same address family. Answer to the queue pair
/// `received.success().receive().source_queue_pair()`. Wraps: ibv_init_ah_from_wc(3).
[[nodiscard]] address address_of_sender(context_ref context, port_number port,
                                        const completion& received,
                                        const global_route_header& header,
                                        on_failure policy = throwing{});

}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/request/impl/address_handle.ipp>
#endif
