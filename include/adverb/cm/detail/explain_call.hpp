// SPDX-License-Identifier: MIT
// Explains failed librdmacm calls, as far as this side can see the cause.
#pragma once

#include <cstddef>
#include <string_view>
#include <system_error>

#include <rdma/rdma_cma.h>

#include <adverb/cm/private_data.hpp>
#include <adverb/cm/socket_address.hpp>
#include <adverb/core/failure.hpp>
#include <adverb/core/text.hpp>
#include <adverb/core/timeout.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Returns true for an IP address that is no multicast group.
[[nodiscard]] inline bool is_single_address(const cm::socket_address& group) noexcept {
  return (group.ipv4() || group.ipv6()) && !group.is_multicast();
}

[[gnu::cold]] void explain_group(text_writer& writer, const std::error_code& code,
                                 const rdma_cm_id* id, const cm::socket_address& group);

/// The messages that carry private data.
enum class cm_message { request, acceptance, rejection };

struct private_data_limit {
  std::size_t bytes;
  std::string_view link;
};

/// Returns the maximum private data of a message. InfiniBand and RoCE have fixed message sizes, and
/// IP addresses take 36 bytes of a request; UD messages have other sizes.
[[nodiscard]] private_data_limit limit_of(const rdma_cm_id* id, cm_message message) noexcept;

/// "private data of 57 bytes is too long: a request carries at most 56 over InfiniBand and RoCE".
[[gnu::cold]] void explain_private_data(text_writer& writer, std::size_t size, cm_message message,
                                        const private_data_limit& limit);

/// A failed call on an identifier, with its addresses.
struct failed_call {
  std::string_view verb;
  std::error_code code;
  const rdma_cm_id* id;
  cm::socket_address to;
  cm::socket_address from;

  [[nodiscard]] cm::socket_address local() const noexcept {
    return address_in(&id->route.addr.src_addr);
  }
  [[nodiscard]] cm::socket_address peer() const noexcept {
    return address_in(&id->route.addr.dst_addr);
  }
};

/// Explains librdmacm's lack of its file, or of a device.
[[gnu::cold]] void explain_event_channel(text_writer& writer);

/// "no RDMA device serves 10.9.0.1 (eth0); the RDMA devices here have 10.1.0.1 (rxe0)".
[[gnu::cold]] void explain_no_device(text_writer& writer, const cm::socket_address& address);
/// Explains that no RDMA device leads to a remote address.
[[gnu::cold]] void explain_no_device_towards(text_writer& writer,
                                             const cm::socket_address& address);

/// Returns true for a link-local address without a scope.
inline bool lacks_scope(const cm::socket_address& address) noexcept {
  return address.is_link_local() && address.scope() == 0;
}
[[gnu::cold]] void explain_lack_of_scope(text_writer& writer, const cm::socket_address& address);

/// Returns false if no socket can have an address of this machine either.
[[gnu::cold]] [[nodiscard]] bool is_usable(const cm::socket_address& address) noexcept;
/// Explains why an identifier cannot have a local address.
[[gnu::cold]] void explain_local_address(text_writer& writer, const std::error_code& code,
                                         const cm::socket_address& address);

[[gnu::cold]] void explain_bind(text_writer& writer, const failed_call& call);

[[gnu::cold]] void explain_listen(text_writer& writer, const failed_call& call);

[[gnu::cold]] void explain_resolve_address(text_writer& writer, const failed_call& call);

/// iWARP makes its TCP connection before the call returns.
[[gnu::cold]] void explain_connect(text_writer& writer, const failed_call& call);

inline constexpr std::string_view peer_gave_up = "the peer abandoned the connection";

/// Returns true if the peer of a request is gone. The kernel then has no attributes for a queue
/// pair and fails every call with EINVAL.
[[nodiscard]] bool is_given_up(const rdma_cm_id* id) noexcept;

inline constexpr std::string_view device_is_gone = "the device was removed";

/// Returns true if the device of an identifier was removed. The kernel destroys the identifier then
/// and fails every call with ENXIO.
[[nodiscard]] bool has_lost_device(const rdma_cm_id* id) noexcept;

[[gnu::cold]] void explain_step(text_writer& writer, const failed_call& call);

/// Explains why a call on an identifier failed; writes nothing if no details are known.
[[gnu::cold]] void explain_call(text_writer& writer, const failed_call& call);

/// The possible reasons for a silent peer, as far as this side can see.
inline constexpr std::string_view why_no_answer =
    "possible causes: it is down, packets are lost, or its program does not respond";

/// Explains an expired time limit.
[[gnu::cold]] void explain_silence(text_writer& writer, std::string_view verb, const rdma_cm_id* id,
                                   timeout limit);

}  // namespace adverb::inline ADVERB_ABI::detail

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/cm/impl/explain_call.ipp>
#endif
