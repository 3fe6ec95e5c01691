// SPDX-License-Identifier: MIT
// The cache of registrations.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <adverb/pool/registration_cache.hpp>
#include <support/catch.hpp>
#include <support/ended_program.hpp>
#include <support/reported.hpp>

#include "fake.hpp"
#include "log.hpp"

namespace {

namespace called = fake::called;
using adverb::access_right;
using adverb::cached_region;
using adverb::registration_cache;

struct fixture {
  fake::machine machine;
  adverb::context context = adverb::open_device();
  adverb::protection_domain domain{context};
  std::vector<std::byte> memory = std::vector<std::byte>(1024);
  std::span<std::byte> bytes{memory};

  fixture() { machine.name("memory", memory); }

  [[nodiscard]] std::size_t registrations() const { return machine.count<called::reg_mr>(); }
};

}  // namespace

TEST_CASE_METHOD(fixture, "memory that a region covers is not registered again", "[ibv_reg_mr]") {
  registration_cache cache{domain};
  {
    const cached_region whole = cache.region(memory);
    CHECK(whole.buffer().size() == 1024);
    const cached_region part = cache.region(bytes.subspan(100, 10));
    CHECK(part.buffer().address() == whole.buffer().address() + 100);
    CHECK(part.buffer().size() == 10);
    CHECK(part.const_buffer().key() == whole.region().lkey());
    CHECK(part.region().size() == 1024);
  }
  const cached_region again = cache.region(memory);
  CHECK(registrations() == 1);
  CHECK(machine.count<called::dereg_mr>() == 0);
  const auto now = cache.statistics();
  CHECK(now.hits == 2);
  CHECK(now.misses == 1);
  CHECK(now.regions == 1);
  CHECK(now.in_use == 1);
  CHECK(now.bytes == 1024);
}

TEST_CASE_METHOD(fixture, "a larger region replaces those that it contains", "[ibv_dereg_mr]") {
  registration_cache cache{domain};
  cached_region used = cache.region(bytes.first(10));
  (void)cache.region(bytes.subspan(20, 10));
  const cached_region overlapping = cache.region(bytes.subspan(25, 10));
  CHECK(registrations() == 3);
  const cached_region whole = cache.region(bytes.first(30));
  CHECK(cache.statistics().regions == 3);
  CHECK(cache.region(bytes.first(10)).region().lkey() == whole.region().lkey());
  used = {};
  CHECK(cache.statistics().regions == 2);
  CHECK(cache.statistics().bytes == 40);
}

TEST_CASE_METHOD(fixture, "memory that is written is not found in a region of const memory") {
  registration_cache cache{domain,
                           {.rights = access_right::local_write | access_right::remote_read}};
  const std::vector<std::byte>& fixed = memory;
  const cached_region readable = cache.region(fixed);
  CHECK(machine.line() == "ibv_reg_mr pd0 addr=memory length=1024 access=REMOTE_READ");
  CHECK(reported([&](auto&&... policy) { (void)readable.buffer(policy...); }).code() ==
        std::errc::permission_denied);
  CHECK(readable.const_buffer().size() == 1024);
  const cached_region writable = cache.region(memory);
  CHECK(registrations() == 2);
}

TEST_CASE_METHOD(fixture, "const memory is found in a region that can be written") {
  registration_cache cache{domain};
  const std::vector<std::byte>& fixed = memory;
  const cached_region writable = cache.region(memory);
  CHECK(cache.region(fixed).region().lkey() == writable.region().lkey());
}

TEST_CASE_METHOD(fixture, "const memory is not found in a region that ends before it") {
  registration_cache cache{domain};
  const std::vector<std::byte>& fixed = memory;
  const cached_region front = cache.region(bytes.first(10));
  const cached_region whole = cache.region(fixed);
  CHECK(whole.region().lkey() != front.region().lkey());
  CHECK(registrations() == 2);
}

TEST_CASE_METHOD(fixture, "the least recently used region is evicted, and never one in use") {
  registration_cache cache{domain, {.max_regions = 3}};
  const auto block = [&](std::size_t number) { return bytes.subspan(number * 10, 10); };
  (void)cache.region(block(0));
  (void)cache.region(block(1));
  const cached_region used = cache.region(block(2));
  (void)cache.region(block(0));
  (void)cache.region(block(3));
  CHECK(cache.statistics().evictions == 1);
  (void)cache.region(block(0));
  CHECK(registrations() == 4);
  const cached_region second = cache.region(block(1));
  const cached_region third = cache.region(block(3));
  const auto failed = reported([&](auto&&... policy) { (void)cache.region(block(5), policy...); });
  CHECK(failed.code() == std::errc::no_buffer_space);
  CHECK(failed.explanation() ==
        "10 more bytes would exceed the limits of 3 regions and 1073741824 bytes: 3 regions with "
        "30 bytes are registered, and 3 regions are in use");
}

