// SPDX-License-Identifier: MIT
// Registrations of the program's memory that are kept for the next use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <type_traits>
#include <utility>

#include <adverb/core/error.hpp>
#include <adverb/memory/memory_region.hpp>
#include <adverb/memory/registrable_memory.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI {

class registration_cache;

/// The options of a registration_cache.
struct registration_cache_options {
  /// The maximum number of regions.
  std::size_t max_regions = 1024;
  /// The maximum number of registered bytes.
  std::size_t max_bytes = std::size_t{1} << 30;
  /// The rights of the regions. Regions of const memory have those that do not write.
  access_rights rights = access_right::local_write;
  /// Registers process memory for on-demand paging if the device has it. Such regions pin no pages,
  /// and the device sees memory that is unmapped and mapped again.
  bool on_demand = false;
};

/// The events of a registration_cache since its construction, and its regions now.
struct registration_cache_statistics {
  /// Calls of `region` that found a region.
  std::uint64_t hits;
  /// Calls of `region` that found none.
  std::uint64_t misses;
  /// Regions that were deregistered for lack of room.
  std::uint64_t evictions;
  /// The registered regions, also those that are forgotten and still in use.
  std::size_t regions;
  /// The regions that have handles.
  std::size_t in_use;
  /// The bytes of all regions.
  std::size_t bytes;
};

namespace detail {

/// The start of a cached region. The order is that of the index.
struct cached_key {
  static constexpr int process_memory = -1;
  static constexpr int const_memory = -2;

  /// One of these, or the descriptor of a dma-buf.
  int space;
  /// The device address less the offset in the dma-buf; 0 for process memory.
  std::uint64_t device_base;
  /// The address or the offset.
  std::uint64_t begin;

  /// Returns true if the addresses of both are comparable.
  [[nodiscard]] bool is_beside(const cached_key& other) const noexcept {
    return space == other.space && device_base == other.device_base;
  }

  /// Orders by space, device base and beginning. Clang 14 warns of a comparison by `<=>`.
  friend bool operator<(const cached_key& left, const cached_key& right) noexcept {
    if (left.space != right.space) return left.space < right.space;
    if (left.device_base != right.device_base) return left.device_base < right.device_base;
    return left.begin < right.begin;
  }
};

/// A region of a cache.
struct cached_entry {
  cached_key key;
  std::uint64_t end;
  memory_region region;
  /// The handles of the program.
  std::size_t users = 1;
  /// False if the index no longer finds it.
  bool is_indexed = true;
};

}  // namespace detail

/// A region of a registration_cache, in use as long as this object lives, and the requested part
/// of it. Move-only. The cache must outlive it.
class [[nodiscard]] cached_region {
 public:
  /// Makes an empty object.
  cached_region() noexcept = default;
  cached_region(cached_region&& other) noexcept
      : cache_{std::exchange(other.cache_, nullptr)},
        entry_{other.entry_},
        offset_{other.offset_},
        length_{other.length_} {}
  cached_region& operator=(cached_region&& other) noexcept {
    cached_region old{std::move(*this)};
    cache_ = std::exchange(other.cache_, nullptr);
    entry_ = other.entry_;
    offset_ = other.offset_;
    length_ = other.length_;
    return *this;
  }
  ~cached_region();

  [[nodiscard]] explicit operator bool() const noexcept { return cache_ != nullptr; }

  /// Returns the region, which may be larger than the requested memory. Empty if this object is.
  [[nodiscard]] memory_region_ref region() const noexcept ADVERB_LIFETIME_BOUND {
    if (cache_ == nullptr) return {};
    return entry_->region;
  }
  /// Returns the requested memory. Fails like `memory_region::slice`.
  [[nodiscard]] mutable_buffer buffer(on_failure policy = throwing{}) const {
    return region().slice(offset_, length_, policy);
  }
  /// Returns the requested memory, to send from. Fails like `memory_region::const_slice`.
  [[nodiscard]] adverb::const_buffer const_buffer(on_failure policy = throwing{}) const {
    return region().const_slice(offset_, length_, policy);
  }

 private:
  friend class registration_cache;
  using entry = std::list<detail::cached_entry>::iterator;
  cached_region(registration_cache& cache, entry found, std::uint64_t begin,
                std::size_t length) noexcept
      : cache_{&cache}, entry_{found}, offset_{begin - found->key.begin}, length_{length} {}

  registration_cache* cache_ = nullptr;
  entry entry_{};
  std::uint64_t offset_ = 0;
  std::size_t length_ = 0;
};

