// SPDX-License-Identifier: MIT
// The blocks in which messages arrive, and their memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <adverb/async/operation.hpp>
#include <adverb/completion/completion.hpp>
#include <adverb/completion/completion_queue.hpp>
#include <adverb/core/failure.hpp>
#include <adverb/memory/memory_region.hpp>
#include <adverb/queue/queue_pair_ref.hpp>
#include <adverb/request/prepared_request.hpp>
#include <adverb/request/requests.hpp>
#include <adverb/version.hpp>

#if defined(ADVERB_POISON_BLOCKS)
extern "C" void __asan_poison_memory_region(const volatile void* address, std::size_t size);
extern "C" void __asan_unpoison_memory_region(const volatile void* address, std::size_t size);
#endif

namespace adverb::inline ADVERB_ABI::detail {

class link;

/// A block that receives one message at a time. It stays where it is.
struct receive_block : async::operation {
  receive_block(function* completed, link* of, mutable_buffer buffer) noexcept
      : operation{completed},
        owner{of},
        memory{buffer},
        request{receive(buffer).id(static_cast<operation*>(this))} {}
  /// Returns the bytes of its message; none for a peer's write with immediate.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept {
    const ibv_wc& arrived = received.native();
    return {reinterpret_cast<const std::byte*>(memory.address()),
            arrived.opcode == IBV_WC_RECV_RDMA_WITH_IMM ? 0 : arrived.byte_len};
  }

  /// The link of its message: that of a shared block changes.
  link* owner;
  mutable_buffer memory;
  /// The request that posts it, built once.
  prepared_request<decltype(receive(std::declval<mutable_buffer>()))> request;
  receive_block* next = nullptr;
  completion received;
};

#if defined(ADVERB_POISON_BLOCKS)
/// The address sanitizer reports accesses to blocks that hold no message. Not for providers that
/// copy messages into their blocks themselves, such as mlx5.
inline constexpr bool poisons_blocks = true;
inline void poison(std::span<const std::byte> memory) noexcept {
  __asan_poison_memory_region(memory.data(), memory.size());
}
inline void unpoison(std::span<const std::byte> memory) noexcept {
  __asan_unpoison_memory_region(memory.data(), memory.size());
}
#else
inline constexpr bool poisons_blocks = false;
inline void poison(std::span<const std::byte> /*memory*/) noexcept {}
inline void unpoison(std::span<const std::byte> /*memory*/) noexcept {}
#endif

/// The memory of blocks of one size, and its registration. It is poisoned but for the messages.
class block_memory {
 public:
  block_memory() noexcept = default;
  block_memory(protection_domain_ref domain, std::uint32_t count, std::uint32_t size,
               on_failure policy)
      : bytes_{std::make_unique<std::byte[]>(std::size_t{count} * size)},
        region_{domain, std::span{bytes_.get(), std::size_t{count} * size},
                access_right::local_write, policy} {
    if (region_) blocks_ = region_.blocks(size, policy);
    poison({bytes_.get(), std::size_t{count} * size});
  }
  [[nodiscard]] mutable_buffer operator[](std::size_t index) const noexcept {
    return blocks_[index];
  }

 private:
  std::unique_ptr<std::byte[]> bytes_;
  memory_region region_;
  buffer_blocks<mutable_buffer> blocks_;
};

/// The blocks of one queue pair, and how many are posted.
class receive_blocks {
 public:
  receive_blocks() noexcept = default;
  receive_blocks(const receive_blocks&) = delete;
  receive_blocks& operator=(const receive_blocks&) = delete;
  ~receive_blocks() = default;

  /// Creates `count` blocks for a queue pair, reserves their completions, and posts them.
  void create(link& owner, async::operation::function* on_completion, ibv_qp* pair,
              protection_domain_ref domain, completion_queue_ref queue, std::uint32_t count,
              std::uint32_t size, on_failure policy);

  /// Posts a block.
  post_result post(receive_block& block) noexcept {
    const post_result posted = detail::post<transport::rc, qp_state::rts>(pair_, block.request);
    if (posted) [[likely]]
      ++posted_;
    return posted;
  }
  void completed() noexcept { --posted_; }
  /// Replaces the function that the completions of the blocks call.
  void set(async::operation::function* on_completion) noexcept {
    for (receive_block& each : blocks_) each.set(on_completion);
  }
  [[nodiscard]] bool is_any_posted() const noexcept { return posted_ != 0; }
  [[nodiscard]] std::uint32_t size() const noexcept {
    return static_cast<std::uint32_t>(blocks_.size());
  }

  /// Returns true if a block whose message has been destroyed is posted again to the queue pair.
  [[nodiscard]] bool posts_again() const noexcept { return posts_again_; }
  void set_posts_again(bool posts_again) noexcept { posts_again_ = posts_again; }

  /// The queue pair has been destroyed.
  void release() noexcept {
    pair_ = nullptr;
    posted_ = 0;
  }

 private:
  ibv_qp* pair_ = nullptr;
  std::uint32_t posted_ = 0;
  bool posts_again_ = false;
  std::vector<receive_block> blocks_;
  block_memory memory_;
  completion_reservation reservation_;
};

}  // namespace adverb::inline ADVERB_ABI::detail

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/async/impl/receive_blocks.ipp>
#endif
