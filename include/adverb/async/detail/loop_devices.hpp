// SPDX-License-Identifier: MIT
// The devices that a loop uses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <system_error>
#include <vector>

#include <adverb/async/completion_dispatcher.hpp>
#include <adverb/async/detail/device_event_source.hpp>
#include <adverb/async/detail/kept_memory.hpp>
#include <adverb/async/detail/shared_receives.hpp>
#include <adverb/async/event_source.hpp>
#include <adverb/completion/completion_channel.hpp>
#include <adverb/completion/completion_queue.hpp>
#include <adverb/core/detail/dead_device.hpp>
#include <adverb/memory/protection_domain.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::async {

class device_loop;
struct device_loop_options;

}  // namespace adverb::inline ADVERB_ABI::async

namespace adverb::inline ADVERB_ABI::detail {

/// The objects of a loop for one device.
struct loop_device final : async::event_source {
  loop_device(async::device_loop& in, context_ref of, completion_channel&& events,
              on_failure policy);
  ADVERB_FUNC bool ready() override;
  /// Requests an event for the next completion, and passes on those that came in between. Returns
  /// false if more are left.
  [[nodiscard]] bool arm();
  /// Ends the links of the device, which is dead.
  [[gnu::cold]] void lose() noexcept;
  /// Makes room for more reserved completions.
  [[gnu::cold]] void make_room(std::size_t entries, on_failure policy);
  /// Creates the shared blocks, unless they exist. Returns false on failure.
  [[gnu::cold]] [[nodiscard]] bool make_shared(on_failure policy);
  /// Returns true if the kernel has taken the device from the process, to which `failed`, the error
  /// code of a call on it, must point.
  [[gnu::cold]] [[nodiscard]] bool is_dead(const std::error_code& failed) const noexcept {
    return is_code(failed, std::errc::io_error) && detail::is_dead(context.native_handle());
  }
  /// Passes on every completion that is available now. The loop keeps the exceptions of handlers.
  void poll_all() noexcept;

  async::device_loop* loop;
  context_ref context;
  protection_domain domain;
  memory_keeper memory{};
  completion_channel channel;
  completion_queue queue;
  async::completion_dispatcher dispatcher;
  std::unique_ptr<shared_receives> shared;
  std::unique_ptr<device_event_source> async_events;
  /// True if the kernel has taken the device from the process.
  bool is_lost = false;

 private:
  static constexpr std::size_t most_at_once = 256;
};

/// The devices that a loop uses, each from its first use on.
class loop_devices {
 public:
  explicit loop_devices(async::device_loop& loop) noexcept : loop_{&loop} {}

  /// Returns a device, and has its descriptor watched; null on failure.
  [[gnu::cold]] [[nodiscard]] loop_device* of(context_ref context, on_failure policy);
  /// Returns the asynchronous events of a device, and has their descriptor watched; null on
  /// failure.
  [[gnu::cold]] [[nodiscard]] device_event_source* events_of(context_ref context,
                                                             on_failure policy);

  [[nodiscard]] bool empty() const noexcept { return devices_.empty(); }
  /// Frees the memory that was given back and that no link uses any more. Returns false if some is
  /// left.
  [[gnu::cold]] bool free_memory(std::span<const std::unique_ptr<link>> links) noexcept;
  /// Calls `function` with each source.
  template <class Function>
  void for_each_source(const Function& function) {
    for (const auto& each : devices_) {
      function(*each);
      if (each->async_events != nullptr) function(*each->async_events);
    }
  }

  /// Polls the completions of every device, without a system call. Returns their number.
  std::size_t poll();
  /// Requests an event for the next completion of every device, and passes on those that came in
  /// between. Returns false if more are left.
  bool arm();

 private:
  async::device_loop* loop_;
  std::vector<std::unique_ptr<loop_device>> devices_;
};

}  // namespace adverb::inline ADVERB_ABI::detail
