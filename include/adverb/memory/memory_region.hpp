// SPDX-License-Identifier: MIT
// Memory regions: memory that is registered.
#pragma once

#include <cerrno>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <system_error>
#include <utility>

#include <infiniband/verbs.h>

#include <adverb/memory/detail/explain_registration.hpp>
#include <adverb/memory/device_memory.hpp>
#include <adverb/memory/memory_region_ref.hpp>
#include <adverb/memory/registrable_memory.hpp>
#include <adverb/memory/reregistration.hpp>

namespace adverb::inline ADVERB_ABI {

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
    : public detail::owner<detail::memory_region_base, detail::memory_region_traits> {
 public:
  memory_region() noexcept = default;

  /// Registers memory: a container, an array, or `std::span{pointer, length}`. Unless rights are
  /// given it can be written locally, or, when it is const, only read; const memory cannot be given
  /// a right to write. Rights of peers to write need local_write too. With the right zero_based the
  /// device sees the memory from address 0 on, and it has to begin at a page.
  /// Wraps: ibv_reg_mr(3).
  template <registrable_memory Range>
  memory_region(protection_domain_ref domain, Range&& memory,
                access_rights rights = detail::default_rights<Range>(),
                on_failure policy = throwing{})
      : memory_region{registered(domain, detail::bytes_of(memory), rights, policy)} {}

  /// The same with the default rights and a policy.
  template <registrable_memory Range>
  memory_region(protection_domain_ref domain, Range&& memory, on_failure policy)
      : memory_region{domain, memory, detail::default_rights<Range>(), policy} {}

  /// The whole region, as `memory_region_ref::buffer`; not of a region that is about to die.
  [[nodiscard]] mutable_buffer buffer(on_failure policy = throwing{}) const& {
    return memory_region_base::buffer(policy);
  }
  mutable_buffer buffer(on_failure = throwing{}) const&& = delete;

  /// Does not compile: says what memory is.
  template <class Memory, class... Rest>
    requires(!registrable_memory<Memory>)
  memory_region(protection_domain_ref, Memory&&, const Rest&...) {
    static_assert(registrable_memory<Memory>,
                  "memory to register is a container or array that is no temporary, or a "
                  "std::span: it has to outlive the region");
  }

  /// Registers memory that the device, and so every buffer and peer, addresses from
  /// `device_address` on. Both have to lie equally far into a page. Wraps: ibv_reg_mr_iova(3).
  template <class Memory, class... Rest>
    requires(!registrable_memory<Memory>)
  static void with_device_address(protection_domain_ref, Memory&&, const Rest&...) {
    static_assert(registrable_memory<Memory>,
                  "memory to register is a container or array that is no temporary, or a "
                  "std::span: it has to outlive the region");
  }
  template <registrable_memory Range>
  [[nodiscard]] static memory_region with_device_address(
      protection_domain_ref domain, Range&& memory, std::uint64_t device_address,
      access_rights rights = detail::default_rights<Range>(), on_failure policy = throwing{}) {
    return registered_at(domain, detail::bytes_of(memory), device_address, rights, policy);
  }

  /// Registers all memory that the process has or will have, without pinning any (implicit
  /// on-demand paging): the addresses of its buffers are those of the process. `buffer_of` makes
  /// them. The device has to have on-demand paging. Wraps: ibv_reg_mr(3).
  [[nodiscard]] static memory_region of_whole_address_space(
      protection_domain_ref domain, access_rights rights = access_right::local_write,
      on_failure policy = throwing{}) {
    return registered(domain, {nullptr, std::numeric_limits<std::size_t>::max(), false},
                      rights | access_right::on_demand, policy);
  }

  /// Registers memory of a dma-buf. Wraps: ibv_reg_dmabuf_mr(3).
  [[nodiscard]] static memory_region of_dmabuf(protection_domain_ref domain,
                                               const dmabuf_range& range,
                                               access_rights rights = access_right::local_write,
                                               on_failure policy = throwing{}) {
    return made(
        {.domain = domain,
         .address = range.offset,
         .device_address = range.device_address,
         .length = range.length,
         .rights = rights},
        "ibv_reg_dmabuf_mr",
        [&] {
          return ibv_reg_dmabuf_mr(domain.native_handle(), range.offset, range.length,
                                   range.device_address, range.file_descriptor,
                                   native_rights(rights));
        },
        policy);
  }

  /// Registers `length` bytes of device memory from `offset` on. The region is zero-based: peers
  /// address it from 0 on. It has to be destroyed before the device memory. Reports ERANGE when the
  /// bytes are not all inside. Wraps: ibv_reg_dm_mr(3).
  [[nodiscard]] static memory_region of_device_memory(
      protection_domain_ref domain, device_memory_ref memory, std::uint64_t offset,
      std::size_t length, access_rights rights = access_right::local_write,
      on_failure policy = throwing{}) {
    constexpr std::string_view verb = "ibv_reg_dm_mr";
    const access_rights all_rights = rights | access_right::zero_based;
    if (!detail::check_present(policy, verb, memory.native_handle())) return {};
    if (const detail::byte_extent extent{offset, length}; !extent.is_inside(memory.size())) {
      policy.report(ERANGE, verb, [&](failure_description& description) {
        detail::on_device(memory.context().native_handle())(description);
        description.explain([&](text_writer& writer) {
          extent.put_outside(writer, memory.size(), "device memory");
        });
      });
      return {};
    }
    return made(
        {.domain = domain, .length = length, .rights = all_rights}, verb,
        [&] {
          return ibv_reg_dm_mr(domain.native_handle(), memory.native_handle(), offset, length,
                               all_rights.bits());
        },
        policy);
  }
  /// Registers all of the device memory.
  [[nodiscard]] static memory_region of_device_memory(
      protection_domain_ref domain, device_memory_ref memory,
      access_rights rights = access_right::local_write, on_failure policy = throwing{}) {
    return of_device_memory(domain, memory, 0, memory.size(), rights, policy);
  }

  /// A region without memory: what is received into it is dropped, and what is sent from it is
  /// zeros. It is as large as can be, and nothing can be handed out to peers.
  /// Wraps: ibv_alloc_null_mr(3).
  [[nodiscard]] static memory_region null(protection_domain_ref domain,
                                          on_failure policy = throwing{}) {
    constexpr std::string_view verb = "ibv_alloc_null_mr";
    return {detail::make_object(
                policy, verb, [&] { return ibv_alloc_null_mr(domain.native_handle()); },
                [&](failure_description& description) {
                  detail::on_device(domain.context().native_handle())(description);
                },
                domain),
            0, access_right::local_write, false};
  }

  /// Takes over a region of the C API, which has to tell the rights it was registered with. The
  /// device address is taken to be that of the memory, or 0 when it is zero_based; tell it where
  /// the provider does not look at that flag.
  memory_region(adopt_t, ibv_mr* region, access_rights rights) noexcept
      : memory_region{adopt, region, rights,
                      region == nullptr || rights.contains(access_right::zero_based)
                          ? 0
                          : reinterpret_cast<std::uintptr_t>(region->addr)} {}
  memory_region(adopt_t, ibv_mr* region, access_rights rights,
                std::uint64_t device_address) noexcept
      : memory_region{region, device_address, rights, false} {}

  /// Changes the domain, the rights, or both. Buffers and remote buffers of the region may become
  /// wrong: nobody may use it meanwhile, nor what was made of it before. When it fails, the
  /// explanation tells whether the region is as it was; where it must not be used any more, it has
  /// lost its rights, and only closing and destroying it makes sense. Wraps: ibv_rereg_mr(3).
  void reregister(const reregistration& changes, on_failure policy = throwing{}) {
    change(nullptr, changes, policy);
  }
  /// Changes the memory, and what else is named. The device sees the new memory at the address that
  /// the process has it at. The old one may go when this succeeds.
  template <registrable_memory Range>
  void reregister(Range&& memory, const reregistration& changes = {},
                  on_failure policy = throwing{}) {
    const detail::byte_range moved = detail::bytes_of(memory);
    change(&moved, changes, policy);
  }
  /// The same with nothing else and a policy.
  template <registrable_memory Range>
  void reregister(Range&& memory, on_failure policy) {
    const detail::byte_range moved = detail::bytes_of(memory);
    change(&moved, {}, policy);
  }

 private:
  [[nodiscard]] static int native_rights(access_rights rights) noexcept {
    return static_cast<int>(rights.bits());
  }

  memory_region(ibv_mr* region, std::uint64_t device_address, access_rights rights,
                bool constant_memory) noexcept
      : owner{adverb::adopt, region, rights, device_address}, constant_memory_{constant_memory} {}

  [[nodiscard]] static memory_region registered(protection_domain_ref domain,
                                                detail::byte_range memory, access_rights rights,
                                                on_failure policy) {
    // Not every provider looks at IBV_ACCESS_ZERO_BASED (rxe, for one, does not); the device
    // address 0 means the same to all.
    // See docs/decisions.md, "Zero-based regions have device address 0".
    if (rights.contains(access_right::zero_based))
      return registered_at(domain, memory, 0, rights, policy);
    return made(
        attempt(domain, memory, memory.address(), rights), "ibv_reg_mr",
        [&] {
          return ibv_reg_mr(domain.native_handle(), memory.begin, memory.length,
                            native_rights(rights));
        },
        policy);
  }

  [[nodiscard]] static memory_region registered_at(protection_domain_ref domain,
                                                   detail::byte_range memory,
                                                   std::uint64_t device_address,
                                                   access_rights rights, on_failure policy) {
    return made(
        attempt(domain, memory, device_address, rights), "ibv_reg_mr_iova",
        [&] {
          return ibv_reg_mr_iova(domain.native_handle(), memory.begin, memory.length,
                                 device_address, native_rights(rights));
        },
        policy);
  }

  [[nodiscard]] static detail::registration_attempt attempt(protection_domain_ref domain,
                                                            detail::byte_range memory,
                                                            std::uint64_t device_address,
                                                            access_rights rights) noexcept {
    return {.domain = domain,
            .address = memory.address(),
            .device_address = device_address,
            .length = memory.length,
            .rights = rights,
            .constant = memory.constant};
  }

  template <std::invocable Create>
  [[nodiscard]] static memory_region made(const detail::registration_attempt& attempt,
                                          std::string_view verb, const Create& create,
                                          on_failure policy) {
    const static_string<128> writes_const{[&](text_writer& writer) {
      detail::explain_constant(writer, attempt.constant, attempt.rights);
    }};
    const auto describe = [&](failure_description& description) {
      detail::on_device(attempt.domain.context().native_handle())(description);
      description.explain([&](text_writer& writer) {
        detail::problem_list problems{writer};
        problems.add(writes_const);
        if (problems.empty()) detail::explain_registration(problems, description.code(), attempt);
      });
    };
    if (attempt.domain && !writes_const.view().empty()) {
      policy.report(EINVAL, verb, describe);
      return {};
    }
    ibv_mr* const region = detail::make_object(policy, verb, create, describe, attempt.domain);
    if (region == nullptr) return {};
    return {region, attempt.device_address, attempt.rights, attempt.constant};
  }

  void change(const detail::byte_range* memory, const reregistration& changes, on_failure policy) {
    constexpr std::string_view verb = "ibv_rereg_mr";
    if (!detail::check_present(policy, verb, this->native_handle())) return;
    const detail::reregistration_attempt attempt{
        .region = this->native_handle(),
        .memory = memory,
        .changes = changes,
        .rights = changes.rights.value_or(this->rights()),
        .constant = memory != nullptr ? memory->constant : constant_memory_,
        .zero_based = this->rights().contains(access_right::zero_based)};
    if (const static_string<128> impossible{[&](text_writer& writer) { attempt.explain(writer); }};
        !impossible.view().empty()) {
      policy.report(EINVAL, verb, [&](failure_description& description) {
        detail::on_region(this->native_handle())(description);
        description.explain(impossible);
      });
      return;
    }
    detail::check_reregistered(
        policy, verb,
        [&] {
          const int result = this->with_new_parents([&] { return attempt.run(); });
          remember(attempt, detail::outcome_of_reregistration(result, errno));
          return result;
        },
        [&](failure_description& description, int result) {
          const auto outcome =
              detail::outcome_of_reregistration(result, description.code().value());
          detail::on_region(this->native_handle())(description);
          if (outcome.words.empty()) return;
          description.explain([&](text_writer& writer) {
            detail::problem_list problems{writer};
            detail::explain_registration(
                problems, description.code(),
                {.domain = this->protection_domain(),
                 .length = memory != nullptr ? memory->length : this->size(),
                 .rights = attempt.rights});
            problems.add(outcome.words);
          });
        });
  }

  void remember(const detail::reregistration_attempt& attempt,
                const detail::reregistration_outcome& outcome) noexcept {
    const std::uint64_t here = this->device_address();
    if (outcome.changed) {
      this->redescribe(attempt.memory != nullptr ? attempt.memory->address() : here,
                       attempt.rights);
      constant_memory_ = attempt.constant;
    } else if (!outcome.usable) {
      this->redescribe(here, {});
    }
  }

  // Remembered for re-registration; fits beside the rights.
  bool constant_memory_ = false;
};

}  // namespace adverb::inline ADVERB_ABI
