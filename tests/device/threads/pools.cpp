// SPDX-License-Identifier: MIT
// Registered memory that several threads use at once. Compiled with the thread sanitizer.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory_resource>
#include <random>
#include <vector>

#include <adverb/core/sizes.hpp>
#include <adverb/memory/protection_domain.hpp>
#include <adverb/pool.hpp>
#include <support/catch.hpp>

#include "in_threads.hpp"

using namespace adverb;

namespace {

constexpr int threads = 4;

/// Writes all of a block and reads it again.
bool is_alone_in(std::span<std::byte> bytes, int number) {
  std::memset(bytes.data(), number, bytes.size());
  for (const std::byte each : bytes)
    if (each != static_cast<std::byte>(number)) return false;
  return true;
}

}  // namespace

TEST_CASE("Threads never have the same block of a pool", "[ibv_reg_mr]") {
  const context device = open_device();
  const protection_domain domain{device};
  registered_resource memory{domain, {.slab = kibibytes(64), .limit = mebibytes(1)}};
  buffer_pool pool{memory, {.block_size = 32, .blocks = 6}};
  std::atomic<int> wrong = 0;
  in_threads(threads, [&](int number) {
    std::vector<buffer_lease> leases;
    std::mt19937 random{static_cast<unsigned>(number)};
    for (int step = 0; step < 20'000; ++step) {
      if (random() % 2 == 0) {
        if (buffer_lease block = pool.try_take()) leases.push_back(std::move(block));
      } else if (!leases.empty()) {
        if (!is_alone_in(leases.back().bytes(), number)) ++wrong;
        if (random() % 4 == 0) pool.lease_of(leases.back().in_flight());
        leases.pop_back();
      }
    }
  });
  CHECK(wrong == 0);
  std::vector<buffer_lease> all;
  while (buffer_lease block = pool.try_take()) all.push_back(std::move(block));
  CHECK(all.size() == pool.size());
}

TEST_CASE("Threads allocate from a synchronized resource, and find their buffers", "[ibv_reg_mr]") {
  const context device = open_device();
  const protection_domain domain{device};
  synchronized_registered_resource memory{domain, {.slab = kibibytes(64), .limit = mebibytes(8)}};
  std::atomic<int> wrong = 0;
  in_threads(threads, [&](int number) {
    std::mt19937 random{static_cast<unsigned>(number)};
    for (int step = 0; step < 50; ++step) {
      std::pmr::vector<std::byte> bytes(1 + random() % 40'000, &memory);
      if (!is_alone_in(bytes, number)) ++wrong;
      if (memory.buffer_of(bytes).size() != bytes.size()) ++wrong;
      (void)memory.statistics();
    }
  });
  CHECK(wrong == 0);
  CHECK(memory.statistics().in_use == 0);
}

TEST_CASE("Threads share the regions of a cache", "[ibv_reg_mr]") {
  const context device = open_device();
  const protection_domain domain{device};
  registration_cache cache{domain, {.max_regions = 8}};
  std::vector<std::byte> bytes(64'000);
  in_threads(threads, [&](int number) {
    std::mt19937 random{static_cast<unsigned>(number)};
    for (int step = 0; step < 500; ++step) {
      const std::span part = std::span{bytes}.subspan(1000 * (random() % 60), 3000);
      if (random() % 10 == 0) {
        cache.forget(part);
      } else {
        const cached_region region = cache.region(part);
        if (region.buffer().size() != part.size()) FAIL("another size");
      }
    }
  });
  CHECK(cache.statistics().in_use == 0);
}
