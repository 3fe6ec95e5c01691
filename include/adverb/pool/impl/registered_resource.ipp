// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <bit>
#include <cerrno>
#include <limits>
#include <span>
#include <utility>

#include <unistd.h>

#include <adverb/core/detail/hardening.hpp>
#include <adverb/core/detail/narrowed.hpp>
#include <adverb/device/detail/explain_device.hpp>
#include <adverb/pool/registered_resource.hpp>

namespace adverb::inline ADVERB_ABI {

struct registered_resource::slab {
  memory_region region;
  /// Empty if the slab belongs to one allocation.
  detail::block_tree blocks;
  std::byte* begin;
  std::size_t size;
  std::size_t first_slot;
  std::size_t slot_count;
  bool is_huge;
  bool is_numa_local;
};

namespace detail {

inline constexpr std::size_t allocation_unit = 64;
/// The reserved addresses, in limits. Slabs of one allocation need consecutive addresses.
inline constexpr std::size_t address_reserve = 4;

[[nodiscard]] constexpr std::size_t units_of(std::size_t bytes) noexcept {
  return (bytes - 1) / allocation_unit + 1;
}

/// The slab of slots whose addresses are lost.
[[nodiscard]] inline void* lost_slab() noexcept {
  static char lost;
  return &lost;
}

inline void add_to(std::atomic<std::size_t>& counter, std::size_t more) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

}  // namespace detail

ADVERB_FUNC registered_resource::registered_resource(protection_domain_ref domain,
                                                     const registered_resource_options& options,
                                                     on_failure policy)
    : domain_{domain}, options_{options} {
  if (detail::check_present(policy, "registered_resource", domain.native_handle())) reserve(policy);
}

ADVERB_FUNC void registered_resource::reserve(on_failure policy) {
  const auto refuse = [&](int number, const char* sentence,
                          std::initializer_list<text_argument> arguments) {
    policy.report(number, "registered_resource", [&](failure_description& description) {
      detail::on_device(domain_.context().native_handle())(description);
      description.explain(sentence, arguments);
    });
  };
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  if (!std::has_single_bit(options_.slab) || options_.slab < page)
    return refuse(EINVAL, "slab is {} bytes: it must be a power of two and at least a page of {}",
                  {options_.slab, page});
  if (options_.limit < options_.slab)
    return refuse(EINVAL, "limit is {} bytes, less than one slab of {}",
                  {options_.limit, options_.slab});
  if (options_.rights.contains(access_right::zero_based))
    return refuse(EINVAL, "zero_based is not possible: slabs have addresses of the process", {});
  const device_attributes device = domain_.context().query_device(policy);
  if (policy.failed()) return;
  largest_region_ = detail::narrowed<std::size_t>(device.max_memory_region_size());
  const std::size_t size = std::min(options_.slab, std::bit_floor(largest_region_));
  if (size < page)
    return refuse(EINVAL, "the device allows regions of {} bytes, less than a page of {}",
                  {largest_region_, page});
  const std::size_t count = (options_.limit / size + 1) * detail::address_reserve;
  // A product that does not fit is refused too.
  const int error = count > (std::numeric_limits<std::size_t>::max() >> 1) / size
                        ? ENOMEM
                        : addresses_.reserve(count * size, size);
  if (error != 0)
    return refuse(error, "{} addresses of slabs of {} bytes cannot be reserved; see \"ulimit -v\"",
                  {count, size});
  shift_ = static_cast<unsigned>(std::countr_zero(size));
  begin_ = reinterpret_cast<std::uintptr_t>(addresses_.begin());
  slab_of_ = std::make_unique<slab*[]>(count);
  slots_ = std::make_unique<slot[]>(count);
  slot_count_ = count;
  if (options_.numa_local)
    numa_node_ = detail::numa_node_of(domain_.context().native_handle()->device).value_or(-1);
}

ADVERB_FUNC registered_resource::~registered_resource() {
  if constexpr (detail::hardened(ADVERB_HARDENING_FAST))
    if (const std::size_t left = in_use_; left != 0)
      detail::end_program("registered_resource", [&](failure_description& description) {
        description.explain("the resource is destroyed while {} bytes of it are allocated", {left});
      });
}

ADVERB_FUNC void* registered_resource::do_try_allocate(std::size_t bytes, std::size_t alignment,
                                                       on_failure policy) {
  policy.clear();
  if (slot_count_ == 0) {
    policy.report(EINVAL, "registered_resource::allocate", [](failure_description& description) {
      description.explain("the constructor of the resource failed");
    });
    return nullptr;
  }
  if (alignment > slab_size()) {
    policy.report(EINVAL, "registered_resource::allocate", [&](failure_description& description) {
      description.explain("the alignment is {} bytes, more than a slab of {}",
                          {alignment, slab_size()});
    });
    return nullptr;
  }
  bytes = std::max<std::size_t>(bytes, 1);
  if (bytes > slab_size()) {
    slab* const whole = add_slab(bytes, false, policy);
    if (whole == nullptr) return nullptr;
    detail::add_to(in_use_, whole->size);
    return whole->begin;
  }
  for (const auto& each : slabs_)
    if (void* const memory = allocate_in_slab(*each, bytes, alignment); memory != nullptr)
      return memory;
  slab* const fresh = add_slab(slab_size(), true, policy);
  return fresh == nullptr ? nullptr : allocate_in_slab(*fresh, bytes, alignment);
}

ADVERB_FUNC void* registered_resource::do_allocate(std::size_t bytes, std::size_t alignment) {
#if defined(__cpp_exceptions)
  try {
    return do_try_allocate(bytes, alignment, throwing{});
  } catch (const error& failed) {
    throw bad_registration{failed.failure()};
  }
#else
  return do_try_allocate(bytes, alignment, throwing{});
#endif
}

ADVERB_FUNC void registered_resource::do_deallocate(void* memory, std::size_t bytes, std::size_t) {
  constexpr const char* call = "registered_resource::deallocate";
  const std::size_t offset = reinterpret_cast<std::uintptr_t>(memory) - begin_;
  const std::size_t index = offset >> shift_;
  slab* const found = index < slot_count_ ? slab_of_[index] : nullptr;
  detail::require(found != nullptr && found != detail::lost_slab(), call,
                  "the memory is not of this resource");
  if (!found->blocks) {
    detail::add_to(in_use_, 0 - found->size);
    remove_slab(*found);
    return;
  }
  const std::size_t units = detail::units_of(std::max<std::size_t>(bytes, 1));
  const std::size_t first = (offset & (slab_size() - 1)) / detail::allocation_unit;
  const bool was_taken = found->blocks.give_back(first, units);
  detail::require(was_taken, call,
                  "possible causes: the memory is deallocated twice, or with another size");
  detail::add_to(in_use_, 0 - units * detail::allocation_unit);
  if (!found->blocks.is_whole()) return;
  if (spare_ == nullptr)
    spare_ = found;
  else
    remove_slab(*found);
}

ADVERB_FUNC void* registered_resource::allocate_in_slab(slab& in, std::size_t bytes,
                                                        std::size_t alignment) noexcept {
  if (!in.blocks) return nullptr;
  const std::size_t units = detail::units_of(bytes);
  const auto first = in.blocks.take(units, detail::units_of(alignment));
  if (!first) return nullptr;
  if (spare_ == &in) spare_ = nullptr;
  detail::add_to(in_use_, units * detail::allocation_unit);
  return in.begin + *first * detail::allocation_unit;
}

ADVERB_FUNC registered_resource::slab* registered_resource::add_slab(std::size_t size,
                                                                     bool is_shared,
                                                                     on_failure policy) {
  if (size > largest_region_) return report_maximum(policy, size), nullptr;
  const auto exceeds = [&] { return size > options_.limit - registered_; };
  if (exceeds() && spare_ != nullptr) remove_slab(*spare_);
  if (exceeds()) return report_limit(policy, size), nullptr;
  const std::size_t count = (size + slab_size() - 1) >> shift_;
  const std::size_t first = free_slots(count);
  if (first == slot_count_) return report_limit(policy, size), nullptr;

  slabs_.reserve(slabs_.size() + 1);
  auto made = std::make_unique<slab>();
  made->begin = addresses_.begin() + (first << shift_);
  made->size = size;
  made->first_slot = first;
  made->slot_count = count;
  if (is_shared)
    made->blocks =
        detail::block_tree{static_cast<unsigned>(std::countr_zero(size / detail::allocation_unit))};
  const detail::page_mapping pages =
      detail::map_pages(made->begin, size, count << shift_, options_.huge_pages);
  if (pages.is_lost) std::fill_n(&slab_of_[first], count, static_cast<slab*>(detail::lost_slab()));
  if (pages.error != 0) {
    policy.report(pages.error, "registered_resource::allocate",
                  [&](failure_description& description) {
                    detail::on_device(domain_.context().native_handle())(description);
                    description.explain("the system has no {} bytes of memory for a slab", {size});
                  });
    return nullptr;
  }
  made->is_huge = pages.is_huge;
  made->is_numa_local = numa_node_ >= 0 && detail::prefer_numa_node(made->begin, size, numa_node_);
  // The report of a failure may throw.
  struct pages_of_slab {
    ~pages_of_slab() {
      if (!which.region) detail::unmap_pages(which.begin, which.size, which.is_huge);
    }
    slab& which;
  } const kept{*made};
  made->region = memory_region{domain_, std::span{made->begin, size}, options_.rights, policy};
  if (!made->region) return nullptr;
  slabs_.push_back(std::move(made));
  slab& added = *slabs_.back();
  const std::uint64_t end = added.region.device_address() + size;
  std::fill_n(&slab_of_[first], count, &added);
  std::fill_n(&slots_[first], count,
              slot{.end = end,
                   .receivable_end = options_.rights.contains(access_right::local_write) ? end : 0,
                   .region = &added.region,
                   .key = added.region.lkey()});
  count_slab(added, 1);
  return &added;
}

ADVERB_FUNC void registered_resource::count_slab(const slab& which, std::size_t sign) noexcept {
  detail::add_to(slab_count_, sign);
  detail::add_to(registered_, sign * which.size);
  if (which.is_huge) detail::add_to(in_huge_pages_, sign * which.size);
  if (which.is_numa_local) detail::add_to(numa_local_, sign * which.size);
}

ADVERB_FUNC void registered_resource::remove_slab(slab& which) noexcept {
  if (spare_ == &which) spare_ = nullptr;
  which.region.close(detail::to_failure_hook{});
  if (which.region) return;
  detail::unmap_pages(which.begin, which.size, which.is_huge);
  std::fill_n(&slab_of_[which.first_slot], which.slot_count, nullptr);
  std::fill_n(&slots_[which.first_slot], which.slot_count, slot{});
  count_slab(which, std::size_t{0} - 1);
  std::erase_if(slabs_, [&](const auto& each) { return each.get() == &which; });
}

ADVERB_FUNC std::size_t registered_resource::free_slots(std::size_t count) const noexcept {
  std::size_t found = 0;
  for (std::size_t index = 0; index < slot_count_; ++index) {
    found = slab_of_[index] == nullptr ? found + 1 : 0;
    if (found == count) return index + 1 - count;
  }
  return slot_count_;
}

ADVERB_FUNC registered_resource_statistics registered_resource::statistics() const noexcept {
  return {.registered = registered_,
          .in_use = in_use_,
          .slabs = slab_count_,
          .in_huge_pages = in_huge_pages_,
          .numa_local = numa_local_};
}

[[gnu::noinline]] ADVERB_FUNC void registered_resource::report_buffer(on_failure policy,
                                                                      void* memory,
                                                                      std::size_t length,
                                                                      bool is_constant) const {
  policy.clear();
  if (length == 0) return;
  const memory_region_ref region = region_of(memory);
  if (region) {
    const std::span bytes{static_cast<std::byte*>(memory), length};
    if (is_constant)
      (void)region.const_buffer_of(bytes, policy);
    else
      (void)region.buffer_of(bytes, policy);
    return;
  }
  policy.report(ERANGE, "registered_resource::buffer_of", [&](failure_description& description) {
    description.explain([&](text_writer& writer) {
      writer.decimal(length)
          .put(" bytes at 0x")
          .hexadecimal(reinterpret_cast<std::uintptr_t>(memory));
      writer.put(" are not memory of the resource");
    });
  });
}

ADVERB_FUNC void registered_resource::report_limit(on_failure policy, std::size_t size) const {
  policy.report(ENOMEM, "registered_resource::allocate", [&](failure_description& description) {
    detail::on_device(domain_.context().native_handle())(description);
    const registered_resource_statistics now = statistics();
    description.explain(
        "{} more bytes would exceed the limit of {}: {} are registered in {} slabs, of which {} "
        "are "
        "allocated",
        {size, options_.limit, now.registered, now.slabs, now.in_use});
  });
}

ADVERB_FUNC void registered_resource::report_maximum(on_failure policy, std::size_t size) const {
  policy.report(EINVAL, "registered_resource::allocate", [&](failure_description& description) {
    detail::on_device(domain_.context().native_handle())(description);
    description.explain(
        "{} bytes need one region, because a buffer has one key, and the device allows {}",
        {size, largest_region_});
  });
}

}  // namespace adverb::inline ADVERB_ABI
