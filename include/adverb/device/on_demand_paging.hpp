// SPDX-License-Identifier: MIT
// On-demand paging (ODP): memory that is registered without being pinned.
#pragma once

#include <cstdint>
#include <string_view>

#include <infiniband/verbs.h>

#include <adverb/core/flags.hpp>
#include <adverb/core/transport.hpp>

namespace adverb::inline ADVERB_ABI {

/// A kind of registration with on-demand paging.
enum class paging_feature : std::uint64_t {
  /// A range of memory.
  explicit_registration = IBV_ODP_SUPPORT,
  /// The whole address space.
  implicit_registration = IBV_ODP_SUPPORT_IMPLICIT,
};
template <>
inline constexpr bool is_flag<paging_feature> = true;
using paging_features = flags<paging_feature>;

[[nodiscard]] constexpr std::string_view flag_name(paging_feature feature) noexcept {
  switch (feature) {
    case paging_feature::explicit_registration: return "explicit_registration";
    case paging_feature::implicit_registration: return "implicit_registration";
  }
  return {};
}

/// An operation that may access on-demand memory whose pages are absent.
enum class paged_operation : std::uint32_t {
  send = IBV_ODP_SUPPORT_SEND,
  receive = IBV_ODP_SUPPORT_RECV,
  write = IBV_ODP_SUPPORT_WRITE,
  read = IBV_ODP_SUPPORT_READ,
  atomic = IBV_ODP_SUPPORT_ATOMIC,
  shared_receive = IBV_ODP_SUPPORT_SRQ_RECV,
  flush = 1 << 6,         // IBV_ODP_SUPPORT_FLUSH, of later rdma-core
  atomic_write = 1 << 7,  // IBV_ODP_SUPPORT_ATOMIC_WRITE, likewise
};
template <>
inline constexpr bool is_flag<paged_operation> = true;
using paged_operations = flags<paged_operation>;

[[nodiscard]] constexpr std::string_view flag_name(paged_operation operation) noexcept {
  switch (operation) {
    case paged_operation::send: return "send";
    case paged_operation::receive: return "receive";
    case paged_operation::write: return "write";
    case paged_operation::read: return "read";
    case paged_operation::atomic: return "atomic";
    case paged_operation::shared_receive: return "shared_receive";
    case paged_operation::flush: return "flush";
    case paged_operation::atomic_write: return "atomic_write";
  }
  return {};
}

/// The support of a device for on-demand paging.
struct on_demand_paging {
  paging_features features{};
  paged_operations rc{};
  paged_operations uc{};
  paged_operations ud{};
  paged_operations xrc{};

  /// Returns the operations of a transport; none if it cannot use on-demand memory.
  [[nodiscard]] constexpr paged_operations operations(transport service) const noexcept {
    switch (service) {
      case transport::rc: return rc;
      case transport::uc: return uc;
      case transport::ud: return ud;
      case transport::xrc_send:
      case transport::xrc_recv: return xrc;
      case transport::raw_packet:
      case transport::driver: break;
    }
    return {};
  }

  friend constexpr bool operator==(const on_demand_paging&,
                                   const on_demand_paging&) noexcept = default;
};

}  // namespace adverb::inline ADVERB_ABI
