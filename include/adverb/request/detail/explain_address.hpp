// SPDX-License-Identifier: MIT
// Explains why an address cannot be used: its port, its GIDs and its route.
#pragma once

#include <system_error>

#include <infiniband/verbs.h>

#include <adverb/core/failure.hpp>
#include <adverb/core/ids.hpp>
#include <adverb/device/context_ref.hpp>
#include <adverb/device/port.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// Writes the GIDs of a port: "usable: 0 (RoCE v2, fe80::…), 1 (RoCE v2, ::ffff:10.0.0.1)".
[[gnu::cold]] void put_usable_gids(text_writer& writer, context_ref context, port_number port);

/// Writes "sgid index 3 is empty; usable: …".
[[gnu::cold]] void put_empty_gid(text_writer& writer, context_ref context, port_number port,
                                 gid_index index);

/// Adds that a port does not exist, and then returns false, or that it carries no traffic. Stores
/// the port's attributes in `attributes`.
[[nodiscard, gnu::cold]] bool explain_port(problem_list& problems, context_ref context,
                                           port_number port, port_attributes& attributes);

/// Returns true if an error can mean that the peer has no route.
[[nodiscard, gnu::cold]] bool is_about_routing(const std::error_code& code) noexcept;

/// Adds the problems of the global route of an address.
[[gnu::cold]] void explain_route(problem_list& problems, const std::error_code& code,
                                 context_ref context, port_number port,
                                 const ibv_global_route& route);

/// Adds the problems of an address on a port.
[[gnu::cold]] void explain_address(problem_list& problems, const std::error_code& code,
                                   context_ref context, const port_attributes& port,
                                   const ibv_ah_attr& address);

}  // namespace adverb::inline ADVERB_ABI::detail

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/request/impl/explain_address.ipp>
#endif
