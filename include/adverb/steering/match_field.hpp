// SPDX-License-Identifier: MIT
// Packet fields to match. A field that is set must equal the packet in all bits; a field that is
// not set is ignored. No mask can be forgotten, and zero is a value.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <adverb/device/network_address.hpp>

namespace adverb::inline ADVERB_ABI {

/// A value with a mask: only the bits of the mask are compared. Most devices compare whole fields
/// or nothing, and refuse other masks.
template <class T>
struct masked {
  T value{};
  T mask{};
};
template <class T>
masked(T, T) -> masked<T>;

namespace detail {

/// An address stored as bytes.
template <class T>
concept byte_address = requires(const T& address) {
  { address.bytes()[0] } -> std::convertible_to<std::uint8_t>;
};

template <byte_address Address>
[[nodiscard]] constexpr Address prefix_mask(unsigned length) noexcept {
  auto bytes = Address{}.bytes();
  for (unsigned bit = 0; bit < length && bit < 8 * bytes.size(); ++bit)
    bytes[bit / 8] = static_cast<std::uint8_t>(bytes[bit / 8] | 0x80U >> bit % 8);
  return Address{bytes};
}

}  // namespace detail

/// Returns a match for all addresses that share the first `prefix_length` bits, as in 10.0.0.0/8. A
/// length that exceeds the address stands for the whole address.
[[nodiscard]] constexpr masked<ipv4_address> subnet(const ipv4_address& address,
                                                    unsigned prefix_length) noexcept {
  return {address, detail::prefix_mask<ipv4_address>(prefix_length)};
}
[[nodiscard]] constexpr masked<ipv6_address> subnet(const ipv6_address& address,
                                                    unsigned prefix_length) noexcept {
  return {address, detail::prefix_mask<ipv6_address>(prefix_length)};
}

/// A number of `Bits` bits, in host byte order, to match or ignore.
template <class T, unsigned Bits = std::numeric_limits<T>::digits>
class match_field {
  static_assert(std::unsigned_integral<T> && Bits <= std::numeric_limits<T>::digits);

 public:
  /// Ignores the field.
  constexpr match_field() noexcept = default;
  /// Matches packets that equal the value.
  constexpr match_field(T value) noexcept : value_{value}, mask_{all_ones} {}
  /// Matches packets that equal the value in the bits of the mask.
  constexpr match_field(masked<T> pattern) noexcept : value_{pattern.value}, mask_{pattern.mask} {}

  [[nodiscard]] constexpr T value() const noexcept { return static_cast<T>(value_ & mask_); }
  [[nodiscard]] constexpr T mask() const noexcept { return mask_; }

  /// Returns the given value, even if it exceeds the field.
  [[nodiscard]] constexpr T given() const noexcept { return value_; }
  /// Returns true if the value exceeds the field.
  [[nodiscard]] constexpr bool value_too_large() const noexcept { return value_ > all_ones; }
  [[nodiscard]] constexpr bool mask_too_large() const noexcept { return mask_ > all_ones; }
  /// Returns true if only some of the bits are compared.
  [[nodiscard]] constexpr bool is_partial() const noexcept {
    return mask_ != 0 && mask_ != all_ones;
  }

 private:
  static constexpr T all_ones =
      static_cast<T>(std::numeric_limits<T>::max() >> (std::numeric_limits<T>::digits - Bits));

  T value_ = 0;
  T mask_ = 0;
};

/// An address to match or ignore.
template <detail::byte_address Address, unsigned Bits>
class match_field<Address, Bits> {
 public:
  constexpr match_field() noexcept = default;
  constexpr match_field(const Address& value) noexcept
      : match_field{masked<Address>{value, detail::prefix_mask<Address>(~0U)}} {}
  constexpr match_field(const masked<Address>& pattern) noexcept : mask_{pattern.mask} {
    auto bytes = pattern.value.bytes();
    for (std::size_t index = 0; index < bytes.size(); ++index)
      bytes[index] = static_cast<std::uint8_t>(bytes[index] & mask_.bytes()[index]);
    value_ = Address{bytes};
  }

  [[nodiscard]] constexpr const Address& value() const noexcept { return value_; }
  [[nodiscard]] constexpr const Address& mask() const noexcept { return mask_; }
  [[nodiscard]] constexpr bool is_partial() const noexcept {
    return mask_ != Address{} && mask_ != detail::prefix_mask<Address>(~0U);
  }

 private:
  Address value_{};
  Address mask_{};
};

}  // namespace adverb::inline ADVERB_ABI
