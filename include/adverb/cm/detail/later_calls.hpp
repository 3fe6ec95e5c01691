// SPDX-License-Identifier: MIT
// Functions that librdmacm has from rdma-core 60 on.
#pragma once

#include <cstdint>

#include <rdma/rdma_cma.h>

#include <adverb/cm/address_list.hpp>
#include <adverb/core/detail/check.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Implements `look_up` of an identifier.
template <class Id>
void resolve_address_info(Id* id, const native_lookup& wanted, on_failure policy) {
  call_if_declared<bool>(
      policy, "rdma_resolve_addrinfo", wanted.describe,
      [&](auto* native)
        requires requires(const native_lookup& any) {
          rdma_resolve_addrinfo(native, any.node, any.service, any.hints);
        }
      {
        return check_looked_up(
            policy, "rdma_resolve_addrinfo", cm::lookup_category(),
            [&] {
              return rdma_resolve_addrinfo(native, wanted.node, wanted.service, wanted.hints);
            },
            wanted.describe);
      },
      id);
}

/// Implements `found_addresses` of an identifier.
template <class Id>
[[nodiscard]] rdma_addrinfo* query_address_info(Id* id, describe_failure describe,
                                                on_failure policy) {
  rdma_addrinfo* first = nullptr;
  call_if_declared<bool>(
      policy, "rdma_query_addrinfo", describe,
      [&](auto* native)
        requires requires(rdma_addrinfo* any) { rdma_query_addrinfo(native, &any); }
      {
        return check_minus_one(
            policy, "rdma_query_addrinfo", [&] { return rdma_query_addrinfo(native, &first); },
            describe);
      },
      id);
  return first;
}

/// Implements `raise_event` of an identifier. Earlier headers lack the type of the event.
template <class Id>
void write_event(Id* id, std::uint32_t type, int status, std::uint64_t argument,
                 describe_failure describe, on_failure policy) {
  call_if_declared<bool>(
      policy, "rdma_write_cm_event", describe,
      [&](auto* native)
        requires requires { rdma_write_cm_event(native, rdma_cm_event_type{}, 0, 0U); }
      {
        return check_minus_one(
            policy, "rdma_write_cm_event",
            [&] {
              return rdma_write_cm_event(native, static_cast<rdma_cm_event_type>(type), status,
                                         argument);
            },
            describe);
      },
      id);
}

/// Implements `user_argument` of an event.
template <class Event>
[[nodiscard]] std::uint64_t argument_of(const Event& event) noexcept {
  if constexpr (requires { event.param.arg; })
    return event.param.arg;
  else
    return 0;
}

}  // namespace adverb::inline ADVERB_ABI::detail
