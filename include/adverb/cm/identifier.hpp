// SPDX-License-Identifier: MIT
// Identifiers: what librdmacm has in the place of a socket.
#pragma once

#include <string_view>

#include <rdma/rdma_cma.h>

#include <adverb/cm/identifier_ref.hpp>

namespace adverb::inline ADVERB_ABI::cm {

/// An identifier of librdmacm, owned: with its queue pair and what else librdmacm made for it, all
/// of which it destroys. What is done with one is asynchronous: the call returns at once, and an
/// event on its channel tells how it ended. `connector` and `listener` stand above it, wait by
/// themselves, and have in their type what may be done next; with an identifier that is checked by
/// the kernel.
///
/// The size of a pointer. The destruction waits for events of it that are not acknowledged yet.
class [[nodiscard]] identifier : public detail::owner<identifier_base, detail::identifier_traits> {
 public:
  using owner::owner;

  /// Empty.
  identifier() noexcept = default;

  /// Wraps: rdma_create_id(3).
  [[nodiscard]] static identifier create(event_channel_ref channel, port_space space,
                                         void* user_context = nullptr,
                                         on_failure policy = throwing{}) {
    rdma_cm_id* made = nullptr;
    if (!detail::check_present(policy, "rdma_create_id", channel.native_handle())) return {};
    const bool done = detail::check_minus_one(
        policy, "rdma_create_id",
        [&] {
          return rdma_create_id(channel.native_handle(), &made, user_context,
                                static_cast<rdma_port_space>(space));
        },
        detail::on_object<detail::event_channel_traits>(channel.native_handle()));
    return done ? identifier{adopt, made} : identifier{};
  }

  /// Has the events of this identifier come on another channel from now on. Waits until those that
  /// came on the old one are acknowledged. Wraps: rdma_migrate_id(3).
  void migrate(event_channel_ref channel, on_failure policy = throwing{}) {
    if (!this->present(policy, "rdma_migrate_id") ||
        !detail::check_present(policy, "rdma_migrate_id", channel.native_handle()))
      return;
    detail::check_minus_one(
        policy, "rdma_migrate_id",
        [&] {
          return this->with_new_parents(
              [&] { return rdma_migrate_id(this->native_handle(), channel.native_handle()); });
        },
        detail::on_object<detail::identifier_traits>(this->native_handle()));
  }
};

}  // namespace adverb::inline ADVERB_ABI::cm
