// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <limits>
#include <system_error>
#include <utility>

#include <adverb/memory/memory_region.hpp>

// Later headers define it.
struct ibv_mr_init_attr;

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC void reregistration_attempt::explain(text_writer& writer) const noexcept {
  if (memory == nullptr && !changes.domain && !changes.rights)
    writer.put("there is nothing to change");
  else if (changes.domain && changes.domain.context().native_handle() != region->context)
    writer.put("the domain belongs to another context");
  else if (rights.contains(access_right::zero_based) != zero_based)
    writer.put("zero_based cannot change after the registration");
  else if (zero_based && memory != nullptr)
    writer.put("a zero-based region cannot change its memory");
  else
    explain_constant(writer, constant, rights);
}

// Memory that does not change may be that of a device or a dma-buf.
ADVERB_FUNC registration_attempt reregistration_attempt::as_registration() const noexcept {
  const std::uint64_t address = memory != nullptr ? memory->address() : 0;
  return {.domain = protection_domain_ref{region->pd},
          .address = address,
          .device_address = address,
          .length = memory != nullptr ? memory->length : region->length,
          .rights = rights,
          .is_pinned = memory != nullptr};
}

/// Calls ibv_reg_mr_ex, which came with rdma-core 59, for memory or a dma-buf. Returns null and
/// sets errno on failure.
template <class Domain, class Handle, class Attributes>
[[nodiscard]] ibv_mr* register_extended(Domain* domain, const registration_attempt& attempt,
                                        Handle* handle, int file_descriptor, Attributes*) noexcept {
  if constexpr (requires(Attributes attributes) { ibv_reg_mr_ex(domain, &attributes); }) {
    // The bits of IBV_REG_MR_MASK_…, whose enumeration only later headers have.
    constexpr std::uint64_t has_device_address = 1U << 0U;
    constexpr std::uint64_t has_address = 1U << 1U;
    constexpr std::uint64_t has_descriptor = 1U << 2U;
    constexpr std::uint64_t has_offset = 1U << 3U;
    constexpr std::uint64_t has_handle = 1U << 4U;
    Attributes attributes{};
    attributes.length = attempt.length;
    attributes.access = static_cast<int>(attempt.rights.bits());
    attributes.comp_mask = has_device_address | has_handle;
    attributes.iova = attempt.device_address;
    attributes.dmah = handle;
    if (file_descriptor < 0) {
      attributes.comp_mask |= has_address;
      attributes.addr = reinterpret_cast<void*>(static_cast<std::uintptr_t>(attempt.address));
    } else {
      attributes.comp_mask |= has_descriptor | has_offset;
      attributes.fd = file_descriptor;
      attributes.fd_offset = attempt.address;
    }
    return ibv_reg_mr_ex(domain, &attributes);
  } else {
    errno = EOPNOTSUPP;
    return nullptr;
  }
}

ADVERB_FUNC int reregistration_attempt::run() const noexcept {
  return ibv_rereg_mr(region,
                      (memory != nullptr ? IBV_REREG_MR_CHANGE_TRANSLATION : 0) |
                          (changes.domain ? IBV_REREG_MR_CHANGE_PD : 0) |
                          (changes.rights ? IBV_REREG_MR_CHANGE_ACCESS : 0),
                      changes.domain.native_handle(), memory != nullptr ? memory->begin : nullptr,
                      memory != nullptr ? memory->length : 0,
                      changes.rights ? static_cast<int>(rights.bits()) : 0);
}

