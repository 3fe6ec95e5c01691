// SPDX-License-Identifier: MIT
// judge gcc|clang SOURCE -- COMPILER ARGUMENTS...
//
// Compiles SOURCE without its cases, then each section of cases, and judges every case.
// cmake/expect_compile_failure.cmake describes the form of a source. Prints the name and the
// sentence of each case that holds, and each problem with what the compiler printed there. Returns
// 0 if all cases hold, 1 if not, and 2 if the source or the command line is malformed.
//
// An error belongs to the source line at which its instantiation starts: the last "required from
// here" of GCC, the last "requested here" of Clang. Without an instantiation it belongs to its own
// line. Both compilers print an instantiation once, above or below the first of its errors.
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/wait.h>

namespace {

enum class family { gcc, clang };

// ---- The source

struct test_case {
  std::string name;
  std::size_t section = 0;
  std::size_t first_line = 0;
  std::size_t last_line = 0;
  std::string sentence;  // Empty if the case is for other compilers.
  std::vector<std::string> unwanted;
  bool has_expectation = false;
};

class malformed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::optional<std::string_view> after(std::string_view text, std::string_view start) {
  if (!text.starts_with(start)) return std::nullopt;
  return trimmed(text.substr(start.size()));
}

// Reads digits and skips them.
std::optional<std::size_t> take_number(std::string_view& text) {
  std::size_t digits = 0;
  std::size_t number = 0;
  for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9'; ++digits)
    number = number * 10 + static_cast<std::size_t>(text[digits] - '0');
  if (digits == 0) return std::nullopt;
  text.remove_prefix(digits);
  return number;
}

// Reads the cases of a source, with the sentences for one family of compilers.
class source_reader {
 public:
  source_reader(std::string path, family compiler)
      : path_(std::move(path)), own_(compiler == family::gcc ? "(gcc)" : "(clang)") {}

  std::vector<test_case> read() {
    std::ifstream file{path_};
    if (!file) throw malformed{path_ + ": cannot be read"};
    for (std::string line; std::getline(file, line);) {
      ++number_;
      take(trimmed(line));
    }
    if (section_) fail("a section has no #endif");
    if (cases_.empty()) fail("there is no case");
    return std::move(cases_);
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    throw malformed{path_ + ':' + std::to_string(number_) + ": " + problem};
  }

  void take(std::string_view line) {
    auto start = after(line, "#if ADVERB_MUST_FAIL ==");
    if (!start && section_) start = after(line, "#elif ADVERB_MUST_FAIL ==");
    const auto comment = after(line, "//");
    const auto name = comment ? after(*comment, "case:") : std::nullopt;
    if (start) {
      start_section(*start);
    } else if (!section_) {
      if (name || (comment && comment->starts_with("expect")))
        fail("a case stands below '#if ADVERB_MUST_FAIL == 1'");
    } else if (line.starts_with("#endif")) {
      end_case();
      section_ = 0;
    } else if (line.starts_with('#')) {
      fail("a section has no other preprocessor directives");
    } else if (name) {
      start_case(*name);
    } else if (in_head_ && comment) {
      take_head(*comment);
    } else if (comment && comment->starts_with("expect")) {
      fail("an expectation follows '// case: NAME'");
    } else if (in_case_) {
      in_head_ = false;
      if (!line.empty()) cases_.back().last_line = number_;
    } else if (comment) {
      explained_ = true;
    } else if (!line.empty()) {
      fail("code above the first '// case: NAME' of a section");
    }
  }

  void start_section(std::string_view number) {
    end_case();
    const auto section = take_number(number);
    if (!section || *section == 0 || *section > sections_ + 1)
      fail("sections are numbered 1, 2, 3, ...");
    section_ = *section;
    sections_ = std::max(sections_, section_);
    explained_ = section_ == 1;
  }

  void start_case(std::string_view name) {
    end_case();
    if (!explained_) fail("a comment above the first case says why the section is apart");
    for (const auto& other : cases_)
      if (other.name == name) fail("there is another case with this name");
    test_case fresh;
    fresh.name = name;
    fresh.section = section_;
    fresh.first_line = fresh.last_line = number_;
    cases_.push_back(std::move(fresh));
    in_case_ = in_head_ = true;
    continued_ = nullptr;
  }

