// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>

#include <fcntl.h>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <adverb/core/text.hpp>
#include <adverb/pool/detail/pages.hpp>

namespace adverb::inline ADVERB_ABI::detail {

inline constexpr int reserving = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
// MAP_HUGE_2MB, which older headers lack.
inline constexpr int in_huge_pages = MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | (21 << 26);

[[nodiscard]] constexpr std::size_t rounded_up(std::size_t size, std::size_t unit) noexcept {
  return (size + unit - 1) / unit * unit;
}

ADVERB_FUNC reserved_addresses::~reserved_addresses() {
  if (mapped_ != nullptr) ::munmap(mapped_, mapped_size_);
}

ADVERB_FUNC int reserved_addresses::reserve(std::size_t size, std::size_t alignment) noexcept {
  if (size + alignment < size) return ENOMEM;
  void* const found = ::mmap(nullptr, size + alignment, PROT_NONE, reserving, -1, 0);
  if (found == MAP_FAILED) return errno;
  mapped_ = static_cast<std::byte*>(found);
  mapped_size_ = size + alignment;
  const auto address = reinterpret_cast<std::uintptr_t>(found);
  begin_ = mapped_ + (rounded_up(address, alignment) - address);
  return 0;
}

ADVERB_FUNC page_mapping map_pages(std::byte* begin, std::size_t size, std::size_t room,
                                   bool huge) noexcept {
  const std::size_t whole = rounded_up(size, huge_page);
  const bool fits = reinterpret_cast<std::uintptr_t>(begin) % huge_page == 0 && size >= huge_page &&
                    whole <= room;
  if (huge && fits) {
    // A fixed mapping that fails may leave a hole for another thread's memory, so the pages are
    // tried elsewhere first.
    void* const tried = ::mmap(nullptr, whole, PROT_NONE, in_huge_pages, -1, 0);
    if (tried != MAP_FAILED) {
      ::munmap(tried, whole);
      if (::mmap(begin, whole, PROT_READ | PROT_WRITE, in_huge_pages | MAP_FIXED, -1, 0) !=
          MAP_FAILED)
        return {.is_huge = true};
      // Another process took the pages meanwhile.
      if (::mmap(begin, whole, PROT_NONE, reserving | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED)
        return {.error = ENOMEM, .is_lost = true};
    }
  }
  if (::mprotect(begin, size, PROT_READ | PROT_WRITE) != 0) return {.error = errno};
  // Fails where the kernel has no transparent huge pages.
  if (huge) (void)::madvise(begin, size, MADV_HUGEPAGE);
  return {};
}

ADVERB_FUNC void unmap_pages(std::byte* begin, std::size_t size, bool is_huge) noexcept {
  (void)::mmap(begin, is_huge ? rounded_up(size, huge_page) : size, PROT_NONE,
               reserving | MAP_FIXED, -1, 0);
}

ADVERB_FUNC bool prefer_numa_node(std::byte* begin, std::size_t size, int node) noexcept {
  constexpr std::size_t bits = sizeof(unsigned long) * 8;
  std::array<unsigned long, 16> nodes{};
  const auto number = static_cast<std::size_t>(node);
  if (node < 0 || number >= nodes.size() * bits) return false;
  nodes[number / bits] = 1UL << (number % bits);
  // The kernel uses one bit less than it is given.
  return ::syscall(SYS_mbind, begin, size, MPOL_PREFERRED, nodes.data(), nodes.size() * bits + 1,
                   0) == 0;
}

ADVERB_FUNC std::optional<int> numa_node_of(const ibv_device* device) noexcept {
  const static_string<IBV_SYSFS_PATH_MAX + 32> path{[&](text_writer& writer) {
    writer.put(std::string_view{device->ibdev_path}).put("/device/numa_node");
  }};
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  std::array<char, 16> text{};
  const auto length = ::read(file, text.data(), text.size() - 1);
  ::close(file);
  if (length <= 0 || text[0] < '0' || text[0] > '9') return std::nullopt;
  return std::atoi(text.data());
}

}  // namespace adverb::inline ADVERB_ABI::detail
