// SPDX-License-Identifier: MIT
// The table of regions that ADVERB_HARDENING_DEBUG compares posts with.
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include <adverb/memory/detail/known_regions.hpp>
#include <support/catch.hpp>

namespace {

using adverb::detail::known_regions;
using flaw = known_regions::flaw;

/// A device with two protection domains, of which nothing but the addresses and numbers is read.
struct fake_device {
  ibv_context context{};
  ibv_pd domain{};
  ibv_pd other{};

  fake_device() {
    domain.context = other.context = &context;
    domain.handle = 1;
    other.handle = 2;
  }
  fake_device(const fake_device&) = delete;
  fake_device& operator=(const fake_device&) = delete;

  [[nodiscard]] ibv_mr region(std::uint32_t key) {
    ibv_mr made{};
    made.context = &context;
    made.pd = &domain;
    made.lkey = key;
    return made;
  }
};

/// All of these keys are in one bucket of the table.
constexpr std::uint32_t key_of(std::uint32_t number) { return number << 20; }

}  // namespace

TEST_CASE("a region is judged by its last change") {
  fake_device device;
  known_regions& regions = known_regions::instance();
  const ibv_mr region = device.region(key_of(1));
  const auto judge = [&] { return regions.judge(&device.domain, region.lkey); };
  CHECK(judge() == flaw::none);
  regions.note(&region);
  CHECK(judge() == flaw::none);
  CHECK(regions.judge(&device.other, region.lkey) == flaw::other_domain);
  regions.note_gone(&region);
  CHECK(judge() == flaw::region_gone);
  regions.note(&region);
  CHECK(judge() == flaw::none);
  regions.forget(&region);
  CHECK(regions.judge(&device.other, region.lkey) == flaw::none);
}

TEST_CASE("a region of another device with the same key is not judged") {
  fake_device first;
  fake_device second;
  known_regions& regions = known_regions::instance();
  const ibv_mr region = first.region(key_of(1));
  regions.note(&region);
  regions.note_gone(&region);
  CHECK(regions.judge(&first.domain, region.lkey) == flaw::region_gone);
  CHECK(regions.judge(&second.domain, region.lkey) == flaw::none);
}

TEST_CASE("the last 1024 regions that are gone stay known") {
  fake_device device;
  known_regions& regions = known_regions::instance();
  const auto register_and_close = [&](std::uint32_t key) {
    const ibv_mr region = device.region(key);
    regions.note(&region);
    regions.note_gone(&region);
  };
  const auto judge = [&](std::uint32_t key) { return regions.judge(&device.domain, key); };
  for (std::uint32_t key = 0; key < 1025; ++key) register_and_close(key);
  CHECK(judge(0) == flaw::none);
  CHECK(judge(1) == flaw::region_gone);
  CHECK(judge(1024) == flaw::region_gone);
  // Its first end is no longer among the last 1024, its second is.
  register_and_close(1);
  register_and_close(1025);
  CHECK(judge(1) == flaw::region_gone);
  CHECK(judge(2) == flaw::none);
}

TEST_CASE("a region that stays is judged correctly while threads register others") {
  fake_device device;
  known_regions& regions = known_regions::instance();
  constexpr std::uint32_t thread_count = 4;
  constexpr int rounds = 2000;
  const ibv_mr before = device.region(key_of(100));
  const ibv_mr staying = device.region(key_of(101));
  // `staying` is behind a slot that the threads use.
  regions.note(&before);
  regions.note(&staying);
  regions.forget(&before);

  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (std::uint32_t number = 1; number <= thread_count; ++number)
    threads.emplace_back([&, number] {
      const auto expect = [&](bool holds) { wrong += !holds; };
      for (int round = 0; round < rounds; ++round) {
        const ibv_mr mine =
            device.region(key_of(number * 8 + static_cast<std::uint32_t>(round % 8)));
        regions.note(&mine);
        expect(regions.judge(&device.domain, mine.lkey) == flaw::none);
        expect(regions.judge(&device.other, mine.lkey) == flaw::other_domain);
        // A post of this region ends the program if it finds a flaw.
        const ibv_sge posted{0, 0, mine.lkey};
        adverb::detail::require_regions(&device.domain, "ibv_post_send", &posted, 1);
        expect(regions.judge(&device.domain, staying.lkey) == flaw::none);
        expect(regions.judge(&device.other, staying.lkey) == flaw::other_domain);
        // The region of another thread may be unknown, alive or gone, and is in the same domain.
        const std::uint32_t neighbour = number % thread_count + 1;
        expect(regions.judge(&device.domain, key_of(neighbour * 8)) != flaw::other_domain);
        if (round % 2 == 0)
          regions.note_gone(&mine);
        else
          regions.forget(&mine);
        expect(regions.judge(&device.domain, mine.lkey) != flaw::other_domain);
      }
    });
  for (std::thread& each : threads) each.join();
  CHECK(wrong == 0);
}
