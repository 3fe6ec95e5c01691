// SPDX-License-Identifier: MIT
// Registered blocks of one size, which any thread takes and gives back.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include <adverb/completion/completion.hpp>
#include <adverb/core/detail/hardening.hpp>
#include <adverb/core/error.hpp>
#include <adverb/memory/memory_region_ref.hpp>
#include <adverb/pool/registered_resource.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI {

class buffer_pool;

namespace detail {
/// A function for each block that is given back.
struct block_listener {
  /// Called by the thread that has given a block back.
  void (*given_back)(block_listener& self) noexcept;
};
}  // namespace detail

/// The options of a buffer_pool.
struct buffer_pool_options {
  /// The size of a block in bytes.
  std::uint32_t block_size = 4096;
  /// The number of blocks.
  std::uint32_t blocks = 256;
};

/// A block of a buffer_pool. Destroying the lease gives the block back. Empty by default, after a
/// move, and after `in_flight`. The pool must outlive it. Leases of one pool may be used by
/// different threads; one lease by one thread at a time.
class buffer_lease {
 public:
  buffer_lease() noexcept = default;
  buffer_lease(buffer_lease&& other) noexcept
      : pool_{std::exchange(other.pool_, nullptr)}, index_{other.index_} {}
  buffer_lease& operator=(buffer_lease&& other) noexcept {
    buffer_lease old{std::move(*this)};
    pool_ = std::exchange(other.pool_, nullptr);
    index_ = other.index_;
    return *this;
  }
  ~buffer_lease();

  [[nodiscard]] explicit operator bool() const noexcept { return pool_ != nullptr; }

  /// Returns the memory of the block.
  [[nodiscard]] std::span<std::byte> bytes() const noexcept ADVERB_LIFETIME_BOUND;
  /// Returns the block as a buffer.
  [[nodiscard]] mutable_buffer buffer() const noexcept ADVERB_LIFETIME_BOUND;

  /// Hands the block to a request: returns the id for the request, and leaves the lease empty. The
  /// block is not given back until `buffer_pool::lease_of` gets the id, from the completion or
  /// because the post failed.
  [[nodiscard]] std::uint64_t in_flight() noexcept;

 private:
  friend class buffer_pool;
  buffer_lease(buffer_pool& pool, std::uint32_t index) noexcept : pool_{&pool}, index_{index} {}

  [[nodiscard]] buffer_pool& pool() const noexcept {
    detail::require(pool_ != nullptr, "buffer_lease",
                    "the lease is empty: nothing was free, or it was moved from or is in flight");
    return *pool_;
  }

  buffer_pool* pool_ = nullptr;
  std::uint32_t index_ = 0;
};

/// Blocks of one size in one region. Taking a block and giving it back take no lock:
///
///     buffer_pool pool{memory, {.block_size = 4096, .blocks = 1024}};
///     if (buffer_lease block = pool.try_take()) {
///       const const_buffer message = block.buffer().slice(0, fill(block.bytes()));
///       pair.post(send(message).id(block.in_flight()).signaled()).check();
///     }
///     …
///     pool.lease_of(completions.next());    // gives the block back
///
/// The pool must outlive its leases; a pool with leases ends the program when it is destroyed
/// (ADVERB_HARDENING_FAST). Blocks in flight do not count: destroy the queue pair first. Thread
/// safe, except for the constructor and the destructor, which allocate from the resource.
class buffer_pool {
 public:
  /// Allocates the blocks from a resource, which must outlive the pool, each at a multiple of 64
  /// bytes. Fails with EINVAL if there are no blocks, no bytes, or 2^31 blocks or more, and like
  /// `registered_resource::try_allocate`. After a failure, the pool has no blocks.
  explicit buffer_pool(registered_resource& memory, const buffer_pool_options& options = {},
                       on_failure policy = throwing{});
  buffer_pool(const buffer_pool&) = delete;
  buffer_pool& operator=(const buffer_pool&) = delete;
  ~buffer_pool();

  /// Takes a free block. Returns an empty lease if none is free.
  [[nodiscard]] buffer_lease try_take() noexcept {
    std::uint64_t head = free_.load();
    std::uint32_t index;
    std::uint64_t after;
    do {
      index = static_cast<std::uint32_t>(head);
      if (index == none) [[unlikely]]
        return {};
      // The version changes with each block that is taken. If another thread took this one
      // meanwhile, the exchange fails, and the value read here is not used.
      after = (((head >> 32) + 1) << 32) | blocks_[index].load(std::memory_order_relaxed);
    } while (!free_.compare_exchange_weak(head, after, std::memory_order_acquire));
    blocks_[index].store(leased, std::memory_order_relaxed);
    return {*this, index};
  }

