// SPDX-License-Identifier: MIT
#include "common/command_line.hpp"

#include <charconv>
#include <cstdio>
#include <exception>
#include <new>
#include <system_error>

#include <CLI/CLI.hpp>

#include <adverb/version.hpp>

namespace examples {

namespace {

/// Returns a check for a number from `least` to `most`, in base 10.
std::string complaint_about(const std::string& text, std::uint64_t least, std::uint64_t most) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc{} && stop == end && number >= least && number <= most) return {};
  return "must be a number from " + std::to_string(least) + " to " + std::to_string(most) +
         ", not " + text;
}

CLI::Validator number_from(std::uint64_t least, std::uint64_t most) {
  return CLI::Validator{[=](std::string& text) -> std::string {
                          std::string complaint = complaint_about(text, least, most);
                          // CLI11 would read leading zeros as base 8.
                          if (complaint.empty()) text = std::to_string(std::stoull(text));
                          return complaint;
                        },
                        ""};
}

/// Replaces a word by its place among `words`.
CLI::Validator one_of(std::vector<std::string> words) {
  return CLI::Validator{[words = std::move(words)](std::string& text) -> std::string {
                          std::string listed;
                          for (std::size_t index = 0; index < words.size(); ++index) {
                            if (text == words[index]) {
                              text = std::to_string(index);
                              return {};
                            }
                            if (index != 0) listed += index + 1 == words.size() ? " or " : ", ";
                            listed += words[index];
                          }
                          return "must be " + listed + ", not " + text;
                        },
                        ""};
}

/// CLI11 reports a missing argument before an unknown option.
std::string complaint_about(const CLI::App& parser, const CLI::ParseError& mistake) {
  const std::vector<std::string> unexpected = parser.remaining(true);
  const bool is_missing = dynamic_cast<const CLI::RequiredError*>(&mistake) != nullptr;
  const std::string complaint =
      is_missing && !unexpected.empty() ? CLI::ExtrasError{unexpected}.what() : mistake.what();
  return complaint + "; --help lists the options";
}

}  // namespace

option option::required() const { return option{added_->required()}; }
option option::excludes(option other) const { return option{added_->excludes(other.added_)}; }
option option::needs(option other) const { return option{added_->needs(other.added_)}; }
option option::type_name(const std::string& name) const { return option{added_->type_name(name)}; }
option option::default_text(const std::string& text) const {
  return option{added_->default_str(text)};
}
option option::check(std::function<std::string(const std::string&)> complaint) const {
  return option{added_->check(std::move(complaint))};
}

command_line::command_line(const std::string& description, const std::string& program)
    : parser_{std::make_shared<CLI::App>(description, program)} {
  const auto part = [](int number) { return "." + std::to_string(number); };
  parser_->set_version_flag("--version",
                            program + " (adverb) " + std::to_string(ADVERB_VERSION_MAJOR) +
                                part(ADVERB_VERSION_MINOR) + part(ADVERB_VERSION_PATCH));
}

option command_line::add_flag(const std::string& names, bool& given,
                              const std::string& description) {
  return option{parser_->add_flag(names, given, description)};
}
option command_line::add_flag(const std::string& names, std::string& text,
                              const std::string& description) {
  return option{parser_->add_flag(names, text, description)};
}
option command_line::add_text(const std::string& names, std::string& text,
                              const std::string& description) {
  return option{parser_->add_option(names, text, description)};
}
option command_line::add_texts(const std::string& names, std::vector<std::string>& texts,
                               const std::string& description) {
  return option{parser_->add_option(names, texts, description)};
}

option command_line::add_number(const std::string& names, setter set, std::uint64_t least,
                                std::uint64_t most, const std::string& description) {
  return option{parser_->add_option_function<std::uint64_t>(names, std::move(set), description)
                    ->check(number_from(least, most))
                    ->type_name("NUMBER")};
}
option command_line::add_numbers(const std::string& names, std::vector<std::uint32_t>& numbers,
                                 std::uint64_t least, std::uint64_t most,
                                 const std::string& description) {
  return option{parser_->add_option(names, numbers, description)
                    ->check(number_from(least, most))
                    ->delimiter(',')
                    ->type_name("NUMBERS")
                    ->allow_extra_args(false)};
}
option command_line::add_choice(const std::string& names, setter set,
                                std::span<const char* const> words,
                                const std::string& description) {
  return option{parser_->add_option_function<std::uint64_t>(names, std::move(set), description)
                    ->transform(one_of({words.begin(), words.end()}))
                    ->type_name("")};
}

command_line command_line::add_alternatives(const std::string& group) {
  auto* const alternatives = parser_->add_option_group(group);
  alternatives->require_option(1);
  return command_line{{parser_, alternatives}};
}
command_line command_line::add_command(const std::string& name, const std::string& description) {
  parser_->require_subcommand(1);
  return command_line{{parser_, parser_->add_subcommand(name, description)}};
}
void command_line::add_footer(const std::string& text) { parser_->footer(text); }

bool command_line::is_given() const { return parser_->parsed(); }
std::string command_line::program() const { return parser_->get_name(); }

int complain(const command_line& arguments, const std::string& sentence, int status) {
  std::fprintf(stderr, "%s: %s\n", arguments.program().c_str(), sentence.c_str());
  return status;
}

int run(command_line& arguments, int argc, char** argv, const std::function<void()>& program) {
  // Output appears at once, also through a pipe.
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  try {
    arguments.parser_->parse(argc, argv);
    program();
    return 0;
  } catch (const interrupted&) {
    return ended_by_interrupt;
  } catch (const CLI::Success& help) {
    return arguments.parser_->exit(help);
  } catch (const CLI::ParseError& mistake) {
    return complain(arguments, complaint_about(*arguments.parser_, mistake), used_wrongly);
  } catch (const wrong_argument& mistake) {
    return complain(arguments, mistake.what(), used_wrongly);
  } catch (const std::bad_alloc&) {
    return complain(arguments, "there is not enough memory for messages of this size", failed);
  } catch (const std::exception& failure) {
    // Failures of verbs are adverb::error, which explains itself.
    return complain(arguments, failure.what(), failed);
  }
}

}  // namespace examples
