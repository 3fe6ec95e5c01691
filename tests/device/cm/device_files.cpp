// SPDX-License-Identifier: MIT
// Failures explain device files that a container lacks or that a user may not open.
#include <cerrno>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <string>

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <adverb/adverb.hpp>
#include <adverb/cm.hpp>
#include <support/catch.hpp>

#include "cm/guest.hpp"
#include "cm/support.hpp"

using namespace adverb;

namespace {

const std::string remedy =
    "; a container gets these files by --device=/dev/infiniband (Docker, Podman) or a device "
    "plugin "
    "(Kubernetes)";

/// Replaces /dev/infiniband for this process by a folder that `command` fills: "$NEW".
bool see_other_files(const std::string& command) {
  if (unshare(CLONE_NEWNS) != 0) return false;
  if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
  return std::system(("set -e; NEW=$(mktemp -d); chmod 755 $NEW; " + command +
                      "; mount --bind $NEW /dev/infiniband")
                         .c_str()) == 0;
}

/// Returns what `report` returns in a child process, after `prepare`, which changes its view of the
/// machine. Neither libibverbs nor librdmacm is used before that.
std::string in_child(const std::function<bool()>& prepare,
                     const std::function<std::string()>& report) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    const std::string text = prepare() ? report() : "the preparation failed";
    _exit(write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string text;
  char some[512];
  for (ssize_t got; (got = read(ends[0], some, sizeof some)) > 0;)
    text.append(some, static_cast<std::size_t>(got));
  close(ends[0]);
  int status = 0;
  CHECK((waitpid(child, &status, 0) == child && status == 0));
  return text;
}

std::string of_open_device(std::string_view name = {}) {
  failure why;
  const context device = open_device(name, why);
  return device ? "opened " + std::string{device.device().name()} : why.what();
}

std::string of_event_channel() {
  failure why;
  static_cast<void>(cm::event_channel::create(why));
  return std::string{why.explanation()};
}

bool without_any_file() { return see_other_files("true"); }
bool as_another_user() { return setuid(65534) == 0; }

/// Returns false, and prints the skip, if the machine is not a virtual one.
bool may_change_devices() {
  if (cm_test::in_guest("true")) return true;
  tell_skip("device files", "the machine's device files are not to be changed");
  return false;
}

}  // namespace

TEST_CASE("A failed open names the missing device file and the option of containers",
          "[ibv_open_device][optional]") {
  if (!may_change_devices()) return;
  const std::string missing =
      cm_test::environment("SOFTRDMA_DEVICE") + ": /dev/infiniband/uverbs0 does not exist" + remedy;
  CHECK(in_child(without_any_file, [] { return of_open_device(); }) ==
        "ibv_open_device: ENODEV (No such device); " + missing);
  CHECK(in_child(without_any_file,
                 [] { return of_open_device(cm_test::environment("SOFTRDMA_DEVICE")); }) ==
        "ibv_open_device on " + cm_test::environment("SOFTRDMA_DEVICE") +
            ": ENODEV (No such device); " + missing);
  CHECK(in_child(without_any_file, [] { return of_open_device("no_such_device"); }) ==
        "ibv_open_device on no_such_device: ENODEV (No such device); " + missing);
}

TEST_CASE("A failed event channel names each missing device file",
          "[rdma_create_event_channel][optional]") {
  if (!may_change_devices()) return;
  const std::string channel = "rdma_cm: /dev/infiniband/rdma_cm does not exist";
  const std::string device =
      cm_test::environment("SOFTRDMA_DEVICE") + ": /dev/infiniband/uverbs0 does not exist";
  CHECK(in_child(without_any_file, of_event_channel) == channel + "; " + device + remedy);
  CHECK(in_child([] { return see_other_files("cp -a /dev/infiniband/rdma_cm $NEW"); },
                 of_event_channel) == device + remedy);
  CHECK(in_child([] { return see_other_files("cp -a /dev/infiniband/uverbs* $NEW"); },
                 of_event_channel) == channel + remedy);
}

TEST_CASE("open_device without a name opens the next device if the first cannot be opened",
          "[ibv_open_device][optional]") {
  if (!may_change_devices()) return;
  const std::string device = cm_test::environment("SOFTRDMA_DEVICE");
  REQUIRE(cm_test::in_guest("chmod 600 /dev/infiniband/uverbs0"));
  const std::string closed =
      device + ": user 65534 may not open /dev/infiniband/uverbs0 (mode 600)";
  CHECK(in_child(as_another_user, [] { return of_open_device(); }) ==
        "ibv_open_device on " + device + ": ENOENT (No such file or directory); " + closed);

  REQUIRE(cm_test::in_guest("rdma link add rxe_second type rxe netdev lo"));
  CHECK(in_child(as_another_user, [] { return of_open_device(); }) == "opened rxe_second");
  REQUIRE(cm_test::in_guest("chmod 640 /dev/infiniband/uverbs1"));
  const std::string why = in_child(as_another_user, [] { return of_open_device(); });
  const std::string begin =
      "ibv_open_device: ENOENT (No such file or directory); no device can be opened: ";
  const std::string end =
      "; " + closed + "; rxe_second: user 65534 may not open /dev/infiniband/uverbs1 (mode 640)";
  // libibverbs lists devices in the order of their indices in sysfs, which changes.
  const bool is_first = why == begin + device + " (ENOENT), rxe_second (ENOENT)" + end;
  CHECK((is_first || why == begin + "rxe_second (ENOENT), " + device + " (ENOENT)" + end));
  CHECK(cm_test::in_guest("rdma link delete rxe_second; chmod 666 /dev/infiniband/uverbs0"));
}

TEST_CASE("A failed resolve names the device file that librdmacm cannot open",
          "[rdma_resolve_addr][optional]") {
  if (!may_change_devices()) return;
  REQUIRE(cm_test::in_guest("chmod 600 /dev/infiniband/uverbs0"));
  const std::string why = in_child(as_another_user, [] {
    failure failed;
    const auto to = cm_test::device_address();
    static_cast<void>(cm::connector<transport::rc>::resolve(to, {}, failed));
    return std::string{failed.explanation()};
  });
  CHECK(why == "librdmacm could not query the outcome from the kernel; " +
                   cm_test::environment("SOFTRDMA_DEVICE") +
                   ": user 65534 may not open /dev/infiniband/uverbs0 (mode 600)");
  CHECK(cm_test::in_guest("chmod 666 /dev/infiniband/uverbs0"));
}