TEST_CASE_METHOD(fixture, "the bytes of a cache are limited") {
  registration_cache cache{domain, {.max_bytes = 100}};
  (void)cache.region(bytes.first(60));
  (void)cache.region(bytes.subspan(60, 40));
  CHECK(cache.statistics().bytes == 100);
  (void)cache.region(bytes.subspan(100, 1));
  CHECK(cache.statistics().bytes == 41);
  CHECK(reported([&](auto&&... policy) {
          (void)cache.region(bytes.first(101), policy...);
        }).code() == std::errc::no_buffer_space);
  CHECK(cache.statistics().bytes == 41);
}

TEST_CASE_METHOD(fixture, "a registration without memory evicts and tries again", "[ibv_reg_mr]") {
  registration_cache cache{domain};
  (void)cache.region(bytes.first(10));
  machine.fail<called::reg_mr>(ENOMEM);
  const cached_region second = cache.region(bytes.subspan(10, 10));
  CHECK(second);
  CHECK(cache.statistics().evictions == 1);
  CHECK(reported([&] { machine.fail<called::reg_mr>(ENOMEM); },
                 [&](auto&&... policy) { (void)cache.region(bytes.subspan(30, 10), policy...); })
            .verb() == "ibv_reg_mr");
  CHECK(cache.statistics().regions == 1);
}

TEST_CASE_METHOD(fixture, "forgotten memory is registered again", "[ibv_dereg_mr]") {
  registration_cache cache{domain};
  (void)cache.region(bytes.first(100));
  (void)cache.region(bytes.subspan(200, 100));
  cached_region used = cache.region(bytes.subspan(50, 100));
  CHECK(cache.forget(bytes.subspan(300, 100)) == 0);
  CHECK(cache.statistics().regions == 3);
  CHECK(cache.forget(bytes.subspan(99, 2)) == 1);
  CHECK(cache.statistics().regions == 2);
  CHECK(cache.forget(bytes.first(100)) == 1);
  const cached_region again = cache.region(bytes.subspan(50, 100));
  CHECK(again.region().lkey() != used.region().lkey());
  CHECK(registrations() == 4);
  used = {};
  CHECK(machine.count<called::dereg_mr>() == 2);
}

