// SPDX-License-Identifier: MIT
// Explains why a connection step failed, from its event.
#pragma once

#include <adverb/cm/event.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// An event status that is neither the kernel's nor an errno: an operation of librdmacm itself
/// failed, without a reason.
inline constexpr int failed_in_librdmacm = -1;

/// Returns the errno for an event that ends the operation in progress. Never ETIMEDOUT, which means
/// that the program's own time limit expired and the event may still arrive.
// See docs/decisions.md, "ETIMEDOUT is the program's own limit".
[[nodiscard]] int errno_of(const cm::event& event) noexcept;

void explain_address_error(text_writer& writer, const cm::event& event);

/// Quotes the private data of a rejection if it is printable text.
void put_words(text_writer& writer, const cm::private_data& said);

/// Explains an event to a caller that waited for another one.
void explain_event(text_writer& writer, const cm::event& event);

}  // namespace adverb::inline ADVERB_ABI::detail

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/cm/impl/explain_event.ipp>
#endif
