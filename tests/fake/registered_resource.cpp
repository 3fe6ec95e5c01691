// SPDX-License-Identifier: MIT
// Registered memory for the containers of std::pmr.
#include <array>
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <memory_resource>
#include <new>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <sys/resource.h>

#include <adverb/core/sizes.hpp>
#include <adverb/pool/registered_resource.hpp>
#include <support/catch.hpp>
#include <support/ended_program.hpp>
#include <support/reported.hpp>

#include "fake.hpp"
#include "log.hpp"

namespace {

namespace called = fake::called;
using adverb::access_right;
using adverb::registered_resource;
using adverb::registered_resource_options;

constexpr std::size_t slab = adverb::kibibytes(64);
constexpr registered_resource_options small{.slab = slab, .limit = 4 * slab};

std::uint64_t address_of(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

struct fixture {
  fake::machine machine;
  adverb::context context = adverb::open_device();
  adverb::protection_domain domain{context};

  [[nodiscard]] std::size_t registrations() const { return machine.count<called::reg_mr>(); }
  [[nodiscard]] std::string refusal(const registered_resource_options& options) {
    return std::string{reported([&](auto&&... policy) {
                         const registered_resource memory{domain, options, policy...};
                       }).explanation()};
  }
};

/// The explanation of an allocation that fails.
std::string allocation_refusal(registered_resource& memory, std::size_t size) {
  adverb::failure why;
  CHECK(memory.try_allocate(size, 64, why) == nullptr);
  return std::string{why.explanation()};
}

}  // namespace

TEST_CASE_METHOD(fixture, "a pmr vector is sent as it is", "[ibv_reg_mr]") {
  registered_resource memory{domain, small};
  CHECK(registrations() == 0);
  std::pmr::vector<std::uint32_t> rows(1000, &memory);
  CHECK(registrations() == 1);
  const adverb::mutable_buffer whole = memory.buffer_of(rows);
  CHECK(whole.address() == address_of(rows.data()));
  CHECK(whole.size() == 4000);
  CHECK(whole.key() == memory.region_of(rows.data()).lkey());

  const auto& fixed = rows;
  const adverb::const_buffer part = memory.buffer_of(std::span{fixed}.subspan(10, 5));
  CHECK(part.address() == address_of(&rows[10]));
  CHECK(part.size() == 20);
  static_assert(std::is_same_v<decltype(memory.buffer_of(fixed)), adverb::const_buffer>);
  static_assert(std::is_same_v<decltype(memory.buffer_of(rows)), adverb::mutable_buffer>);
}

TEST_CASE_METHOD(fixture, "the buffer of no bytes is empty, wherever they are") {
  registered_resource memory{domain, small};
  const std::pmr::vector<int> nothing{&memory};
  CHECK(memory.buffer_of(nothing).size() == 0);
  CHECK(memory.buffer_of(std::span<int>{}).size() == 0);
}

TEST_CASE_METHOD(fixture, "memory outside the resource is refused") {
  registered_resource memory{domain, small};
  std::pmr::vector<std::byte> inside(100, &memory);
  std::array<std::byte, 16> elsewhere{};
  const adverb::failure why =
      reported([&](auto&&... policy) { (void)memory.buffer_of(elsewhere, policy...); });
  CHECK(why.code() == std::errc::result_out_of_range);
  CHECK_THAT(std::string{why.explanation()}, Catch::Matchers::StartsWith("16 bytes at 0x"));
  CHECK_THAT(std::string{why.explanation()},
             Catch::Matchers::EndsWith(" are not memory of the resource"));
  CHECK(reported([&](auto&&... policy) {
          (void)memory.buffer_of(std::span{inside.data(), slab + 1}, policy...);
        }).explanation() == "65537 bytes from 0 are not inside the 65536 bytes of the region");
  CHECK_FALSE(memory.region_of(&elsewhere));
  CHECK_FALSE(memory.region_of(nullptr));
  CHECK(memory.region_of(inside.data()));
  CHECK_FALSE(memory.region_of(inside.data() + slab));
}

TEST_CASE_METHOD(fixture, "memory without local_write can only be sent") {
  registered_resource memory{domain, {.slab = slab, .limit = slab, .rights = {}}};
  std::pmr::vector<std::byte> bytes(64, &memory);
  CHECK(reported([&](auto&&... policy) { (void)memory.buffer_of(bytes, policy...); }).code() ==
        std::errc::permission_denied);
  CHECK(memory.buffer_of(std::as_const(bytes)).size() == 64);
}

TEST_CASE_METHOD(fixture, "a slab is deregistered when it is whole again, except for one",
                 "[ibv_dereg_mr]") {
  registered_resource memory{domain, small};
  void* const first = memory.allocate(slab);
  void* const second = memory.allocate(slab / 2);
  void* const third = memory.allocate(slab / 2);
  CHECK(memory.statistics().slabs == 2);
  CHECK(memory.statistics().registered == 2 * slab);
  CHECK(memory.statistics().in_use == 2 * slab);
  memory.deallocate(second, slab / 2);
  CHECK(memory.statistics().slabs == 2);
  memory.deallocate(first, slab);
  memory.deallocate(third, slab / 2);
  CHECK(memory.statistics().slabs == 1);
  CHECK(memory.statistics().in_use == 0);
  CHECK(machine.count<called::dereg_mr>() == 1);
  memory.deallocate(memory.allocate(100), 100);
  CHECK(registrations() == 2);
}

TEST_CASE_METHOD(fixture, "an allocation that exceeds a slab has a slab of its own") {
  registered_resource memory{domain, small};
  std::pmr::vector<std::byte> large(2 * slab + 1, &memory);
  CHECK(memory.statistics().registered == 2 * slab + 1);
  CHECK(memory.buffer_of(large).size() == large.size());
  const auto region = memory.region_of(&large.back());
  CHECK(region.device_address() == address_of(large.data()));
  std::pmr::vector<std::byte>{&memory}.swap(large);
  CHECK(memory.statistics().registered == 0);
}

TEST_CASE_METHOD(fixture, "an allocation beyond the limit throws bad_alloc with an explanation") {
  registered_resource memory{domain, small};
  void* const most = memory.allocate(3 * slab);
  void* const rest = memory.allocate(slab / 2);
  try {
    (void)memory.allocate(slab);
    FAIL("nothing was thrown");
  } catch (const std::bad_alloc& thrown) {
    CHECK(std::string{thrown.what()} ==
          "registered_resource::allocate on fake0: ENOMEM (Cannot allocate memory); 65536 more "
          "bytes would exceed the limit of 262144: 262144 are registered in 2 slabs, of which "
          "229376 are allocated");
  }
  CHECK_THAT(allocation_refusal(memory, std::size_t{0} - 1),
             Catch::Matchers::StartsWith("18446744073709551615 bytes need one region"));
  // A slab without allocations is no obstacle.
  memory.deallocate(rest, slab / 2);
  void* const again = memory.allocate(slab + 1 - 4096);
  memory.deallocate(again, slab + 1 - 4096);
  memory.deallocate(most, 3 * slab);
  void* const all = memory.allocate(4 * slab);
  memory.deallocate(all, 4 * slab);
}

TEST_CASE_METHOD(fixture, "slabs and allocations are limited to the device's largest region") {
  machine.devices[0].attributes.max_mr_size = 3 * slab / 2;
  adverb::context other = adverb::open_device();
  adverb::protection_domain its_domain{other};
  registered_resource memory{its_domain, {.slab = 4 * slab, .limit = 8 * slab}};
  CHECK(memory.slab_size() == slab);
  void* const most = memory.allocate(3 * slab / 2);
  CHECK(allocation_refusal(memory, 3 * slab / 2 + 1) ==
        "98305 bytes need one region, because a buffer has one key, and the device allows 98304");
  memory.deallocate(most, 3 * slab / 2);
}

TEST_CASE_METHOD(fixture, "options that cannot be used are refused") {
  CHECK(refusal({.slab = 100'000}) ==
        "slab is 100000 bytes: it must be a power of two and at least a page of 4096");
  CHECK(refusal({.slab = slab, .limit = 5}) == "limit is 5 bytes, less than one slab of 65536");
  CHECK(refusal({.rights = access_right::zero_based}) ==
        "zero_based is not possible: slabs have addresses of the process");
  CHECK(refusal({.slab = slab, .limit = std::size_t{1} << 61}) ==
        "140737488355332 addresses of slabs of 65536 bytes cannot be reserved; see \"ulimit -v\"");
  std::error_code code;
  registered_resource failed{domain, {.slab = 1}, code};
  CHECK(allocation_refusal(failed, 1) == "the constructor of the resource failed");
  CHECK_FALSE(failed.region_of(&code));
}

TEST_CASE_METHOD(fixture, "a failed registration is explained and leaves nothing behind",
                 "[ibv_reg_mr]") {
  registered_resource memory{domain, small};
  machine.fail<called::reg_mr>(EINVAL);
  CHECK_THROWS_AS((std::pmr::vector<int>(10, &memory)), adverb::bad_registration);
  CHECK(memory.statistics().registered == 0);
  CHECK(memory.statistics().slabs == 0);
  const std::pmr::vector<int> next(10, &memory);
  CHECK(memory.statistics().slabs == 1);
}

TEST_CASE_METHOD(fixture, "memory that the system lacks fails the allocation only") {
  registered_resource memory{domain, small};
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_DATA, &before) == 0);
  // 0 has a special meaning.
  const rlimit none{4096, before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_DATA, &none) == 0);
  adverb::failure why;
  void* const refused = memory.try_allocate(100, 64, why);
  REQUIRE(setrlimit(RLIMIT_DATA, &before) == 0);
  CHECK(refused == nullptr);
  CHECK(why.explanation() == "the system has no 65536 bytes of memory for a slab");
  memory.deallocate(memory.allocate(100), 100);
}

