// SPDX-License-Identifier: MIT
// Pools of registered blocks.
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <adverb/core/sizes.hpp>
#include <adverb/pool/buffer_pool.hpp>
#include <support/catch.hpp>
#include <support/ended_program.hpp>
#include <support/reported.hpp>

#include "fake.hpp"

namespace {

using adverb::buffer_lease;
using adverb::buffer_pool;

struct fixture {
  fake::machine machine;
  adverb::context context = adverb::open_device();
  adverb::protection_domain domain{context};
  adverb::registered_resource memory{
      domain, {.slab = adverb::kibibytes(64), .limit = adverb::mebibytes(1)}};
};

}  // namespace

TEST_CASE_METHOD(fixture, "a pool gives out each block once, and then an empty lease") {
  buffer_pool pool{memory, {.block_size = 4080, .blocks = 3}};
  CHECK(pool.size() == 3);
  CHECK(pool.block_size() == 4080);
  {
    std::vector<buffer_lease> leases;
    std::set<std::uint64_t> addresses;
    for (int each = 0; each < 3; ++each) {
      leases.push_back(pool.try_take());
      REQUIRE(leases.back());
      const adverb::mutable_buffer buffer = leases.back().buffer();
      CHECK(buffer.size() == 4080);
      CHECK(buffer.address() % 64 == 0);
      CHECK(buffer.key() == pool.region().lkey());
      addresses.insert(buffer.address());
    }
    CHECK(addresses.size() == 3);
    CHECK_FALSE(pool.try_take());
    leases.pop_back();
    CHECK(pool.try_take());
  }
  CHECK(pool.try_take());
  CHECK(memory.statistics().in_use == 3 * 4096);
}

TEST_CASE_METHOD(fixture, "the bytes of a lease are those of its buffer") {
  buffer_pool pool{memory};
  buffer_lease lease = pool.try_take();
  CHECK(lease.bytes().size() == 4096);
  CHECK(reinterpret_cast<std::uintptr_t>(lease.bytes().data()) == lease.buffer().address());
  CHECK(memory.buffer_of(lease.bytes()).address() == lease.buffer().address());
}

TEST_CASE_METHOD(fixture, "a moved lease gives its block back once") {
  buffer_pool pool{memory, {.blocks = 2}};
  buffer_lease one = pool.try_take();
  buffer_lease other = std::move(one);
  CHECK_FALSE(one);
  CHECK(other);
  one = pool.try_take();
  CHECK_FALSE(pool.try_take());
  one = std::move(other);
  CHECK(pool.try_take());
}

TEST_CASE_METHOD(fixture, "the completion of a request gives its block back") {
  buffer_pool pool{memory, {.blocks = 1}};
  buffer_pool other{memory, {.blocks = 1}};
  buffer_lease lease = pool.try_take();
  const adverb::mutable_buffer buffer = lease.buffer();
  const std::uint64_t id = lease.in_flight();
  CHECK_FALSE(lease);
  CHECK_FALSE(pool.try_take());
  CHECK(pool.owns(id));
  CHECK_FALSE(other.owns(id));
  CHECK_FALSE(pool.owns(0));
  ibv_wc done{};
  done.wr_id = id;
  done.status = IBV_WC_WR_FLUSH_ERR;
  lease = pool.lease_of(adverb::completion{done});
  CHECK(lease.buffer().address() == buffer.address());
  CHECK_FALSE(pool.try_take());
  lease = {};
  CHECK(pool.try_take());
}

TEST_CASE_METHOD(fixture, "a pool may be destroyed with blocks in flight") {
  buffer_pool pool{memory, {.blocks = 1}};
  (void)pool.try_take().in_flight();
  // It is out for good.
  CHECK_FALSE(pool.try_take());
}

TEST_CASE_METHOD(fixture, "pools without blocks, and beyond the limit, are refused") {
  CHECK(reported([&](auto&&... policy) {
          const buffer_pool pool{memory, {.block_size = 0}, policy...};
        }).explanation() ==
        "256 blocks of 0 bytes: both must be at least 1, and less than 2^31 blocks");
  CHECK(reported([&](auto&&... policy) {
          const buffer_pool pool{memory, {.block_size = 4096, .blocks = 1000}, policy...};
        }).code() == std::errc::not_enough_memory);
  std::error_code code;
  buffer_pool none{memory, {.blocks = 0}, code};
  CHECK_FALSE(none.try_take());
  CHECK(none.size() == 0);
}

#if ADVERB_HARDENING >= ADVERB_HARDENING_FAST
TEST_CASE_METHOD(fixture, "misuse of a pool ends the program") {
  std::optional<buffer_pool> pool{std::in_place, memory};
  buffer_lease lease = pool->try_take();
  CHECK(words_at_the_end([&] { pool.reset(); }) ==
        "buffer_pool: EINVAL (Invalid argument); the pool is destroyed while 1 blocks of it are "
        "leased");
  const std::uint64_t id = lease.in_flight();
  CHECK(words_at_the_end([&] { (void)lease.buffer(); }) ==
        "buffer_lease: EINVAL (Invalid argument); the lease is empty: nothing was free, or it was "
        "moved from or is in flight");
  lease = pool->lease_of(id);
  CHECK_THAT(
      words_at_the_end([&] { (void)pool->lease_of(id); }),
      Catch::Matchers::EndsWith("is of a block that is not in flight: it has completed already"));
  CHECK(words_at_the_end([&] { (void)pool->lease_of(7); }) ==
        "buffer_pool::lease_of: EINVAL (Invalid argument); the id 0x7 is not of a block of this "
        "pool");
}
#endif
