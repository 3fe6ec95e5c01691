// SPDX-License-Identifier: MIT
// Shared by the programs of all libraries: the sizes, and the counted part. Each program does three
// jobs with the calls of its library: the puts of a client, the answers of a server, and setting up
// everything from the device to a queue pair in RTS.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "../support/count_instructions.hpp"

namespace peers {

// Writes of a client, and their blocks.
inline constexpr std::uint32_t window_size = 16;
inline constexpr std::size_t block_count = 1024;
inline constexpr std::size_t block_size = 256;
[[nodiscard]] constexpr std::uint64_t offset_of(std::uint64_t index) noexcept {
  return index % block_count * block_size;
}

// Receives of a server.
inline constexpr std::size_t receive_count = 64;
inline constexpr std::size_t batch_size = 16;

struct callback {
  void (*function)(void* argument) noexcept;
  void* argument;
};
inline void count_one(void* argument) noexcept { ++*static_cast<std::uint64_t*>(argument); }

/// Ends a program whose work was not done.
inline void require(bool done, const char* what) {
  if (done) return;
  std::fprintf(stderr, "%s\n", what);
  std::exit(EXIT_FAILURE);
}

/// Shows `words` in the table in place of a job that the library cannot do.
inline void missing(const char* job, const char* words) {
  std::printf("missing\t%s\t%s\n", job, words);
}

/// Counts `put(offset, length, callback)`, which fails by an exception or by returning an errno.
template <class Client>
void count_puts(const char* library, const char* job, Client& client) {
  counting::count(job, library, [&](std::uint64_t times) {
    std::uint64_t done = 0;
    for (std::uint64_t index = 0; index < times; ++index)
      client.put(offset_of(index), static_cast<std::uint32_t>(index) % block_size,
                 callback{count_one, &done});
    client.finish();
    require(done == times, "not every put has completed");
  });
}

/// Counts `serve()`, which polls once and returns how many requests it answered.
template <class Server>
void count_answers(const char* library, Server& server) {
  counting::count("server", library, [&](std::uint64_t times) {
    for (std::uint64_t answered = 0; answered < times;) answered += server.serve();
  });
}

/// Counts `set_up()`. The objects that it returns are destroyed uncounted.
template <class SetUp>
void count_set_up(const char* library, SetUp set_up) {
  counting::count("set-up", library, [&](std::uint64_t times) {
    for (std::uint64_t index = 0; index < times; ++index) {
      {
        const auto all = set_up();
        CALLGRIND_TOGGLE_COLLECT;
      }
      CALLGRIND_TOGGLE_COLLECT;
    }
  });
}

}  // namespace peers
