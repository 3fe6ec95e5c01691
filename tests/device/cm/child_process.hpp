// SPDX-License-Identifier: MIT
// A process of its own for one side of a connection, so that it can be killed.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cm/support.hpp"

namespace cm_test {

/// Runs a hidden test case of this program, a role, in a process of its own, which sends a word
/// when it has reached its goal. It is killed at the latest when this dies.
class child_process {
 public:
  /// The role gets the port.
  explicit child_process(const std::string& role, std::uint16_t port = 0) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error{"no pipe"};
    word_ = ends[0];
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], word_end);
    ::setenv("ADVERB_TEST_PORT", std::to_string(port).c_str(), 1);
    std::string program = "/proc/self/exe";
    std::string name = role;
    char* const arguments[] = {program.data(), name.data(), nullptr};
    const int failed =
        ::posix_spawn(&process_, program.c_str(), &actions, nullptr, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    if (failed != 0) throw std::runtime_error{"no process"};
  }
  child_process(const child_process&) = delete;
  child_process& operator=(const child_process&) = delete;
  ~child_process() {
    kill();
    ::close(word_);
  }

  /// Waits for the word of the role, and returns it.
  [[nodiscard]] std::uint16_t word() const {
    pollfd watched{word_, POLLIN, 0};
    std::uint16_t said = 0;
    if (::poll(&watched, 1, 20'000) != 1 || ::read(word_, &said, sizeof said) != sizeof said)
      throw std::runtime_error{"the other process failed"};
    return said;
  }

  /// Kills it, and waits until it is gone.
  void kill() noexcept {
    if (process_ == 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(std::exchange(process_, 0), nullptr, 0);
  }

  /// Stops it, as Ctrl-Z does, until it is killed.
  void stop() noexcept { ::kill(process_, SIGSTOP); }

  /// Waits until it ends by itself; the status is that of the test case.
  [[nodiscard]] int wait() noexcept {
    int status = 0;
    ::waitpid(std::exchange(process_, 0), &status, 0);
    return status;
  }

  // For the roles.

  /// The port that the role got.
  [[nodiscard]] static std::uint16_t port() {
    return static_cast<std::uint16_t>(std::stoi(std::string{environment("ADVERB_TEST_PORT")}));
  }
  /// Sends the word.
  static void say(std::uint16_t word = 0) {
    if (::write(word_end, &word, sizeof word) != sizeof word) std::_Exit(1);
  }
  /// Sends the word, and waits until it is killed.
  [[noreturn]] static void say_and_stay(std::uint16_t word = 0) {
    say(word);
    while (true) ::pause();
  }

 private:
  static constexpr int word_end = 63;

  pid_t process_ = 0;
  int word_ = -1;
};

/// An object in memory that this process and the roles which it starts meanwhile have.
template <class T>
class shared_with_role {
 public:
  shared_with_role() : descriptor_{::memfd_create("shared", 0)} {
    if (descriptor_ == -1 || ::ftruncate(descriptor_, sizeof(T)) != 0)
      throw std::runtime_error{"no memory to share"};
    object_ = new (mapped(descriptor_)) T{};
    ::setenv(variable, std::to_string(descriptor_).c_str(), 1);
  }
  shared_with_role(const shared_with_role&) = delete;
  shared_with_role& operator=(const shared_with_role&) = delete;
  ~shared_with_role() {
    ::munmap(object_, sizeof(T));
    ::close(descriptor_);
  }
  [[nodiscard]] T& operator*() const noexcept { return *object_; }

  /// The object, for the role. It stays until the role ends.
  [[nodiscard]] static T& of_role() {
    return *static_cast<T*>(mapped(std::stoi(std::string{environment(variable)})));
  }

 private:
  static constexpr const char* variable = "ADVERB_SHARED_MEMORY";

  [[nodiscard]] static void* mapped(int descriptor) {
    void* const at = ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (at == MAP_FAILED) throw std::runtime_error{"no shared memory"};
    return at;
  }

  int descriptor_;
  T* object_ = nullptr;
};

}  // namespace cm_test