TEST_CASE_METHOD(fixture, "a region that cannot be deregistered stays a slab of the resource",
                 "[ibv_dereg_mr]") {
  registered_resource memory{domain, small};
  void* const first = memory.allocate(slab);
  void* const second = memory.allocate(slab);
  memory.deallocate(first, slab);
  static int told = 0;
  const auto before = adverb::set_failure_hook([](const adverb::failure&) noexcept { ++told; });
  machine.fail<called::dereg_mr>(EBUSY);
  memory.deallocate(second, slab);
  adverb::set_failure_hook(before);
  CHECK(told == 1);
  CHECK(memory.statistics().slabs == 2);
  void* const again = memory.allocate(slab);
  void* const more = memory.allocate(slab);
  CHECK(registrations() == 2);
  memory.deallocate(again, slab);
  memory.deallocate(more, slab);
}

TEST_CASE_METHOD(fixture, "blocks are aligned, and no two share 64 bytes") {
  registered_resource memory{domain, small};
  void* const one = memory.allocate(1, 1);
  void* const other = memory.allocate(1, 1);
  CHECK(address_of(one) / 64 != address_of(other) / 64);
  void* const page = memory.allocate(10, 4096);
  CHECK(address_of(page) % 4096 == 0);
  adverb::failure why;
  CHECK(memory.try_allocate(1, 2 * slab, why) == nullptr);
  CHECK(why.explanation() == "the alignment is 131072 bytes, more than a slab of 65536");
  memory.deallocate(one, 1, 1);
  memory.deallocate(other, 1, 1);
  memory.deallocate(page, 10, 4096);
}

