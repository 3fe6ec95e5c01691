// SPDX-License-Identifier: MIT
// Text in fixed buffers: formats every adverb type without allocation and without <ostream>.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI {

/// Appends text to a fixed buffer. Text that does not fit is cut off, and "..." marks the cut. A
/// null character becomes a backslash and a 0, so that a C string does not end early.
class text_writer {
 public:
  constexpr text_writer(char* buffer, std::size_t capacity) noexcept
      : buffer_{buffer}, capacity_{capacity} {}
  constexpr explicit text_writer(std::span<char> buffer) noexcept
      : text_writer{buffer.data(), buffer.size()} {}

  constexpr text_writer& put(std::string_view text) noexcept {
    for (const char character : text) {
      const bool fits = character != '\0' ? append(character) : append('\\') && append('0');
      if (!fits) break;
    }
    return *this;
  }

  /// Appends an unsigned number in base 10.
  constexpr text_writer& decimal(std::uint64_t number) noexcept { return number_in(10, number, 1); }

  /// Appends a number in base 16, without a prefix, padded with zeros to `digits`.
  constexpr text_writer& hexadecimal(std::uint64_t number, std::size_t digits = 1) noexcept {
    return number_in(16, number, digits);
  }

  /// Appends a value of any type that has a `to_text`.
  template <class T>
    requires requires(const T& value) { std::string_view{to_text(value)}; }
  constexpr text_writer& put(const T& value) noexcept {
    return put(std::string_view{to_text(value)});
  }

  [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }

 private:
  constexpr bool append(char character) noexcept {
    if (size_ == capacity_) {
      mark_cut();
      return false;
    }
    buffer_[size_++] = character;
    return true;
  }

  constexpr text_writer& number_in(unsigned base, std::uint64_t number,
                                   std::size_t minimum_digits) noexcept {
    char digits[20] = {};
    std::size_t first = sizeof digits;
    do {
      digits[--first] = "0123456789abcdef"[number % base];
      number /= base;
    } while (first > 0 && (number != 0 || sizeof digits - first < minimum_digits));
    const char* const text = digits + first;
    return put(std::string_view{text, sizeof digits - first});
  }

  constexpr void mark_cut() noexcept {
    for (std::size_t back = 1; back <= 3 && back <= capacity_; ++back)
      buffer_[capacity_ - back] = '.';
  }

  char* buffer_;
  std::size_t capacity_;
  std::size_t size_ = 0;
};

/// A text of at most `Capacity` characters, held by value. `to_text` returns one.
template <std::size_t Capacity>
class static_string {
 public:
  /// Fills the text: calls `write` with a `text_writer`.
  // Not std::invocable, which takes longer to compile than the texts themselves.
  template <class Write>
    requires requires(const Write& write, text_writer& writer) { write(writer); }
  constexpr explicit static_string(const Write& write) noexcept {
    text_writer writer{characters_, Capacity};
    write(writer);
    size_ = writer.size();
  }

  [[nodiscard]] constexpr std::string_view view() const noexcept { return {characters_, size_}; }
  /// Returns the text, null-terminated.
  [[nodiscard]] constexpr const char* c_str() const noexcept { return characters_; }
  constexpr operator std::string_view() const noexcept { return view(); }

 private:
  char characters_[Capacity + 1] = {};
  std::size_t size_ = 0;
};

namespace detail {
template <std::size_t Capacity>
void is_text(const static_string<Capacity>&);
}  // namespace detail

/// A type that adverb can print: `to_text(value)` returns a static_string. `to_string`,
/// `operator<<` (adverb/ostream.hpp), std::formatter (adverb/format.hpp) and fmt's formatter
/// (adverb/fmt.hpp) all build on it.
template <class T>
concept has_text = requires(const T& value) { detail::is_text(to_text(value)); };

/// Returns the text of a value as a std::string.
template <has_text T>
[[nodiscard]] std::string to_string(const T& value) {
  return std::string{to_text(value).view()};
}

namespace detail {

/// Returns the name of an enumerator; its number if the name is empty (an unknown enumerator).
constexpr static_string<48> name_or_number(std::string_view name, std::uint64_t number) noexcept {
  return static_string<48>{[&](text_writer& writer) {
    if (name.empty())
      writer.put("unknown (").decimal(number).put(")");
    else
      writer.put(name);
  }};
}

}  // namespace detail
}  // namespace adverb::inline ADVERB_ABI