/// Regions of memory that the program allocates elsewhere. Memory that a region covers is not
/// registered again, and the lookup makes no system call:
///
///     registration_cache cache{domain, {.max_bytes = gibibytes(4)}};
///     cached_region region = cache.region(rows);
///     pair.post(send(region.buffer()).signaled()).check();
///     …                                   // region lives until the request has completed
///     cache.forget(rows);                 // before rows are freed
///
/// If a region would exceed a limit, or if the system has no memory for it, regions that are not in
/// use are deregistered, the least recently used first. The domain must outlive the cache, and the
/// cache its handles: a cache whose handles live ends the program when it is destroyed
/// (ADVERB_HARDENING_FAST).
///
/// The cache does not notice that memory is freed. Call `forget` before: a region keeps its pages,
/// and if other memory is mapped at the same address, the device still accesses the old pages.
///
/// Thread safe. A lock is held during each call, so a registration delays the lookups of other
/// threads.
class registration_cache {
 public:
  /// Makes an empty cache. Fails if the device cannot be queried, which on-demand paging needs.
  explicit registration_cache(protection_domain_ref domain,
                              const registration_cache_options& options = {},
                              on_failure policy = throwing{});
  registration_cache(const registration_cache&) = delete;
  registration_cache& operator=(const registration_cache&) = delete;
  ~registration_cache();

  /// Returns a region of this memory: a container, an array, or a span. Const memory can only be
  /// sent. Fails with ENOBUFS if a limit would be exceeded although all other regions are in use,
  /// and if the registration fails. Wraps: ibv_reg_mr(3).
  template <registrable_memory Range>
  [[nodiscard]] cached_region region(Range&& memory, on_failure policy = throwing{}) {
    return find(detail::bytes_of(memory), policy);
  }
  /// Fails to compile, with a message that lists the memory that can be registered.
  template <class Memory>
    requires(!registrable_memory<Memory> &&
             !std::is_same_v<std::remove_cvref_t<Memory>, dmabuf_range>)
  void region(Memory&&, on_failure = throwing{}) {
    static_assert(registrable_memory<Memory>,
                  "registered memory must outlive the region: pass a container or array that is "
                  "not a temporary, or a std::span");
  }
  /// Returns a region of a dma-buf. It is found by the number of the descriptor and the offset.
  /// Fails in the same cases. Wraps: ibv_reg_dmabuf_mr(3).
  [[nodiscard]] cached_region region(const dmabuf_range& range, on_failure policy = throwing{});

  /// Deregisters the regions that overlap this memory. Regions in use are no longer found, and are
  /// deregistered when their last handle is destroyed. Returns the number of regions in use. Call
  /// it before the memory is freed or unmapped.
  template <registrable_memory Range>
  std::size_t forget(Range&& memory) noexcept {
    return forget(detail::bytes_of(memory));
  }
  /// The same for the regions of a dma-buf. Call it before the descriptor is closed.
  std::size_t forget_dmabuf(int file_descriptor) noexcept;

  /// Returns true if regions are registered for on-demand paging.
  [[nodiscard]] bool is_on_demand() const noexcept {
    return options_.rights.contains(access_right::on_demand);
  }
  /// Returns the events so far, and the regions now.
  [[nodiscard]] registration_cache_statistics statistics() const noexcept;

 private:
  friend class cached_region;
  using entries = std::list<detail::cached_entry>;
  using entry = entries::iterator;
  using index = std::map<detail::cached_key, entry>;

  [[nodiscard]] cached_region find(const detail::byte_range& memory, on_failure policy);
  [[nodiscard]] cached_region find(const detail::cached_key& key, std::size_t length,
                                   on_failure policy);
  std::size_t forget(const detail::byte_range& memory) noexcept;

  /// Returns the region that contains the range, or the end of `in_use_`.
  [[nodiscard]] entry covering(const detail::cached_key& key, std::uint64_t end) noexcept;
  /// Registers a range. Evicts regions if the system has no memory for it.
  [[nodiscard]] memory_region registered(const detail::cached_key& key, std::size_t length,
                                         on_failure policy);
  [[nodiscard]] cached_region add(const detail::cached_key& key, std::size_t length,
                                  memory_region&& region);
  /// Evicts regions until another one is within the limits. Returns false if it cannot be.
  [[nodiscard]] bool make_room(std::size_t length) noexcept;
  /// Deregisters the least recently used region. Returns false if all are in use.
  bool evict() noexcept;
  /// Removes a region from the index, and deregisters it unless it is in use. Returns the next.
  index::iterator unindex(index::iterator which) noexcept;
  void forget(int space, std::uint64_t begin, std::uint64_t end) noexcept;
  void erase(entries& from, entry which) noexcept;
  void release(entry which) noexcept;

  mutable std::mutex mutex_;
  protection_domain_ref domain_;
  registration_cache_options options_;
  /// No region in the index contains another one, so they are in the order of their ends too.
  index index_;
  entries in_use_;
  /// The least recently used first.
  entries idle_;
  std::size_t bytes_ = 0;
  std::uint64_t hits_ = 0;
  std::uint64_t misses_ = 0;
  std::uint64_t evictions_ = 0;
};

inline cached_region::~cached_region() {
  if (cache_ != nullptr) cache_->release(entry_);
}

}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/pool/impl/registration_cache.ipp>
#endif
