// SPDX-License-Identifier: MIT
// Options that are numbers within limits.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>

#include <CLI/CLI.hpp>

namespace examples {

/// Accepts the whole numbers from `least` to `most`, in base 10.
[[nodiscard]] inline CLI::Validator number_from(std::uint64_t least, std::uint64_t most) {
  return CLI::Validator{
      [=](std::string& text) -> std::string {
        std::uint64_t number = 0;
        const char* const end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data(), end, number);
        if (error != std::errc{} || stop != end || number < least || number > most)
          return "must be a number from " + std::to_string(least) + " to " + std::to_string(most) +
                 ", not " + text;
        // Leading zeros would mean base 8 to what comes next.
        text = std::to_string(number);
        return {};
      },
      ""};
}

/// An option that takes such a number, and has a default.
template <class Number>
CLI::Option* add_number(CLI::App& app, const std::string& name, Number& number, std::uint64_t least,
                        std::uint64_t most, const std::string& description) {
  return app.add_option(name, number, description)
      ->check(number_from(least, most))
      ->type_name("NUMBER")
      ->default_str(std::to_string(static_cast<std::uint64_t>(number)));
}

/// The same without a default: the description says what is done without the option.
template <class Number>
CLI::Option* add_number(CLI::App& app, const std::string& name, std::optional<Number>& number,
                        std::uint64_t least, std::uint64_t most, const std::string& description) {
  return app.add_option(name, number, description)
      ->check(number_from(least, most))
      ->type_name("NUMBER");
}

/// More bytes, messages or the like than any device can handle at once.
inline constexpr std::uint64_t unlimited = std::uint64_t{1} << 31;

}  // namespace examples
