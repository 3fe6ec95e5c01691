// SPDX-License-Identifier: MIT
// The operations of registered memory: local buffers, and remote buffers for a peer.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include <infiniband/verbs.h>

#include <adverb/core/text.hpp>
#include <adverb/memory/buffer.hpp>
#include <adverb/memory/protection_domain.hpp>
#include <adverb/memory/registrable_memory.hpp>
#include <adverb/memory/remote_buffer.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

struct byte_extent {
  std::uint64_t offset;
  std::size_t length;

  [[nodiscard]] constexpr bool is_inside(std::size_t size) const noexcept {
    return offset <= size && length <= size - offset;
  }
  /// Writes "5 bytes from 60 are not inside the 64 bytes of the region".
  void put_outside(text_writer& writer, std::size_t size, std::string_view of_what) const noexcept {
    // The offset of an address before the memory has wrapped around, so its top bit is set.
    const bool before = offset >> 63 != 0;
    writer.decimal(length).put(" bytes from ").decimal(before ? 0 - offset : offset);
    writer.put(before ? " before its start" : "").put(" are not inside the ");
    writer.decimal(size).put(" bytes of the ").put(of_what);
  }
};

/// Writes "rxe0 mr 0x1234".
[[gnu::cold]] void put_region(text_writer& writer, const ibv_mr* region) noexcept;

/// Names a region in a failure.
[[nodiscard]] inline auto on_region(const ibv_mr* region) noexcept {
  return [region](failure_description& description) {
    description.object([&](text_writer& writer) { put_region(writer, region); });
  };
}

/// The operations of registered memory, whether it is owned, imported or referred to. Holds the
/// device address and the rights, which the C struct lacks. Also holds the sizes and the local key,
/// so that a slice reads no other memory. An empty object has no rights and no bytes.
class memory_region_base : public handle_base<ibv_mr> {
 public:
  memory_region_base() noexcept = default;
  memory_region_base(ibv_mr* region, access_rights rights, std::uint64_t device_address) noexcept
      : handle_base{region} {
    redescribe(device_address, rights);
  }

  /// Returns the context that the object belongs to.
  [[nodiscard]] context_ref context() const noexcept { return checked_handle()->context; }
  /// Returns the protection domain that the object was created in.
  [[nodiscard]] protection_domain_ref protection_domain() const noexcept {
    return checked_handle()->pd;
  }

  /// Returns the key for local work requests. Every buffer of the region carries it.
  [[nodiscard]] adverb::lkey lkey() const noexcept { return lkey_; }
  /// Returns the key for a peer's work requests. `remote` returns it together with the address.
  [[nodiscard]] adverb::rkey rkey() const noexcept {
    return static_cast<adverb::rkey>(checked_handle()->rkey);
  }
  /// Returns the handle by which another process imports the region. That process also needs the
  /// device address and the rights.
  [[nodiscard]] memory_region_handle handle() const noexcept {
    return static_cast<memory_region_handle>(checked_handle()->handle);
  }
  /// Returns the size in bytes.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// Returns the first address, as the device and peers see it.
  [[nodiscard]] std::uint64_t device_address() const noexcept { return device_address_; }
  /// Returns the rights of the registration.
  [[nodiscard]] access_rights rights() const noexcept { return rights_; }

  /// Returns `length` bytes from `offset`, to receive into or send from. Fails with ERANGE if they
  /// exceed the region or what 32 bits can count, and with EACCES if the region lacks local_write
  /// (no bytes need no right).
  [[nodiscard]] mutable_buffer slice(std::size_t offset, std::size_t length,
                                     on_failure policy = throwing{}) const {
    return checked<mutable_buffer>(offset, length, receivable_size_, policy);
  }
  /// Returns `length` bytes from `offset` as a buffer to send from. Fails with ERANGE like `slice`.
  [[nodiscard]] adverb::const_buffer const_slice(std::size_t offset, std::size_t length,
                                                 on_failure policy = throwing{}) const {
    return checked<adverb::const_buffer>(offset, length, size_, policy);
  }

  /// Returns the whole region as one buffer. Fails like `slice`.
  [[nodiscard]] mutable_buffer buffer(on_failure policy = throwing{}) const {
    return slice(0, whole(), policy);
  }
  /// Returns the whole region as one buffer to send from. Fails like `const_slice`.
  [[nodiscard]] adverb::const_buffer const_buffer(on_failure policy = throwing{}) const {
    return const_slice(0, whole(), policy);
  }

  /// Returns a buffer for process memory inside the region, to receive into or send from. Fails
  /// like `slice`. The region must be of process memory.
  template <class T, std::size_t Extent>
  [[nodiscard]] mutable_buffer buffer_of(std::span<T, Extent> memory,
                                         on_failure policy = throwing{}) const {
    static_assert(!std::is_const_v<T>,
                  "const memory cannot receive data: call const_buffer_of() to send from it");
    return slice(offset_of(memory.data()), memory.size_bytes(), policy);
  }
  /// Returns a buffer to send from, for process memory inside the region. Fails with ERANGE like
  /// `slice`.
  template <class T, std::size_t Extent>
  [[nodiscard]] adverb::const_buffer const_buffer_of(std::span<T, Extent> memory,
                                                     on_failure policy = throwing{}) const {
    return const_slice(offset_of(memory.data()), memory.size_bytes(), policy);
  }

  /// Returns a slice without checks, for hot paths that have checked already.
  [[nodiscard]] mutable_buffer unchecked_slice(std::size_t offset,
                                               std::uint32_t length) const noexcept {
    return {adopt, element(offset, length)};
  }

