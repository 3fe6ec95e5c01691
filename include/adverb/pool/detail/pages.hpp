// SPDX-License-Identifier: MIT
// Pages for registered memory: reserved addresses, huge pages, NUMA nodes.
#pragma once

#include <cstddef>
#include <optional>

#include <infiniband/verbs.h>

#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::detail {

/// The huge pages that are tried, in bytes.
inline constexpr std::size_t huge_page = std::size_t{1} << 21;

/// Addresses without memory, whose first is a multiple of the alignment. Not thread safe.
class reserved_addresses {
 public:
  reserved_addresses() noexcept = default;
  reserved_addresses(const reserved_addresses&) = delete;
  reserved_addresses& operator=(const reserved_addresses&) = delete;
  ~reserved_addresses();

  /// Reserves addresses. Returns 0, or an errno. The alignment is a power of two and at least a
  /// page.
  [[nodiscard]] int reserve(std::size_t size, std::size_t alignment) noexcept;

  [[nodiscard]] std::byte* begin() const noexcept { return begin_; }

 private:
  std::byte* begin_ = nullptr;
  std::byte* mapped_ = nullptr;
  std::size_t mapped_size_ = 0;
};

/// The pages of reserved addresses.
struct page_mapping {
  /// 0, or an errno.
  int error = 0;
  /// True if the pages come from the huge pages that the system has set aside.
  bool is_huge = false;
  /// True if the addresses are no longer reserved, and must not be used again.
  bool is_lost = false;
};

/// Gives memory to reserved addresses. Tries huge pages if `huge` is set: those of the system, if
/// whole ones fit into `room` bytes, then transparent ones.
[[nodiscard]] page_mapping map_pages(std::byte* begin, std::size_t size, std::size_t room,
                                     bool huge) noexcept;
/// Returns the memory of addresses, which stay reserved.
void unmap_pages(std::byte* begin, std::size_t size, bool is_huge) noexcept;

/// Has the pages that are not yet present allocated on a NUMA node, as long as it has any. Returns
/// false if the kernel refuses.
[[nodiscard]] bool prefer_numa_node(std::byte* begin, std::size_t size, int node) noexcept;
/// Returns the NUMA node of a device. A software device, and a machine with one node, has none.
[[nodiscard]] std::optional<int> numa_node_of(const ibv_device* device) noexcept;

}  // namespace adverb::inline ADVERB_ABI::detail

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/pool/impl/pages.ipp>
#endif
