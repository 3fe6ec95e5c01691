// SPDX-License-Identifier: MIT
#pragma once

#include <adverb/core/text.hpp>

namespace adverb::inline ADVERB_ABI {

[[gnu::noinline]] ADVERB_FUNC text_writer& text_writer::append_text(
    std::string_view text) noexcept {
  for (const char character : text) append(character);
  return *this;
}

[[gnu::noinline]] ADVERB_FUNC text_writer& text_writer::append_constant(const char* text) noexcept {
  return append_text(text);
}

[[gnu::noinline]] ADVERB_FUNC text_writer& text_writer::append_decimal(
    std::uint64_t number) noexcept {
  return number_in(10, number, 1);
}

[[gnu::noinline]] ADVERB_FUNC text_writer& text_writer::append_hexadecimal(
    std::uint64_t number, std::size_t digits) noexcept {
  return number_in(16, number, digits);
}

[[gnu::noinline]] ADVERB_FUNC text_writer& text_writer::put(
    const char* sentence, std::initializer_list<text_argument> arguments) noexcept {
  const text_argument* next = arguments.begin();
  for (; *sentence != '\0'; ++sentence) {
    if (next != arguments.end() && sentence[0] == '{' && sentence[1] == '}') {
      next++->put_to(*this);
      ++sentence;
    } else {
      append(*sentence);
    }
  }
  return *this;
}

ADVERB_FUNC void text_argument::put_text(const text_argument& self, text_writer& writer) noexcept {
  writer.put(*static_cast<const std::string_view*>(self.value_));
}

ADVERB_FUNC void text_argument::put_c_string(const text_argument& self,
                                             text_writer& writer) noexcept {
  writer.put(static_cast<const char*>(self.value_));
}

ADVERB_FUNC void text_argument::put_number(const text_argument& self,
                                           text_writer& writer) noexcept {
  writer.decimal(self.number_);
}

namespace detail {

[[gnu::noinline]] ADVERB_FUNC std::string string_of(std::string_view text) {
  return std::string{text};
}

[[gnu::noinline]] ADVERB_FUNC static_string<24> run_time_decimal_text(
    std::uint64_t number) noexcept {
  return static_string<24>{[&](text_writer& writer) { writer.decimal(number); }};
}

[[gnu::noinline]] ADVERB_FUNC static_string<48> run_time_name_or_number(
    std::string_view name, std::uint64_t number) noexcept {
  return static_string<48>{[&](text_writer& writer) { put_name_or_number(writer, name, number); }};
}

[[gnu::noinline]] ADVERB_FUNC static_string<48> run_time_listed_name_or_number(
    std::string_view names, std::uint64_t number) noexcept {
  return name_or_number(listed_name(names, number), number);
}

[[gnu::noinline]] ADVERB_FUNC std::string_view run_time_listed_name(std::string_view names,
                                                                    std::size_t index) noexcept {
  return find_listed_name(names, index);
}

}  // namespace detail

}  // namespace adverb::inline ADVERB_ABI
