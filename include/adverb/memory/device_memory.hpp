// SPDX-License-Identifier: MIT
// Device memory: memory inside the device.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <system_error>
#include <type_traits>

#include <infiniband/verbs.h>

#include <adverb/core/detail/check.hpp>
#include <adverb/core/failure.hpp>
#include <adverb/core/handle.hpp>
#include <adverb/core/ids.hpp>
#include <adverb/device/context_ref.hpp>
#include <adverb/memory/memory_region_ref.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

/// Writes "rxe0 dm", and a number if the provider reports one.
[[gnu::cold]] void put_device_memory(text_writer& writer, const ibv_dm* memory) noexcept;

/// Names device memory in a failure.
[[nodiscard]] inline auto on_device_memory(const ibv_dm* memory) noexcept {
  return [memory](failure_description& description) {
    description.object([&](text_writer& writer) { put_device_memory(writer, memory); });
  };
}

/// The operations of device memory, whether it is owned, imported or referred to. Holds the size,
/// which the C struct lacks. Thread safe, but two concurrent copies of the same bytes are
/// unordered, as in other memory.
class device_memory_base : public handle_base<ibv_dm> {
 public:
  device_memory_base() noexcept = default;
  device_memory_base(ibv_dm* memory, std::size_t size) noexcept
      : handle_base{memory}, size_{memory != nullptr ? size : 0} {}

  /// Returns the context that the object belongs to.
  [[nodiscard]] context_ref context() const noexcept { return checked_handle()->context; }
  /// Returns the size in bytes.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// Returns the handle by which another process imports the memory. Fails with EOPNOTSUPP if the
  /// provider reports no handle.
  [[nodiscard]] device_memory_handle handle(on_failure policy = throwing{}) const;

  /// Returns a new file descriptor of a dma-buf of the memory, for other drivers. The caller closes
  /// it (close(2)). Returns -1 on failure. Needs the headers of rdma-core 62.
  /// Wraps: ibv_dm_export_dmabuf_fd(3).
  [[nodiscard]] int export_dmabuf(on_failure policy = throwing{}) const;

  /// Copies `values` into the memory, from the byte at `offset` on. `values` is an array, a
  /// container or a span of trivially copyable values. Fails with ERANGE if they do not fit. Some
  /// devices copy only whole words of 4 bytes, and fail with EINVAL otherwise.
  /// Wraps: ibv_memcpy_to_dm(3).
  template <class Range>
  void store(std::uint64_t offset, const Range& values, on_failure policy = throwing{}) const {
    using value = std::remove_reference_t<decltype(*std::data(values))>;
    static_assert(std::is_trivially_copyable_v<value>,
                  "device memory holds only trivially copyable types");
    copy(policy, "ibv_memcpy_to_dm", {offset, std::size(values) * sizeof(value)},
         [&](std::size_t length) {
           return ibv_memcpy_to_dm(native_handle(), offset, std::data(values), length);
         });
  }

  /// Copies the memory, from the byte at `offset` on, into all of `values`. Fails like `store`.
  /// Wraps: ibv_memcpy_from_dm(3).
  template <class Range>
  void load(std::uint64_t offset, Range&& values, on_failure policy = throwing{}) const {
    using value = std::remove_reference_t<decltype(*std::data(values))>;
    static_assert(std::is_trivially_copyable_v<value>,
                  "device memory holds only trivially copyable types");
    static_assert(!std::is_const_v<value>, "device memory cannot be loaded into const values");
    if constexpr (!std::is_const_v<value>)
      copy(policy, "ibv_memcpy_from_dm", {offset, std::size(values) * sizeof(value)},
           [&](std::size_t length) {
             return ibv_memcpy_from_dm(std::data(values), native_handle(), offset, length);
           });
  }

 protected:
  /// Makes the object empty after its memory went elsewhere.
  void forget() noexcept { *this = {}; }

 private:
  template <std::invocable<std::size_t> Copy>
  void copy(on_failure policy, const char* verb, detail::byte_extent extent,
            const Copy& call) const {
    if (!detail::check_present(policy, verb, native_handle())) return;
    const bool inside = extent.is_inside(size_);
    detail::check_returned(
        policy, verb, inside ? call(extent.length) : ERANGE, [&](failure_description& description) {
          on_device_memory(native_handle())(description);
          description.explain([&](text_writer& writer) {
            if (!inside)
              extent.put_outside(writer, size_, "device memory");
            else if (extent.offset % 4 != 0 || extent.length % 4 != 0)
              writer.put("possible causes: this device copies only whole words of 4 bytes");
          });
        });
  }

  std::size_t size_ = 0;
};

}  // namespace detail

/// A non-owning reference to device memory, owned or imported, which must outlive the reference. It
/// is two words; pass it by value.
class device_memory_ref : public detail::reference_to<detail::device_memory_base> {
 public:
  using reference_to::reference_to;

  /// Views memory of the C API, which has `size` bytes.
  device_memory_ref(adopt_t, ibv_dm* memory, std::size_t size) noexcept
      : reference_to{detail::device_memory_base{memory, size}} {}
};

namespace detail {

struct device_memory_traits {
  using native_type = ibv_dm;
  static constexpr const char* destroy_verb = "ibv_free_dm";
  static int destroy(ibv_dm* memory) noexcept { return ibv_free_dm(memory); }
  static void list_parents(const ibv_dm* memory, parent_visitor& parents) noexcept {
    parents.add(memory->context);
  }
  static void describe(const ibv_dm* memory, text_writer& writer) noexcept {
    put_device_memory(writer, memory);
  }
  static void explain_destroy(failure_description& description) noexcept {
    if (is_code(description.code(), std::errc::device_or_resource_busy))
      description.explain("a memory region of it is still registered: destroy that first");
  }
};

}  // namespace detail

/// The options of device memory.
struct device_memory_options {
  /// The alignment of the first address in bytes, a power of two. Atomic operations need 8.
  std::size_t alignment = 1;
};

/// Memory inside the device, which neither crosses the bus nor appears in the process. Copy to and
/// from it (`store`, `load`), or register it (memory_region::of_device_memory). Destroying it fails
/// with EBUSY while a region of it is registered.
class [[nodiscard]] device_memory
    : public detail::owner<detail::device_memory_base, detail::device_memory_traits> {
 public:
  device_memory() noexcept = default;

  /// Allocates `size` bytes. The maximum is the free part of `max_device_memory_size`.
  /// Wraps: ibv_alloc_dm(3).
  device_memory(context_ref context, std::size_t size, const device_memory_options& options = {},
                on_failure policy = throwing{})
      : owner{adverb::adopt, make(context, size, options, policy), size} {}

  /// Allocates `size` bytes with the default options.
  device_memory(context_ref context, std::size_t size, on_failure policy)
      : device_memory{context, size, {}, policy} {}

  /// Takes ownership of memory of the C API, which has `size` bytes.
  device_memory(adopt_t, ibv_dm* memory, std::size_t size) noexcept
      : owner{adverb::adopt, memory, size} {}

 private:
  static ibv_dm* make(context_ref context, std::size_t size, const device_memory_options& options,
                      on_failure policy);
};

}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/memory/impl/device_memory.ipp>
#endif
