// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include <rdma/rdma_cma.h>

#include <adverb/cm/identifier.hpp>

namespace adverb::inline ADVERB_ABI::cm {

ADVERB_FUNC identifier identifier::create(event_channel_ref channel, port_space space,
                                          void* user_context, on_failure policy) {
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

ADVERB_FUNC void identifier::migrate(event_channel_ref channel, on_failure policy) {
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

}  // namespace adverb::inline ADVERB_ABI::cm
