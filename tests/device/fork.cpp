// SPDX-License-Identifier: MIT
// fork() beside registered memory.
#include <cstddef>

#include <sys/wait.h>
#include <unistd.h>

#include <support/reported.hpp>

#include "support.hpp"

using namespace adverb;

TEST_CASE("A process reports its fork support and can enable it",
          "[ibv_fork_init][ibv_is_fork_initialized][alone]") {
  // The kernel reports it, or it is off until it is enabled.
  const fork_support_status before = fork_support();
  INFO(to_string(before));
  CHECK(before != fork_support_status::enabled);
  initialize_fork_support();
  CHECK(fork_support() == (before == fork_support_status::unneeded ? fork_support_status::unneeded
                                                                   : fork_support_status::enabled));
}

TEST_CASE("Late fork support is refused if libibverbs has registered memory", "[alone]") {
  const context device = open_device();
  const protection_domain domain{device};
  std::vector<std::byte> bytes(4096);
  const memory_region region{domain, bytes, access_right::local_write};
  failure why;
  initialize_fork_support(why);
  if (fork_support() == fork_support_status::unneeded &&
      !holds(device_facts::late_fork_support_is_refused, device)) {
    CHECK(!why.code());
    return;
  }
  CHECK(why.code() == std::errc::invalid_argument);
  CHECK(why.explanation() == "the process already registered memory");
}

TEST_CASE("Fork support can be enabled again if it was enabled in time", "[alone]") {
  initialize_fork_support();
  const context device = open_device();
  const protection_domain domain{device};
  std::vector<std::byte> bytes(4096);
  const memory_region region{domain, bytes, access_right::local_write};
  failure why;
  initialize_fork_support(why);
  CHECK(!why);
}

TEST_CASE("The device reads memory that was written after a fork") {
  loopback<transport::rc> link;
  link.near_end.fill(0, 4096, 1);
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t process = ::fork();
  REQUIRE(process != -1);
  if (process == 0) {
    // Lives until the parent is done, and so shares its pages.
    char byte = 0;
    ::close(ends[1]);
    ::_exit(::read(ends[0], &byte, 1) == 0 ? 0 : 1);
  }
  ::close(ends[0]);
  link.near_end.fill(0, 4096, 7);
  link.near_pair.post(write(link.far_end.remote(), link.near_end.region.slice(0, 4096)).signaled())
      .check();
  next_success(link.near_end.queue);
  CHECK(link.far_end.holds(0, 4096, 7));
  ::close(ends[1]);
  int status = 0;
  REQUIRE(::waitpid(process, &status, 0) == process);
  CHECK(WIFEXITED(status));
}

TEST_CASE("A child that destroys the objects of its parent leaves them alone",
          "[ibv_destroy_qp][ibv_dereg_mr]") {
  loopback<transport::rc> link;
  const pid_t process = ::fork();
  REQUIRE(process != -1);
  if (process == 0) {
    link.near_pair.close();
    link.near_end.region.close();
    ::_exit(link.near_pair ? 1 : 0);
  }
  int status = -1;
  REQUIRE(::waitpid(process, &status, 0) == process);
  CHECK(status == 0);
  link.near_end.fill(0, 64, 7);
  link.near_pair.post(write(link.far_end.remote(), link.near_end.region.slice(0, 64)).signaled())
      .check();
  next_success(link.near_end.queue);
  CHECK(link.far_end.holds(0, 64, 7));
}
