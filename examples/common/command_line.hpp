// SPDX-License-Identifier: MIT
// The command line of an example. CLI11 parses it, in command_line.cpp only: including that library
// takes longer than compiling an example.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace examples {

/// A wrong argument that is found only after the device is queried.
struct wrong_argument : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

/// Thrown by the function that `run` calls if Ctrl-C ends the program in order.
struct interrupted {};

/// Exit statuses.
inline constexpr int failed = 1;
inline constexpr int used_wrongly = 2;
inline constexpr int ended_by_interrupt = 130;

/// The largest number of bytes, messages or the like that an option accepts.
inline constexpr std::uint64_t unlimited = std::uint64_t{1} << 31;

/// Sets further properties of an option that was added.
class option {
 public:
  explicit option(CLI::Option* added) noexcept : added_{added} {}

  option required() const;
  option excludes(option other) const;
  option needs(option other) const;
  /// Sets the name of the value in --help.
  option type_name(const std::string& name) const;
  /// Sets the default in --help.
  option default_text(const std::string& text) const;
  /// `complaint` returns an error about a value, or an empty string.
  option check(std::function<std::string(const std::string&)> complaint) const;

 private:
  CLI::Option* added_;
};

/// The options and positional arguments of a program, or of one of its commands. `names` are
/// "-s,--size" for an option, "HOST" for a positional argument. The variables that receive the
/// values must outlive the call of run().
class command_line {
 public:
  command_line(const std::string& description, const std::string& program);

  option add_flag(const std::string& names, bool& given, const std::string& description);
  option add_flag(const std::string& names, std::string& text, const std::string& description);
  option add_text(const std::string& names, std::string& text, const std::string& description);
  option add_texts(const std::string& names, std::vector<std::string>& texts,
                   const std::string& description);

  /// A number from `least` to `most`, in base 10. The value of `number` is the default.
  template <class Number>
  option add_number(const std::string& names, Number& number, std::uint64_t least,
                    std::uint64_t most, const std::string& description) {
    return add_number(names, set_to<Number>(number), least, most, description)
        .default_text(std::to_string(static_cast<std::uint64_t>(number)));
  }
  /// The same without a default: the description covers the case without the option.
  template <class Number>
  option add_number(const std::string& names, std::optional<Number>& number, std::uint64_t least,
                    std::uint64_t most, const std::string& description) {
    return add_number(names, set_to<Number>(number), least, most, description);
  }
  /// Several such numbers, with commas between them.
  option add_numbers(const std::string& names, std::vector<std::uint32_t>& numbers,
                     std::uint64_t least, std::uint64_t most, const std::string& description);

  /// Adds an option whose value is one of several words. They stand for the enumerators in their
  /// order, from `first` on.
  template <class Enumeration>
  option add_choice(const std::string& names, Enumeration& value,
                    std::span<const char* const> words, const std::string& description,
                    Enumeration first = {}) {
    return add_choice(names, set_to<Enumeration>(value, first), words, description);
  }
  template <class Enumeration>
  option add_choice(const std::string& names, std::optional<Enumeration>& value,
                    std::span<const char* const> words, const std::string& description,
                    Enumeration first = {}) {
    return add_choice(names, set_to<Enumeration>(value, first), words, description);
  }

  /// Exactly one option of the group has to be given.
  [[nodiscard]] command_line add_alternatives(const std::string& group);
  /// Exactly one command has to be given.
  [[nodiscard]] command_line add_command(const std::string& name, const std::string& description);
  /// Sets the end of --help.
  void add_footer(const std::string& text);

  /// Returns whether this command was given.
  [[nodiscard]] bool is_given() const;
  [[nodiscard]] std::string program() const;

 private:
  using setter = std::function<void(std::uint64_t)>;

  explicit command_line(std::shared_ptr<CLI::App> parser) noexcept : parser_{std::move(parser)} {}

  template <class Value, class Variable = Value>
  static setter set_to(Variable& variable, Value first = {}) {
    return [&variable, first](std::uint64_t number) {
      variable = static_cast<Value>(static_cast<std::uint64_t>(first) + number);
    };
  }

  option add_number(const std::string& names, setter set, std::uint64_t least, std::uint64_t most,
                    const std::string& description);
  option add_choice(const std::string& names, setter set, std::span<const char* const> words,
                    const std::string& description);

  friend int run(command_line& arguments, int argc, char** argv,
                 const std::function<void()>& program);

  std::shared_ptr<CLI::App> parser_;
};

/// Prints a sentence with the name of the program before it. Returns the status.
int complain(const command_line& arguments, const std::string& sentence, int status);

/// Runs a program from its main function: reads the arguments, calls `program`, and prints one
/// sentence about a failure. Returns the exit status.
int run(command_line& arguments, int argc, char** argv, const std::function<void()>& program);

}  // namespace examples
