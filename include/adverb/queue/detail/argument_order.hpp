// SPDX-License-Identifier: MIT
// The order of arguments of the one-sided operations: the peer's memory comes first.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>

#include <adverb/memory/access.hpp>
#include <adverb/memory/buffer.hpp>
#include <adverb/memory/remote_buffer.hpp>
#include <adverb/queue/inline_data.hpp>

namespace adverb::inline ADVERB_ABI::detail {

template <class T, access_rights Rights>
void take_remote(const remote_buffer<T, Rights>&);
/// Whether something is the memory of a peer.
template <class T>
inline constexpr bool is_remote_memory = requires(const T& memory) { take_remote(memory); };

/// Whether something is local memory that a request can have.
template <class T>
inline constexpr bool is_local_memory =
    std::convertible_to<const T&, const_buffer> || std::same_as<T, inline_data>;
template <class T, std::size_t Extent>
inline constexpr bool is_local_memory<std::span<T, Extent>> =
    is_local_memory<std::remove_const_t<T>>;

/// Whether these are meant for a one-sided operation, and the first is not the memory of the peer.
template <class First, class... Rest>
concept lacks_remote_first =
    !is_remote_memory<First> && (is_local_memory<First> || (is_remote_memory<Rest> || ...));

}  // namespace adverb::inline ADVERB_ABI::detail
