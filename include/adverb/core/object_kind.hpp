// SPDX-License-Identifier: MIT
// The kinds of objects that own and are owned, with their names for messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <adverb/version.hpp>

struct ibv_context;
struct ibv_pd;
struct ibv_mr;
struct ibv_comp_channel;
struct ibv_cq;
struct ibv_ah;
struct ibv_qp;

namespace adverb::inline ADVERB_ABI {

enum class object_kind : std::uint8_t {
  context,
  protection_domain,
  memory_region,
  completion_channel,
  completion_queue,
  address_handle,
  queue_pair,
};

namespace detail {
inline constexpr std::size_t object_kinds = static_cast<std::size_t>(object_kind::queue_pair) + 1;
}  // namespace detail

[[nodiscard]] constexpr std::string_view name_of(object_kind kind) noexcept {
  switch (kind) {
    case object_kind::context: return "context";
    case object_kind::protection_domain: return "protection domain";
    case object_kind::memory_region: return "memory region";
    case object_kind::completion_channel: return "completion channel";
    case object_kind::completion_queue: return "completion queue";
    case object_kind::address_handle: return "address handle";
    case object_kind::queue_pair: return "queue pair";
  }
  return "object";
}

namespace detail {

template <class Native>
struct kind_of_native;
template <object_kind Kind>
struct kind_constant {
  static constexpr object_kind value = Kind;
};
template <>
struct kind_of_native<ibv_context> : kind_constant<object_kind::context> {};
template <>
struct kind_of_native<ibv_pd> : kind_constant<object_kind::protection_domain> {};
template <>
struct kind_of_native<ibv_mr> : kind_constant<object_kind::memory_region> {};
template <>
struct kind_of_native<ibv_comp_channel> : kind_constant<object_kind::completion_channel> {};
template <>
struct kind_of_native<ibv_cq> : kind_constant<object_kind::completion_queue> {};
template <>
struct kind_of_native<ibv_ah> : kind_constant<object_kind::address_handle> {};
template <>
struct kind_of_native<ibv_qp> : kind_constant<object_kind::queue_pair> {};

/// The kind of object behind a type of the C API.
template <class Native>
inline constexpr object_kind kind_of = kind_of_native<Native>::value;

}  // namespace detail

}  // namespace adverb::inline ADVERB_ABI