TEST_CASE_METHOD(fixture, "a dma-buf is found by its descriptor and offset",
                 "[ibv_reg_dmabuf_mr]") {
  registration_cache cache{domain};
  cached_region whole = cache.region({.file_descriptor = 7, .offset = 4096, .length = 8192});
  const cached_region part = cache.region({.file_descriptor = 7, .offset = 8192, .length = 16});
  CHECK(part.buffer().address() == 8192);
  CHECK(part.region().lkey() == whole.region().lkey());
  const cached_region other = cache.region({.file_descriptor = 8, .offset = 8192, .length = 16});
  const cached_region moved =
      cache.region({.file_descriptor = 7, .offset = 8192, .length = 16, .device_address = 0x10000});
  CHECK(moved.buffer().address() == 0x10000);
  CHECK_THAT(machine.lines<called::reg_dmabuf_mr>(), is_log(R"(
    ibv_reg_dmabuf_mr pd0 offset=4096 length=8192 iova=0x1000 fd=7 access=LOCAL_WRITE
    ibv_reg_dmabuf_mr pd0 offset=8192 length=16 iova=0x2000 fd=8 access=LOCAL_WRITE
    ibv_reg_dmabuf_mr pd0 offset=8192 length=16 iova=0x10000 fd=7 access=LOCAL_WRITE)"));
  CHECK(cache.forget_dmabuf(7) == 2);
  CHECK(cache.forget(memory) == 0);
  CHECK(cache.statistics().regions == 3);
  whole = cache.region({.file_descriptor = 7, .offset = 4096, .length = 8192});
  CHECK(machine.count<called::reg_dmabuf_mr>() == 4);
}

TEST_CASE_METHOD(fixture, "on-demand paging is used if the device has it", "[ibv_reg_mr]") {
  registration_cache cache{domain, {.on_demand = true}};
  CHECK(cache.is_on_demand());
  const cached_region region = cache.region(memory);
  CHECK(machine.line<called::reg_mr>() ==
        "ibv_reg_mr pd0 addr=memory length=1024 access=LOCAL_WRITE|ON_DEMAND");
  machine.devices[0].extended.odp_caps = {};
  const registration_cache without{domain, {.on_demand = true}};
  CHECK_FALSE(without.is_on_demand());
}

#if ADVERB_HARDENING >= ADVERB_HARDENING_FAST
TEST_CASE_METHOD(fixture, "a cache that is destroyed before a handle ends the program") {
  std::optional<registration_cache> cache{std::in_place, domain};
  const cached_region used = cache->region(memory);
  CHECK(words_at_the_end([&] { cache.reset(); }) ==
        "registration_cache: EINVAL (Invalid argument); the cache is destroyed while a "
        "cached_region of it lives");
}
#endif

namespace {

/// A cache of the simplest kind: a list of regions, the least recently used first.
struct model {
  struct region {
    std::size_t begin, end;
    int users = 0;
    bool is_found = true;
  };
  std::size_t max_regions, max_bytes;
  std::vector<region> regions{};
  std::uint64_t hits = 0, misses = 0, evictions = 0;

  [[nodiscard]] std::size_t bytes() const {
    std::size_t sum = 0;
    for (const region& each : regions) sum += each.end - each.begin;
    return sum;
  }
  [[nodiscard]] bool evict() {
    const auto idle = std::find_if(regions.begin(), regions.end(),
                                   [](const region& each) { return each.users == 0; });
    if (idle == regions.end()) return false;
    regions.erase(idle);
    ++evictions;
    return true;
  }
  /// Returns the region that covers the range; of several, the one that begins last.
  [[nodiscard]] std::optional<region> find(std::size_t begin, std::size_t end) const {
    std::optional<region> found;
    for (const region& each : regions)
      if (each.is_found && each.begin <= begin && each.end >= end)
        if (!found || each.begin > found->begin) found = each;
    return found;
  }
  void hide_if(const auto& condition) {
    for (region& each : regions)
      if (condition(each)) each.is_found = false;
    std::erase_if(regions, [](const region& each) { return !each.is_found && each.users == 0; });
  }
};

struct use {
  cached_region handle;
  std::size_t begin, end;
};

void run(fixture& of, unsigned seed) {
  std::mt19937 random{seed};
  const auto below = [&](std::size_t limit) { return random() % limit; };
  model expected{.max_regions = 3 + below(6), .max_bytes = 200 + below(400)};
  registration_cache cache{of.domain,
                           {.max_regions = expected.max_regions, .max_bytes = expected.max_bytes}};
  std::vector<use> uses;
  for (int step = 0; step < 2000; ++step) {
    const std::size_t begin = below(200);
    const std::size_t length = 1 + below(100);
    const std::size_t end = begin + length;
    const auto range = of.bytes.subspan(begin, length);
    const auto what = below(10);
    if (what < 6) {
      const auto found = expected.find(begin, end);
      std::error_code code;
      cached_region handle = cache.region(range, code);
      if (found) {
        ++expected.hits;
        REQUIRE(handle);
        REQUIRE(handle.region().size() == found->end - found->begin);
      } else {
        ++expected.misses;
        bool fits = length <= expected.max_bytes;
        while (fits && (expected.regions.size() >= expected.max_regions ||
                        expected.bytes() + length > expected.max_bytes))
          fits = expected.evict();
        REQUIRE(static_cast<bool>(handle) == fits);
        if (!fits) continue;
        expected.hide_if(
            [&](const model::region& each) { return each.begin >= begin && each.end <= end; });
        expected.regions.push_back({begin, end});
      }
      REQUIRE(handle.buffer().address() == reinterpret_cast<std::uintptr_t>(range.data()));
      const std::size_t region_begin =
          handle.region().device_address() - reinterpret_cast<std::uintptr_t>(of.bytes.data());
      const std::size_t region_end = region_begin + handle.region().size();
      const auto same = std::find_if(
          expected.regions.begin(), expected.regions.end(), [&](const model::region& each) {
            return each.is_found && each.begin == region_begin && each.end == region_end;
          });
      REQUIRE(same != expected.regions.end());
      ++same->users;
      // A handle that stays keeps its place in the order until it is released.
      uses.push_back({std::move(handle), region_begin, region_end});
    }
    if (what >= 4 && what < 9 && !uses.empty()) {
      std::swap(uses[below(uses.size())], uses.back());
      const std::size_t key_begin = uses.back().begin;
      const std::size_t key_end = uses.back().end;
      const std::uint32_t key = static_cast<std::uint32_t>(uses.back().handle.region().lkey());
      // At most one region of a range is found; the others are forgotten.
      std::size_t others = 0;
      for (const use& each : uses)
        if (static_cast<std::uint32_t>(each.handle.region().lkey()) == key) ++others;
      uses.pop_back();
      const auto match = std::find_if(expected.regions.begin(), expected.regions.end(),
                                      [&](const model::region& each) {
                                        return each.begin == key_begin && each.end == key_end &&
                                               each.users == static_cast<int>(others);
                                      });
      REQUIRE(match != expected.regions.end());
      model::region released = *match;
      --released.users;
      expected.regions.erase(match);
      if (released.users > 0 || released.is_found) expected.regions.push_back(released);
    }
    if (what == 9) {
      expected.hide_if(
          [&](const model::region& each) { return each.begin < end && each.end > begin; });
      const auto left = static_cast<std::size_t>(std::count_if(
          expected.regions.begin(), expected.regions.end(), [&](const model::region& each) {
            return each.users > 0 && each.begin < end && each.end > begin;
          }));
      REQUIRE(cache.forget(range) == left);
    }
    const auto now = cache.statistics();
    REQUIRE(now.regions == expected.regions.size());
    REQUIRE(now.bytes == expected.bytes());
    REQUIRE(now.hits == expected.hits);
    REQUIRE(now.misses == expected.misses);
    REQUIRE(now.evictions == expected.evictions);
    REQUIRE(of.machine.count<called::reg_mr>() - of.machine.count<called::dereg_mr>() ==
            now.regions);
  }
  uses.clear();
}

}  // namespace

TEST_CASE_METHOD(fixture, "any sequence of uses and ends equals that of a simple model") {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    run(*this, seed);
    machine.forget_calls();
  }
}
