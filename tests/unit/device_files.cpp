// SPDX-License-Identifier: MIT
// The sentences about device files that a program cannot open.
#include <cerrno>
#include <string>
#include <vector>

#include <adverb/device/detail/device_files.hpp>
#include <support/catch.hpp>

using namespace adverb;
using detail::device_file;

namespace {

template <class Add>
std::string written(const Add& add) {
  const static_string<1024> text{[&](text_writer& writer) {
    detail::problem_list problems{writer};
    detail::device_file_problems files{problems};
    add(files);
  }};
  return std::string{text.view()};
}

std::string why(int error, std::uint32_t mode = 0666) {
  return written([&](detail::device_file_problems& files) {
    files.add({"mlx5_0", "/dev/infiniband/uverbs0", error, mode, 1000});
  });
}

}  // namespace

TEST_CASE("A device file that opens has no problem") { CHECK(why(0).empty()); }

TEST_CASE("A device file explanation names the file and the cause that its errno has") {
  CHECK(why(ENOENT, 0) == "mlx5_0: /dev/infiniband/uverbs0 does not exist");
  CHECK(why(EACCES, 0640) == "mlx5_0: user 1000 may not open /dev/infiniband/uverbs0 (mode 640)");
  CHECK(why(EPERM) ==
        "mlx5_0: /dev/infiniband/uverbs0 is refused; possible causes: the device cgroup of this "
        "process, or a device of another network namespace (\"rdma system\" shows \"netns "
        "exclusive\")");
  CHECK(why(ENXIO) == "mlx5_0: /dev/infiniband/uverbs0 is the file of a device that is gone");
  CHECK(why(EMFILE) ==
        "mlx5_0: this program has too many files open to open /dev/infiniband/uverbs0: see ulimit "
        "-n");
  CHECK(why(EINTR) == "mlx5_0: opening /dev/infiniband/uverbs0 fails with EINTR");
}

TEST_CASE("A device file explanation lists possible causes if its mode allows the open") {
  CHECK(why(EACCES, 0666) ==
        "mlx5_0: /dev/infiniband/uverbs0 cannot be opened although its mode allows it; possible "
        "causes: a mount with nodev, SELinux or AppArmor");
  // Reading alone is not enough.
  CHECK(why(EACCES, 0664).find("(mode 664)") != std::string::npos);
}

TEST_CASE(
    "A device file explanation lists possible causes if libibverbs does not list the device") {
  const auto unlisted = [](int error) {
    return written([&](detail::device_file_problems& files) {
      files.add_unlisted({"mlx5_0", "/dev/infiniband/uverbs0", error, 0666, 1000});
    });
  };
  CHECK(unlisted(ENOENT) == why(ENOENT));
  CHECK(unlisted(0) ==
        "mlx5_0: libibverbs does not list it, and /dev/infiniband/uverbs0 can be opened; possible "
        "causes: no provider library (Debian: ibverbs-providers), or one that is older than the "
        "kernel's driver");
}

TEST_CASE("A device file explanation has the remedy for containers once, if a file is missing") {
  const auto all = [](const std::vector<int>& errors) {
    return written([&](detail::device_file_problems& files) {
      for (const int error : errors) files.add({"rxe0", "/dev/infiniband/uverbs0", error, 0600, 7});
      files.finish();
    });
  };
  const std::string missing = "rxe0: /dev/infiniband/uverbs0 does not exist; ";
  const std::string remedy =
      "a container gets these files by --device=/dev/infiniband (Docker, Podman) or a device "
      "plugin "
      "(Kubernetes)";
  CHECK(all({ENOENT}) == missing + remedy);
  CHECK(all({ENOENT, ENOENT}) == missing + missing + remedy);
  CHECK(all({EPERM}).ends_with(remedy));
  CHECK(all({EACCES}).find("container") == std::string::npos);
  // More than four devices leave no room for the remedy.
  CHECK(all({ENOENT, ENOENT, ENOENT, ENOENT, ENOENT, ENOENT}) ==
        missing + missing + missing + missing + remedy);
}