  /// Returns the lease of a block that was handed to a request; ignoring it gives the block back.
  /// Ends the program if the id is not of this pool, or if the block is not in flight
  /// (ADVERB_HARDENING_FAST).
  buffer_lease lease_of(std::uint64_t id) noexcept {
    const std::uint64_t index = index_of(id);
    if constexpr (detail::hardened(ADVERB_HARDENING_FAST))
      if (index >= count_ || blocks_[index].load(std::memory_order_relaxed) != flying) [[unlikely]]
        end_of_wrong_id(id);
    blocks_[index].store(leased, std::memory_order_relaxed);
    return {*this, static_cast<std::uint32_t>(index)};
  }
  /// Returns the lease of the request that has completed, also if the request failed.
  buffer_lease lease_of(const completion& of) noexcept { return lease_of(of.id()); }
  /// Returns true if an id of a request is of a block of this pool. No pointer to an object of the
  /// program and no id of another pool is.
  [[nodiscard]] bool owns(std::uint64_t id) const noexcept { return index_of(id) < count_; }

  /// Returns the size of a block in bytes.
  [[nodiscard]] std::uint32_t block_size() const noexcept { return block_size_; }
  /// Returns the number of blocks, free or not.
  [[nodiscard]] std::uint32_t size() const noexcept { return count_; }
  /// Returns the region that contains the blocks, for keys and remote buffers.
  [[nodiscard]] memory_region_ref region() const noexcept { return memory_->region_of(first_); }

  // For async::block_waits.

  /// Has a listener called for each block that is given back from now on; null for none. It must
  /// live until no thread gives back a block.
  void set_listener(detail::block_listener* listener) noexcept { listener_ = listener; }

 private:
  friend class buffer_lease;

  // The state of a block that is not free; of a free block it is the index of the next one.
  static constexpr std::uint32_t none = 0xffff'ffff;
  static constexpr std::uint32_t leased = 0xffff'fffe;
  static constexpr std::uint32_t flying = 0xffff'fffd;
  using block_state = std::atomic<std::uint32_t>;

  void give_back(std::uint32_t index) noexcept {
    std::uint64_t head = free_.load(std::memory_order_relaxed);
    std::uint64_t after;
    do {
      blocks_[index].store(static_cast<std::uint32_t>(head), std::memory_order_relaxed);
      after = ((head >> 32) << 32) | index;
      // In one order with the listener: either it finds the block, or it is found here.
    } while (!free_.compare_exchange_weak(head, after, std::memory_order_seq_cst,
                                          std::memory_order_relaxed));
    if (detail::block_listener* const listener = listener_.load(); listener != nullptr) [[unlikely]]
      listener->given_back(*listener);
  }
  [[nodiscard]] std::byte* block(std::uint32_t index) const noexcept {
    return first_ + std::size_t{index} * stride_;
  }
  // An id is the address of the state, so it differs from those of other objects.
  [[nodiscard]] std::uint64_t id_of(std::uint32_t index) const noexcept {
    return reinterpret_cast<std::uintptr_t>(&blocks_[index]);
  }
  [[nodiscard]] std::uint64_t index_of(std::uint64_t id) const noexcept {
    return (id - reinterpret_cast<std::uintptr_t>(blocks_.get())) / sizeof(block_state);
  }
  [[noreturn, gnu::cold]] void end_of_wrong_id(std::uint64_t id) const noexcept;

  /// The version, and the index of the first free block. Every thread writes it.
  alignas(64) std::atomic<std::uint64_t> free_ = none;
  alignas(64) std::unique_ptr<block_state[]> blocks_;
  std::byte* first_ = nullptr;
  std::size_t stride_ = 0;
  std::uint32_t count_ = 0;
  std::uint32_t block_size_ = 0;
  lkey key_{};
  registered_resource* memory_;
  std::atomic<detail::block_listener*> listener_ = nullptr;
};

inline buffer_lease::~buffer_lease() {
  if (pool_ != nullptr) pool_->give_back(index_);
}
inline std::span<std::byte> buffer_lease::bytes() const noexcept {
  return {pool().block(index_), pool().block_size()};
}
inline mutable_buffer buffer_lease::buffer() const noexcept {
  const buffer_pool& from = pool();
  return {adopt, ibv_sge{reinterpret_cast<std::uintptr_t>(from.block(index_)), from.block_size(),
                         static_cast<std::uint32_t>(from.key_)}};
}
inline std::uint64_t buffer_lease::in_flight() noexcept {
  buffer_pool& from = pool();
  from.blocks_[index_].store(buffer_pool::flying, std::memory_order_relaxed);
  pool_ = nullptr;
  return from.id_of(index_);
}

}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/pool/impl/buffer_pool.ipp>
#endif