  void end_case() {
    if (in_case_ && !cases_.back().has_expectation)
      fail("the case '" + cases_.back().name + "' has no '// expect: SENTENCE'");
    in_case_ = in_head_ = false;
  }

  // A comment above the code of a case: an expectation, or the next line of one.
  void take_head(std::string_view comment) {
    auto& current = cases_.back();
    const auto rest = after(comment, "expect");
    if (!rest) {
      if (continued_) (*continued_ += ' ') += comment;
      return;
    }
    const auto colon = rest->find(':');
    if (colon == rest->npos) fail("an expectation is '// expect: SENTENCE'");
    const auto whose = rest->substr(0, colon);
    const auto text = trimmed(rest->substr(colon + 1));
    if (text.empty()) fail("the sentence is missing");
    if (whose == "(not)") {
      current.unwanted.emplace_back(text);
      continued_ = &current.unwanted.back();
      return;
    }
    if (!whose.empty() && whose != "(gcc)" && whose != "(clang)")
      fail("an expectation is for (gcc), (clang) or (not)");
    current.has_expectation = true;
    continued_ = nullptr;
    if (whose.empty() || whose == own_) {
      if (!current.sentence.empty()) fail("a case has one sentence for each compiler");
      current.sentence = text;
      continued_ = &current.sentence;
    }
  }

  std::string path_;
  std::string own_;
  std::vector<test_case> cases_;
  std::size_t number_ = 0;
  std::size_t section_ = 0;   // 0 outside of all.
  std::size_t sections_ = 0;  // The number of them so far.
  bool explained_ = false;
  bool in_case_ = false;
  bool in_head_ = false;
  std::string* continued_ = nullptr;
};

// ---- The compiler

struct outcome {
  int status = 0;
  std::vector<std::string> lines;
};

std::string quoted(std::string_view argument) {
  std::string result = "'";
  for (const char each : argument) {
    if (each == '\'')
      result += "'\\''";
    else
      result += each;
  }
  return result + "'";
}

outcome run(const std::vector<std::string>& command) {
  std::string line = "LC_ALL=C";
  for (const auto& argument : command) line += ' ' + quoted(argument);
  std::FILE* const pipe = popen((line + " 2>&1").c_str(), "r");
  if (!pipe) throw std::runtime_error{"the compiler could not be started"};
  std::string said;
  char chunk[4096];
  for (std::size_t size; (size = std::fread(chunk, 1, sizeof(chunk), pipe)) > 0;)
    said.append(chunk, size);
  const int status = pclose(pipe);
  outcome result;
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  for (std::size_t start = 0; start < said.size();) {
    const auto end = said.find('\n', start);
    result.lines.push_back(said.substr(start, end - start));
    start = end == said.npos ? said.size() : end + 1;
  }
  return result;
}

// ---- What the compiler printed

// A line of output: "PATH:LINE:COLUMN: TEXT", or TEXT alone.
struct output_line {
  std::string_view path;
  std::size_t line = 0;  // 0 if the text has no position.
  std::string_view text;
};

output_line parse(std::string_view whole) {
  for (auto colon = whole.find(':'); colon != whole.npos; colon = whole.find(':', colon + 1)) {
    auto rest = whole.substr(colon + 1);
    if (rest.starts_with(' ')) break;
    const auto line = take_number(rest);
    if (!line || !rest.starts_with(':')) continue;
    rest.remove_prefix(1);
    auto behind_column = rest;
    if (take_number(behind_column) && behind_column.starts_with(':'))
      rest = behind_column.substr(1);
    return {whole.substr(0, colon), *line, trimmed(rest)};
  }
  return {{}, 0, trimmed(whole)};
}

// Returns whether a line is of a kind: "error: TEXT" at a position, or "cc1plus: error: TEXT"
// without one.
bool is(const output_line& line, const std::string& kind) {
  return line.text.starts_with(kind + ": ") ||
         (line.line == 0 && line.text.find(": " + kind + ": ") != line.text.npos);
}

bool is_crash(const output_line& line) {
  return is(line, "internal compiler error") ||
         line.text.find("confused by earlier errors") != line.text.npos;
}

bool is_error(const output_line& line) {
  return is(line, "error") || is(line, "fatal error") || is_crash(line);
}

// A note of Clang that is a step of the instantiation which the error above it is in.
bool is_step(const output_line& line) {
  const auto note = after(line.text, "note:");
  return note && !note->starts_with("in call to ") &&
         (note->starts_with("in ") || note->starts_with("while ") || note->starts_with("during "));
}

// An error, or a warning, with the lines that belong to it.
struct diagnostic {
  std::size_t source_line = 0;  // 0 if it does not come from the source.
  bool is_error = false;
  bool is_crash = false;
  std::string message;
  std::vector<std::string> lines;
};

class output_reader {
 public:
  output_reader(family compiler, std::string_view source)
      : is_gcc_(compiler == family::gcc), source_(source) {}

