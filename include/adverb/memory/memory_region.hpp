// SPDX-License-Identifier: MIT
// Memory regions: memory that is registered.
#pragma once

#include <cerrno>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <system_error>
#include <type_traits>
#include <utility>

#include <infiniband/verbs.h>

#include <adverb/memory/explain_registration.hpp>
#include <adverb/memory/memory_region_operations.hpp>

namespace adverb::inline ADVERB_ABI {

/// Contiguous memory that outlives the expression that names it: an lvalue container or array, or
/// a span.
template <class Range>
concept registrable_memory =
    (std::is_lvalue_reference_v<Range> || requires {
      []<class T, std::size_t N>(std::span<T, N>) {}(std::declval<Range>());
    }) && requires(Range&& range) {
      { *std::data(range) };
      { std::size(range) } -> std::convertible_to<std::size_t>;
    };

namespace detail {

struct memory_region_traits {
  using native_type = ibv_mr;
  static constexpr std::string_view destroy_verb = "ibv_dereg_mr";
  static int destroy(ibv_mr* region) noexcept { return ibv_dereg_mr(region); }
  template <class Function>
  static void for_each_parent(const ibv_mr* region, const Function& function) noexcept {
    function(region->pd);
  }
  static void describe(const ibv_mr* region, text_writer& writer) noexcept {
    put_region(writer, region);
  }
  static void explain_destroy(failure_description& description) noexcept {
    if (description.code() == std::errc::invalid_argument ||
        description.code() == std::errc::device_or_resource_busy)
      description.explain(
          "a memory window may be bound to it: unbind, invalidate or deallocate that first");
  }
};

}  // namespace detail

/// Memory that the device may reach, and the rights it was registered with (which the C struct
/// does not keep). The memory itself is not owned: it has to outlive the region.
class [[nodiscard]] memory_region
    : public memory_region_operations<unique_handle<detail::memory_region_traits>> {
  using handle = unique_handle<detail::memory_region_traits>;

  template <class Range>
  [[nodiscard]] static constexpr access_rights default_rights() noexcept {
    using element = std::remove_reference_t<decltype(*std::data(std::declval<Range&>()))>;
    if constexpr (std::is_const_v<element>)
      return {};
    else
      return access_right::local_write;
  }

 public:
  memory_region() noexcept = default;

  /// Registers memory: a container, an array, or `std::span{pointer, length}`. Unless rights are
  /// given it can be written locally, or, when it is const, only read; const memory cannot be given
  /// a right to write. Rights of peers to write need local_write too. Wraps: ibv_reg_mr(3).
  template <registrable_memory Range, error_policy Policy = throwing>
  memory_region(protection_domain_ref domain, Range&& memory,
                access_rights rights = default_rights<Range>(), Policy&& policy = {})
      : memory_region{domain, bytes_of(memory), rights, std::forward<Policy>(policy)} {}

  /// The same with the default rights and a policy.
  template <registrable_memory Range, error_policy Policy>
  memory_region(protection_domain_ref domain, Range&& memory, Policy&& policy)
      : memory_region{domain, bytes_of(memory), default_rights<Range>(),
                      std::forward<Policy>(policy)} {}

  /// Registers memory that the device, and so every buffer and peer, addresses from
  /// `device_address` on. Wraps: ibv_reg_mr_iova(3).
  template <registrable_memory Range, error_policy Policy = throwing>
  [[nodiscard]] static memory_region with_device_address(
      protection_domain_ref domain, Range&& memory, std::uint64_t device_address,
      access_rights rights = default_rights<Range>(), Policy&& policy = {}) {
    const byte_range bytes = bytes_of(memory);
    return memory_region{domain,
                         bytes,
                         device_address,
                         rights,
                         "ibv_reg_mr_iova",
                         [&] {
                           return ibv_reg_mr_iova(domain.native_handle(), bytes.begin, bytes.length,
                                                  device_address, native_rights(rights));
                         },
                         std::forward<Policy>(policy)};
  }

  /// Takes over a region of the C API, which has to tell the rights it was registered with.
  memory_region(adopt_t, ibv_mr* region, access_rights rights) noexcept
      : memory_region{adopt, region, rights,
                      region == nullptr ? 0 : first_address(region->addr, rights)} {}
  memory_region(adopt_t, ibv_mr* region, access_rights rights,
                std::uint64_t device_address) noexcept
      : memory_region_operations{handle{adopt, region}, device_address, rights} {}

 private:
  struct byte_range {
    void* begin;
    std::size_t length;
    bool constant;
  };

  template <class Range>
  [[nodiscard]] static byte_range bytes_of(Range& memory) noexcept {
    using element = std::remove_pointer_t<decltype(std::data(memory))>;
    static_assert(std::is_trivially_copyable_v<element>,
                  "the device copies bytes: registered memory holds trivially copyable types");
    // The C API takes all memory as mutable; that const memory is never written is checked here.
    return {const_cast<std::remove_cv_t<element>*>(std::data(memory)),
            std::size(memory) * sizeof(element), std::is_const_v<element>};
  }

  /// Where the device sees memory begin.
  [[nodiscard]] static std::uint64_t first_address(const void* memory,
                                                   access_rights rights) noexcept {
    if (rights.contains(access_right::zero_based)) return 0;
    return reinterpret_cast<std::uintptr_t>(memory);
  }
  [[nodiscard]] static int native_rights(access_rights rights) noexcept {
    return static_cast<int>(rights.bits());
  }

  template <error_policy Policy>
  memory_region(protection_domain_ref domain, byte_range memory, access_rights rights,
                Policy&& policy)
      : memory_region{domain,
                      memory,
                      first_address(memory.begin, rights),
                      rights,
                      "ibv_reg_mr",
                      [&] {
                        return ibv_reg_mr(domain.native_handle(), memory.begin, memory.length,
                                          native_rights(rights));
                      },
                      std::forward<Policy>(policy)} {}

  template <std::invocable Create, error_policy Policy>
  memory_region(protection_domain_ref domain, byte_range memory, std::uint64_t device_address,
                access_rights rights, std::string_view verb, const Create& create, Policy&& policy)
      : memory_region_operations{
            make(domain, memory, rights, verb, create, std::forward<Policy>(policy)),
            device_address, rights} {}

  template <std::invocable Create, error_policy Policy>
  [[nodiscard]] static handle make(protection_domain_ref domain, byte_range memory,
                                   access_rights rights, std::string_view verb,
                                   const Create& create, Policy&& policy) {
    const bool writes_const = memory.constant && rights.intersects(detail::writing_rights);
    const auto describe = [&](failure_description& description) {
      detail::on_device(domain.native_handle()->context)(description);
      if (writes_const)
        description.explain([&](text_writer& writer) {
          writer.put("the memory is const, and ").put(rights & detail::writing_rights);
          writer.put(" would change it");
        });
      else
        detail::explain_registration(description, memory.length, rights);
    };
    if (domain && writes_const) {
      detail::report_errno(std::forward<Policy>(policy), EINVAL, verb, describe);
      return {};
    }
    return detail::make_handle<handle>(std::forward<Policy>(policy), verb, create, describe,
                                       domain);
  }
};

}  // namespace adverb::inline ADVERB_ABI
