// SPDX-License-Identifier: MIT
// What registered memory can be used for: the buffers that are cut from a region, and what a peer
// is told of it.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include <infiniband/verbs.h>

#include <adverb/memory/access.hpp>
#include <adverb/memory/buffer.hpp>
#include <adverb/memory/buffer_blocks.hpp>
#include <adverb/memory/detail/byte_extent.hpp>
#include <adverb/memory/protection_domain.hpp>
#include <adverb/memory/remote_buffer.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

/// "rxe0 mr 0x1234".
inline void put_region(text_writer& writer, const ibv_mr* region) noexcept {
  put_device(writer, region->context).put(" mr ").put(static_cast<lkey>(region->lkey));
}

/// A range of bytes that is about to become a buffer, checked.
struct slice_request {
  byte_extent extent;
  std::size_t region_size;
  bool writable;

  [[nodiscard]] constexpr bool valid() const noexcept {
    return extent.is_inside(region_size) && extent.length <= max_buffer_size && writable;
  }

  void explain(failure_description& description) const noexcept {
    description.explain([&](text_writer& writer) {
      if (!writable) {
        writer.put("the region was registered without local_write: nothing can be received into ");
        writer.put("it; const_buffer() and const_slice() are there to send from it");
      } else if (!extent.is_inside(region_size)) {
        extent.put_outside(writer, region_size, "region");
      } else {
        writer.decimal(extent.length).put(" bytes are more than one buffer can hold (4 GiB - 1)");
      }
    });
  }
};

/// Names a region in a failure.
[[nodiscard]] inline auto on_region(const ibv_mr* region) noexcept {
  return [region](failure_description& description) {
    description.object([&](text_writer& writer) { put_region(writer, region); });
  };
}

/// What can be done with registered memory, whether it is owned, imported or referred to. The C
/// struct knows neither where the device sees the memory begin nor the rights it was registered
/// with: these are kept here, and the key too, so that a slice reads nothing from elsewhere.
class memory_region_base : public handle_base<ibv_mr> {
 public:
  memory_region_base() noexcept = default;
  memory_region_base(ibv_mr* region, access_rights rights, std::uint64_t device_address) noexcept
      : handle_base{region} {
    redescribe(device_address, rights);
  }

  [[nodiscard]] context_ref context() const noexcept { return native_handle()->context; }
  [[nodiscard]] protection_domain_ref protection_domain() const noexcept {
    return native_handle()->pd;
  }

  /// The key for own work requests; every buffer of the region carries it.
  [[nodiscard]] adverb::lkey lkey() const noexcept { return lkey_; }
  /// The key for a peer's work requests; `remote` hands it out together with the address.
  [[nodiscard]] adverb::rkey rkey() const noexcept {
    return static_cast<adverb::rkey>(native_handle()->rkey);
  }
  /// What another process imports the region by; it has to be told the device address and the
  /// rights too.
  [[nodiscard]] memory_region_handle handle() const noexcept {
    return static_cast<memory_region_handle>(native_handle()->handle);
  }
  /// In bytes.
  [[nodiscard]] std::size_t size() const noexcept { return native_handle()->length; }
  /// The first address, as the device and peers see it.
  [[nodiscard]] std::uint64_t device_address() const noexcept { return device_address_; }
  /// What it was registered with.
  [[nodiscard]] access_rights rights() const noexcept { return rights_; }

  /// `length` bytes from `offset`, to receive into or send from. Reports ERANGE when they are not
  /// inside the region or are more than 32 bits can count, EACCES when they may not be written.
  [[nodiscard]] mutable_buffer slice(std::size_t offset, std::size_t length,
                                     on_failure policy = throwing{}) const {
    return checked<mutable_buffer>(offset, length, rights_.contains(access_right::local_write),
                                   policy);
  }
  /// The same, only to send from.
  [[nodiscard]] adverb::const_buffer const_slice(std::size_t offset, std::size_t length,
                                                 on_failure policy = throwing{}) const {
    return checked<adverb::const_buffer>(offset, length, true, policy);
  }

  /// The whole region as one buffer.
  [[nodiscard]] mutable_buffer buffer(on_failure policy = throwing{}) const {
    return slice(0, size_or_zero(), policy);
  }
  [[nodiscard]] adverb::const_buffer const_buffer(on_failure policy = throwing{}) const {
    return const_slice(0, size_or_zero(), policy);
  }

  /// Memory of the process that lies inside the region, to receive into or send from. Reports what
  /// `slice` reports. The region has to be one of the process's memory.
  template <class T, std::size_t Extent>
  [[nodiscard]] mutable_buffer buffer_of(std::span<T, Extent> memory,
                                         on_failure policy = throwing{}) const {
    static_assert(!std::is_const_v<T>,
                  "nothing is received into const memory: const_buffer_of sends from it");
    return slice(offset_of(memory.data()), memory.size_bytes(), policy);
  }
  /// The same, only to send from.
  template <class T, std::size_t Extent>
  [[nodiscard]] adverb::const_buffer const_buffer_of(std::span<T, Extent> memory,
                                                     on_failure policy = throwing{}) const {
    return const_slice(offset_of(memory.data()), memory.size_bytes(), policy);
  }