  std::vector<diagnostic> read(const std::vector<std::string>& lines) {
    for (const auto& line : lines) {
      const auto parsed = parse(line);
      if (is_error(parsed) || is(parsed, "warning"))
        start(parsed, line);
      else if (is(parsed, "note"))
        take_note(parsed, line);
      else
        take_leading(parsed, line);
    }
    return std::move(found_);
  }

 private:
  // The line in the source, or 0.
  std::size_t source_line(const output_line& line) const {
    return line.path == source_ ? line.line : 0;
  }

  // GCC prints the steps above the error or note that they lead to, the outermost one last.
  void take_leading(const output_line& parsed, const std::string& line) {
    leading_.push_back(line);
    if (!is_gcc_ || parsed.line == 0) return;
    if (parsed.text.ends_with("required from here")) has_steps_ = true;
    if (const auto here = source_line(parsed)) step_ = here;
  }

  void start(const output_line& parsed, const std::string& line) {
    diagnostic fresh;
    fresh.is_error = is_error(parsed);
    fresh.is_crash = is_crash(parsed);
    fresh.message = parsed.text;
    fresh.source_line = step_ ? step_ : source_line(parsed);
    inherited_ = !fresh.source_line && !fresh.is_crash && parsed.line &&
                 (explained_ || (instantiating_ && !has_steps_));
    if (inherited_)
      fresh.source_line = found_.back().source_line;
    else
      explained_ = instantiating_ = false;
    if (has_steps_) instantiating_ = true;
    if (fresh.is_crash) fresh.source_line = 0;
    found_.push_back(std::move(fresh));
    append(line);
    steps_may_follow_ = !is_gcc_;
  }

  void take_note(const output_line& parsed, const std::string& line) {
    if (found_.empty()) return;
    append(line);
    auto& current = found_.back();
    const auto here = source_line(parsed);
    if (!is_step(parsed)) steps_may_follow_ = false;
    if (steps_may_follow_) {
      // Clang prints the steps below the error, above its other notes, the outermost one last.
      if (here || inherited_) current.source_line = here;
      inherited_ = false;
      instantiating_ = true;
    } else if (is_gcc_ && here && parsed.text.ends_with("first required here")) {
      current.source_line = here;
    } else if (is_gcc_ && parsed.text.ends_with("the default definition would be ill-formed:")) {
      explained_ = true;
    }
  }

  void append(const std::string& line) {
    auto& lines = found_.back().lines;
    lines.insert(lines.end(), leading_.begin(), leading_.end());
    lines.push_back(line);
    leading_.clear();
    has_steps_ = false;
    step_ = 0;
  }

  bool is_gcc_;
  std::string_view source_;
  std::vector<diagnostic> found_;
  // The lines of GCC above the next error or note, and the outermost step in the source.
  std::vector<std::string> leading_;
  bool has_steps_ = false;
  std::size_t step_ = 0;
  // True if the next error may be in the instantiation of the last one, or explain why GCC deleted
  // a function; and if the last one was taken for such an error.
  bool instantiating_ = false;
  bool explained_ = false;
  bool inherited_ = false;
  bool steps_may_follow_ = false;
};

// ---- The judgement

class judgement {
 public:
  judgement(std::string source, family compiler)
      : source_(std::move(source)),
        compiler_(compiler),
        cases_(source_reader{source_, compiler}.read()) {}

  // Returns whether all is as expected.
  bool pass(const std::vector<std::string>& command) {
    judge_twin(run(command));
    std::size_t sections = 0;
    for (const auto& each : cases_) sections = std::max(sections, each.section);
    for (std::size_t section = 1; section <= sections; ++section) {
      auto failing = command;
      failing.push_back("-DADVERB_MUST_FAIL=" + std::to_string(section));
      judge_section(section, run(failing));
    }
    std::cout << source_ << ": " << held_;
    if (held_ != expected_) std::cout << " of " << expected_;
    std::cout << (expected_ == 1 ? " expectation holds" : " expectations hold");
    if (expected_ != cases_.size())
      std::cout << ", " << cases_.size() - expected_ << " left to other compilers";
    std::cout << '\n';
    return held_ == expected_ && !failed_;
  }

