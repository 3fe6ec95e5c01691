// SPDX-License-Identifier: MIT
// A set of bits, as one template for all flag enumerations.
#pragma once

#include <cstdint>
#include <type_traits>

#include <adverb/core/text.hpp>

namespace adverb::inline ADVERB_ABI {

/// Enables `operator|` for the enumerators of E:
/// `template <> inline constexpr bool adverb::is_flag<E> = true`. If E is in another namespace,
/// also add `using adverb::operator|` there. For text, provide `std::string_view flag_name(E)`,
/// which returns an empty text for an unknown bit.
template <class Enum>
inline constexpr bool is_flag = false;

/// A set of the bits of `Enum`. It keeps bits that this version does not define. Structural, so
/// that a set can be a template argument; its member is public for that reason.
template <class Enum>
struct flags {
  /// The unsigned type of the bits.
  using bits_type = std::make_unsigned_t<std::underlying_type_t<Enum>>;

  bits_type bits_ = 0;

  constexpr flags() noexcept = default;
  /// Makes a set of one bit.
  constexpr flags(Enum bit) noexcept : bits_{static_cast<bits_type>(bit)} {}

  /// Makes a set from the bits of the C API.
  [[nodiscard]] static constexpr flags from_bits(bits_type bits) noexcept {
    flags result;
    result.bits_ = bits;
    return result;
  }

  /// Returns the bits of the C API.
  [[nodiscard]] constexpr bits_type bits() const noexcept { return bits_; }
  [[nodiscard]] constexpr bool empty() const noexcept { return bits_ == 0; }

  /// Returns true if every bit of `other` is in this set.
  [[nodiscard]] constexpr bool contains(flags other) const noexcept {
    return (bits_ & other.bits_) == other.bits_;
  }
  /// Returns true if the two sets share a bit.
  [[nodiscard]] constexpr bool intersects(flags other) const noexcept {
    return (bits_ & other.bits_) != 0;
  }

  friend constexpr flags operator|(flags left, flags right) noexcept {
    return from_bits(left.bits_ | right.bits_);
  }
  /// Returns the bits that are in both sets.
  friend constexpr flags operator&(flags left, flags right) noexcept {
    return from_bits(left.bits_ & right.bits_);
  }
  /// Returns the bits of `left` that are not in `right`.
  friend constexpr flags operator-(flags left, flags right) noexcept {
    return from_bits(left.bits_ & static_cast<bits_type>(~right.bits_));
  }
  /// Adds the bits of the other set.
  constexpr flags& operator|=(flags other) noexcept { return *this = *this | other; }
  /// Keeps the bits that are also in the other set.
  constexpr flags& operator&=(flags other) noexcept { return *this = *this & other; }
  /// Removes the bits of the other set.
  constexpr flags& operator-=(flags other) noexcept { return *this = *this - other; }

  friend constexpr bool operator==(flags, flags) noexcept = default;
};

template <class Enum>
  requires is_flag<Enum>
[[nodiscard]] constexpr flags<Enum> operator|(Enum left, Enum right) noexcept {
  return flags<Enum>{left} | flags<Enum>{right};
}

namespace detail {
/// Returns the name of a bit of some enumeration, or an empty text.
using name_of_bit = std::string_view (*)(std::uint64_t bit) noexcept;

constexpr void put_bits(text_writer& writer, std::uint64_t rest, name_of_bit name_of) noexcept {
  if (rest == 0) writer.put("none");
  for (std::uint64_t bit = 1; bit != 0 && rest != 0; bit <<= 1U) {
    if ((rest & bit) == 0) continue;
    const std::string_view name = name_of(bit);
    if (name.empty()) continue;
    rest &= ~bit;
    writer.put(name).put(rest != 0 ? "|" : "");
  }
  if (rest != 0) writer.put("0x").hexadecimal(rest);
}

/// The same for a set that is not constant, out of line.
[[nodiscard]] static_string<768> text_of_bits(std::uint64_t bits, name_of_bit name_of) noexcept;
}  // namespace detail

/// Formats a set: "local_write|remote_read"; "none" if empty; unknown bits in base 16.
template <class Enum>
  requires is_flag<Enum>
[[nodiscard]] constexpr static_string<768> to_text(flags<Enum> set) noexcept {
  constexpr detail::name_of_bit name_of = [](std::uint64_t bit) noexcept -> std::string_view {
    return flag_name(static_cast<Enum>(bit));
  };
  if (!std::is_constant_evaluated()) return detail::text_of_bits(set.bits(), name_of);
  return static_string<768>{
      [&](text_writer& writer) { detail::put_bits(writer, set.bits(), name_of); }};
}

}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/core/impl/flags.ipp>
#endif
