// SPDX-License-Identifier: MIT
// Text in fixed buffers: formats every adverb type without allocation and without <ostream>.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI {

class text_argument;

/// Appends text to a fixed buffer. Text that does not fit is cut off, and "..." marks the cut. A
/// null character becomes a backslash and a 0, so that a C string does not end early.
class text_writer {
 public:
  /// Writes to a buffer, which must outlive the writer.
  constexpr text_writer(char* buffer, std::size_t capacity) noexcept
      : buffer_{buffer}, capacity_{capacity} {}
  constexpr explicit text_writer(std::span<char> buffer) noexcept
      : text_writer{buffer.data(), buffer.size()} {}

  constexpr text_writer& put(std::string_view text) noexcept {
    if (std::is_constant_evaluated()) {
      for (const char character : text) append(character);
      return *this;
    }
    return append_text(text);
  }
  /// The same for a constant text, whose length is counted out of line.
  constexpr text_writer& put(const char* text) noexcept {
    return std::is_constant_evaluated() ? put(std::string_view{text}) : append_constant(text);
  }

  /// Appends an unsigned number in base 10.
  constexpr text_writer& decimal(std::uint64_t number) noexcept {
    if (!std::is_constant_evaluated()) return append_decimal(number);
    return number_in(10, number, 1);
  }

  /// Appends a number in base 16, without a prefix, padded with zeros to `digits`.
  constexpr text_writer& hexadecimal(std::uint64_t number, std::size_t digits = 1) noexcept {
    if (!std::is_constant_evaluated()) return append_hexadecimal(number, digits);
    return number_in(16, number, digits);
  }

  /// Appends a value of any type that has a `to_text`.
  template <class T>
    requires requires(const T& value) { std::string_view{to_text(value)}; }
  constexpr text_writer& put(const T& value) noexcept {
    return put(std::string_view{to_text(value)});
  }

  /// Appends a sentence, with an argument in place of each "{}": a text, an unsigned number in base
  /// 10, or a value of any type that has a `to_text`. Out of line, so that a sentence costs one
  /// call.
  text_writer& put(const char* sentence, std::initializer_list<text_argument> arguments) noexcept;

  [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }

 private:
  // Text that is not constant is formatted out of line: a message costs a call for each of its
  // parts.
  text_writer& append_text(std::string_view text) noexcept;
  text_writer& append_constant(const char* text) noexcept;
  text_writer& append_decimal(std::uint64_t number) noexcept;
  text_writer& append_hexadecimal(std::uint64_t number, std::size_t digits) noexcept;

  constexpr void append(char character) noexcept {
    if (character == '\0') {
      append('\\');
      character = '0';
    }
    if (size_ == capacity_)
      mark_cut();
    else
      buffer_[size_++] = character;
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

  /// Returns the text.
  [[nodiscard]] constexpr std::string_view view() const noexcept ADVERB_LIFETIME_BOUND {
    return {characters_, size_};
  }
  /// Returns the text, null-terminated.
  [[nodiscard]] constexpr const char* c_str() const noexcept { return characters_; }
  /// Converts to the text, which is valid as long as this object.
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

/// A reference to a value in a sentence. The value must outlive it.
class text_argument {
 public:
  // By reference, so that an argument is two words.
  /// Refers to a text, an unsigned number or a value that adverb can print.
  text_argument(const std::string_view& text) noexcept : value_{&text}, put_{&put_text} {}
  text_argument(const char* text) noexcept : value_{text}, put_{&put_c_string} {}
  template <class T>
    requires std::is_unsigned_v<T>
  text_argument(T number) noexcept : number_{number}, put_{&put_number} {}
  template <has_text T>
  text_argument(const T& value) noexcept : value_{&value}, put_{&put_value<T>} {}

  /// Appends the value to the writer.
  void put_to(text_writer& writer) const noexcept { put_(*this, writer); }

 private:
  using put_function = void (*)(const text_argument& self, text_writer& writer) noexcept;

  static void put_text(const text_argument& self, text_writer& writer) noexcept;
  static void put_c_string(const text_argument& self, text_writer& writer) noexcept;
  static void put_number(const text_argument& self, text_writer& writer) noexcept;
  template <class T>
  static void put_value(const text_argument& self, text_writer& writer) noexcept {
    writer.put(*static_cast<const T*>(self.value_));
  }

  union {
    const void* value_;
    std::uint64_t number_;
  };
  put_function put_;
};

namespace detail {
[[nodiscard]] std::string string_of(std::string_view text);
}  // namespace detail

/// Returns the text of a value as a std::string.
template <has_text T>
[[nodiscard]] std::string to_string(const T& value) {
  return detail::string_of(to_text(value));
}

namespace detail {

constexpr void put_name_or_number(text_writer& writer, std::string_view name,
                                  std::uint64_t number) noexcept {
  if (name.empty())
    writer.put("unknown (").decimal(number).put(")");
  else
    writer.put(name);
}

/// The same for values that are not constant, and their numbers, out of line.
[[nodiscard]] static_string<24> run_time_decimal_text(std::uint64_t number) noexcept;
[[nodiscard]] static_string<48> run_time_name_or_number(std::string_view name,
                                                        std::uint64_t number) noexcept;
[[nodiscard]] static_string<48> run_time_listed_name_or_number(std::string_view names,
                                                               std::uint64_t number) noexcept;
[[nodiscard]] std::string_view run_time_listed_name(std::string_view names,
                                                    std::size_t index) noexcept;

/// Returns the name of an enumerator; its number if the name is empty (an unknown enumerator).
[[nodiscard]] constexpr static_string<48> name_or_number(std::string_view name,
                                                         std::uint64_t number) noexcept {
  if (!std::is_constant_evaluated()) return run_time_name_or_number(name, number);
  return static_string<48>{[&](text_writer& writer) { put_name_or_number(writer, name, number); }};
}

[[nodiscard]] constexpr std::string_view find_listed_name(std::string_view names,
                                                          std::size_t index) noexcept {
  std::size_t begin = 0;
  for (; index != 0; --index) {
    while (begin < names.size() && names[begin] != '|') ++begin;
    if (begin == names.size()) return {};
    ++begin;
  }
  std::size_t end = begin;
  while (end < names.size() && names[end] != '|') ++end;
  return {names.data() + begin, end - begin};
}

/// Returns a name of a list, "first|second|third", or an empty text. A list of names is one
/// constant; a switch or an array of texts would be several times its size.
[[nodiscard]] constexpr std::string_view listed_name(std::string_view names,
                                                     std::size_t index) noexcept {
  return std::is_constant_evaluated() ? find_listed_name(names, index)
                                      : run_time_listed_name(names, index);
}

/// Returns the name of an enumerator in a list of the names of 0, 1 and so on; its number if it has
/// none.
[[nodiscard]] constexpr static_string<48> listed_name_or_number(std::string_view names,
                                                                std::uint64_t number) noexcept {
  if (!std::is_constant_evaluated()) return run_time_listed_name_or_number(names, number);
  return name_or_number(listed_name(names, number), number);
}

/// Returns the name of a bit in a list of the names of bits 0, 1 and so on, or an empty text.
[[nodiscard]] constexpr std::string_view listed_bit_name(std::string_view names,
                                                         std::uint64_t bit) noexcept {
  if (bit == 0 || (bit & (bit - 1)) != 0) return {};
  return listed_name(names, static_cast<std::size_t>(__builtin_ctzll(bit)));
}

}  // namespace detail
}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/core/impl/text.ipp>
#endif
