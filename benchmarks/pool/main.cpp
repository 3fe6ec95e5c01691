// SPDX-License-Identifier: MIT
// Runs each function of registered memory under callgrind; `run` makes the table of what callgrind
// writes down.
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

#include <adverb/core/sizes.hpp>
#include <adverb/memory/protection_domain.hpp>
#include <adverb/pool.hpp>

#include "../control/provider.hpp"
#include "../support/count_instructions.hpp"

namespace {

/// Keeps the compiler from omitting a value.
template <class T>
void keep(const T& value) {
  asm volatile("" : : "r"(&value) : "memory");
}

template <class Step>
void count(const char* name, const Step& step) {
  counting::count(name, "adverb", [&](std::uint64_t times) {
    for (std::uint64_t index = 0; index < times; ++index) step();
  });
}

void count_resource(const char* name, adverb::registered_resource& memory) {
  count(name, [&] { memory.deallocate(memory.allocate(4096), 4096); });
}

}  // namespace

int main() {
  using namespace adverb;
  ibv_context* const context = provider::open_device();
  const protection_domain domain{context_ref{context}};
  registered_resource memory{domain, {.slab = mebibytes(2), .limit = mebibytes(64)}};
  std::pmr::vector<std::byte> rows(65'536, &memory);
  count("loop", [] { keep(0); });
  count("buffer_of", [&] { keep(memory.buffer_of(rows)); });
  count("region_of", [&] { keep(memory.region_of(rows.data())); });

  buffer_pool pool{memory, {.blocks = 64}};
  count("pool", [&] { keep(pool.try_take()); });
  count("pool in flight", [&] {
    buffer_lease lease = pool.try_take();
    keep(lease.buffer());
    keep(pool.lease_of(lease.in_flight()));
  });

  count_resource("allocate", memory);
  {
    // A block stays allocated, as above.
    synchronized_registered_resource shared{domain, {.slab = mebibytes(2), .limit = mebibytes(64)}};
    const std::pmr::vector<std::byte> kept(65'536, &shared);
    count_resource("allocate synchronized", shared);
  }

  registration_cache cache{domain};
  const std::vector<std::byte> others(65'536);
  const cached_region used = cache.region(rows);
  std::vector<cached_region> more;
  for (std::size_t index = 0; index < 1000; ++index)
    more.push_back(cache.region(std::span{others}.subspan(64 * index, 64)));
  count("hit", [&] { keep(cache.region(rows)); });
}
