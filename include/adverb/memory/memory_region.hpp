// SPDX-License-Identifier: MIT
// Memory regions: memory that is registered.
#pragma once

#include <cerrno>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include <infiniband/verbs.h>

#include <adverb/memory/device_memory.hpp>
#include <adverb/memory/explain_registration.hpp>
#include <adverb/memory/memory_region_operations.hpp>
#include <adverb/memory/reregistration.hpp>

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
};

}  // namespace detail

/// A part of a dma-buf: memory that another driver (of a GPU, for instance) shares through a file
/// descriptor.
struct dmabuf_range {
  int file_descriptor;
  /// Where in the dma-buf the region begins, and how long it is, in bytes.
  std::uint64_t offset;
  std::size_t length;
  /// What the device sees it at; it has to lie as far into a page as `offset`.
  std::uint64_t device_address = offset;
};

/// Memory that the device may reach, and the rights it was registered with (which the C struct
/// does not keep). The memory itself is not owned: it has to outlive the region.
class [[nodiscard]] memory_region
    : public memory_region_operations<unique_handle<detail::memory_region_traits>> {
  using handle_type = unique_handle<detail::memory_region_traits>;

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
  /// a right to write. Rights of peers to write need local_write too. With the right zero_based the
  /// device sees the memory from address 0 on, and it has to begin at a page.
  /// Wraps: ibv_reg_mr(3).
  template <registrable_memory Range, error_policy Policy = throwing>
  memory_region(protection_domain_ref domain, Range&& memory,
                access_rights rights = default_rights<Range>(), Policy&& policy = {})
      : memory_region{registered(domain, bytes_of(memory), rights, std::forward<Policy>(policy))} {}

  /// The same with the default rights and a policy.
  template <registrable_memory Range, error_policy Policy>
  memory_region(protection_domain_ref domain, Range&& memory, Policy&& policy)
      : memory_region{domain, memory, default_rights<Range>(), std::forward<Policy>(policy)} {}

  /// Registers memory that the device, and so every buffer and peer, addresses from
  /// `device_address` on. Both have to lie equally far into a page. Wraps: ibv_reg_mr_iova(3).
  template <registrable_memory Range, error_policy Policy = throwing>
  [[nodiscard]] static memory_region with_device_address(
      protection_domain_ref domain, Range&& memory, std::uint64_t device_address,
      access_rights rights = default_rights<Range>(), Policy&& policy = {}) {
    return registered_at(domain, bytes_of(memory), device_address, rights,
                         std::forward<Policy>(policy));
  }

  /// Registers all memory that the process has or will have, without pinning any (implicit
  /// on-demand paging): the addresses of its buffers are those of the process. `buffer_of` makes
  /// them. The device has to have on-demand paging.
  template <error_policy Policy = throwing>
  [[nodiscard]] static memory_region of_whole_address_space(
      protection_domain_ref domain, access_rights rights = access_right::local_write,
      Policy&& policy = {}) {
    return registered(domain, {nullptr, std::numeric_limits<std::size_t>::max(), false},
                      rights | access_right::on_demand, std::forward<Policy>(policy));
  }

  /// Registers memory of a dma-buf. Wraps: ibv_reg_dmabuf_mr(3).
  template <error_policy Policy = throwing>
  [[nodiscard]] static memory_region of_dmabuf(protection_domain_ref domain,
                                               const dmabuf_range& range,
                                               access_rights rights = access_right::local_write,
                                               Policy&& policy = {}) {
    const detail::registration_attempt attempt{
        .domain = domain,
        .length = range.length,
        .rights = rights,
        .page_offset = detail::page_offset(range.offset),
        .device_page_offset = detail::page_offset(range.device_address)};
    return made(
        domain, attempt, range.device_address, false, "ibv_reg_dmabuf_mr",
        [&] {
          return ibv_reg_dmabuf_mr(domain.native_handle(), range.offset, range.length,
                                   range.device_address, range.file_descriptor,
                                   native_rights(rights));
        },
        std::forward<Policy>(policy));
  }

  /// Registers `length` bytes of device memory from `offset` on. The region is zero-based: peers
  /// address it from 0 on. It has to be destroyed before the device memory. Reports ERANGE when the
  /// bytes are not all inside. Wraps: ibv_reg_dm_mr(3).
  template <error_policy Policy = throwing>
  [[nodiscard]] static memory_region of_device_memory(
      protection_domain_ref domain, device_memory_ref memory, std::uint64_t offset,
      std::size_t length, access_rights rights = access_right::local_write, Policy&& policy = {}) {
    constexpr std::string_view verb = "ibv_reg_dm_mr";
    const access_rights all_rights = rights | access_right::zero_based;
    if (!detail::check_present(std::forward<Policy>(policy), verb, memory.native_handle()))
      return {};
    if (const detail::byte_extent extent{offset, length}; !extent.is_inside(memory.size())) {
      detail::report_errno(std::forward<Policy>(policy), ERANGE, verb,
                           [&](failure_description& description) {
                             detail::on_device(memory.context().native_handle())(description);
                             description.explain([&](text_writer& writer) {
                               extent.put_outside(writer, memory.size(), "device memory");
                             });
                           });
      return {};
    }
    const detail::registration_attempt attempt{
        .domain = domain, .length = length, .rights = all_rights};
    return made(
        domain, attempt, 0, false, verb,
        [&] {
          return ibv_reg_dm_mr(domain.native_handle(), memory.native_handle(), offset, length,
                               all_rights.bits());
        },
        std::forward<Policy>(policy));
  }
  /// Registers all of the device memory.
  template <error_policy Policy = throwing>
  [[nodiscard]] static memory_region of_device_memory(
      protection_domain_ref domain, device_memory_ref memory,
      access_rights rights = access_right::local_write, Policy&& policy = {}) {
    return of_device_memory(domain, memory, 0, memory.size(), rights, std::forward<Policy>(policy));
  }

  /// A region without memory: what is received into it is dropped, and what is sent from it is
  /// zeros. It is as large as can be, and nothing can be handed out to peers.
  /// Wraps: ibv_alloc_null_mr(3).
  template <error_policy Policy = throwing>
  [[nodiscard]] static memory_region null(protection_domain_ref domain, Policy&& policy = {}) {
    constexpr std::string_view verb = "ibv_alloc_null_mr";
    return {detail::make_handle<handle_type>(
                std::forward<Policy>(policy), verb,
                [&] { return ibv_alloc_null_mr(domain.native_handle()); },
                [&](failure_description& description) {
                  detail::on_device(domain.context().native_handle())(description);
                },
                domain),
            0, access_right::local_write, false};
  }

  /// Takes over a region of the C API, which has to tell the rights it was registered with.
  memory_region(adopt_t, ibv_mr* region, access_rights rights) noexcept
      : memory_region{adopt, region, rights,
                      region == nullptr || rights.contains(access_right::zero_based)
                          ? 0
                          : address_of(region->addr)} {}
  memory_region(adopt_t, ibv_mr* region, access_rights rights,
                std::uint64_t device_address) noexcept
      : memory_region{handle_type{adopt, region}, device_address, rights, false} {}

  /// Changes the domain, the rights, or both. Buffers and remote buffers of the region may become
  /// wrong: nobody may use it meanwhile, nor what was made of it before. When it fails, the
  /// explanation tells whether the region is as it was; where it must not be used any more, it has
  /// lost its rights, and only closing and destroying it makes sense. Wraps: ibv_rereg_mr(3).
  template <error_policy Policy = throwing>
  void reregister(const reregistration& changes, Policy&& policy = {}) {
    change(std::nullopt, changes, std::forward<Policy>(policy));
  }
  /// Changes the memory, and what else is named. The device sees the new memory at the address that
  /// the process has it at. The old one may go when this succeeds.
  template <registrable_memory Range, error_policy Policy = throwing>
  void reregister(Range&& memory, const reregistration& changes = {}, Policy&& policy = {}) {
    change(bytes_of(memory), changes, std::forward<Policy>(policy));
  }
  /// The same with nothing else and a policy.
  template <registrable_memory Range, error_policy Policy>
  void reregister(Range&& memory, Policy&& policy) {
    change(bytes_of(memory), {}, std::forward<Policy>(policy));
  }

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

  [[nodiscard]] static std::uint64_t address_of(const void* memory) noexcept {
    return reinterpret_cast<std::uintptr_t>(memory);
  }
  [[nodiscard]] static int native_rights(access_rights rights) noexcept {
    return static_cast<int>(rights.bits());
  }

  memory_region(handle_type&& region, std::uint64_t device_address, access_rights rights,
                bool constant_memory) noexcept
      : memory_region_operations{std::move(region), device_address, rights},
        constant_memory_{constant_memory} {}

  template <error_policy Policy>
  [[nodiscard]] static memory_region registered(protection_domain_ref domain, byte_range memory,
                                                access_rights rights, Policy&& policy) {
    // Few providers look at IBV_ACCESS_ZERO_BASED; the device address 0 means the same to all.
    if (rights.contains(access_right::zero_based))
      return registered_at(domain, memory, 0, rights, std::forward<Policy>(policy));
    return made(
        domain, attempt(domain, memory, address_of(memory.begin), rights), address_of(memory.begin),
        memory.constant, "ibv_reg_mr",
        [&] {
          return ibv_reg_mr(domain.native_handle(), memory.begin, memory.length,
                            native_rights(rights));
        },
        std::forward<Policy>(policy));
  }

  template <error_policy Policy>
  [[nodiscard]] static memory_region registered_at(protection_domain_ref domain, byte_range memory,
                                                   std::uint64_t device_address,
                                                   access_rights rights, Policy&& policy) {
    return made(
        domain, attempt(domain, memory, device_address, rights), device_address, memory.constant,
        "ibv_reg_mr_iova",
        [&] {
          return ibv_reg_mr_iova(domain.native_handle(), memory.begin, memory.length,
                                 device_address, native_rights(rights));
        },
        std::forward<Policy>(policy));
  }

  [[nodiscard]] static detail::registration_attempt attempt(protection_domain_ref domain,
                                                            byte_range memory,
                                                            std::uint64_t device_address,
                                                            access_rights rights) noexcept {
    return {.domain = domain,
            .length = memory.length,
            .rights = rights,
            .page_offset = detail::page_offset(address_of(memory.begin)),
            .device_page_offset = detail::page_offset(device_address)};
  }

  static void put_const_memory(text_writer& writer, access_rights rights) noexcept {
    writer.put("the memory is const, and ").put(rights & detail::writing_rights);
    writer.put(" would change it");
  }

  template <std::invocable Create, error_policy Policy>
  [[nodiscard]] static memory_region made(protection_domain_ref domain,
                                          const detail::registration_attempt& attempt,
                                          std::uint64_t device_address, bool constant,
                                          std::string_view verb, const Create& create,
                                          Policy&& policy) {
    const bool writes_const = constant && attempt.rights.intersects(detail::writing_rights);
    const auto describe = [&](failure_description& description) {
      detail::on_device(domain.context().native_handle())(description);
      description.explain([&](text_writer& writer) {
        if (writes_const) return put_const_memory(writer, attempt.rights);
        detail::problem_list problems{writer};
        detail::explain_registration(problems, description.code(), attempt);
      });
    };
    if (domain && writes_const) {
      detail::report_errno(std::forward<Policy>(policy), EINVAL, verb, describe);
      return {};
    }
    handle_type region = detail::make_handle<handle_type>(std::forward<Policy>(policy), verb,
                                                          create, describe, domain);
    if (!region) return {};
    return {std::move(region), device_address, attempt.rights, constant};
  }

  /// Why a change is not even tried; says nothing when it can be.
  void explain_impossible(text_writer& writer, const std::optional<byte_range>& memory,
                          const reregistration& changes, bool constant,
                          access_rights rights) const {
    const bool zero_based = this->rights().contains(access_right::zero_based);
    if (!memory && !changes.domain && !changes.rights)
      writer.put("there is nothing to change");
    else if (constant && rights.intersects(detail::writing_rights))
      put_const_memory(writer, rights);
    else if (rights.contains(access_right::zero_based) != zero_based)
      writer.put("whether a region is zero_based cannot be changed");
    else if (zero_based && memory)
      writer.put("a zero-based region cannot be given other memory");
  }

  template <error_policy Policy>
  void change(const std::optional<byte_range>& memory, const reregistration& changes,
              Policy&& policy) {
    constexpr std::string_view verb = "ibv_rereg_mr";
    if (!detail::check_present(std::forward<Policy>(policy), verb, this->native_handle())) return;
    const access_rights rights = changes.rights.value_or(this->rights());
    const bool constant = memory ? memory->constant : constant_memory_;
    const auto explain_impossibility = [&](text_writer& writer) {
      explain_impossible(writer, memory, changes, constant, rights);
    };
    if (const text<128> why{explain_impossibility}; !why.view().empty()) {
      detail::report_errno(std::forward<Policy>(policy), EINVAL, verb,
                           [&](failure_description& description) {
                             this->on_region()(description);
                             description.explain(why);
                           });
      return;
    }
    detail::check_reregistered(
        std::forward<Policy>(policy), verb,
        [&] {
          const int result = this->with_new_parents([&] {
            return ibv_rereg_mr(this->native_handle(),
                                (memory ? IBV_REREG_MR_CHANGE_TRANSLATION : 0) |
                                    (changes.domain ? IBV_REREG_MR_CHANGE_PD : 0) |
                                    (changes.rights ? IBV_REREG_MR_CHANGE_ACCESS : 0),
                                changes.domain.native_handle(), memory ? memory->begin : nullptr,
                                memory ? memory->length : 0,
                                changes.rights ? native_rights(rights) : 0);
          });
          const auto outcome = detail::outcome_of_reregistration(result, errno);
          if (outcome.changed) {
            this->redescribe(memory ? address_of(memory->begin) : this->device_address(), rights);
            constant_memory_ = constant;
          } else if (!outcome.usable) {
            this->redescribe(this->device_address(), {});
          }
          return result;
        },
        [&](failure_description& description, int result) {
          this->on_region()(description);
          const auto outcome =
              detail::outcome_of_reregistration(result, description.code().value());
          if (outcome.words.empty()) return;
          description.explain([&](text_writer& writer) {
            detail::problem_list problems{writer};
            detail::explain_registration(problems, description.code(),
                                         {.domain = this->protection_domain(),
                                          .length = memory ? memory->length : this->size(),
                                          .rights = rights});
            problems.add(outcome.words);
          });
        });
  }

  // Remembered for re-registration; fits beside the rights.
  bool constant_memory_ = false;
};

}  // namespace adverb::inline ADVERB_ABI
