// SPDX-License-Identifier: MIT
// What every main function does: read the arguments, run the program, say in one sentence what
// went wrong, and tell it by the exit status.
#pragma once

#include <concepts>
#include <cstdio>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>

#include <CLI/CLI.hpp>

namespace examples {

/// A wrong argument that shows only when the device has been asked.
struct wrong_argument : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

inline constexpr int failed = 1;
inline constexpr int used_wrongly = 2;

inline int complain(const CLI::App& app, const std::string& sentence, int status) {
  std::fprintf(stderr, "%s: %s\n", app.get_name().c_str(), sentence.c_str());
  return status;
}

/// Runs `program` with the arguments of `app` read. Returns the exit status: 0, `failed`, or
/// `used_wrongly`.
template <std::invocable Program>
int run(CLI::App& app, int argc, char** argv, const Program& program) {
  // What is printed should be seen at once, also through a pipe.
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  try {
    app.parse(argc, argv);
    program();
    return 0;
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& mistake) {
    return complain(app, std::string{mistake.what()} + "; --help lists the options", used_wrongly);
  } catch (const wrong_argument& mistake) {
    return complain(app, mistake.what(), used_wrongly);
  } catch (const std::bad_alloc&) {
    return complain(app, "there is not enough memory for messages of this size", failed);
  } catch (const std::exception& failure) {
    // Failures of verbs are adverb::error, which explains itself.
    return complain(app, failure.what(), failed);
  }
}

}  // namespace examples
