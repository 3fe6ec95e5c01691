// SPDX-License-Identifier: MIT
// The main function of the test programs. Besides Catch2's own ways there are these to run a
// program, in which a test case has the name "SOURCE: CASE":
//
//   PROGRAM --list-cases [SOURCE…]   print the names of the cases, or of those of some sources, a
//                                    line each; 1/2 in place of the sources is every second
//                                    source, and 2/2 the others, here and below
//   PROGRAM --case NAME              run one case
//   PROGRAM --each-case [SOURCE…]    run all cases, or those of some sources, each in a process of
//                                    its own; without arguments a program does the same
//   PROGRAM --each-source [SOURCE…]  the same, but the cases of a source share a process until one
//                                    ends it, except those with the tag [alone]: for sanitizers,
//                                    which make processes slow to start
//
// Other arguments go to Catch2, which runs the selected cases in one process: a case can leave
// something behind on purpose for the next one. If each case has a process, a crash loses its own
// case only, and a case that does not end in $ADVERB_CASE_TIMEOUT seconds (180 unless set) is
// killed. If $ADVERB_CASES names a file, only the cases that it lists run. The output for each case
// is read by support/verdict.
//
// A case that asserts nothing fails, unless it reports a skip (skip.hpp). A hidden case named
// "role: …" runs in another process, of a case that judges it, and may assert nothing.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#if __has_include(<catch2/catch_session.hpp>)
#include <catch2/catch_session.hpp>
#include <catch2/catch_test_case_info.hpp>
#include <catch2/interfaces/catch_interfaces_registry_hub.hpp>
#include <catch2/interfaces/catch_interfaces_testcase.hpp>
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#endif

#include "support/before_all_cases.hpp"

namespace {

using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

constexpr int skipped_status = 77;

struct test_case {
  std::string source;  // Below the folder of the program, without its ending: "cm.connections".
  std::string name;
  bool alone;  // Has the tag [alone]: what it tests belongs to its process.

