// SPDX-License-Identifier: MIT
// How much private data a message can carry, which depends on the link.
#pragma once

#include <cstddef>
#include <string_view>

#include <rdma/rdma_cma.h>

#include <adverb/cm/private_data.hpp>
#include <adverb/core/text.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// The messages that carry private data.
enum class cm_message { request, acceptance, rejection };

struct private_data_limit {
  std::size_t bytes;
  std::string_view link;
};

/// How much a message of an identifier carries. InfiniBand and RoCE have fixed messages, of which
/// IP addresses take 36 bytes in a request; those of UD are others.
[[nodiscard]] inline private_data_limit limit_of(const rdma_cm_id* id,
                                                 cm_message message) noexcept {
  constexpr std::size_t ip_addresses = 36;
  if (id->verbs == nullptr || id->verbs->device->transport_type != IBV_TRANSPORT_IB)
    return {cm::private_data::capacity, "this link"};
  const std::size_t spared = id->route.addr.src_addr.sa_family == AF_IB ? ip_addresses : 0;
  const std::string_view link = "InfiniBand and RoCE";
  if (id->ps == RDMA_PS_UDP || id->ps == RDMA_PS_IPOIB)
    return {message == cm_message::request ? cm::max_datagram_request_data + spared
                                           : cm::max_datagram_accept_data,
            link};
  switch (message) {
    case cm_message::request: return {cm::max_request_data + spared, link};
    case cm_message::acceptance: return {cm::max_accept_data, link};
    case cm_message::rejection: return {cm::max_reject_data, link};
  }
  return {cm::private_data::capacity, link};
}

/// "private data of 57 bytes is too long: a request carries 56 at most over InfiniBand and RoCE".
inline void explain_private_data(text_writer& writer, std::size_t size, cm_message message,
                                 const private_data_limit& limit) {
  writer.put("private data of ").decimal(size).put(" bytes is too long: ");
  writer.put(message == cm_message::request      ? "a request"
             : message == cm_message::acceptance ? "an acceptance"
                                                 : "a rejection");
  writer.put(" carries ").decimal(limit.bytes).put(" at most over ").put(limit.link);
}

}  // namespace adverb::inline ADVERB_ABI::detail