  /// A slice that nothing checks, for hot paths that have checked already.
  [[nodiscard]] mutable_buffer unchecked_slice(std::size_t offset,
                                               std::uint32_t length) const noexcept {
    return {adopt, element(offset, length)};
  }

  /// The region cut into blocks of `block_size` bytes; a shorter rest is left out. Reports what
  /// `slice` reports for a block, and EINVAL for blocks of no bytes.
  [[nodiscard]] buffer_blocks<mutable_buffer> blocks(std::size_t block_size,
                                                     on_failure policy = throwing{}) const {
    return cut(slice(0, block_size, policy), policy);
  }
  /// The same, only to send from.
  [[nodiscard]] buffer_blocks<adverb::const_buffer> const_blocks(
      std::size_t block_size, on_failure policy = throwing{}) const {
    return cut(const_slice(0, block_size, policy), policy);
  }

  /// The whole region as a peer may use it. Reports EACCES when the region was not registered with
  /// these rights, EINVAL when it is not aligned for atomic operations that it grants.
  template <class T = std::byte,
            access_rights Rights = access_right::remote_read | access_right::remote_write>
  [[nodiscard]] remote_buffer<T, Rights> remote(on_failure policy = throwing{}) const {
    if (!detail::check_present(policy, "memory_region::remote", native_handle())) return {};
    if (!rights_.contains(Rights)) {
      policy.report(EACCES, "memory_region::remote", [&](failure_description& description) {
        detail::on_region(native_handle())(description);
        description.explain([&](text_writer& writer) {
          writer.put("the region was registered with ").put(rights_);
          writer.put(", which does not grant ").put(Rights - rights_);
        });
      });
      return {};
    }
    if (!detail::is_aligned_for(Rights, device_address_)) {
      policy.report(EINVAL, "memory_region::remote", [&](failure_description& description) {
        detail::on_region(native_handle())(description);
        description.explain(detail::unaligned_for_atomics);
      });
      return {};
    }
    policy.clear();
    return {adopt, device_address_, size() / sizeof(T), rkey()};
  }

 protected:
  /// Says anew what is kept here, after the region itself changed.
  void redescribe(std::uint64_t device_address, access_rights rights) noexcept {
    device_address_ = device_address;
    rights_ = rights;
    if (*this) lkey_ = static_cast<adverb::lkey>(native_handle()->lkey);
  }

 private:
  [[nodiscard]] ibv_sge element(std::size_t offset, std::uint32_t length) const noexcept {
    return {device_address_ + offset, length, static_cast<std::uint32_t>(lkey_)};
  }

  /// Where in the region an address of the process is; beyond its end when it is not inside.
  [[nodiscard]] std::size_t offset_of(const void* memory) const noexcept {
    if (!*this) return 0;
    return reinterpret_cast<std::uintptr_t>(memory) -
           reinterpret_cast<std::uintptr_t>(native_handle()->addr);
  }

  [[nodiscard]] std::size_t size_or_zero() const noexcept { return *this ? size() : 0; }

  /// The region as blocks like the first one, unless that could not be cut.
  template <class Buffer>
  [[nodiscard]] buffer_blocks<Buffer> cut(const Buffer& first, on_failure policy) const {
    if (policy.failed()) return {};
    const bool usable =
        detail::check_returned(policy, "memory_region::blocks", first.size() == 0 ? EINVAL : 0,
                               [&](failure_description& description) {
                                 detail::on_region(native_handle())(description);
                                 description.explain("blocks need at least one byte");
                               });
    if (!usable) return {};
    return {adopt, first.address(), lkey(), first.native().length, size() / first.size()};
  }

  template <class Buffer>
  [[nodiscard]] Buffer checked(std::size_t offset, std::size_t length, bool writable,
                               on_failure policy) const {
    if (!detail::check_present(policy, "memory_region::slice", native_handle())) return {};
    const detail::slice_request request{{offset, length}, size(), writable};
    if (!request.valid()) [[unlikely]] {
      policy.report(writable ? ERANGE : EACCES, "memory_region::slice",
                    [&](failure_description& description) {
                      detail::on_region(native_handle())(description);
                      request.explain(description);
                    });
      return {};
    }
    policy.clear();
    return Buffer{adopt, element(offset, static_cast<std::uint32_t>(length))};
  }

  std::uint64_t device_address_ = 0;
  access_rights rights_;
  adverb::lkey lkey_{};
};

}  // namespace detail

/// Refers to registered memory, own or imported, that something else keeps alive. Three words, to
/// be passed by value. It keeps what it was made from: after a re-registration it has to be made
/// anew.
class memory_region_ref : public detail::reference_to<detail::memory_region_base> {
 public:
  using reference_to::reference_to;

  /// Views a region of the C API, whose rights and first address have to be told.
  memory_region_ref(adopt_t, ibv_mr* region, access_rights rights,
                    std::uint64_t device_address) noexcept
      : reference_to{detail::memory_region_base{region, rights, device_address}} {}
};

}  // namespace adverb::inline ADVERB_ABI