  [[nodiscard]] std::string full_name() const { return source + ": " + name; }
};

[[nodiscard]] std::string source_of(std::string_view file) {
  if (file.starts_with(ADVERB_TEST_FOLDER)) {
    file.remove_prefix(std::strlen(ADVERB_TEST_FOLDER));
    file.remove_prefix(file.find('/') + 1);
  }
  std::string source{file.substr(0, file.rfind('.'))};
  std::replace(source.begin(), source.end(), '/', '.');
  return source;
}

/// The cases that are not hidden, in the order of their sources.
[[nodiscard]] std::vector<test_case> all_cases() {
  std::map<std::string, std::vector<test_case>> by_source;
  for (const auto& each : Catch::getRegistryHub().getTestCaseRegistry().getAllTests()) {
    const auto& info = each.getTestCaseInfo();
    if (info.isHidden()) continue;
    const std::string source = source_of(info.lineInfo.file);
    const bool alone = info.tagsAsString().find("[alone]") != std::string::npos;
    by_source[source].push_back({source, info.name, alone});
  }
  std::vector<test_case> cases;
  for (const auto& [source, all] : by_source) cases.insert(cases.end(), all.begin(), all.end());
  return cases;
}

/// The sources that arguments name: "1/2" is every second source, and "2/2" the others.
[[nodiscard]] std::vector<std::string> named_sources(std::vector<std::string> arguments) {
  if (arguments != std::vector<std::string>{"1/2"} && arguments != std::vector<std::string>{"2/2"})
    return arguments;
  std::vector<std::string> half;
  std::string last;
  bool is_taken = arguments[0] == "2/2";
  for (const test_case& each : all_cases()) {
    if (each.source == last) continue;
    last = each.source;
    is_taken = !is_taken;
    if (is_taken) half.push_back(last);
  }
  return half;
}

/// The cases of some sources, or of all if there are none.
[[nodiscard]] std::vector<test_case> cases_of(const std::vector<std::string>& sources) {
  std::vector<test_case> cases = all_cases();
  if (!sources.empty())
    std::erase_if(cases, [&](const test_case& each) {
      return std::find(sources.begin(), sources.end(), each.source) == sources.end();
    });
  return cases;
}

/// Fails a case or a section that asserts nothing; a reported skip (skip.hpp) counts as an
/// assertion. In Catch2 3 no match is an error, in Catch2 2 only with another warning.
void refuse_empty_cases(Catch::Session& session) {
  session.configData().warnings =
#if __has_include(<catch2/catch_session.hpp>)
      Catch::WarnAbout::NoAssertions;
#else
      static_cast<Catch::WarnAbout::What>(Catch::WarnAbout::NoAssertions |
                                          Catch::WarnAbout::NoTests);
#endif
}

/// Runs the case in this process.
[[nodiscard]] int run_case(Catch::Session& session, const test_case& chosen) {
  std::string pattern;
  for (const char c : chosen.name) {
    if (std::strchr("\\,[]\"", c) != nullptr) pattern += '\\';
    pattern += c;
  }
  auto options = session.configData();
  options.testsOrTags = {pattern};
  session.useConfigData(options);
  return session.run();
}

/// The process that runs now, for the handler of signals.
volatile std::sig_atomic_t running = 0;

extern "C" void end_with_case(int signal) {
  if (running > 0) ::kill(-static_cast<pid_t>(running), SIGKILL);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

/// A process that runs cases in order, one at a time, until one of them ends it. It has a process
/// group of its own.
class case_process {
 public:
  case_process(Catch::Session& session, std::span<const test_case> cases) {
    int output[2], orders[2], results[2];
    if (::pipe(output) != 0 || ::pipe(orders) != 0 || ::pipe(results) != 0)
      std::perror("pipe"), std::exit(125);
    std::fflush(nullptr);
    process_ = ::fork();
    if (process_ < 0) std::perror("fork"), std::exit(125);
    if (process_ == 0) {
      ::setpgid(0, 0);
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // A runner that is killed leaves no case behind.
      for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) std::signal(signal, SIG_DFL);
      ::dup2(output[1], STDOUT_FILENO);
      ::dup2(output[1], STDERR_FILENO);
      for (const int end : {output[0], output[1], orders[1], results[0]}) ::close(end);
      // A case may limit descriptors by their number, so these become the lowest.
      const int lowest[2]{::fcntl(orders[0], F_DUPFD_CLOEXEC, 3),
                          ::fcntl(results[1], F_DUPFD_CLOEXEC, 3)};
      ::close(orders[0]);
      ::close(results[1]);
      run(session, cases, lowest[0], lowest[1]);
    }
    ::setpgid(process_, process_);
    running = process_;
    for (const int end : {output[1], orders[0], results[1]}) ::close(end);
    output_ = output[0], orders_ = orders[1], results_ = results[0];
  }

  case_process(const case_process&) = delete;
  case_process& operator=(const case_process&) = delete;

  ~case_process() {
    ::kill(-process_, SIGKILL);
    if (!ended_) ::waitpid(process_, nullptr, 0);
    running = 0;
    for (const int end : {output_, orders_, results_})
      if (end >= 0) ::close(end);
  }

  struct outcome {
    std::optional<int> status;  // A status of waitpid(2), or empty after the time limit.
    std::string output;
  };

  /// Has the next case run.
  [[nodiscard]] outcome run_next(int number, std::chrono::seconds limit) {
    // Fails after the end of the process, which waitpid reports.
    (void)!::write(orders_, &number, sizeof number);
    outcome result;
    const auto deadline = clock_type::now() + limit;
    // A child of a case can outlive it and hold the pipes, so their ends are not the end.
    while (!result.status && clock_type::now() < deadline) {
      pollfd ready[]{{output_, POLLIN, 0}, {results_, POLLIN, 0}};
      ::poll(ready, 2, 20);
      if (ready[0].revents != 0) take_output(result.output);
      int status = 0;
      if (ready[1].revents != 0 && ::read(results_, &status, sizeof status) == sizeof status) {
        result.status = W_EXITCODE(status, 0);
      } else if (::waitpid(process_, &status, WNOHANG) == process_) {
        ended_ = true;
        result.status = status;
      }
    }
    for (pollfd rest{output_, POLLIN, 0}; output_ >= 0 && ::poll(&rest, 1, 0) > 0;)
      take_output(result.output);
    return result;
  }

  [[nodiscard]] bool ended() const { return ended_; }

 private:
  /// The other process.
  [[noreturn]] static void run(Catch::Session& session, std::span<const test_case> cases,
                               int orders, int results) {
    for (const test_case& each : cases) {
      int number = 0;
      if (::read(orders, &number, sizeof number) != sizeof number) break;
      ::setenv("ADVERB_CASE_NUMBER", std::to_string(number).c_str(), 1);
      const int status = run_case(session, each);
      if (&each == &cases.back()) std::exit(status);
      std::cout.flush();
      std::fflush(nullptr);
      (void)!::write(results, &status, sizeof status);
    }
    std::exit(0);
  }

  void take_output(std::string& output) {
    char some[4096];
    const auto length = ::read(output_, some, sizeof some);
    if (length > 0) {
      output.append(some, static_cast<std::size_t>(length));
    } else {
      ::close(std::exchange(output_, -1));
    }
  }

  pid_t process_ = -1;
  int output_ = -1, orders_ = -1, results_ = -1;
  bool ended_ = false;
};

/// Returns the number of assertions of a passed case, as Catch2 has printed it.
[[nodiscard]] long assertions_in(std::string_view output) {
  constexpr std::string_view words = "All tests passed (";
  const auto at = output.rfind(words);
  return at == output.npos ? 0 : std::atol(output.data() + at + words.size());
}

[[nodiscard]] std::string verdict(const case_process::outcome& result, std::chrono::seconds limit) {
  if (!result.status) return "failed: no end after " + std::to_string(limit.count()) + " s";
  const int status = *result.status;
  if (WIFSIGNALED(status))
    return "failed: " + std::string{::strsignal(WTERMSIG(status))} + " (signal " +
           std::to_string(WTERMSIG(status)) + ")";
  if (WEXITSTATUS(status) == 0) return "passed";
  if (WEXITSTATUS(status) == skipped_status) return "skipped";
  return "failed: exit status " + std::to_string(WEXITSTATUS(status));
}

[[nodiscard]] std::optional<std::set<std::string>> listed_cases() {
  const char* const file = std::getenv("ADVERB_CASES");
  if (file == nullptr || *file == '\0') return std::nullopt;
  std::ifstream lines{file};
  if (!lines) std::fprintf(stderr, "cannot read $ADVERB_CASES, %s\n", file), std::exit(125);
  std::set<std::string> cases;
  for (std::string line; std::getline(lines, line);) cases.insert(line);
  return cases;
}

/// If two machines run the same cases, waits until both can begin the case, however the last one
/// ended.
void meet_the_other_host(int number) {
  const char* const hosts = std::getenv("SOFTRDMA_HOSTS");
  if (hosts == nullptr || std::string_view{hosts} != "2") return;
  if (std::system(("softrdma-barrier case-" + std::to_string(number)).c_str()) != 0)
    std::puts("the other host ended early"), std::exit(125);
}

/// Runs the cases that are chosen in the order of their sources: each in a process of its own, or
/// those of a source in one process, as far as they do not end it.
[[nodiscard]] int run_each(Catch::Session& session, const char* program,
                           const std::vector<std::string>& sources, bool together) {
  const char* const seconds = std::getenv("ADVERB_CASE_TIMEOUT");
  // A processor that is emulated or shared may need minutes for a case that does not hang.
  const std::chrono::seconds limit{seconds != nullptr ? std::atoi(seconds) : 180};
  const auto listed = listed_cases();
  std::set<std::string> unknown{sources.begin(), sources.end()};
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, &end_with_case);
  std::signal(SIGPIPE, SIG_IGN);

