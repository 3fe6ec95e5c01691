// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cerrno>
#include <ctime>

#include <sys/eventfd.h>

#include <adverb/async/device_loop.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC loop_device::loop_device(context_ref of, completion_channel&& events,
                                     const async::device_loop_options& options, on_failure policy)
    : event_source{events ? events.file_descriptor() : -1},
      context{of},
      channel{std::move(events)},
      dispatcher{{}},
      is_armed{options.waiting == async::waiting::events} {
  if (policy.failed()) return;
  channel.set_non_blocking(true, policy);
  if (policy.failed()) return;
  domain = protection_domain{of, policy};
  if (policy.failed()) return;
  queue = completion_queue{of, options.completions, {.channel = channel}, policy};
  if (policy.failed()) return;
  std::construct_at(&dispatcher, queue);
  if (is_armed) dispatcher.poll_and_arm(most_at_once, policy);
}

ADVERB_FUNC void loop_device::make_room(std::size_t entries, on_failure policy) {
  const std::size_t needed = queue.reserved() + entries;
  policy.clear();
  if (needed > queue.capacity()) queue.resize(std::max(needed, 2 * queue.capacity()), policy);
}

ADVERB_FUNC void loop_device::poll_all() {
  std::error_code ignored;
  std::size_t left = queue.capacity() + async::completion_dispatcher::batch_size;
  for (std::size_t count = 1; count != 0 && left != 0; left -= std::min(left, count))
    count = dispatcher.poll(ignored);
}

