// SPDX-License-Identifier: MIT
// Registered memory for the requests of asynchronous connections.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <adverb/async/detail/kept_memory.hpp>
#include <adverb/async/device_loop.hpp>
#include <adverb/core/detail/hardening.hpp>
#include <adverb/memory/memory_region_ref.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::async {

/// Registered memory of a loop, for the requests of its connections:
///
///     async::loop_memory memory = client.memory(4096);
///     co_await client.send(memory.slice(0, 100));
///
/// The object may be destroyed while requests use the memory, for example with the frame of a
/// destroyed task. The loop keeps the memory registered until each connection of the device that
/// had requests in progress has had none once, or has ended. So a peer that never lets a request
/// finish keeps the memory that is destroyed meanwhile, unless the program frees it with `free`. It
/// must not outlive the loop. Not thread safe: used by the thread of its loop.
class [[nodiscard]] loop_memory {
 public:
  /// Makes an empty object.
  loop_memory() noexcept = default;
  /// Allocates memory, and registers it in the domain of the loop. Wraps: ibv_reg_mr(3).
  loop_memory(device_loop& loop, context_ref context, std::size_t size,
              access_rights rights = access_right::local_write, on_failure policy = throwing{})
      : loop_{&loop}, context_{context}, memory_{loop.keep_memory(context, size, rights, policy)} {}
  /// Allocates memory that is not registered, for channels over TCP.
  explicit loop_memory(std::size_t size) : memory_{new detail::kept_memory{size}} {}
  loop_memory(loop_memory&& other) noexcept
      : loop_{other.loop_},
        context_{other.context_},
        memory_{std::exchange(other.memory_, nullptr)} {}
  loop_memory& operator=(loop_memory&& other) noexcept {
    loop_memory old{std::move(*this)};
    loop_ = other.loop_;
    context_ = other.context_;
    memory_ = std::exchange(other.memory_, nullptr);
    return *this;
  }
  ~loop_memory() {
    if (memory_ == nullptr) return;
    if (loop_ != nullptr)
      loop_->give_back_memory(context_, *memory_);
    else
      delete memory_;
  }
  /// Frees the memory at once, and leaves this object empty. No request in progress may use it.
  void free() noexcept {
    detail::kept_memory* const freed = std::exchange(memory_, nullptr);
    if (freed == nullptr) return;
    if (loop_ != nullptr)
      loop_->free_memory(context_, *freed);
    else
      delete freed;
  }

  [[nodiscard]] explicit operator bool() const noexcept { return memory_ != nullptr; }

  /// Returns the memory.
  [[nodiscard]] std::span<std::byte> bytes() const noexcept ADVERB_LIFETIME_BOUND {
    return {memory().bytes.get(), memory().length};
  }
  /// Returns the registration, for keys and remote buffers. It is empty if there is none.
  [[nodiscard]] memory_region_ref region() const noexcept { return memory().region; }
  /// Returns all of the memory as a buffer.
  [[nodiscard]] mutable_buffer buffer() const noexcept ADVERB_LIFETIME_BOUND {
    if (loop_ != nullptr) [[likely]]
      return memory().region.buffer();
    return {adopt, ibv_sge{reinterpret_cast<std::uintptr_t>(memory().bytes.get()),
                           static_cast<std::uint32_t>(memory().length), 0}};
  }
  /// Returns a part of the memory as a buffer. Fails with ERANGE if it exceeds the memory.
  [[nodiscard]] mutable_buffer slice(std::size_t offset, std::size_t size,
                                     on_failure policy = throwing{}) const {
    return loop_ != nullptr ? memory().region.slice(offset, size, policy)
                            : buffer().slice(offset, size, policy);
  }

 private:
  [[nodiscard]] detail::kept_memory& memory() const noexcept {
    detail::require(memory_ != nullptr, "async::loop_memory",
                    "the memory is empty: moved from, or its constructor failed");
    return *memory_;
  }

  device_loop* loop_ = nullptr;
  context_ref context_;
  detail::kept_memory* memory_ = nullptr;
};

inline loop_memory device_loop::memory(context_ref context, std::size_t size, access_rights rights,
                                       on_failure policy) {
  return {*this, context, size, rights, policy};
}

}  // namespace adverb::inline ADVERB_ABI::async
