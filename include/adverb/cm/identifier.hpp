// SPDX-License-Identifier: MIT
// Identifiers: librdmacm's counterpart of a socket.
#pragma once

#include <adverb/cm/identifier_ref.hpp>

namespace adverb::inline ADVERB_ABI::cm {

/// An owned librdmacm identifier. It also owns its queue pair and the other objects that librdmacm
/// created for it, and destroys them. Its operations are asynchronous: a call returns at once, and
/// an event on its channel reports the outcome. `connector` and `listener` are layered on it. They
/// wait by themselves, and their type encodes the next permitted step; for an identifier the kernel
/// checks that.
///
/// Has the size of a pointer. The destructor blocks until all events of the identifier are
/// acknowledged.
class [[nodiscard]] identifier : public detail::owner<identifier_base, detail::identifier_traits> {
 public:
  using owner::owner;

  /// Creates an empty identifier.
  identifier() noexcept = default;

  /// Creates an identifier on a channel. Wraps: rdma_create_id(3).
  [[nodiscard]] static identifier create(event_channel_ref channel, port_space space,
                                         void* user_context = nullptr,
                                         on_failure policy = throwing{});

  /// Moves the events of this identifier to another channel. Blocks until the events from the old
  /// channel are acknowledged. Wraps: rdma_migrate_id(3).
  void migrate(event_channel_ref channel, on_failure policy = throwing{});
};

}  // namespace adverb::inline ADVERB_ABI::cm

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/cm/impl/identifier.ipp>
#endif