ADVERB_FUNC void memory_region_traits::explain_destroy(failure_description& description) noexcept {
  if (is_code(description.code(), std::errc::invalid_argument) ||
      is_code(description.code(), std::errc::device_or_resource_busy))
    description.explain(
        "possible causes: a memory window is bound to it; unbind, invalidate or deallocate that "
        "first");
}

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI {

ADVERB_FUNC memory_region memory_region::of_whole_address_space(protection_domain_ref domain,
                                                                access_rights rights,
                                                                on_failure policy) {
  return registered(domain, {nullptr, std::numeric_limits<std::size_t>::max(), false},
                    rights | access_right::on_demand, policy);
}

ADVERB_FUNC memory_region memory_region::of_dmabuf(protection_domain_ref domain,
                                                   const dmabuf_range& range, access_rights rights,
                                                   on_failure policy) {
  return made(
      {.domain = domain,
       .address = range.offset,
       .device_address = range.device_address,
       .length = range.length,
       .rights = rights,
       .is_pinned = false,
       .dmabuf = range.file_descriptor},
      "ibv_reg_dmabuf_mr",
      [&] {
        return ibv_reg_dmabuf_mr(domain.native_handle(), range.offset, range.length,
                                 range.device_address, range.file_descriptor,
                                 native_rights(rights));
      },
      policy);
}

ADVERB_FUNC memory_region memory_region::of_device_memory(protection_domain_ref domain,
                                                          device_memory_ref memory,
                                                          std::uint64_t offset, std::size_t length,
                                                          access_rights rights, on_failure policy) {
  constexpr const char* verb = "ibv_reg_dm_mr";
  const access_rights all_rights = rights | access_right::zero_based;
  if (!detail::check_present(policy, verb, memory.native_handle())) return {};
  if (const detail::byte_extent extent{offset, length}; !extent.is_inside(memory.size())) {
    policy.report(ERANGE, verb, [&](failure_description& description) {
      detail::on_device(memory.context().native_handle())(description);
      description.explain(
          [&](text_writer& writer) { extent.put_outside(writer, memory.size(), "device memory"); });
    });
    return {};
  }
  return made(
      {.domain = domain, .length = length, .rights = all_rights, .is_pinned = false}, verb,
      [&] {
        return ibv_reg_dm_mr(domain.native_handle(), memory.native_handle(), offset, length,
                             all_rights.bits());
      },
      policy);
}

ADVERB_FUNC memory_region memory_region::of_provider_buffer(provider_buffer_ref buffer,
                                                            access_rights rights,
                                                            on_failure policy) {
  constexpr const char* verb = "ibv_reg_buf_mr";
  if (!detail::check_present(policy, verb, buffer.native_handle())) return {};
  const auto address = reinterpret_cast<std::uintptr_t>(buffer.bytes().data());
  const protection_domain_ref domain = buffer.protection_domain();
  return made(
      {.domain = domain,
       .address = address,
       .device_address = address,
       .length = buffer.bytes().size(),
       .rights = rights},
      verb,
      [&] {
        return detail::register_buffer(domain.native_handle(), buffer.native_handle(),
                                       buffer.bytes(), native_rights(rights));
      },
      policy);
}

ADVERB_FUNC memory_region memory_region::null(protection_domain_ref domain, on_failure policy) {
  constexpr const char* verb = "ibv_alloc_null_mr";
  return {detail::make_object(
              policy, verb, [&] { return ibv_alloc_null_mr(domain.native_handle()); },
              [&](failure_description& description) {
                detail::on_device(domain.context().native_handle())(description);
              },
              domain),
          0, access_right::local_write, false};
}

ADVERB_FUNC bool memory_region::is_possible(const detail::registration_attempt& attempt,
                                            const char* verb, on_failure policy) {
  if (!detail::check_present(policy, verb, attempt.domain.native_handle())) return false;
  if (!detail::writes_constant(attempt.constant, attempt.rights)) return true;
  detail::report_registration(policy, EINVAL, verb, attempt);
  return false;
}

ADVERB_FUNC memory_region memory_region::registered(protection_domain_ref domain,
                                                    detail::byte_range memory, access_rights rights,
                                                    on_failure policy) {
  // Some providers (rxe, for one) ignore IBV_ACCESS_ZERO_BASED. Device address 0 means the same
  // to all.
  // See docs/decisions.md, "Zero-based regions have device address 0".
  if (rights.contains(access_right::zero_based))
    return registered_at(domain, memory, 0, rights, policy);
  return made(
      attempt(domain, memory, memory.address(), rights), "ibv_reg_mr",
      [&] {
        // A macro, whose function takes the rights as unsigned.
        return ibv_reg_mr(domain.native_handle(), memory.begin, memory.length,
                          static_cast<unsigned>(native_rights(rights)));
      },
      policy);
}

ADVERB_FUNC memory_region memory_region::registered_at(protection_domain_ref domain,
                                                       detail::byte_range memory,
                                                       std::uint64_t device_address,
                                                       access_rights rights, on_failure policy) {
  return made(
      attempt(domain, memory, device_address, rights), "ibv_reg_mr_iova",
      [&] {
        return ibv_reg_mr_iova(domain.native_handle(), memory.begin, memory.length, device_address,
                               static_cast<unsigned>(native_rights(rights)));
      },
      policy);
}

ADVERB_FUNC memory_region
memory_region::registered_with(const detail::registration_attempt& attempt, dma_handle_ref handle,
                               int file_descriptor, on_failure policy) {
  constexpr const char* verb = "ibv_reg_mr_ex";
  if (!detail::check_present(policy, verb, handle.native_handle())) return {};
  return made(
      attempt, verb,
      [&] {
        return detail::register_extended(attempt.domain.native_handle(), attempt,
                                         handle.native_handle(), file_descriptor,
                                         static_cast<ibv_mr_init_attr*>(nullptr));
      },
      policy);
}

ADVERB_FUNC detail::registration_attempt memory_region::attempt(protection_domain_ref domain,
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

ADVERB_FUNC void memory_region::change(const detail::byte_range* memory,
                                       const reregistration& changes, on_failure policy) {
  constexpr const char* verb = "ibv_rereg_mr";
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
        if constexpr (detail::hardened(ADVERB_HARDENING_DEBUG))
          detail::known_regions::instance().forget(native_handle());
        const int result = this->with_new_parents([&] { return attempt.run(); });
        if constexpr (detail::hardened(ADVERB_HARDENING_DEBUG)) {
          const int reason = errno;
          detail::known_regions::instance().note(native_handle());
          errno = reason;
        }
        remember(attempt, detail::outcome_of_reregistration(result, errno));
        return result;
      },
      [&](failure_description& description, int result) {
        const auto outcome = detail::outcome_of_reregistration(result, description.code().value());
        detail::on_region(this->native_handle())(description);
        if (outcome.words.empty()) return;
        description.explain([&](text_writer& writer) {
          detail::problem_list problems{writer};
          detail::explain_registration(problems, description.code(), attempt.as_registration());
          problems.add(outcome.words);
        });
      });
}

ADVERB_FUNC void memory_region::remember(const detail::reregistration_attempt& attempt,
                                         const detail::reregistration_outcome& outcome) noexcept {
  const std::uint64_t here = this->device_address();
  if (outcome.changed) {
    this->redescribe(attempt.memory != nullptr ? attempt.memory->address() : here, attempt.rights);
    constant_memory_ = attempt.constant;
  } else if (!outcome.usable) {
    this->redescribe(here, {});
  }
}

}  // namespace adverb::inline ADVERB_ABI
