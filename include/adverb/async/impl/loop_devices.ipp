// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cerrno>
#include <utility>

#include <adverb/async/detail/loop_devices.hpp>
#include <adverb/async/device_loop.hpp>
#include <adverb/core/detail/event_descriptor.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC loop_device::loop_device(async::device_loop& in, context_ref of,
                                     completion_channel&& events, on_failure policy)
    : event_source{events ? events.file_descriptor() : -1},
      loop{&in},
      context{of},
      channel{std::move(events)},
      dispatcher{{}} {
  if (policy.failed()) return;
  channel.set_non_blocking(true, policy);
  if (policy.failed()) return;
  domain = protection_domain{of, policy};
  if (policy.failed()) return;
  queue = completion_queue{of, in.options().completions, {.channel = channel}, policy};
  if (policy.failed()) return;
  std::construct_at(&dispatcher, queue);
  if (in.arms_on_wake()) dispatcher.poll_and_arm(most_at_once, policy);
}

ADVERB_FUNC bool loop_device::ready() {
  const bool is_taken = dispatcher.take_event();
  if (loop->arms_on_wake()) return arm();
  if (loop->options().waiting == async::waiting::events)
    dispatcher.poll();
  else if (!is_taken && is_dead(errno_code(errno)))
    lose();
  return true;
}

ADVERB_FUNC bool loop_device::arm() {
#if defined(__cpp_exceptions)
  // A policy would cost each call more instructions.
  try {
    return dispatcher.poll_and_arm(most_at_once);
  } catch (const error& why) {
    // A handler may have thrown, too.
    if (why.failure().verb() != "ibv_req_notify_cq" || !is_dead(why.code())) throw;
  }
  lose();
  return true;
#else
  return dispatcher.poll_and_arm(most_at_once);
#endif
}

ADVERB_FUNC void loop_device::lose() noexcept {
  if (std::exchange(is_lost, true)) return;
  silence(file_descriptor());
  loop->lose(*this);
}

ADVERB_FUNC void loop_device::make_room(std::size_t entries, on_failure policy) {
  const std::size_t needed = queue.reserved() + entries;
  policy.clear();
  if (needed > queue.capacity()) queue.resize(std::max(needed, 2 * queue.capacity()), policy);
}

ADVERB_FUNC bool loop_device::make_shared(on_failure policy) {
  policy.clear();
  if (shared != nullptr) return true;
  const async::device_loop_options& options = loop->options();
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

// Behind as many as the queue holds there are only later completions, of which there may be no end.
ADVERB_FUNC void loop_device::poll_all() noexcept {
  std::error_code ignored;
  std::size_t left = queue.capacity() + async::completion_dispatcher::batch_size;
  for (std::size_t count = 1; count != 0 && left != 0; left -= std::min(left, count)) {
    count = 1;  // If a handler throws, there may be more.
    loop->call_and_keep_exception([&] { count = dispatcher.poll(ignored); });
  }
}

ADVERB_FUNC loop_device* loop_devices::of(context_ref context, on_failure policy) {
  policy.clear();
  for (const auto& each : devices_)
    if (each->context == context) return each.get();
  completion_channel events{context, policy};
  if (policy.failed()) return nullptr;
  auto made = std::make_unique<loop_device>(*loop_, context, std::move(events), policy);
  if (policy.failed()) return nullptr;
  // A device that is watched must be kept.
  devices_.reserve(devices_.size() + 1);
  loop_->watch(*made, policy);
  if (policy.failed()) return nullptr;
  devices_.push_back(std::move(made));
  return devices_.back().get();
}

ADVERB_FUNC device_event_source* loop_devices::events_of(context_ref context, on_failure policy) {
  loop_device* const device = of(context, policy);
  if (device == nullptr) return nullptr;
  if (device->async_events == nullptr) {
    context.set_async_non_blocking(true, policy);
    if (policy.failed()) return nullptr;
    auto made = std::make_unique<device_event_source>(context);
    loop_->watch(*made, policy);
    if (policy.failed()) return nullptr;
    device->async_events = std::move(made);
  }
  return device->async_events.get();
}

ADVERB_FUNC bool loop_devices::free_memory(std::span<const std::unique_ptr<link>> links) noexcept {
  bool is_all_free = true;
  for (const auto& each : devices_) is_all_free = each->memory.free_unused(links) && is_all_free;
  return is_all_free;
}

ADVERB_FUNC std::size_t loop_devices::poll() {
  std::size_t count = 0;
  // A completion may add a device.
  for (std::size_t each = devices_.size(); each != 0; --each)
    count += devices_[each - 1]->dispatcher.poll();
  return count;
}

ADVERB_FUNC bool loop_devices::arm() {
  bool is_empty = true;
  for (std::size_t each = 0; each < devices_.size(); ++each)
    is_empty = devices_[each]->arm() && is_empty;
  return is_empty;
}

}  // namespace adverb::inline ADVERB_ABI::detail
