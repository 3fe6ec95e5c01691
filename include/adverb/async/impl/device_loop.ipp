// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <system_error>

#include <adverb/async/device_loop.hpp>
#include <adverb/core/detail/hardening.hpp>

namespace adverb::inline ADVERB_ABI::async {

ADVERB_FUNC device_loop::device_loop(const device_loop_options& options, on_failure policy)
    : options_{options},
      channel_{cm::event_channel::create(no_channel_)},
      manager_{*this},
      devices_{*this},
      end_of_spin_{options.spin} {
  policy.clear();
  if (channel_) {
    channel_.set_non_blocking(true, policy);
    return;
  }
  // The process has no RDMA: no device, no device files (as in a container), no right to them, or
  // no librdmacm for the loader.
  constexpr std::array lacks{std::errc::no_such_device, std::errc::no_such_file_or_directory,
                             std::errc::permission_denied, std::errc::operation_not_permitted,
                             std::errc::function_not_supported};
  const auto is_reason = [&](std::errc each) { return detail::is_code(no_channel_.code(), each); };
  if (std::ranges::none_of(lacks, is_reason)) policy.report(no_channel_);
}

ADVERB_FUNC device_loop::~device_loop() {
  end_all();
  for (const auto& each : links_) {
    detail::require(each->life().is_orphan(), "async::device_loop",
                    "a connection or an endpoint outlives its loop: declare it after the loop");
    detail::require(each->inbox().held() == 0, "async::device_loop",
                    "a message outlives its loop: declare it after the loop");
  }
}

ADVERB_FUNC void device_loop::end_all() noexcept {
  destroy_tasks();
  // Only senders wait here. The senders of requests complete when the device has let go of the
  // memory.
  for (std::size_t each = 0; each < links_.size(); ++each) links_[each]->end_with_loop();
  at_end_.resume();
  senders_.resume();
}

ADVERB_FUNC device_loop::manager_source::manager_source(device_loop& of)
    : event_source{of.channel_ ? of.channel_.file_descriptor() : -1}, loop{&of} {}

ADVERB_FUNC bool device_loop::manager_source::ready() {
  // Completions and timers get their turns during a flood of events.
  constexpr int most_at_once = 64;
  for (int each = 0; each < most_at_once; ++each) {
    std::optional<cm::event> happened = loop->channel_.next_event();
    if (!happened) return true;
    // A request carries the context of its listener.
    const auto target = static_cast<detail::async_event_target*>(
        happened->identifier() ? happened->identifier().user_context() : nullptr);
    if (target != nullptr) target->handle(*happened);
  }
  return false;
}

ADVERB_FUNC protection_domain_ref device_loop::domain(context_ref context, on_failure policy) {
  detail::loop_device* const device = devices_.of(context, policy);
  return device != nullptr ? protection_domain_ref{device->domain} : protection_domain_ref{};
}

ADVERB_FUNC completion_queue_ref device_loop::queue(context_ref context, on_failure policy) {
  detail::loop_device* const device = devices_.of(context, policy);
  return device != nullptr ? completion_queue_ref{device->queue} : completion_queue_ref{};
}

ADVERB_FUNC shared_receive_queue_ref device_loop::shared_receives(context_ref context,
                                                                  on_failure policy) {
  const detail::shared_receives* const blocks = shared_blocks(context, policy);
  return blocks != nullptr ? blocks->queue() : shared_receive_queue_ref{};
}

ADVERB_FUNC detail::shared_receives* device_loop::shared_blocks(context_ref context,
                                                                on_failure policy) {
  detail::loop_device* const device = devices_.of(context, policy);
  if (device == nullptr || !device->make_shared(policy)) return nullptr;
  return device->shared.get();
}

ADVERB_FUNC detail::device_event_source* device_loop::events(context_ref context,
                                                             on_failure policy) {
  return devices_.events_of(context, policy);
}

ADVERB_FUNC detail::name_lookups* device_loop::lookups(on_failure policy) {
  policy.clear();
  if (lookups_ != nullptr) return lookups_.get();
  detail::event_descriptor wake{policy};
  if (policy.failed()) return nullptr;
  auto made = std::make_unique<detail::name_lookups>(std::move(wake));
  watch(*made, policy);
  if (policy.failed()) return nullptr;
  lookups_ = std::move(made);
  return lookups_.get();
}

ADVERB_FUNC detail::loop_sockets* device_loop::sockets(on_failure policy) {
  policy.clear();
  if (sockets_ != nullptr) return sockets_.get();
  detail::epoll members;
  members.create(policy);
  if (policy.failed()) return nullptr;
  auto made = std::make_unique<detail::loop_sockets>(std::move(members));
  watch(*made, policy);
  if (policy.failed()) return nullptr;
  sockets_ = std::move(made);
  return sockets_.get();
}

ADVERB_FUNC void device_loop::set_watch(watch_function* function, void* argument,
                                        on_failure policy) {
  watch_ = function;
  watch_argument_ = argument;
  policy.clear();
  const auto add = [&](event_source& source) {
    if (!policy.failed()) watch(source, policy);
  };
  if (channel_) add(manager_);
  if (lookups_ != nullptr) add(*lookups_);
  if (sockets_ != nullptr) add(*sockets_);
  devices_.for_each_source(add);
}

ADVERB_FUNC void device_loop::set_wake(void (*function)(void*), void* argument) noexcept {
  wake_ = function;
  wake_argument_ = argument;
}

ADVERB_FUNC detail::loop_device* device_loop::device_for(context_ref context,
                                                         const connection_options& options,
                                                         on_failure policy) {
  const std::string_view zero = options.max_send_wr == 0                     ? "max_send_wr"
                                : !options.shared && options.receives == 0   ? "receives"
                                : !options.shared && options.block_size == 0 ? "block_size"
                                                                             : "";
  if (!zero.empty()) {
    policy.report(EINVAL, "async::connection_options", [&](failure_description& description) {
      description.explain("{} is 0: a connection needs at least 1", {zero});
    });
    return nullptr;
  }
  constexpr timeout shortest_dead_after{detail::default_duration<1'000>{20}};
  if (options.dead_after.count() < shortest_dead_after.count()) {
    policy.report(EINVAL, "async::connection_options", [&](failure_description& description) {
      description.explain("dead_after is {}, less than {}",
                          {options.dead_after, shortest_dead_after});
    });
    return nullptr;
  }
  detail::loop_device* const device = devices_.of(context, policy);
  if (device == nullptr) return nullptr;
  if (options.shared && !device->make_shared(policy)) return nullptr;
  device->make_room(std::size_t{options.max_send_wr} + (options.shared ? 0 : options.receives),
                    policy);
  return policy.failed() ? nullptr : device;
}

ADVERB_FUNC bool device_loop::spin_or_arm() {
  if (devices_.empty()) return false;
  if (options_.waiting == waiting::events) return arm_before_sleep();
  // The descriptors are looked at once in a while.
  constexpr int polls = 64;
  bool has_found = false;
  for (int each = 0; each < polls; ++each) {
    if (devices_.poll() == 0) continue;
    has_found = true;
    // Not all at once, because those that go on may add others without end.
    for (std::size_t left = completion_dispatcher::batch_size; left != 0; --left)
      if (!to_resume_.resume_first()) break;
    if (!to_advance_.empty()) run_pending();
  }
  if (options_.waiting == waiting::busy) return true;
  if (has_found) end_of_spin_ = detail::deadline{options_.spin};
  return !end_of_spin_.passed() || !devices_.arm();
}

ADVERB_FUNC bool device_loop::arm_before_sleep() {
  if (!devices_.arm()) return true;
  arms_on_wake_ = waits_for_ == nullptr;
  return false;
}

ADVERB_FUNC void device_loop::schedule(detail::link& which) noexcept {
  waiter& entry = which.schedule_entry();
  if (entry.is_waiting()) return;
  to_advance_.push_back(entry);
  wake();
}
ADVERB_FUNC void device_loop::cancel(waiter_list& waiters) noexcept {
  if (waiters.empty()) return;
  for (; !waiters.empty(); to_resume_.take_first_of(waiters))
    static_cast<cancellable_waiter&>(waiters.front()).cancel();
  wake();
}

ADVERB_FUNC void device_loop::wake_sleepers(waiter_list& sleepers, bool are_cancelled) noexcept {
  for (; !sleepers.empty(); to_resume_.take_first_of(sleepers)) {
    auto& first = static_cast<detail::sleeper&>(sleepers.front());
    first.stop();
    if (are_cancelled)
      first.cancel();
    else
      first.is_woken = true;
  }
  wake();
}

ADVERB_FUNC void device_loop::set_timer(detail::timer& which, std::int64_t time) noexcept {
  const bool is_first = timers_.empty() || time < timers_.next_time();
  timers_.set(which, time);
  if (is_first) wake();
}

ADVERB_FUNC std::int64_t device_loop::soon(timeout length) noexcept {
  constexpr std::int64_t longest_tick = 10'000'000;
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  return detail::later_by(std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec + longest_tick,
                          length);
}

ADVERB_FUNC void device_loop::add_sleeper(detail::sleeper& which, timeout limit) noexcept {
  thread_.check("async::sleep_for");
  sleepers_.push_back(which);
  if (!limit.is_endless()) set_timer_after(which, limit);
}

ADVERB_FUNC detail::kept_memory* device_loop::keep_memory(context_ref context, std::size_t size,
                                                          access_rights rights, on_failure policy) {
  detail::loop_device* const device = devices_.of(context, policy);
  if (device == nullptr) return nullptr;
  return device->memory.add(device->domain, size, rights, policy);
}

ADVERB_FUNC void device_loop::give_back_memory(context_ref context,
                                               detail::kept_memory& memory) noexcept {
  // The device exists, so nothing is made.
  std::error_code none;
  if (detail::loop_device* const device = devices_.of(context, none))
    device->memory.give_back(memory, links_);
  has_memory_to_free_ = true;
}

ADVERB_FUNC void device_loop::free_memory(context_ref context,
                                          const detail::kept_memory& memory) noexcept {
  std::error_code none;
  if (detail::loop_device* const device = devices_.of(context, none)) device->memory.free(memory);
}

ADVERB_FUNC void device_loop::lose(const detail::loop_device& removed) noexcept {
  for (const auto& each : links_)
    if (&each->device() == &removed) each->close(ENODEV);
}

ADVERB_FUNC void device_loop::destroy(detail::link& which) noexcept {
  --ending_;
  std::unique_ptr<detail::link>& place = links_[which.position];
  std::swap(place, links_.back());
  place->position = which.position;
  links_.pop_back();
}

ADVERB_FUNC int device_loop::expire_timers() {
  const std::int64_t now = detail::deadline::now();
  while (detail::timer* const expired = timers_.take_expired(now)) expired->expire();
  if (timers_.empty()) return -1;
  return timeout{detail::default_duration<1'000'000'000>{timers_.next_time() - now}}
      .in_milliseconds();
}

ADVERB_FUNC int device_loop::run_pending() {
  const int next = advance_links();
  if (!tasks_.has_exception()) [[likely]]
    return next;
  tasks_.rethrow_first();
}

ADVERB_FUNC int device_loop::advance_links() {
  // The waiters that are added meanwhile go on next time, after the descriptors.
  if (!to_resume_.empty()) to_resume_.resume_present();
  while (to_advance_.resume_first()) {
  }
  const int until_timer = timers_.empty() ? -1 : expire_timers();
  if (has_memory_to_free_) [[unlikely]]
    has_memory_to_free_ = !devices_.free_memory(links_);
  return is_anything_pending() ? 0 : until_timer;
}

}  // namespace adverb::inline ADVERB_ABI::async