ADVERB_FUNC bool loop_device::make_shared(const async::device_loop_options& options,
                                          on_failure policy) {
  policy.clear();
  if (shared != nullptr) return true;
  if (options.shared_receives == 0) {
    policy.report(EINVAL, "device_loop::shared_receives", [&](failure_description& description) {
      on_device(context.native_handle())(description);
      description.explain("the options of the loop have no shared receives");
    });
    return false;
  }
  make_room(options.shared_receives, policy);
  if (policy.failed()) return false;
  auto made = std::make_unique<shared_receives>(domain, queue, options.shared_receives,
                                                options.shared_block_size, policy);
  if (policy.failed()) return false;
  shared = std::move(made);
  return true;
}

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI::async {

ADVERB_FUNC device_loop::device_loop(const device_loop_options& options, on_failure policy)
    : options_{options},
      channel_{cm::event_channel::create(policy)},
      manager_{*this},
      end_of_spin_{options.spin} {
  if (!policy.failed()) channel_.set_non_blocking(true, policy);
}

ADVERB_FUNC device_loop::~device_loop() {
  destroy_tasks();
  // Only senders wait here. Those of requests complete when the device has let go of the memory.
  for (std::size_t each = 0; each < links_.size(); ++each) {
    links_[each]->end(ECANCELED);
    links_[each]->let_go();
  }
  senders_.resume();
}

ADVERB_FUNC device_loop::manager_source::manager_source(device_loop& of)
    : event_source{of.channel_ ? of.channel_.file_descriptor() : -1}, loop{&of} {}

ADVERB_FUNC bool device_loop::manager_source::ready() {
  while (std::optional<cm::event> happened = loop->channel_.next_event()) {
    // A request carries the context of its listener.
    const auto target = static_cast<detail::async_event_target*>(
        happened->identifier() ? happened->identifier().user_context() : nullptr);
    if (target != nullptr) target->handle(*happened);
  }
  return true;
}

ADVERB_FUNC detail::loop_device* device_loop::device_of(context_ref context, on_failure policy) {
  policy.clear();
  for (const auto& each : devices_)
    if (each->context == context) return each.get();
  completion_channel events{context, policy};
  if (policy.failed()) return nullptr;
  auto made = std::make_unique<detail::loop_device>(context, std::move(events), options_, policy);
  if (policy.failed()) return nullptr;
  watch(*made, policy);
  if (policy.failed()) return nullptr;
  devices_.push_back(std::move(made));
  return devices_.back().get();
}

ADVERB_FUNC protection_domain_ref device_loop::domain(context_ref context, on_failure policy) {
  detail::loop_device* const device = device_of(context, policy);
  return device != nullptr ? protection_domain_ref{device->domain} : protection_domain_ref{};
}

ADVERB_FUNC completion_queue_ref device_loop::queue(context_ref context, on_failure policy) {
  detail::loop_device* const device = device_of(context, policy);
  return device != nullptr ? completion_queue_ref{device->queue} : completion_queue_ref{};
}

ADVERB_FUNC shared_receive_queue_ref device_loop::shared_receives(context_ref context,
                                                                  on_failure policy) {
  detail::loop_device* const device = device_of(context, policy);
  if (device == nullptr || !device->make_shared(options_, policy)) return {};
  return device->shared->queue();
}

ADVERB_FUNC detail::device_event_source* device_loop::events(context_ref context,
                                                             on_failure policy) {
  detail::loop_device* const device = device_of(context, policy);
  if (device == nullptr) return nullptr;
  if (device->async_events == nullptr) {
    context.set_async_non_blocking(true, policy);
    if (policy.failed()) return nullptr;
    auto made = std::make_unique<detail::device_event_source>(context);
    watch(*made, policy);
    if (policy.failed()) return nullptr;
    device->async_events = std::move(made);
  }
  return device->async_events.get();
}

ADVERB_FUNC detail::name_lookups* device_loop::lookups(on_failure policy) {
  policy.clear();
  if (lookups_ != nullptr) return lookups_.get();
  const int descriptor = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  detail::check_minus_one(
      policy, "eventfd", [&] { return descriptor; }, [](const failure_description&) {});
  if (policy.failed()) return nullptr;
  auto made = std::make_unique<detail::name_lookups>(descriptor);
  watch(*made, policy);
  if (policy.failed()) return nullptr;
  lookups_ = std::move(made);
  return lookups_.get();
}

ADVERB_FUNC void device_loop::set_watch(watch_function* function, void* argument,
                                        on_failure policy) {
  watch_ = function;
  watch_argument_ = argument;
  policy.clear();
  const auto add = [&](event_source* source) {
    if (source != nullptr && !policy.failed()) watch(*source, policy);
  };
  add(&manager_);
  add(lookups_.get());
  for (const auto& each : devices_) {
    add(each.get());
    add(each->async_events.get());
  }
}

ADVERB_FUNC void device_loop::set_wake(void (*function)(void*), void* argument) noexcept {
  wake_ = function;
  wake_argument_ = argument;
}

ADVERB_FUNC detail::loop_device* device_loop::device_for(context_ref context,
                                                         const link_options& options,
                                                         on_failure policy) {
  detail::loop_device* const device = device_of(context, policy);
  if (device == nullptr) return nullptr;
  if (options.shared && !device->make_shared(options_, policy)) return nullptr;
  device->make_room(std::size_t{options.max_send_wr} + (options.shared ? 0 : options.receives),
                    policy);
  return policy.failed() ? nullptr : device;
}

ADVERB_FUNC link* device_loop::add_link(context_ref context, const link_options& options,
                                        on_failure policy) {
  detail::loop_device* const device = device_for(context, options, policy);
  if (device == nullptr) return nullptr;
  links_.push_back(std::make_unique<link>(*this, *device));
  return links_.back().get();
}

ADVERB_FUNC std::size_t device_loop::poll() {
  std::size_t count = 0;
  // A completion may add a device.
  for (std::size_t each = devices_.size(); each != 0; --each)
    count += devices_[each - 1]->dispatcher.poll();
  return count;
}

ADVERB_FUNC bool device_loop::arm() {
  bool is_empty = true;
  for (std::size_t each = 0; each < devices_.size(); ++each)
    is_empty = devices_[each]->dispatcher.poll_and_arm() && is_empty;
  return is_empty;
}

ADVERB_FUNC bool device_loop::spin() {
  if (options_.waiting == waiting::events || devices_.empty()) return false;
  // The descriptors are looked at once in a while.
  constexpr int polls = 64;
  bool has_found = false;
  for (int each = 0; each < polls; ++each) {
    if (poll() == 0) continue;
    has_found = true;
    // Not all at once, because those that go on may add others without end.
    for (std::size_t left = completion_dispatcher::batch_size; left != 0; --left)
      if (!to_resume_.resume_first()) break;
    if (!to_care_for_.empty()) settle();
  }
  if (options_.waiting == waiting::busy) return true;
  if (has_found) end_of_spin_ = detail::deadline{options_.spin};
  return !end_of_spin_.passed() || !arm();
}

ADVERB_FUNC void device_loop::care_for(link& which) noexcept {
  if (std::exchange(which.needs_care_, true)) return;
  to_care_for_.push_back(&which);
  wake();
}
ADVERB_FUNC void device_loop::cancel(waiter_list& waiters) noexcept {
  if (waiters.empty()) return;
  while (!waiters.empty()) {
    auto& first = static_cast<cancellable_waiter&>(waiters.front());
    first.cancel();
    first.leave();
    to_resume_.push_back(first);
  }
  wake();
}
ADVERB_FUNC void device_loop::keep_time(link& which) noexcept {
  which.is_timed_ = true;
  timed_.push_back(&which);
  wake();
}

ADVERB_FUNC std::int64_t device_loop::now() noexcept {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

ADVERB_FUNC void device_loop::add_sleeper(detail::sleeper& which, timeout limit) noexcept {
  const std::int64_t now = detail::deadline::now();
  which.until = limit.count() < timeout::endless().count() - now ? now + limit.count()
                                                                 : timeout::endless().count();
  sleepers_.insert_sorted(which, [&](const waiter& other) {
    return static_cast<const detail::sleeper&>(other).until > which.until;
  });
  wake();
}

ADVERB_FUNC int device_loop::settle_sleepers() {
  const std::int64_t now = detail::deadline::now();
  while (!sleepers_.empty()) {
    auto& first = static_cast<detail::sleeper&>(sleepers_.front());
    if (first.until > now)
      return timeout{detail::default_duration<1'000'000'000>{first.until - now}}.in_milliseconds();
    first.go_on();
  }
  return -1;
}

ADVERB_FUNC void device_loop::destroy(link& which) {
  --ending_;
  std::erase(timed_, &which);
  std::erase(to_care_for_, &which);
  std::erase_if(links_, [&](const auto& each) { return each.get() == &which; });
}

ADVERB_FUNC int device_loop::settle() {
  const int next = settle_links();
  if (exceptions_.empty()) [[likely]]
    return next;
  const std::exception_ptr first = std::move(exceptions_.front());
  exceptions_.erase(exceptions_.begin());
  std::rethrow_exception(first);
}

ADVERB_FUNC int device_loop::settle_links() {
  // Those that come meanwhile go on next time, after the descriptors.
  if (!to_resume_.empty()) to_resume_.resume_present();
  while (!to_care_for_.empty()) {
    link& next = *to_care_for_.back();
    to_care_for_.pop_back();
    if (next.care()) destroy(next);
  }
  const int until_sleeper = sleepers_.empty() ? -1 : settle_sleepers();
  if (is_unsettled()) return 0;
  if (timed_.empty()) return until_sleeper;
  constexpr std::int64_t between_ticks = 10'000'000;
  if (const std::int64_t time = now(); time >= next_tick_) {
    next_tick_ = time + between_ticks;
    for (std::size_t each = 0; each < timed_.size(); ++each) timed_[each]->tick(time);
    std::erase_if(timed_, [](link* each) {
      each->is_timed_ = each->deadline_ != 0 || each->state_ == link::state::ending;
      return !each->is_timed_;
    });
    if (is_unsettled()) return 0;
  }
  constexpr int longest = between_ticks / 1'000'000;
  return until_sleeper == -1 ? longest : std::min(until_sleeper, longest);
}

}  // namespace adverb::inline ADVERB_ABI::async