TEST_CASE_METHOD(fixture, "any sequence of allocations keeps their bytes apart and registered") {
  registered_resource memory{domain, {.slab = slab, .limit = 64 * slab}};
  struct block {
    unsigned char* begin;
    std::size_t size;
    unsigned char mark;
  };
  std::vector<block> blocks;
  const unsigned seed = 1;
  CAPTURE(seed);
  std::mt19937 random{seed};
  std::size_t in_use = 0;
  const auto is_intact = [&](const block& each) {
    for (std::size_t index = 0; index < each.size; index += 61)
      if (each.begin[index] != each.mark) return false;
    return true;
  };
  for (int step = 0; step < 5000; ++step) {
    if (blocks.size() < 60 && random() % 3 != 0) {
      const std::size_t size = 1 + random() % (random() % 10 == 0 ? 3 * slab : 5000);
      auto* const begin = static_cast<unsigned char*>(memory.allocate(size));
      const auto mark = static_cast<unsigned char>(random());
      std::fill_n(begin, size, mark);
      blocks.push_back({begin, size, mark});
      REQUIRE(memory.buffer_of(std::span{begin, size}).size() == size);
    } else if (!blocks.empty()) {
      std::swap(blocks[random() % blocks.size()], blocks.back());
      REQUIRE(is_intact(blocks.back()));
      memory.deallocate(blocks.back().begin, blocks.back().size);
      blocks.pop_back();
    }
    REQUIRE(memory.statistics().registered >= memory.statistics().in_use);
  }
  for (const block& each : blocks) in_use += each.size;
  CHECK(memory.statistics().in_use >= in_use);
  for (const block& each : blocks) memory.deallocate(each.begin, each.size);
  CHECK(memory.statistics().in_use == 0);
  CHECK(memory.statistics().slabs <= 1);
}

TEST_CASE_METHOD(fixture, "huge pages that are not there fall back to others") {
  registered_resource memory{
      domain, {.slab = adverb::mebibytes(2), .limit = adverb::mebibytes(8), .numa_local = true}};
  std::pmr::vector<std::byte> bytes(1000, &memory);
  bytes.front() = std::byte{1};
  const auto now = memory.statistics();
  CHECK((now.in_huge_pages == 0 || now.in_huge_pages == now.registered));
  CHECK(now.numa_local == 0);
}

#if ADVERB_HARDENING >= ADVERB_HARDENING_FAST
TEST_CASE_METHOD(fixture, "misuse of a resource ends the program") {
  CHECK(words_at_the_end([&] {
          registered_resource memory{domain, small};
          (void)memory.allocate(100);
        }) ==
        "registered_resource: EINVAL (Invalid argument); the resource is destroyed while 128 bytes "
        "of it are allocated");
  registered_resource memory{domain, small};
  void* const block = memory.allocate(100);
  memory.deallocate(block, 100);
  CHECK(words_at_the_end([&] { memory.deallocate(block, 100); }) ==
        "registered_resource::deallocate: EINVAL (Invalid argument); possible causes: the memory "
        "is deallocated twice, or with another size");
  int elsewhere = 0;
  CHECK(words_at_the_end([&] { memory.deallocate(&elsewhere, 4); }) ==
        "registered_resource::deallocate: EINVAL (Invalid argument); the memory is not of this "
        "resource");
}
#endif