 private:
  void complain(std::size_t line, const std::string& problem,
                const std::vector<std::string>& printed) {
    failed_ = true;
    std::cout << source_;
    if (line) std::cout << ':' << line;
    std::cout << ": " << problem << '\n';
    for (const auto& each : printed) std::cout << "    " << each << '\n';
  }

  void judge_twin(const outcome& twin) {
    if (twin.status != 0 || !twin.lines.empty())
      complain(0, "the code outside of the cases must compile without a warning", twin.lines);
  }

  void judge_section(std::size_t section, const outcome& failing) {
    std::vector<const test_case*> cases;
    for (const auto& each : cases_)
      if (each.section == section) cases.push_back(&each);
    auto found = output_reader{compiler_, source_}.read(failing.lines);
    // An error without a line of the source belongs to the only case.
    if (cases.size() == 1)
      for (auto& each : found)
        if (!each.source_line && !each.is_crash) each.source_line = cases[0]->first_line;
    if (failing.status != 0 && failing.status != 1)
      complain(0, "the compiler exited with status " + std::to_string(failing.status), {});
    for (const auto& each : found)
      if (each.is_error && !case_at(each.source_line))
        complain(each.source_line, "this error belongs to no case", each.lines);
    for (const auto* each : cases)
      if (!each->sentence.empty()) judge(*each, found);
  }

  const test_case* case_at(std::size_t line) const {
    for (const auto& each : cases_)
      if (line >= each.first_line && line <= each.last_line) return &each;
    return nullptr;
  }

  void judge(const test_case& expected, const std::vector<diagnostic>& found) {
    ++expected_;
    bool failed = false;
    bool has_sentence = false;
    std::vector<std::string> printed;
    for (const auto& each : found) {
      if (case_at(each.source_line) != &expected) continue;
      printed.insert(printed.end(), each.lines.begin(), each.lines.end());
      if (!each.is_error) continue;
      failed = true;
      if (each.message.find(expected.sentence) != std::string::npos) has_sentence = true;
    }
    std::string problem;
    if (!failed)
      problem = "compiled, but must fail with: " + expected.sentence;
    else if (!has_sentence)
      problem = "failed, but no error contains: " + expected.sentence;
    for (const auto& words : expected.unwanted)
      for (const auto& line : printed)
        if (problem.empty() && line.find(words) != std::string::npos)
          problem = "failed, but the compiler must not print: " + words;
    if (!problem.empty()) {
      complain(expected.first_line, expected.name + ": " + problem, printed);
      return;
    }
    ++held_;
    std::cout << "  " << expected.name << ": " << expected.sentence << '\n';
  }

  std::string source_;
  family compiler_;
  std::vector<test_case> cases_;
  std::size_t expected_ = 0;
  std::size_t held_ = 0;
  bool failed_ = false;
};

int judge(const std::vector<std::string>& arguments) {
  if (arguments.size() < 4 || arguments[2] != "--" ||
      (arguments[0] != "gcc" && arguments[0] != "clang"))
    throw malformed{"usage: judge gcc|clang SOURCE -- COMPILER ARGUMENTS..."};
  const auto compiler = arguments[0] == "gcc" ? family::gcc : family::clang;
  const auto& source = arguments[1];
  std::vector<std::string> command(arguments.begin() + 3, arguments.end());
  // The source is not quoted: a sentence in the code itself must not count.
  if (compiler == family::gcc)
    command.insert(command.end(),
                   {"-fmax-errors=0", "-fno-diagnostics-show-caret", "-fdiagnostics-color=never"});
  else
    command.insert(command.end(),
                   {"-ferror-limit=0", "-fno-caret-diagnostics", "-fno-color-diagnostics"});
  command.insert(command.end(), {"-ftemplate-backtrace-limit=0", "-fsyntax-only", source});
  return judgement{source, compiler}.pass(command) ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    return judge({arguments + 1, arguments + count});
  } catch (const std::exception& problem) {
    std::cerr << problem.what() << '\n';
    return 2;
  }
}