  // Once, and not in each process: Catch2's order of the cases, and what the folder has.
  (void)Catch::getRegistryHub().getTestCaseRegistry().getAllTestsSorted(session.config());
  if (before_all_cases != nullptr) before_all_cases();

  std::vector<test_case> chosen = cases_of(sources);
  std::erase_if(chosen, [&](const test_case& each) {
    unknown.erase(each.source);
    return listed && listed->count(each.full_name()) == 0;
  });

  int count = 0, failed = 0, skipped = 0;
  long assertions = 0;
  std::optional<case_process> process;
  for (auto at = chosen.begin(); at != chosen.end(); ++at) {
    ++count;
    std::printf("[case] %s\n", at->full_name().c_str());
    std::fflush(stdout);
    meet_the_other_host(count);
    const auto begin = clock_type::now();
    if (!process) {
      const auto end = std::find_if(at + 1, chosen.end(), [&](const test_case& each) {
        return !together || at->alone || each.alone || each.source != at->source;
      });
      process.emplace(session, std::span<const test_case>{at, end});
    }
    const case_process::outcome result = process->run_next(count, limit);
    if (!result.status || process->ended()) process.reset();
    const std::string what = verdict(result, limit);
    failed += what.starts_with("failed") ? 1 : 0;
    skipped += what == "skipped" ? 1 : 0;
    assertions += assertions_in(result.output);
    // The output of a passed case is of interest only if it skipped something.
    if (what != "passed" || result.output.find("adverb-skip: ") != std::string::npos) {
      std::fputs(result.output.c_str(), stdout);
      if (!result.output.empty() && result.output.back() != '\n') std::putchar('\n');
    }
    std::printf("[verdict] %s, %.2f s\n", what.c_str(),
                std::chrono::duration<double>(clock_type::now() - begin).count());
  }
  std::printf("%ld assertions\n%d passed, %d failed, %d skipped\n", assertions,
              count - failed - skipped, failed, skipped);
  for (const std::string& source : unknown)
    std::fprintf(stderr, "%s: no source is named '%s'\n", program, source.c_str());
  return failed > 0 || !unknown.empty() ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "--list-cases") {
    for (const test_case& each : cases_of(named_sources({argv + 2, argv + argc})))
      std::puts(each.full_name().c_str());
    return 0;
  }
  Catch::Session session;
  // A role is the other process of a case, which judges it.
  if (!what.starts_with("role: ")) refuse_empty_cases(session);
  if (argc == 1) return run_each(session, argv[0], {}, false);
  if (what == "--each-case" || what == "--each-source")
    return run_each(session, argv[0], named_sources({argv + 2, argv + argc}),
                    what == "--each-source");
  if (what != "--case" || argc != 3) return session.run(argc, argv);
  for (const test_case& each : all_cases())
    if (each.full_name() == argv[2]) return run_case(session, each);
  std::fprintf(stderr, "%s: no case is named '%s'\n", argv[0], argv[2]);
  return 1;
}
