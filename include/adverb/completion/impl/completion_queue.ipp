// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <utility>

#include <adverb/completion/completion_queue.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC std::span<completion> completion_queue_base::wait_for(std::span<completion> out,
                                                                  const deadline& limit,
                                                                  on_failure policy) const {
  if (!fits(out, "completion_queue::wait", policy)) return {};
  return out.first(wait_with(poll_into(out), limit, policy));
}

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI {

ADVERB_FUNC ibv_cq* completion_queue::create(context_ref context, std::size_t capacity,
                                             const completion_queue_options& options) noexcept {
  if (!detail::need_extended_creation(options))
    return ibv_create_cq(context.native_handle(), detail::entries_of(capacity),
                         options.user_context, options.channel.native_handle(),
                         static_cast<int>(options.vector));
  ibv_cq_ex* const made =
      detail::create_extended(context, capacity, options, standard_completion_fields);
  return made == nullptr ? nullptr : ibv_cq_ex_to_cq(made);
}

ADVERB_FUNC std::optional<completion_queue_ref> detail::completion_channel_base::next_event(
    on_failure policy) const {
  ibv_comp_channel* const channel = native_handle();
  if (!detail::check_present(policy, "ibv_get_cq_event", channel)) return std::nullopt;
  ibv_cq* queue = nullptr;
  void* user_context = nullptr;
  const bool found = detail::check_waited(
      policy, "ibv_get_cq_event", [&] { return ibv_get_cq_event(channel, &queue, &user_context); },
      detail::on_device(channel->context));
  if (!found) return std::nullopt;
  ibv_ack_cq_events(queue, 1);
  return completion_queue_ref{queue};
}

}  // namespace adverb::inline ADVERB_ABI
