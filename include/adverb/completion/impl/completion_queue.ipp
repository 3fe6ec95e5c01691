// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <optional>
#include <utility>

#include <adverb/completion/completion_queue.hpp>
#include <adverb/completion/detail/common_completion_queue.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC std::span<completion> completion_queue_base::wait_into(std::span<completion> out,
                                                                   const deadline& limit,
                                                                   on_failure policy) const {
  if (!fits(out, "completion_queue::wait", policy)) return {};
  return out.first(wait_with(poll_into(out), limit, policy));
}

ADVERB_FUNC completion completion_queue_base::next(timeout limit, on_failure policy) const {
  constexpr const char* verb = "completion_queue::next";
  // Never looks like a success if it is returned after a failure.
  ibv_wc failed{};
  failed.status = IBV_WC_GENERAL_ERR;
  completion found{failed};
  const std::span<completion> room{&found, 1};
  if (!check_present(policy, verb, native_handle())) return found;
  const bool sleeps = static_cast<bool>(channel());
  if (!holds(policy, verb, sleeps || limit.wake_descriptor() == -1,
             "without a completion channel, the queue cannot watch the descriptor of the time "
             "limit"))
    return found;
  const deadline end{limit};
  const std::size_t count = sleeps ? wait_with(poll_into(room), end, policy)
                                   : busy_poll_with(poll_into(room), room, limit, policy);
  if (count == 0 && !policy.failed()) report_no_completion(limit, !sleeps || end.passed(), policy);
  return found;
}

[[gnu::noinline]] ADVERB_FUNC void completion_queue_base::report_no_completion(
    timeout limit, bool expired, on_failure policy) const {
  const bool woken =
      !expired && limit.wake_descriptor() != -1 && is_readable(limit.wake_descriptor());
  policy.report(
      expired ? ETIMEDOUT
      : woken ? ECANCELED
              : EINTR,
      "completion_queue::next", [&](failure_description& description) {
        on_queue()(description);
        if (!expired)
          description.explain(woken ? woken_by_descriptor : "a signal handler ran meanwhile");
      });
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

ADVERB_FUNC completion_reservation& completion_reservation::operator=(
    completion_reservation&& other) noexcept {
  if (this != &other) {
    give_back();
    queue_ = std::exchange(other.queue_, nullptr);
    entries_ = std::exchange(other.entries_, 0);
  }
  return *this;
}

ADVERB_FUNC completion_reservation::completion_reservation(completion_queue_ref queue,
                                                           std::size_t entries, const char* verb,
                                                           on_failure policy) {
  if (!detail::check_present(policy, verb, queue.native_handle())) return;
  const std::size_t capacity = queue.capacity();
  const auto [fits, reserved] =
      detail::lifetime_registry::instance().reserve(queue.native_handle(), entries, capacity);
  const auto explain = [&, before = reserved](failure_description& description) {
    detail::on_object<detail::completion_queue_traits>(queue.native_handle())(description);
    description.explain("{}{} not fit: {} of {} are reserved",
                        {entries, entries == 1 ? " entry does" : " entries do", before, capacity});
  };
  if (!detail::check_returned(policy, verb, fits ? 0 : ENOBUFS, explain)) return;
  queue_ = queue.native_handle();
  entries_ = entries;
}

ADVERB_FUNC void completion_reservation::give_back() noexcept {
  if (queue_ == nullptr) return;
  detail::lifetime_registry::instance().give_back(queue_, entries_);
}

ADVERB_FUNC completion_queue::completion_queue(context_ref context, std::size_t capacity,
                                               completion_queue_options options, on_failure policy)
    : owner{adverb::adopt,
            detail::make_object(
                policy,
                detail::need_extended_creation(options) ? "ibv_create_cq_ex" : "ibv_create_cq",
                [&] { return create(context, capacity, options); },
                detail::explaining_creation(context, capacity, options), context)} {}

}  // namespace adverb::inline ADVERB_ABI
