// SPDX-License-Identifier: MIT
// Remote buffers: a peer's memory, with its access rights in the type.
#pragma once

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <adverb/core/detail/byte_order.hpp>
#include <adverb/core/detail/check.hpp>
#include <adverb/core/detail/narrowed.hpp>
#include <adverb/core/handle.hpp>
#include <adverb/core/ids.hpp>
#include <adverb/memory/buffer.hpp>
#include <adverb/memory/registrable_memory.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

/// The properties of a remote buffer that cannot be used.
struct refused_buffer {
  access_rights granted;
  access_rights needed;
  bool whole;
  bool wraps;
};

/// Reports the first defect. By value, so that the caller keeps the properties in registers.
[[gnu::cold, gnu::noinline]] inline void refuse_decoded(on_failure policy, refused_buffer buffer) {
  const bool lacks_rights = !buffer.granted.contains(buffer.needed);
  policy.report(lacks_rights ? EACCES : EPROTO, "remote_buffer::decode",
                [&](failure_description& description) {
                  if (lacks_rights)
                    description.explain("the peer grants {}, but {} is needed",
                                        {buffer.granted, buffer.needed});
                  else
                    description.explain(!buffer.whole
                                            ? "the length is not a whole number of elements"
                                        : buffer.wraps ? "the buffer wraps around the address space"
                                                       : unaligned_for_atomics);
                });
}

}  // namespace detail

/// `size()` elements of `T` in the memory of a peer, for one-sided operations. The side that has
/// the memory makes it with `memory_region::remote` and sends it as bytes; its peer decodes them.
///
/// `Rights` are the remote rights of the key. It converts to a buffer with fewer rights, never with
/// more. A request starts at its first byte and moves as much as its local buffers hold. Only the
/// device checks whether that fits, against the peer's whole region. Does not own the memory.
/// Trivially copyable.
///
/// Wire format (`encode`, `decode`): 24 bytes, all numbers little-endian.
///
///     offset  size  content
///          0     8  address
///          8     8  length in bytes
///         16     4  remote key
///         20     4  rights, as the bits of access_right
template <class T = std::byte,
          access_rights Rights = access_right::remote_read | access_right::remote_write>
class remote_buffer {
  static_assert(std::is_trivially_copyable_v<T>,
                "remote memory holds only trivially copyable types");
  static_assert(!Rights.empty() && detail::remote_rights.contains(Rights),
                "a remote buffer grants one or more of remote_read, remote_write, remote_atomic, "
                "flush_global and flush_persistent");

 public:
  using value_type = T;
  /// The rights that the buffer grants.
  static constexpr access_rights rights = Rights;
  /// The size of the wire format, in bytes.
  static constexpr std::size_t encoded_size = 24;

  /// Makes an empty buffer.
  constexpr remote_buffer() noexcept = default;

  /// Makes a buffer from its parts, unchecked, for instance from the protocol of another program.
  constexpr remote_buffer(adopt_t, std::uint64_t address, std::size_t size,
                          adverb::rkey key) noexcept
      : address_{address}, size_{size}, key_{key} {}

  /// Converts from a buffer that grants more rights.
  template <access_rights Other>
    requires(Other != Rights)
  constexpr remote_buffer(const remote_buffer<T, Other>& other) noexcept
      : remote_buffer{adopt, other.address(), other.size(), other.key()} {
    static_assert(Other.contains(Rights),
                  "a remote buffer cannot be converted to one with more rights");
  }

  /// Returns the address in the peer's memory.
  [[nodiscard]] constexpr std::uint64_t address() const noexcept { return address_; }
  /// Returns the number of elements.
  [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }
  /// Returns the size in bytes.
  [[nodiscard]] constexpr std::size_t size_bytes() const noexcept { return size_ * sizeof(T); }
  [[nodiscard]] constexpr bool empty() const noexcept { return size_ == 0; }
  /// Returns the remote key.
  [[nodiscard]] constexpr adverb::rkey key() const noexcept { return key_; }

  /// Returns `count` elements from `offset`. Fails with ERANGE if they exceed the buffer.
  [[nodiscard]] constexpr remote_buffer slice(std::size_t offset, std::size_t count,
                                              on_failure policy = throwing{}) const {
    if (!detail::check_slice(policy, detail::slice_of_remote_buffer, offset, count, size_))
      return {};
    return unchecked_slice(offset, count);
  }

  /// Returns a slice without checks, for hot paths that have checked already.
  [[nodiscard]] constexpr remote_buffer unchecked_slice(std::size_t offset,
                                                        std::size_t count) const noexcept {
    return {adopt, address_ + offset * sizeof(T), count, key_};
  }

  /// Returns one element. Fails with ERANGE if `index` is outside the buffer.
  [[nodiscard]] constexpr remote_buffer at(std::size_t index,
                                           on_failure policy = throwing{}) const {
    return slice(index, 1, policy);
  }

  /// Returns the same memory as elements of another type, as many as fit. Fails with EINVAL if the
  /// buffer grants atomic operations and its address is not a multiple of 8.
  template <class Other>
  [[nodiscard]] constexpr remote_buffer<Other, Rights> as(on_failure policy = throwing{}) const {
    if (!detail::is_aligned_for(Rights, address_)) [[unlikely]] {
      policy.report(EINVAL, "remote_buffer::as", [](failure_description& description) {
        description.explain(detail::unaligned_for_atomics);
      });
      return {};
    }
    policy.clear();
    return {adopt, address_, size_bytes() / sizeof(Other), key_};
  }

  /// Returns the bytes to send to a peer.
  [[nodiscard]] constexpr std::array<std::byte, encoded_size> encode() const noexcept {
    std::array<std::byte, encoded_size> bytes{};
    detail::store_little_endian<0, std::uint64_t>(bytes, address_);
    detail::store_little_endian<8, std::uint64_t>(bytes, size_bytes());
    detail::store_little_endian<16, std::uint32_t>(bytes, static_cast<std::uint32_t>(key_));
    detail::store_little_endian<20, std::uint32_t>(bytes, Rights.bits());
    return bytes;
  }

  /// Decodes the bytes that a peer sent. Fails with EACCES if the buffer does not grant `Rights`.
  /// Fails with EPROTO if it does not hold whole elements, wraps around the address space, or is
  /// misaligned for atomics that it grants.
  [[nodiscard]] static constexpr remote_buffer decode(
      std::span<const std::byte, encoded_size> bytes, on_failure policy = throwing{}) {
    const auto address = detail::load_little_endian<0, std::uint64_t>(bytes);
    const auto length = detail::load_little_endian<8, std::uint64_t>(bytes);
    const auto key = detail::load_little_endian<16, std::uint32_t>(bytes);
    const auto granted =
        access_rights::from_bits(detail::load_little_endian<20, std::uint32_t>(bytes));

    const bool whole = length % sizeof(T) == 0;
    const bool wraps = address + length < address;
    if (!granted.contains(Rights) || !whole || wraps || !detail::is_aligned_for(Rights, address))
        [[unlikely]] {
      detail::refuse_decoded(policy, {granted, Rights, whole, wraps});
      return {};
    }
    policy.clear();
    return {adopt, address, detail::narrowed<std::size_t>(length / sizeof(T)),
            static_cast<adverb::rkey>(key)};
  }

  friend constexpr bool operator==(const remote_buffer&, const remote_buffer&) noexcept = default;

 private:
  std::uint64_t address_ = 0;
  std::size_t size_ = 0;
  adverb::rkey key_{};
};

}  // namespace adverb::inline ADVERB_ABI
