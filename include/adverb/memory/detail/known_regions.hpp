// SPDX-License-Identifier: MIT
// The table with which ADVERB_HARDENING_DEBUG finds posts of buffers that no longer belong to a
// region, or belong to one of another protection domain.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <infiniband/verbs.h>

#include <adverb/core/detail/hardening.hpp>
#include <adverb/core/detail/lifetime.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// The table of the regions that adverb registered, of which it keeps the last ones that are gone.
/// Regions of C code are unknown, and not judged. Thread safe. A change takes a lock, a judgement
/// does not.
class [[gnu::visibility("default")]] known_regions : public side_table<known_regions> {
 public:
  /// The flaws of a buffer.
  enum class flaw : std::uint8_t { none, region_gone, other_domain };

  /// Notes a region that was made or changed.
  void note(const ibv_mr* region) noexcept;
  /// Notes that a region is about to be deregistered.
  void note_gone(const ibv_mr* region) noexcept;
  /// Removes a region, for one that C code will deregister.
  void forget(const ibv_mr* region) noexcept;

  /// Judges a buffer with this local key in the queue of a protection domain. Takes no lock, and
  /// never waits. A region that another thread changes meanwhile may be unknown.
  [[nodiscard]] flaw judge(const ibv_pd* domain, std::uint32_t key) noexcept;

 private:
  /// A region of the table.
  struct region_record {
    /// Null in an unused slot.
    const ibv_context* context = nullptr;
    std::uint32_t local_key = 0;
    std::uint32_t domain = 0;
    bool is_gone = false;
  };

  /// Holds a record, which one thread writes under the lock and others read meanwhile. A reader
  /// recognises a record that changed while it was read. The loads acquire and the stores release,
  /// so that the reader of a new field reads the odd version too.
  // Uses builtins, because <atomic> takes long to compile.
  class slot {
   public:
    /// The number of regions that went before this one went last. Used under the lock only.
    std::size_t went_after = 0;

    /// Returns the record, or an unused one if the record changes meanwhile.
    [[nodiscard]] region_record read() const noexcept {
      const std::size_t version = __atomic_load_n(&version_, __ATOMIC_ACQUIRE);
      const region_record record{__atomic_load_n(&record_.context, __ATOMIC_ACQUIRE),
                                 __atomic_load_n(&record_.local_key, __ATOMIC_ACQUIRE),
                                 __atomic_load_n(&record_.domain, __ATOMIC_ACQUIRE),
                                 __atomic_load_n(&record_.is_gone, __ATOMIC_ACQUIRE)};
      const bool is_whole =
          version % 2 == 0 && __atomic_load_n(&version_, __ATOMIC_RELAXED) == version;
      return is_whole ? record : region_record{};
    }

    /// Replaces the record. Called under the lock.
    void write(const region_record& record) noexcept;

    /// Returns the next slot of the bucket, or null. A slot never leaves its bucket.
    [[nodiscard]] slot* next() const noexcept { return __atomic_load_n(&next_, __ATOMIC_ACQUIRE); }
    void append(slot* next) noexcept { __atomic_store_n(&next_, next, __ATOMIC_RELEASE); }

   private:
    /// Odd while the record changes.
    std::size_t version_ = 0;
    region_record record_{};
    slot* next_ = nullptr;
  };

  [[nodiscard]] slot& bucket_of(std::uint32_t local_key) noexcept {
    // The keys of several providers differ in their upper bits only.
    return buckets_[(local_key ^ local_key >> 8) % kept];
  }
  /// Returns the slot of a region, or null. Called under the lock.
  [[nodiscard]] slot* find(const ibv_mr* region) noexcept;
  /// Returns an unused slot of a bucket, or `lost_` if memory runs out. Called under the lock.
  [[nodiscard]] slot& unused_in(slot& bucket) noexcept;

  static constexpr std::size_t kept = 1024;
  std::array<slot, kept> buckets_{};
  /// The slots of the regions that went last.
  std::array<slot*, kept> gone_{};
  std::size_t gone_count_ = 0;
  /// Takes a region without a slot. It is in no bucket, so the region is not judged.
  slot lost_{};
};

/// Terminates the program if an element that is about to be posted has a flaw.
void require_regions(const ibv_pd* domain, const char* call, const ibv_sge* elements,
                     std::size_t count) noexcept;

/// The same for each element of a chain of requests.
template <class Request>
void require_regions_of(const ibv_pd* domain, const char* call, const Request* first) noexcept {
  for (; first != nullptr; first = first->next) {
    if constexpr (requires { first->send_flags; })
      if ((first->send_flags & IBV_SEND_INLINE) != 0) continue;
    if constexpr (requires { first->sg_list; })
      require_regions(domain, call, first->sg_list, static_cast<std::size_t>(first->num_sge));
  }
}

}  // namespace adverb::inline ADVERB_ABI::detail

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/memory/impl/known_regions.ipp>
#endif
