// SPDX-License-Identifier: MIT
// The system's resources that a program holds, to detect leaks.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <support/catch.hpp>

namespace cm_test {

/// The number of open files of this process.
[[nodiscard]] inline std::size_t open_files() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator{"/proc/self/fd"})
    ++count;
  return count;
}

/// The number of bytes of malloc in use.
[[nodiscard]] inline std::size_t allocated_bytes() { return ::mallinfo2().uordblks; }

/// The output of a command.
[[nodiscard]] inline std::string output_of(const std::string& command) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe{::popen(command.c_str(), "r"),
                                                             &::pclose};
  if (!pipe) throw std::runtime_error{"no pipe"};
  std::string output;
  for (int next = std::fgetc(pipe.get()); next != EOF; next = std::fgetc(pipe.get()))
    output.push_back(static_cast<char>(next));
  return output;
}

/// The objects of all devices, as the kernel counts them: "0: rxe0: pd 1 cq 1 qp 1 cm_id 0 …".
[[nodiscard]] inline std::string rdma_objects() { return output_of("rdma resource show"); }

/// The objects that the kernel still holds in addition to `expected`. The kernel frees some objects
/// after the call that destroys them, so they have some time.
[[nodiscard]] inline std::string rdma_objects_settled_to(const std::string& expected) {
  std::string now = rdma_objects();
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{30};
  while (now != expected && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
    now = rdma_objects();
  }
  return now;
}

/// Raises the limit of open files of the process to its maximum.
inline void raise_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) throw std::runtime_error{"no limit of files"};
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) throw std::runtime_error{"the limit of files"};
}

/// Lets the process have so many descriptors more than it has.
class few_files {
 public:
  explicit few_files(std::size_t more) {
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &old_) == 0);
    const int lowest = ::dup(STDIN_FILENO);
    REQUIRE(lowest >= 0);
    ::close(lowest);
    const rlimit few{static_cast<rlim_t>(lowest) + more, old_.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
  }
  few_files(const few_files&) = delete;
  few_files& operator=(const few_files&) = delete;
  ~few_files() { CHECK(::setrlimit(RLIMIT_NOFILE, &old_) == 0); }

 private:
  rlimit old_{};
};

/// The resources that are held between connections.
struct held {
  std::size_t files = open_files();
  std::size_t bytes = allocated_bytes();
  std::string objects = rdma_objects();
};

/// Checks that `run(count)`, which makes and ends so many connections, leaves nothing behind. The C
/// libraries keep some memory for the next time, which is not there a second time; what each
/// connection left would be there in every run.
template <class Run>
void check_leaves_nothing(std::size_t count, const Run& run) {
  bool is_clean = false;
  for (int runs = 0; runs < 3 && !is_clean; ++runs) {
    const held before;
    run(count);
    CHECK(rdma_objects_settled_to(before.objects) == before.objects);
    CHECK(open_files() == before.files);
    // The smallest piece that malloc hands out has 32 bytes with what it needs itself.
    is_clean = allocated_bytes() < before.bytes + 32 * count;
  }
  CHECK(is_clean);
}

}  // namespace cm_test
