// SPDX-License-Identifier: MIT
// Memory regions: registered memory.
#pragma once

#include <cerrno>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

#include <infiniband/verbs.h>

#include <adverb/core/detail/missing_feature.hpp>
#include <adverb/memory/detail/explain_registration.hpp>
#include <adverb/memory/detail/known_regions.hpp>
#include <adverb/memory/device_memory.hpp>
#include <adverb/memory/dma_handle.hpp>
#include <adverb/memory/memory_region_ref.hpp>
#include <adverb/memory/protection_domain.hpp>
#include <adverb/memory/provider_buffer.hpp>
#include <adverb/memory/registrable_memory.hpp>

namespace adverb::inline ADVERB_ABI {

/// The changes of a region. Omitted members leave it unchanged.
struct reregistration {
  /// Another protection domain of the same device.
  protection_domain_ref domain = {};
  /// Other access rights.
  std::optional<access_rights> rights = {};
};

namespace detail {

/// True if a domain is destroyed at the end of the expression.
template <class Domain>
concept temporary_domain =
    !std::is_lvalue_reference_v<Domain> && owning<std::remove_cvref_t<Domain>> &&
    std::derived_from<std::remove_cvref_t<Domain>, protection_domain_base>;

/// A change of a region that is to be attempted.
struct reregistration_attempt {
  ibv_mr* region;
  /// Null if the memory does not change.
  const byte_range* memory;
  reregistration changes;
  access_rights rights;
  bool constant;
  /// True if the region is zero_based now.
  bool zero_based;

  /// Explains why the change is not even attempted. Writes nothing if it can be.
  [[gnu::cold]] void explain(text_writer& writer) const noexcept;

  /// Returns the registration that explains a failure.
  [[gnu::cold]] [[nodiscard]] registration_attempt as_registration() const noexcept;

