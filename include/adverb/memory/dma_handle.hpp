// SPDX-License-Identifier: MIT
// DMA handles: hints to the processor's interconnect for the accesses of a region.
#pragma once

#include <cerrno>
#include <cstdint>
#include <optional>
#include <string_view>

#include <infiniband/verbs.h>

#include <adverb/core/detail/check.hpp>
#include <adverb/core/handle.hpp>
#include <adverb/device/context_ref.hpp>
#include <adverb/device/detail/explain_device.hpp>

// Later headers define them.
struct ibv_dmah;
struct ibv_dmah_init_attr;

namespace adverb::inline ADVERB_ABI {

/// The kind of memory behind a region, for a DMA handle.
enum class hinted_memory : std::uint8_t {
  volatile_memory = 0,
  persistent_memory = 1,
};

[[nodiscard]] constexpr static_string<48> to_text(hinted_memory kind) noexcept {
  constexpr std::string_view names = "volatile_memory|persistent_memory";
  return detail::listed_name_or_number(names, static_cast<std::uint32_t>(kind));
}

/// The hints of a DMA handle. The provider chooses those that are omitted.
struct dma_handle_options {
  /// The number of the processor that will read the memory, so that writes can go to its cache.
  std::optional<std::uint32_t> processor = {};
  /// The processing hint of PCI Express (TLP processing hints), 0 to 3.
  std::optional<std::uint8_t> processing_hint = {};
  /// The kind of memory.
  std::optional<hinted_memory> memory = {};
};

namespace detail {

struct dma_handle_traits {
  using native_type = ibv_dmah;
  static constexpr const char* destroy_verb = "ibv_dealloc_dmah";
  static int destroy(ibv_dmah* handle) noexcept { return deallocate(handle); }
  static void list_parents(const ibv_dmah* handle, parent_visitor& parents) noexcept {
    parents.add(context_of(handle));
  }
  static void describe(const ibv_dmah* handle, text_writer& writer) noexcept {
    if (context_of(handle) != nullptr) put_device(writer, context_of(handle)).put(" dmah");
  }
  static void explain_destroy(failure_description& description) noexcept {
    if (is_code(description.code(), std::errc::device_or_resource_busy))
      description.explain("possible causes: a memory region uses it: destroy that first");
  }

 private:
  template <class Handle>
  static int deallocate(Handle* handle) noexcept {
    if constexpr (requires { ibv_dealloc_dmah(handle); })
      return ibv_dealloc_dmah(handle);
    else
      return EOPNOTSUPP;
  }
};

/// The operations of a DMA handle, whether it is owned or referred to. Thread safe.
class dma_handle_base : public handle_base<ibv_dmah> {
 public:
  using handle_base::handle_base;

  /// Returns the context that the object belongs to.
  [[nodiscard]] context_ref context() const noexcept { return context_of(checked_handle()); }
};

}  // namespace detail

/// A non-owning reference to a DMA handle, which must outlive the reference. Pass it by value; it
/// is as cheap as a pointer.
class dma_handle_ref : public detail::reference_to<detail::dma_handle_base> {
 public:
  using reference_to::reference_to;
};

/// Hints about the accesses of a device to memory, for memory_region::with_dma_handle. Regions that
/// use the handle must be destroyed first. Needs the headers of rdma-core 59.
class [[nodiscard]] dma_handle
    : public detail::owner<detail::dma_handle_base, detail::dma_handle_traits> {
 public:
  using owner::owner;

  /// Allocates a handle. Wraps: ibv_alloc_dmah(3).
  explicit dma_handle(context_ref context, const dma_handle_options& options = {},
                      on_failure policy = throwing{})
      : owner{adverb::adopt, make(context, options, policy)} {}
  /// Allocates a handle without hints.
  dma_handle(context_ref context, on_failure policy) : dma_handle{context, {}, policy} {}

 private:
  static ibv_dmah* make(context_ref context, const dma_handle_options& options, on_failure policy);
};

}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/memory/impl/dma_handle.ipp>
#endif
