// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <adverb/device/detail/device_files.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC device_file inspect_device_file(std::string_view device, const char* path) noexcept {
  device_file found{device, path};
  struct stat status{};
  if (::stat(path, &status) == 0) found.mode = status.st_mode & 0777;
  found.user = ::geteuid();
  const int opened = ::open(path, O_RDWR | O_CLOEXEC);
  if (opened == -1)
    found.error = errno;
  else
    ::close(opened);
  return found;
}

ADVERB_FUNC bool for_each_device_file(callable_ref<const device_file&> function) noexcept {
  dirent** entries = nullptr;
  const int count = ::scandir(
      "/sys/class/infiniband_verbs", &entries,
      [](const dirent* entry) {
        return static_cast<int>(std::strncmp(entry->d_name, "uverbs", 6) == 0);
      },
      ::alphasort);
  const bool known = count >= 0 || errno == ENOENT;
  for (int index = 0; index < count; ++index) {
    const std::string_view entry{entries[index]->d_name};
    const static_string<64> attribute{
        [&](text_writer& writer) { writer.put("/sys/class/infiniband_verbs/{}/ibdev", {entry}); }};
    const static_string<64> path{
        [&](text_writer& writer) { writer.put("/dev/infiniband/{}", {entry}); }};
    char device[IBV_SYSFS_NAME_MAX] = {};
    if (std::FILE* const file = std::fopen(attribute.c_str(), "re")) {
      if (std::fgets(device, sizeof device, file) != nullptr)
        device[std::strcspn(device, "\n")] = 0;
      std::fclose(file);
    }
    function(inspect_device_file(device, path.c_str()));
    std::free(entries[index]);
  }
  std::free(entries);
  return known;
}

ADVERB_FUNC void device_file_problems::add(const device_file& file) {
  constexpr std::uint32_t open_to_all = 06;
  const auto digit = [&](unsigned shift) { return file.mode >> shift & 7U; };
  const auto put = [&](const char* sentence, std::initializer_list<text_argument> arguments) {
    constexpr unsigned most = 4;
    if (++count_ > most) return;
    problems_.add(
        [&](text_writer& writer) { writer.put(file.device).put(": ").put(sentence, arguments); });
  };
  switch (file.error) {
    case 0: return;
    case ENOENT: may_be_container_ = true; return put("{} does not exist", {file.path});
    case EPERM:
      may_be_container_ = true;
      return put(
          "{} is refused; possible causes: the device cgroup of this process, or a device of "
          "another network namespace (\"rdma system\" shows \"netns exclusive\")",
          {file.path});
    case ENXIO:
    case ENODEV: return put("{} is the file of a device that is gone", {file.path});
    case EACCES:
      if ((file.mode & open_to_all) == open_to_all)
        return put(
            "{} cannot be opened although its mode allows it; possible causes: a mount with nodev, "
            "SELinux or AppArmor",
            {file.path});
      return put("user {} may not open {} (mode {}{}{})",
                 {file.user, file.path, digit(6), digit(3), digit(0)});
    case EMFILE:
      return put("this program has too many files open to open {}: see ulimit -n", {file.path});
    default: return put("opening {} fails with {}", {file.path, errno_name(file.error)});
  }
}

ADVERB_FUNC void device_file_problems::add_unlisted(const device_file& file) {
  if (file.error != 0) return add(file);
  problems_.add(
      "{}: libibverbs does not list it, and {} can be opened; possible causes: no provider library "
      "(Debian: ibverbs-providers), or one that is older than the kernel's driver",
      {file.device, file.path});
}

ADVERB_FUNC void device_file_problems::add_none() {
  problems_.add(
      "/sys/class/infiniband_verbs lists no RDMA device: load a driver and ib_uverbs, or create a "
      "software device with \"rdma link add rxe0 type rxe netdev IF\"");
}

ADVERB_FUNC void device_file_problems::finish() {
  if (may_be_container_)
    problems_.add(
        "a container gets these files by --device=/dev/infiniband (Docker, Podman) or a device "
        "plugin (Kubernetes)");
}

ADVERB_FUNC void explain_closed_devices(problem_list& problems, std::string_view device) {
  device_file_problems files{problems};
  for_each_device_file([&](const device_file& file) {
    if (device.empty() || file.device == device) files.add(file);
  });
  files.finish();
}

ADVERB_FUNC void explain_unlisted_devices(device_file_problems& files, const device_list& listed,
                                          std::string_view device) {
  bool any = !listed.empty();
  const bool known = for_each_device_file([&](const device_file& file) {
    any = true;
    if (!listed.empty() && file.device != device) return;
    if (!listed.find(file.device)) files.add_unlisted(file);
  });
  if (known && !any) files.add_none();
}

}  // namespace adverb::inline ADVERB_ABI::detail
