// SPDX-License-Identifier: MIT
#pragma once

#include <cstdio>
#include <string_view>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <adverb/memory/detail/explain_mappings.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// A line of /proc/self/maps.
struct mapping {
  unsigned long long begin = 0;
  unsigned long long end = 0;
  /// "rwxp", or "rwxs" if it is shared; "-" in the place of a missing permission.
  char permissions[5] = {};
  /// Empty for anonymous memory.
  char file[256] = {};

  /// Returns true for a shared mapping of a file whose file system Linux does not pin for writing.
  [[nodiscard]] bool is_of_unpinned_file() const noexcept {
    struct statfs found{};
    if (permissions[3] != 's' || file[0] != '/' || ::statfs(file, &found) != 0) return false;
    return found.f_type != TMPFS_MAGIC && found.f_type != HUGETLBFS_MAGIC;
  }
};

ADVERB_FUNC void explain_mappings(problem_list& problems, std::uint64_t begin, std::uint64_t length,
                                  bool writes) {
  std::FILE* const maps = std::fopen("/proc/self/maps", "re");
  if (maps == nullptr) return;
  const std::uint64_t end = begin + length;
  std::uint64_t at = begin;
  const auto add = [&](const char* sentence, std::string_view file = {}) {
    problems.add(sentence, {at - begin, length, file});
  };
  constexpr const char* unmapped = "no memory is mapped at byte {} of {}";
  char line[512];
  while (problems.empty() && at < end && std::fgets(line, sizeof line, maps) != nullptr) {
    mapping each;
    if (std::sscanf(line, "%llx-%llx %4s %*s %*s %*s %255[^\n]", &each.begin, &each.end,
                    each.permissions, each.file) < 3 ||
        each.end <= at)
      continue;
    if (each.begin > at)
      add(unmapped);
    else if (each.permissions[0] != 'r')
      add("byte {} of {} is not readable");
    else if (writes && each.permissions[1] != 'w')
      add("byte {} of {} is mapped for reading only");
    else if (writes && each.is_of_unpinned_file())
      add("byte {} of {} is in a shared mapping of {}: Linux pins such files on tmpfs and "
          "hugetlbfs only",
          each.file);
    at = each.end;
  }
  std::fclose(maps);
  if (problems.empty() && at < end) add(unmapped);
  if (problems.empty())
    problems.add(
        "possible causes: a page lies behind the end of its file, or is memory of a device, which "
        "needs a dma-buf");
}

ADVERB_FUNC void explain_dmabuf(problem_list& problems, int descriptor, std::uint64_t offset,
                                std::uint64_t length) {
  if (::fcntl(descriptor, F_GETFD) == -1) {
    problems.add("its descriptor is not open");
    return;
  }
  char link[32];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  char file[256];
  const auto size = ::readlink(link, file, sizeof file);
  const std::string_view name{file, size < 0 ? 0 : static_cast<std::size_t>(size)};
  if (name.empty()) return;
  if (!name.starts_with("/dmabuf:")) {
    problems.add("its descriptor is no dma-buf, but {}", {name});
    return;
  }
  explain_dmabuf_range(problems, static_cast<std::uint64_t>(::lseek(descriptor, 0, SEEK_END)),
                       offset, length);
}

ADVERB_FUNC void explain_dmabuf_range(problem_list& problems, std::uint64_t size,
                                      std::uint64_t offset, std::uint64_t length) {
  if (offset > size || length > size - offset)
    problems.add("bytes {} to {} exceed the dma-buf, which has {}",
                 {offset, offset + length, size});
}

}  // namespace adverb::inline ADVERB_ABI::detail