  /// Cuts the region into blocks of `block_size` bytes, and omits a shorter rest. Fails like
  /// `slice` of one block, and with EINVAL if `block_size` is 0.
  [[nodiscard]] buffer_blocks<mutable_buffer> blocks(std::size_t block_size,
                                                     on_failure policy = throwing{}) const {
    return cut(slice(0, block_size, policy), policy);
  }
  /// Cuts the region into blocks to send from. Otherwise like `blocks`.
  [[nodiscard]] buffer_blocks<adverb::const_buffer> const_blocks(
      std::size_t block_size, on_failure policy = throwing{}) const {
    return cut(const_slice(0, block_size, policy), policy);
  }

  /// Returns the whole region as a buffer for a peer. Fails with EACCES if the region was
  /// registered without these rights. Fails with EINVAL if it is misaligned for the atomic
  /// operations that it grants.
  template <class T = std::byte,
            access_rights Rights = access_right::remote_read | access_right::remote_write>
  [[nodiscard]] remote_buffer<T, Rights> remote(on_failure policy = throwing{}) const {
    if (!detail::check_present(policy, "memory_region::remote", native_handle())) return {};
    if (!rights_.contains(Rights)) {
      policy.report(EACCES, "memory_region::remote", [&](failure_description& description) {
        detail::on_region(native_handle())(description);
        description.explain("the region was registered with {}, which does not grant {}",
                            {rights_, Rights - rights_});
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
  /// Returns the whole region as a buffer that a peer can read from, as `remote` with remote_read
  /// does. Fails like `remote`.
  template <class T = std::byte>
  [[nodiscard]] remote_buffer<T, access_right::remote_read> remote_readable(
      on_failure policy = throwing{}) const {
    return remote<T, access_right::remote_read>(policy);
  }
  /// Returns the whole region as a buffer that a peer can write to, as `remote` with remote_write
  /// does. Fails like `remote`.
  template <class T = std::byte>
  [[nodiscard]] remote_buffer<T, access_right::remote_write> remote_writable(
      on_failure policy = throwing{}) const {
    return remote<T, access_right::remote_write>(policy);
  }

 protected:
  /// Updates the stored values after the region itself changed.
  void redescribe(std::uint64_t device_address, access_rights rights) noexcept;
  /// Makes the object empty after its region went elsewhere.
  void forget() noexcept { *this = {}; }

 private:
  [[nodiscard]] ibv_sge element(std::size_t offset, std::uint32_t length) const noexcept {
    return {device_address_ + offset, length, static_cast<std::uint32_t>(lkey_)};
  }

  /// Returns the offset of a process address in the region; beyond its end if it is outside.
  [[nodiscard]] std::size_t offset_of(const void* memory) const noexcept {
    if (!*this) return 0;
    return reinterpret_cast<std::uintptr_t>(memory) -
           reinterpret_cast<std::uintptr_t>(native_handle()->addr);
  }

  /// Cuts the region into blocks like `first`. Returns no blocks if making `first` failed.
  template <class Buffer>
  [[nodiscard]] buffer_blocks<Buffer> cut(const Buffer& first, on_failure policy) const {
    constexpr const char* verb = "memory_region::blocks";
    if (policy.failed() || !detail::check_present(policy, verb, native_handle())) return {};
    const bool usable = detail::check_returned(
        policy, verb, first.size() == 0 ? EINVAL : 0, [&](failure_description& description) {
          detail::on_region(native_handle())(description);
          description.explain("blocks need at least one byte");
        });
    if (!usable) return {};
    return {adopt, first.address(), lkey(), first.native().length, size() / first.size()};
  }

  /// Returns the size of the region; of an empty object one byte, which it does not have.
  [[nodiscard]] std::size_t whole() const noexcept { return *this ? size_ : 1; }

  template <class Buffer>
  [[nodiscard, gnu::always_inline]] Buffer checked(std::size_t offset, std::size_t length,
                                                   std::size_t size, on_failure policy) const {
    const byte_extent extent{offset, length};
    if (!extent.is_inside(size) || length > max_buffer_size) [[unlikely]] {
      report_slice(policy, native_handle(), offset, length, size);
      policy.assume_set();
      return {};
    }
    policy.clear();
    return Buffer{adopt, element(offset, static_cast<std::uint32_t>(length))};
  }

  // Takes values, so that a slice that fits need not be in memory, and no more of them than there
  // are registers. `size` is 0 for a slice to receive into without local_write.
  [[gnu::cold]] static void report_slice(on_failure policy, const ibv_mr* region,
                                         std::size_t offset, std::size_t length, std::size_t size);

  std::uint64_t device_address_ = 0;
  std::size_t size_ = 0;
  /// 0 without local_write, so that a slice checks one number only.
  std::size_t receivable_size_ = 0;
  access_rights rights_;
  adverb::lkey lkey_{};
};

}  // namespace detail

/// A non-owning reference to registered memory, owned or imported, which must outlive the
/// reference. It is five words; pass it by value. It holds a copy of the region's values: make it
/// again after a re-registration.
class memory_region_ref : public detail::reference_to<detail::memory_region_base> {
 public:
  using reference_to::reference_to;

  /// Views a region of the C API, which has these rights and this first address.
  memory_region_ref(adopt_t, ibv_mr* region, access_rights rights,
                    std::uint64_t device_address) noexcept
      : reference_to{detail::memory_region_base{region, rights, device_address}} {}
};

}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/memory/impl/memory_region_ref.ipp>
#endif