  /// Calls ibv_rereg_mr, which needs zero for unchanged arguments.
  [[nodiscard]] int run() const noexcept;
};

/// The state of a region after ibv_rereg_mr, and its explanation.
struct reregistration_outcome {
  bool changed;
  bool usable;
  std::string_view words;
};

/// Returns the outcome for a result of ibv_rereg_mr and its errno.
[[nodiscard]] constexpr reregistration_outcome outcome_of_reregistration(int result,
                                                                         int error) noexcept {
  if (result == 0) return {.changed = true, .usable = true, .words = {}};
  // libibverbs reports the region as unusable in this case too, but nothing has changed it. The
  // code alone explains the missing feature.
  // See docs/decisions.md, "An unsupported re-registration keeps the region".
  if (is_unsupported(error)) return {.changed = false, .usable = true, .words = {}};
  switch (result) {
    case IBV_REREG_MR_ERR_INPUT:
      return {.changed = false, .usable = true, .words = "the region is unchanged"};
    case IBV_REREG_MR_ERR_DONT_FORK_NEW:
      return {.changed = false,
              .usable = true,
              .words = "the new memory could not be excluded from forks; the region is unchanged"};
    case IBV_REREG_MR_ERR_DO_FORK_OLD:
      return {.changed = true,
              .usable = true,
              .words = "the region is changed; only the old memory is still excluded from forks"};
    case IBV_REREG_MR_ERR_CMD_AND_DO_FORK_NEW:
      return {
          .changed = false,
          .usable = false,
          .words =
              "the region can only be destroyed, and the new memory is still excluded from forks"};
    default:
      return {.changed = false, .usable = false, .words = "the region can only be destroyed"};
  }
}

struct memory_region_traits {
  using native_type = ibv_mr;
  static constexpr const char* destroy_verb = "ibv_dereg_mr";
  static int destroy(ibv_mr* region) noexcept {
    if constexpr (!hardened(ADVERB_HARDENING_DEBUG)) return ibv_dereg_mr(region);
    // Before the call: afterwards another thread's region may have the same key.
    known_regions::instance().note_gone(region);
    const int result = ibv_dereg_mr(region);
    if (result != 0 && !has_gone_with_device(result)) known_regions::instance().note(region);
    return result;
  }
  static void list_parents(const ibv_mr* region, parent_visitor& parents) noexcept {
    parents.add(region->pd);
  }
  static void describe(const ibv_mr* region, text_writer& writer) noexcept {
    put_region(writer, region);
  }
  [[gnu::cold]] static void explain_destroy(failure_description& description) noexcept;
};

}  // namespace detail

/// A part of a dma-buf: memory that another driver (of a GPU, for instance) shares through a file
/// descriptor.
struct dmabuf_range {
  /// The file descriptor of the dma-buf.
  int file_descriptor;
  /// The start of the region in the dma-buf, and its length, in bytes.
  std::uint64_t offset;
  /// The length of the region, in bytes.
  std::size_t length;
  /// The address at which the device sees it. Its offset into a page must equal that of `offset`.
  std::uint64_t device_address = offset;
};

/// Registered memory, which the device can access, and its access rights, which the C struct does
/// not keep. Does not own the memory, which must outlive the region.
class [[nodiscard]] memory_region
    : public detail::owner<detail::memory_region_base, detail::memory_region_traits> {
 public:
  memory_region() noexcept = default;

  /// Registers memory: a container, an array, or `std::span{pointer, length}`. The default right is
  /// local_write; none for const memory, which can only be read. Fails with EINVAL if the rights
  /// would write const memory. Write and atomic rights of peers need local_write too. The
  /// right zero_based makes the device see the memory from address 0 on; the memory must then begin
  /// at a page boundary.
  /// Wraps: ibv_reg_mr(3).
  template <registrable_memory Range>
  memory_region(protection_domain_ref domain, Range&& memory,
                access_rights rights = detail::default_rights<Range>(),
                on_failure policy = throwing{})
      : memory_region{registered(domain, detail::bytes_of(memory), rights, policy)} {}

  /// Registers memory with the default rights.
  template <registrable_memory Range>
  memory_region(protection_domain_ref domain, Range&& memory, on_failure policy)
      : memory_region{domain, memory, detail::default_rights<Range>(), policy} {}

  /// Returns the whole region as one buffer, like `memory_region_ref::buffer`. A compile error for
  /// a temporary region.
  [[nodiscard]] mutable_buffer buffer(on_failure policy = throwing{}) const& {
    return memory_region_base::buffer(policy);
  }
  mutable_buffer buffer(on_failure = throwing{}) const&& = delete;

  /// Fails to compile, with a message that lists the memory that can be registered.
  template <class Memory, class... Rest>
    requires(!registrable_memory<Memory>)
  memory_region(protection_domain_ref, Memory&&, const Rest&...) {
    static_assert(registrable_memory<Memory>,
                  "registered memory must outlive the region: pass a container or array that is "
                  "not a temporary, or a std::span");
  }

  /// Fails to compile: the protection domain must outlive the region.
  template <detail::temporary_domain Domain, class Memory, class... Rest>
  memory_region(Domain&&, Memory&&, const Rest&...) {
    constexpr bool outlives = !detail::temporary_domain<Domain>;
    static_assert(outlives,
                  "the protection domain must outlive the region: give it a name, "
                  "protection_domain domain{context}");
  }

  /// Registers memory that the device, every buffer and every peer address from `device_address`
  /// on. Both addresses must have the same offset into a page. Wraps: ibv_reg_mr_iova(3).
  template <class Memory, class... Rest>
    requires(!registrable_memory<Memory>)
  static void with_device_address(protection_domain_ref, Memory&&, const Rest&...) {
    static_assert(registrable_memory<Memory>,
                  "registered memory must outlive the region: pass a container or array that is "
                  "not a temporary, or a std::span");
  }
  template <registrable_memory Range>
  [[nodiscard]] static memory_region with_device_address(
      protection_domain_ref domain, Range&& memory, std::uint64_t device_address,
      access_rights rights = detail::default_rights<Range>(), on_failure policy = throwing{}) {
    return registered_at(domain, detail::bytes_of(memory), device_address, rights, policy);
  }

  /// Registers all present and future memory of the process, without pinning any (implicit
  /// on-demand paging). `buffer_of` makes its buffers, whose addresses are those of the process.
  /// The device must support on-demand paging. Wraps: ibv_reg_mr(3).
  [[nodiscard]] static memory_region of_whole_address_space(
      protection_domain_ref domain, access_rights rights = access_right::local_write,
      on_failure policy = throwing{});

  /// Registers a part of a dma-buf. Wraps: ibv_reg_dmabuf_mr(3).
  [[nodiscard]] static memory_region of_dmabuf(protection_domain_ref domain,
                                               const dmabuf_range& range,
                                               access_rights rights = access_right::local_write,
                                               on_failure policy = throwing{});

  /// Registers `length` bytes of device memory from `offset` on. The region is zero-based: peers
  /// address it from 0 on. It must be destroyed before the device memory. Fails with ERANGE if the
  /// bytes exceed the device memory. Wraps: ibv_reg_dm_mr(3).
  [[nodiscard]] static memory_region of_device_memory(
      protection_domain_ref domain, device_memory_ref memory, std::uint64_t offset,
      std::size_t length, access_rights rights = access_right::local_write,
      on_failure policy = throwing{});
  /// Registers all of the device memory.
  [[nodiscard]] static memory_region of_device_memory(
      protection_domain_ref domain, device_memory_ref memory,
      access_rights rights = access_right::local_write, on_failure policy = throwing{}) {
    return of_device_memory(domain, memory, 0, memory.size(), rights, policy);
  }

  /// Registers a provider buffer in the domain that it was allocated in. The region must be
  /// destroyed before the buffer. Wraps: ibv_reg_buf_mr(3).
  [[nodiscard]] static memory_region of_provider_buffer(
      provider_buffer_ref buffer, access_rights rights = access_right::local_write,
      on_failure policy = throwing{});

  /// Registers memory whose accesses follow the hints of a DMA handle of the same device. The
  /// region must be destroyed before the handle. Needs the headers of rdma-core 59.
  /// Wraps: ibv_reg_mr_ex(3).
  template <registrable_memory Range>
  [[nodiscard]] static memory_region with_dma_handle(
      protection_domain_ref domain, Range&& memory, dma_handle_ref handle,
      access_rights rights = detail::default_rights<Range>(), on_failure policy = throwing{}) {
    const detail::byte_range bytes = detail::bytes_of(memory);
    const bool zero_based = rights.contains(access_right::zero_based);
    return registered_with(attempt(domain, bytes, zero_based ? 0 : bytes.address(), rights), handle,
                           -1, policy);
  }
  /// The same for a part of a dma-buf.
  [[nodiscard]] static memory_region with_dma_handle(
      protection_domain_ref domain, const dmabuf_range& range, dma_handle_ref handle,
      access_rights rights = access_right::local_write, on_failure policy = throwing{}) {
    return registered_with({.domain = domain,
                            .address = range.offset,
                            .device_address = range.device_address,
                            .length = range.length,
                            .rights = rights,
                            .is_pinned = false,
                            .dmabuf = range.file_descriptor},
                           handle, range.file_descriptor, policy);
  }
  /// Fails to compile, with a message that lists the memory that can be registered.
  template <class Memory, class... Rest>
    requires(!registrable_memory<Memory> &&
             !std::same_as<std::remove_cvref_t<Memory>, dmabuf_range>)
  static void with_dma_handle(protection_domain_ref, Memory&&, const Rest&...) {
    static_assert(registrable_memory<Memory>,
                  "registered memory must outlive the region: pass a container or array that is "
                  "not a temporary, or a std::span");
  }

  /// Makes a region without memory: it drops what is received into it, and sends zeros. It has the
  /// maximum size, and cannot be granted to peers.
  /// Wraps: ibv_alloc_null_mr(3).
  [[nodiscard]] static memory_region null(protection_domain_ref domain,
                                          on_failure policy = throwing{});

  /// Takes ownership of a region of the C API that was registered with `rights`. The device address
  /// defaults to that of the memory, or to 0 if the region is zero_based. Pass the device address
  /// if the provider ignores that flag.
  memory_region(adopt_t, ibv_mr* region, access_rights rights) noexcept
      : memory_region{adopt, region, rights,
                      region == nullptr || rights.contains(access_right::zero_based)
                          ? 0
                          : reinterpret_cast<std::uintptr_t>(region->addr)} {}
  memory_region(adopt_t, ibv_mr* region, access_rights rights,
                std::uint64_t device_address) noexcept
      : memory_region{region, device_address, rights, false} {}

  /// Changes the protection domain, the rights, or both. Nothing may use the region, or a buffer
  /// made from it, during the call. Buffers and remote buffers made before may become invalid. If
  /// it fails, the explanation states whether the region is unchanged. If the region can no longer
  /// be used, it loses its rights and can only be closed or destroyed. Wraps: ibv_rereg_mr(3).
  void reregister(const reregistration& changes, on_failure policy = throwing{}) {
    change(nullptr, changes, policy);
  }
  /// Changes the memory, and whatever `changes` names. The device sees the new memory at its
  /// address in the process. The old memory may be freed if this succeeds.
  template <registrable_memory Range>
  void reregister(Range&& memory, const reregistration& changes = {},
                  on_failure policy = throwing{}) {
    const detail::byte_range moved = detail::bytes_of(memory);
    change(&moved, changes, policy);
  }
  /// Changes the memory only.
  template <registrable_memory Range>
  void reregister(Range&& memory, on_failure policy) {
    const detail::byte_range moved = detail::bytes_of(memory);
    change(&moved, {}, policy);
  }

  /// Returns the C object and gives up ownership without deregistering it.
  [[nodiscard]] ibv_mr* release() noexcept {
    if constexpr (detail::hardened(ADVERB_HARDENING_DEBUG))
      if (*this) detail::known_regions::instance().forget(native_handle());
    return owner::release();
  }

 private:
  [[nodiscard]] static int native_rights(access_rights rights) noexcept {
    return static_cast<int>(rights.bits());
  }

  memory_region(ibv_mr* region, std::uint64_t device_address, access_rights rights,
                bool constant_memory) noexcept
      : owner{adverb::adopt, region, rights, device_address}, constant_memory_{constant_memory} {
    if constexpr (detail::hardened(ADVERB_HARDENING_DEBUG))
      if (region != nullptr) detail::known_regions::instance().note(region);
  }

  [[nodiscard]] static memory_region registered(protection_domain_ref domain,
                                                detail::byte_range memory, access_rights rights,
                                                on_failure policy);

  [[nodiscard]] static memory_region registered_at(protection_domain_ref domain,
                                                   detail::byte_range memory,
                                                   std::uint64_t device_address,
                                                   access_rights rights, on_failure policy);

  /// Registers memory, or with a file descriptor a part of its dma-buf.
  [[nodiscard]] static memory_region registered_with(const detail::registration_attempt& attempt,
                                                     dma_handle_ref handle, int file_descriptor,
                                                     on_failure policy);

  [[nodiscard]] static detail::registration_attempt attempt(protection_domain_ref domain,
                                                            detail::byte_range memory,
                                                            std::uint64_t device_address,
                                                            access_rights rights) noexcept;

  template <std::invocable Create>
  [[nodiscard]] static memory_region made(const detail::registration_attempt& attempt,
                                          const char* verb, const Create& create,
                                          on_failure policy) {
    if (!is_possible(attempt, verb, policy)) return {};
    errno = 0;
    ibv_mr* const region = create();
    if (region == nullptr) [[unlikely]] {
      detail::report_registration(policy, errno, verb, attempt);
      return {};
    }
    policy.clear();
    return {region, attempt.device_address, attempt.rights, attempt.constant};
  }

  /// Fails without a domain, and with rights that the memory cannot have.
  [[nodiscard]] static bool is_possible(const detail::registration_attempt& attempt,
                                        const char* verb, on_failure policy);

  void change(const detail::byte_range* memory, const reregistration& changes, on_failure policy);

  void remember(const detail::reregistration_attempt& attempt,
                const detail::reregistration_outcome& outcome) noexcept;

  // Kept for re-registration; fits beside the rights.
  bool constant_memory_ = false;
};

}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/memory/impl/memory_region.ipp>
#endif
