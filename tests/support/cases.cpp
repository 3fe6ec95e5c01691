// SPDX-License-Identifier: MIT
// The main function of the test programs. Besides Catch2's own ways there are these to run a
// program, in which a test case has the name "SOURCE: CASE":
//
//   PROGRAM --list-cases             print the names of the cases, a line each
//   PROGRAM --case NAME              run one case
//   PROGRAM --each-case [SOURCE…]    run all cases, or those of some sources, each in a process of
//                                    its own; without arguments a program does the same
//
// Other arguments go to Catch2, which runs the selected cases in one process: a case can leave
// something behind on purpose for the next one. If each case has a process, a crash loses its own
// case only, and a case that does not end in $ADVERB_CASE_TIMEOUT seconds (60 unless set) is
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
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <poll.h>
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
  std::map<std::string, std::vector<std::string>> names;
  for (const auto& each : Catch::getRegistryHub().getTestCaseRegistry().getAllTests()) {
    const auto& info = each.getTestCaseInfo();
    if (!info.isHidden()) names[source_of(info.lineInfo.file)].push_back(info.name);
  }
  std::vector<test_case> cases;
  for (const auto& [source, all] : names)
    for (const std::string& name : all) cases.push_back({source, name});
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

struct outcome {
  std::optional<int> status;  // The status of waitpid(2); none if the case was killed for its time.
  std::string output;
};

/// Runs the case in a process group of its own, and takes what it prints.
[[nodiscard]] outcome run_apart(Catch::Session& session, const test_case& chosen,
                                std::chrono::seconds limit) {
  int ends[2];
  if (::pipe(ends) != 0) std::perror("pipe"), std::exit(125);
  std::fflush(nullptr);
  const pid_t process = ::fork();
  if (process < 0) std::perror("fork"), std::exit(125);
  if (process == 0) {
    ::setpgid(0, 0);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_DFL);
    ::dup2(ends[1], STDOUT_FILENO);
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
    std::exit(run_case(session, chosen));
  }
  ::setpgid(process, process);
  running = process;
  ::close(ends[1]);

  outcome result;
  int status = 0;
  bool ended = false;
  const auto deadline = clock_type::now() + limit;
  pollfd output{ends[0], POLLIN, 0};
  // A child of the case can outlive it and hold the pipe, so the end of the output is not the end.
  while (!ended && clock_type::now() < deadline) {
    if (::poll(&output, 1, output.fd < 0 ? 2 : 20) > 0) {
      char some[4096];
      const auto length = ::read(output.fd, some, sizeof some);
      if (length > 0) {
        result.output.append(some, static_cast<std::size_t>(length));
        continue;
      }
      if (length == 0) output.fd = -1;
    }
    ended = ::waitpid(process, &status, WNOHANG) == process;
  }
  ::kill(-process, SIGKILL);
  if (!ended) ::waitpid(process, nullptr, 0);
  running = 0;
  while (output.fd >= 0 && ::poll(&output, 1, 0) > 0) {
    char some[4096];
    const auto length = ::read(output.fd, some, sizeof some);
    if (length <= 0) break;
    result.output.append(some, static_cast<std::size_t>(length));
  }
  ::close(ends[0]);
  if (ended) result.status = status;
  return result;
}

/// Returns the number of assertions of a passed case, as Catch2 has printed it.
[[nodiscard]] long assertions_in(std::string_view output) {
  constexpr std::string_view words = "All tests passed (";
  const auto at = output.rfind(words);
  return at == output.npos ? 0 : std::atol(output.data() + at + words.size());
}

[[nodiscard]] std::string verdict(const outcome& result, std::chrono::seconds limit) {
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

[[nodiscard]] int run_each(Catch::Session& session, const char* program,
                           const std::vector<std::string>& sources) {
  const char* const seconds = std::getenv("ADVERB_CASE_TIMEOUT");
  const std::chrono::seconds limit{seconds != nullptr ? std::atoi(seconds) : 60};
  const auto listed = listed_cases();
  std::set<std::string> unknown{sources.begin(), sources.end()};
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, &end_with_case);

  // Once, and not in each process: Catch2's order of the cases, and what the folder has.
  (void)Catch::getRegistryHub().getTestCaseRegistry().getAllTestsSorted(session.config());
  if (before_all_cases != nullptr) before_all_cases();

  int count = 0, failed = 0, skipped = 0;
  long assertions = 0;
  for (const test_case& each : all_cases()) {
    if (!sources.empty() && std::find(sources.begin(), sources.end(), each.source) == sources.end())
      continue;
    unknown.erase(each.source);
    if (listed && listed->count(each.full_name()) == 0) continue;
    ++count;
    ::setenv("ADVERB_CASE_NUMBER", std::to_string(count).c_str(), 1);
    std::printf("[case] %s\n", each.full_name().c_str());
    std::fflush(stdout);
    meet_the_other_host(count);
    const auto begin = clock_type::now();
    const outcome result = run_apart(session, each, limit);
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
    for (const test_case& each : all_cases()) std::puts(each.full_name().c_str());
    return 0;
  }
  Catch::Session session;
  // A role is the other process of a case, which judges it.
  if (!what.starts_with("role: ")) refuse_empty_cases(session);
  if (argc == 1) return run_each(session, argv[0], {});
  if (what == "--each-case") return run_each(session, argv[0], {argv + 2, argv + argc});
  if (what != "--case" || argc != 3) return session.run(argc, argv);
  for (const test_case& each : all_cases())
    if (each.full_name() == argv[2]) return run_case(session, each);
  std::fprintf(stderr, "%s: no case is named '%s'\n", argv[0], argv[2]);
  return 1;
}
