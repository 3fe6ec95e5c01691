// SPDX-License-Identifier: MIT
// Registered memory on a device: a resource for containers, a pool of blocks, a cache.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory_resource>
#include <numeric>
#include <span>
#include <vector>

#include <adverb/core/sizes.hpp>
#include <adverb/pool.hpp>

#include "huge_pages.hpp"
#include "rc_link.hpp"
#include "support.hpp"

using namespace adverb;

namespace {

using link_type = rc_link<completion_queue>;
const queue_pair_options thirty_two{.max_send_wr = 32, .max_recv_wr = 32};

}  // namespace

TEST_CASE("A pmr vector is sent as it is, and received into another one", "[ibv_reg_mr]") {
  link_type link{thirty_two};
  registered_resource memory{link.near_end.region.protection_domain(),
                             {.slab = mebibytes(1), .limit = mebibytes(16)}};
  {
    std::pmr::vector<std::uint32_t> rows(100'000, &memory);
    std::iota(rows.begin(), rows.end(), 7U);
    std::pmr::vector<std::uint32_t> target(rows.size(), &memory);
    const auto& fixed = rows;
    link.far_pair.post(receive(memory.buffer_of(target))).check();
    link.near_pair.post(send(memory.buffer_of(fixed)).signaled()).check();
    next_success(link.near_end.queue);
    CHECK(next_success(link.far_end.queue).success().receive().length() == rows.size() * 4);
    CHECK(target == rows);
    // Growing moves it to a slab of its own.
    rows.resize(1'000'000);
    CHECK(memory.buffer_of(rows).size() == 4'000'000);
    CHECK(memory.statistics().slabs == 2);
  }
  CHECK(memory.statistics().in_use == 0);
  CHECK(memory.statistics().slabs == 1);
}

TEST_CASE("Slabs in huge pages carry data, and fall back to pages that there are", "[ibv_reg_mr]") {
  link_type link{thirty_two};
  for (const bool is_set_aside : {false, true}) {
    const huge_pages pages{is_set_aside ? 4U : 0U};
    registered_resource memory{link.near_end.region.protection_domain(),
                               {.slab = mebibytes(2), .limit = mebibytes(4), .numa_local = true}};
    std::pmr::vector<std::byte> bytes(10'000, std::byte{1}, &memory);
    std::pmr::vector<std::byte> target(bytes.size(), &memory);
    link.far_pair.post(receive(memory.buffer_of(target))).check();
    link.near_pair.post(send(memory.buffer_of(bytes)).signaled()).check();
    next_success(link.near_end.queue);
    next_success(link.far_end.queue);
    CHECK(target == bytes);
    const auto now = memory.statistics();
    if (pages.are_set_aside()) CHECK(now.in_huge_pages == now.registered);
    CHECK((now.in_huge_pages == 0 || now.in_huge_pages == now.registered));
  }
}

TEST_CASE("Memory that has slabs of its own leaves its neighbours alone in huge pages",
          "[ibv_reg_mr]") {
  link_type link{thirty_two};
  const huge_pages pages{8};
  registered_resource memory{link.near_end.region.protection_domain(),
                             {.slab = mebibytes(1), .limit = mebibytes(16)}};
  // A whole number of huge pages has more slabs than this. One of the two begins at a huge page.
  constexpr std::size_t large = (std::size_t{2} << 20) + 64;
  constexpr std::size_t small = std::size_t{1} << 20;
  void* const all_of_it[] = {memory.allocate(large), memory.allocate(large)};
  std::vector<std::byte*> neighbours;
  for (std::size_t each = 0; each < 6; ++each) {
    neighbours.push_back(static_cast<std::byte*>(memory.allocate(small)));
    std::fill_n(neighbours.back(), small, static_cast<std::byte>(each + 1));
  }
  for (void* const each : all_of_it) memory.deallocate(each, large);
  for (std::size_t each = 0; each < neighbours.size(); ++each) {
    const std::span bytes{neighbours[each], small};
    CHECK(std::ranges::count(bytes, static_cast<std::byte>(each + 1)) == std::ssize(bytes));
    memory.deallocate(neighbours[each], small);
  }
}

TEST_CASE("The blocks of a pool return with the completions of thousands of messages",
          "[ibv_reg_mr]") {
  constexpr std::uint32_t messages = 4000;
  link_type link{thirty_two};
  registered_resource memory{link.near_end.region.protection_domain(),
                             {.slab = mebibytes(1), .limit = mebibytes(16)}};
  buffer_pool pool{memory, {.block_size = 64, .blocks = 24}};
  std::uint32_t sent = 0;
  std::uint32_t received = 0;
  std::uint32_t receives = 0;
  std::uint32_t in_progress = 0;
  std::array<completion, 8> done;
  while (received < messages) {
    // Receives first: a message never finds none.
    while (receives < 8) {
      buffer_lease block = pool.try_take();
      if (!block) break;
      link.far_pair.post(receive(block.buffer()).id(block.in_flight())).check();
      ++receives;
    }
    while (sent < messages && in_progress < receives) {
      buffer_lease block = pool.try_take();
      if (!block) break;
      std::memcpy(block.bytes().data(), &sent, sizeof sent);
      link.near_pair.post(send(block.buffer()).id(block.in_flight()).signaled()).check();
      ++sent;
      ++in_progress;
    }
    for (const completion& each : link.near_end.queue.poll(done)) {
      each.check();
      REQUIRE(pool.owns(each.id()));
      pool.lease_of(each);
    }
    for (const completion& each : link.far_end.queue.poll(done)) {
      each.check();
      const buffer_lease block = pool.lease_of(each);
      std::uint32_t number = 0;
      std::memcpy(&number, block.bytes().data(), sizeof number);
      REQUIRE(number == received);
      ++received;
      --receives;
      --in_progress;
    }
  }
}

TEST_CASE("A hit of the cache registers nothing, and its region carries data", "[ibv_reg_mr]") {
  link_type link{thirty_two};
  registration_cache cache{link.near_end.region.protection_domain(), {.max_regions = 4}};
  std::vector<std::byte> from(32768, std::byte{3});
  std::vector<std::byte> into(32768);
  const std::vector<std::byte>& fixed = from;
  for (int round = 0; round < 10; ++round) {
    const cached_region source = cache.region(fixed);
    const cached_region target = cache.region(std::span{into}.subspan(1000, 4000));
    link.far_pair.post(receive(target.buffer())).check();
    link.near_pair.post(send(source.const_buffer().slice(0, 4000)).signaled()).check();
    next_success(link.near_end.queue);
    next_success(link.far_end.queue);
    if (round == 0) (void)cache.region(into);
  }
  CHECK(into[999] == std::byte{0});
  CHECK(into[1000] == std::byte{3});
  CHECK(into[4999] == std::byte{3});
  CHECK(into[5000] == std::byte{0});
  const auto now = cache.statistics();
  CHECK(now.misses == 3);
  CHECK(now.hits == 18);
  CHECK(cache.forget(into) == 0);
  CHECK(cache.statistics().regions == 1);
}

TEST_CASE("A cache registers on-demand regions if the device has on-demand paging",
          "[optional][ibv_reg_mr]") {
  link_type link{thirty_two};
  registration_cache cache{link.near_end.region.protection_domain(), {.on_demand = true}};
  if (!cache.is_on_demand())
    return tell_skip("a cache of on-demand regions", "the device has no on-demand paging");
  std::vector<std::byte> bytes(4096);
  CHECK(cache.region(bytes).region().rights().contains(access_right::on_demand));
}
