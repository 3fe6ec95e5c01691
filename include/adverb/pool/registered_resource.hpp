// SPDX-License-Identifier: MIT
// Registered memory as a std::pmr::memory_resource.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <new>
#include <type_traits>
#include <vector>

#include <adverb/core/error.hpp>
#include <adverb/memory/memory_region.hpp>
#include <adverb/pool/detail/block_tree.hpp>
#include <adverb/pool/detail/pages.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// The buffer of a container, an array or a span. Clang does not name the line of the program in an
/// error within a function that returns `auto`.
template <class Range>
using buffer_over = std::conditional_t<
    std::is_const_v<std::remove_reference_t<decltype(*std::data(std::declval<Range&>()))>>,
    const_buffer, mutable_buffer>;

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI {

/// The options of a registered_resource.
struct registered_resource_options {
  /// The size of a slab in bytes: a power of two, and at least a page. A slab is registered at
  /// once. It is reduced to the maximum size of a region of the device. An allocation that is
  /// larger than a slab gets a slab of its own.
  std::size_t slab = std::size_t{16} << 20;
  /// The maximum number of registered bytes.
  std::size_t limit = std::size_t{1} << 30;
  /// The rights of the registrations. `zero_based` is refused: slabs have addresses of the process.
  access_rights rights = access_right::local_write;
  /// Uses huge pages of 2 MiB if the system has set any aside, and transparent ones
  /// otherwise.
  bool huge_pages = true;
  /// Allocates the pages on the NUMA node of the device, as long as that has any.
  bool numa_local = false;
};

/// The memory of a registered_resource.
struct registered_resource_statistics {
  /// The registered bytes.
  std::size_t registered;
  /// The allocated bytes, rounded up to units of 64 bytes.
  std::size_t in_use;
  /// The number of slabs.
  std::size_t slabs;
  /// The registered bytes in huge pages that the system has set aside. Transparent ones do not
  /// count: the kernel may split them at any time.
  std::size_t in_huge_pages;
  /// The registered bytes for which the NUMA node of the device is preferred. 0 if `numa_local` is
  /// not set, if the device has no node, and if the kernel refuses.
  std::size_t numa_local;
};

/// The exception of an allocation of registered memory that fails: a std::bad_alloc that also holds
/// the verb, the object and the explanation.
class bad_registration : public std::bad_alloc {
 public:
  /// Makes the exception of a failure.
  explicit bad_registration(const adverb::failure& why) noexcept : why_{why} {}

  /// Returns the complete failure as a value.
  [[nodiscard]] const adverb::failure& failure() const noexcept { return why_; }
  /// Returns the whole message of the failure.
  [[nodiscard]] const char* what() const noexcept override { return why_.what(); }

 private:
  adverb::failure why_;
};

/// Memory for the containers of std::pmr that the device can access:
///
///     registered_resource memory{domain, {.slab = mebibytes(32), .limit = mebibytes(256)}};
///     std::pmr::vector<std::byte> rows(65'536, &memory);
///     pair.post(send(memory.buffer_of(rows)).signaled()).check();
///
/// The memory comes from slabs, which are registered when they are needed. A slab without
/// allocations is deregistered, except for one that is kept for the next allocation. Blocks are
/// aligned to 64 bytes or more, and no two share 64 bytes. The domain must outlive the resource,
/// and the resource all memory from it: a resource with allocated memory ends the program when it
/// is destroyed (ADVERB_HARDENING_FAST).
///
/// One thread at a time allocates and deallocates. Other threads may call the other functions
/// meanwhile, for memory that they have received from that thread.
class registered_resource : public std::pmr::memory_resource {
 public:
  /// Reserves addresses, and registers nothing yet. Fails with EINVAL if an option cannot be
  /// used, and with ENOMEM if the process may not have so many addresses (`ulimit -v`): four times
  /// the limit. After a failure, every allocation fails.
  explicit registered_resource(protection_domain_ref domain,
                               const registered_resource_options& options = {},
                               on_failure policy = throwing{});
  registered_resource(const registered_resource&) = delete;
  registered_resource& operator=(const registered_resource&) = delete;
  ADVERB_FUNC ~registered_resource() override;

  /// Allocates memory like `allocate`, with an error policy. Returns null on failure. `deallocate`
  /// frees it. Fails with ENOMEM beyond the limit, with EINVAL beyond the maximum size of a region
  /// of the device or if the alignment exceeds a slab, and if a registration fails. Wraps:
  /// ibv_reg_mr(3).
  [[nodiscard]] void* try_allocate(std::size_t bytes,
                                   std::size_t alignment = alignof(std::max_align_t),
                                   on_failure policy = throwing{}) {
    return do_try_allocate(bytes, alignment, policy);
  }

  /// Returns a buffer for memory of the resource: a container, an array, or a span. The buffer of
  /// const memory is a const_buffer, otherwise it is a mutable_buffer. The buffer of no bytes is
  /// empty. Fails with ERANGE if the memory is not of this resource, exceeds one slab, or exceeds
  /// what 32 bits can count. A mutable_buffer fails with EACCES if the rights lack local_write.
  template <registrable_memory Range>
  [[nodiscard, gnu::always_inline]] detail::buffer_over<Range> buffer_of(
      Range&& memory, on_failure policy = throwing{}) const {
    const detail::byte_range bytes = detail::bytes_of(memory);
    using element = std::remove_reference_t<decltype(*std::data(memory))>;
    using buffer = detail::buffer_over<Range>;
    const std::size_t index = slot_of(bytes.begin);
    // A length of 32 bits cannot make the sum wrap around.
    const auto length = static_cast<std::uint32_t>(bytes.length);
    if (index >= slot_count_ || length != bytes.length ||
        bytes.address() + length > slots_[index].end_for<element>()) [[unlikely]] {
      report_buffer(policy, bytes.begin, bytes.length, bytes.constant);
      return buffer{};
    }
    policy.clear();
    return buffer{adopt,
                  ibv_sge{bytes.address(), length, static_cast<std::uint32_t>(slots_[index].key)}};
  }
  /// Fails to compile, with a message that lists the memory that can be used.
  template <class Memory>
    requires(!registrable_memory<Memory>)
  void buffer_of(Memory&&, on_failure = throwing{}) const {
    static_assert(registrable_memory<Memory>,
                  "the memory must outlive the buffer: pass a container or array that is not a "
                  "temporary, or a std::span");
  }

  /// Returns the region that contains an address, in constant time. It is empty if no slab does. It
  /// is valid until all memory of the slab is deallocated.
  [[nodiscard]] memory_region_ref region_of(const void* address) const noexcept {
    const std::size_t index = slot_of(address);
    if (index >= slot_count_ || slots_[index].region == nullptr) return {};
    return *slots_[index].region;
  }

  /// Returns the memory that the resource has now. Thread safe.
  [[nodiscard]] registered_resource_statistics statistics() const noexcept;
  /// Returns the size of a slab in bytes: that of the options, or less if the device allows less.
  [[nodiscard]] std::size_t slab_size() const noexcept { return std::size_t{1} << shift_; }
  /// Returns the protection domain of the registrations.
  [[nodiscard]] protection_domain_ref protection_domain() const noexcept { return domain_; }

 protected:
  /// Allocates memory, with an error policy.
  [[nodiscard]] ADVERB_FUNC virtual void* do_try_allocate(std::size_t bytes, std::size_t alignment,
                                                          on_failure policy);
  /// Allocates memory. Throws bad_registration if `try_allocate` fails. Without exceptions, calls
  /// the failure hook and aborts the program.
  [[nodiscard]] ADVERB_FUNC void* do_allocate(std::size_t bytes, std::size_t alignment) override;
  /// Deallocates memory. Ends the program if the memory is not allocated (ADVERB_HARDENING_FAST).
  ADVERB_FUNC void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override;
  [[nodiscard]] bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return this == &other;
  }

 private:
  struct slab;
  /// Changed by the thread that allocates, and read by any.
  using counter = std::atomic<std::size_t>;

  /// The addresses that one slab may have.
  struct slot {
    /// The end of the slab; 0 without a slab.
    std::uint64_t end = 0;
    /// 0 without local_write, so that a buffer checks one number only.
    std::uint64_t receivable_end = 0;
    const memory_region* region = nullptr;
    lkey key{};

    /// Returns the end of the memory that a buffer of these elements may have.
    template <class Element>
    [[nodiscard]] std::uint64_t end_for() const noexcept {
      return std::is_const_v<Element> ? end : receivable_end;
    }
  };

  /// Returns the slot of an address; `slot_count_` or more if it is outside.
  [[nodiscard]] std::size_t slot_of(const void* address) const noexcept {
    return (reinterpret_cast<std::uintptr_t>(address) - begin_) >> shift_;
  }

  /// Reserves the addresses.
  void reserve(on_failure policy);

  /// Reports that memory has no buffer, unless it has no bytes. Takes values, so that memory with a
  /// buffer need not be described in memory.
  [[gnu::cold]] void report_buffer(on_failure policy, void* memory, std::size_t length,
                                   bool is_constant) const;
  [[gnu::cold]] void report_limit(on_failure policy, std::size_t size) const;
  [[gnu::cold]] void report_maximum(on_failure policy, std::size_t size) const;

  [[nodiscard]] void* allocate_in_slab(slab& in, std::size_t bytes, std::size_t alignment) noexcept;
  /// Registers a slab. Returns null on failure.
  [[nodiscard]] slab* add_slab(std::size_t size, bool is_shared, on_failure policy);
  /// Adds a slab to the statistics, or subtracts it with the sign -1.
  void count_slab(const slab& which, std::size_t sign) noexcept;
  /// Deregisters a slab, unless that fails, which the failure hook reports.
  void remove_slab(slab& which) noexcept;
  /// Returns the first of `count` consecutive slots without a slab, or `slot_count_`.
  [[nodiscard]] std::size_t free_slots(std::size_t count) const noexcept;

  protection_domain_ref domain_;
  std::uintptr_t begin_ = 0;
  std::size_t slot_count_ = 0;
  unsigned shift_ = 0;
  /// Written before the memory of a slab is given out, so the threads that receive memory read them
  /// without a lock.
  std::unique_ptr<slot[]> slots_;

  registered_resource_options options_;
  std::size_t largest_region_ = 0;
  int numa_node_ = -1;
  detail::reserved_addresses addresses_;
  /// The slab of each slot.
  std::unique_ptr<slab*[]> slab_of_;
  /// In the order of their registrations.
  std::vector<std::unique_ptr<slab>> slabs_;
  /// A slab without allocations.
  slab* spare_ = nullptr;
  counter registered_ = 0;
  counter in_use_ = 0;
  counter slab_count_ = 0;
  counter in_huge_pages_ = 0;
  counter numa_local_ = 0;
};

/// A registered_resource for several threads: all of its functions are thread safe. A lock is held
/// while memory is allocated, deallocated and registered; `buffer_of` and `region_of` take none.
class synchronized_registered_resource final : public registered_resource {
 public:
  using registered_resource::registered_resource;

 private:
  [[nodiscard]] void* do_try_allocate(std::size_t bytes, std::size_t alignment,
                                      on_failure policy) override {
    const std::lock_guard lock{mutex_};
    return registered_resource::do_try_allocate(bytes, alignment, policy);
  }
  void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override {
    const std::lock_guard lock{mutex_};
    registered_resource::do_deallocate(memory, bytes, alignment);
  }

  std::mutex mutex_;
};

}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/pool/impl/registered_resource.ipp>
#endif
