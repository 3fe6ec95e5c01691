// SPDX-License-Identifier: MIT
// Regions in huge pages that the program maps.
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>

#include <sys/mman.h>

#include "huge_pages.hpp"
#include "support.hpp"

using namespace adverb;

namespace {

namespace huge_page_regions {

constexpr std::size_t huge = std::size_t{2} << 20U;

[[nodiscard]] unsigned free_huge_pages() {
  std::ifstream file{"/proc/meminfo"};
  std::string word;
  unsigned count = 0;
  while (file >> word)
    if (word == "HugePages_Free:") file >> count;
  return count;
}

/// Two huge pages, and two ordinary ones behind them.
class mapping {
 public:
  static constexpr std::size_t size = 2 * huge + 8192;

  mapping() {
    void* const whole = ::mmap(nullptr, 4 * huge, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(whole != MAP_FAILED);
    whole_ = static_cast<std::byte*>(whole);
    const auto misplaced = reinterpret_cast<std::uintptr_t>(whole_) % huge;
    start_ = whole_ + (misplaced == 0 ? 0 : huge - misplaced);
    is_mapped_ = map(start_, 2 * huge, MAP_HUGETLB) && map(start_ + 2 * huge, 8192, 0);
  }
  mapping(const mapping&) = delete;
  mapping& operator=(const mapping&) = delete;
  ~mapping() { ::munmap(whole_, 4 * huge); }

  [[nodiscard]] bool is_mapped() const { return is_mapped_; }
  [[nodiscard]] std::span<std::byte> bytes() const { return {start_, size}; }

 private:
  static bool map(std::byte* at, std::size_t length, int flags) {
    return ::mmap(at, length, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | flags, -1, 0) != MAP_FAILED;
  }

  std::byte* whole_ = nullptr;
  std::byte* start_ = nullptr;
  bool is_mapped_ = false;
};

/// Writes from the near side into the bytes, and reads them back.
void check_access(loopback<transport::rc>& link, const memory_region& region, std::size_t offset,
                  std::span<const std::byte> bytes, unsigned seed) {
  constexpr std::size_t length = 6000;
  INFO("offset " << offset);
  const auto remote = region.remote().slice(offset, length);
  link.near_end.fill(0, length, seed);
  link.near_pair.post(write(remote, link.near_end.region.slice(0, length)).signaled()).check();
  next_success(link.near_end.queue);
  CHECK(std::equal(bytes.begin() + static_cast<std::ptrdiff_t>(offset),
                   bytes.begin() + static_cast<std::ptrdiff_t>(offset + length),
                   link.near_end.bytes.begin()));
  link.near_pair.post(read(remote, link.near_end.region.slice(16384, length)).signaled()).check();
  next_success(link.near_end.queue);
  CHECK(link.near_end.holds(16384, length, seed));
}

}  // namespace huge_page_regions

}  // namespace

TEST_CASE("A region over huge and ordinary pages is accessed across their borders",
          "[ibv_reg_mr][optional]") {
  using namespace huge_page_regions;
  const huge_pages pages{3};
  const mapping memory;
  if (!pages.are_set_aside() || !memory.is_mapped())
    return tell_skip("a region over huge and ordinary pages", "there are no huge pages");
  loopback<transport::rc> link;
  const memory_region region{link.domain, memory.bytes(), every_right};
  unsigned seed = 0;
  for (const std::size_t offset :
       {std::size_t{0}, huge - 3000, 2 * huge - 3000, mapping::size - 6000})
    check_access(link, region, offset, memory.bytes(), ++seed);
}

TEST_CASE("A region within a huge page keeps it until the region is deregistered",
          "[ibv_reg_mr][ibv_dereg_mr][optional]") {
  using namespace huge_page_regions;
  const huge_pages pages{3};
  const unsigned before = free_huge_pages();
  loopback<transport::rc> link;
  memory_region region;
  {
    const mapping memory;
    if (!pages.are_set_aside() || !memory.is_mapped())
      return tell_skip("a region within a huge page", "there are no huge pages");
    // It starts and ends within a page, at addresses that no small page starts at.
    const auto part = memory.bytes().subspan(huge - 4000, 8100);
    region = memory_region{link.domain, part, every_right};
    check_access(link, region, 2000, part, 1);
    memory.bytes()[huge] = std::byte{0};
  }
  // The program has unmapped them; the device has not.
  CHECK(free_huge_pages() + 2 == before);
  link.near_pair
      .post(read(region.remote().slice(2000, 6000), link.near_end.region.slice(8192, 6000))
                .signaled())
      .check();
  next_success(link.near_end.queue);
  region.close();
  CHECK(free_huge_pages() == before);
}
