// SPDX-License-Identifier: MIT
// Tasks that wait for blocks of a pool.
#include <chrono>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <adverb/adverb.hpp>
#include <adverb/async.hpp>
#include <adverb/async/block_waits.hpp>
#include <support/catch.hpp>

#include "cm/async_side.hpp"

using namespace async_test;
using namespace std::chrono_literals;

namespace {

struct pool_of_two {
  context device = open_device();
  protection_domain domain{device};
  registered_resource memory{domain, {.slab = kibibytes(64), .limit = mebibytes(1)}};
  buffer_pool pool{memory, {.block_size = 64, .blocks = 2}};
  async::event_loop loop;
  async::block_waits blocks{loop, pool};
};

}  // namespace

TEST_CASE("Tasks get the blocks of a pool in the order in which they came",
          "[rdma_create_event_channel]") {
  pool_of_two of;
  std::vector<int> order;
  const auto use = [&](int number) -> async::task<> {
    const buffer_lease block = co_await of.blocks.take();
    CHECK(block);
    order.push_back(number);
    co_await async::sleep_for(of.loop, 1ms);
  };
  for (int number = 0; number < 20; ++number) of.loop.spawn(use(number));
  of.loop.run();
  REQUIRE(order.size() == 20);
  for (int number = 0; number < 20; ++number)
    CHECK(order[static_cast<std::size_t>(number)] == number);
}

TEST_CASE("Another thread gives a block to the task that waits for it",
          "[rdma_create_event_channel]") {
  pool_of_two of;
  for (int round = 0; round < 200; ++round) {
    buffer_lease one = of.pool.try_take();
    buffer_lease other = of.pool.try_take();
    bool has_block = false;
    of.loop.spawn([&]() -> async::task<> {
      const buffer_lease block = co_await of.blocks.take(10s);
      has_block = static_cast<bool>(block);
    });
    const std::jthread giving{[&one, round] {
      if (round % 2 == 0) std::this_thread::sleep_for(100us);
      one = {};
    }};
    of.loop.run();
    CHECK(has_block);
  }
}

TEST_CASE("A task may destroy the object through which it has waited for a block") {
  pool_of_two of;
  buffer_lease one = of.pool.try_take();
  buffer_lease other = of.pool.try_take();
  bool has_first = false;
  bool has_second = false;
  of.loop.spawn([&]() -> async::task<> {
    auto own = std::make_unique<async::block_waits>(of.loop, of.pool);
    const buffer_lease first = co_await own->take();
    has_first = static_cast<bool>(first);
    own = {};
    // Another object of the pool listens now.
    of.loop.spawn([&]() -> async::task<> {
      co_await async::sleep_for(of.loop, 10ms);
      other = {};
    });
    const buffer_lease second = co_await of.blocks.take(20s);
    has_second = static_cast<bool>(second);
  });
  of.loop.post([&] { one = {}; });
  of.loop.run();
  CHECK(has_first);
  CHECK(has_second);
}

TEST_CASE("A wait for a block returns an empty lease at its time limit, and can be cancelled",
          "[rdma_create_event_channel]") {
  pool_of_two of;
  const buffer_lease one = of.pool.try_take();
  const buffer_lease other = of.pool.try_take();
  bool is_late = false;
  std::error_code why;
  of.loop.spawn([&]() -> async::task<> {
    is_late = !co_await of.blocks.take(5ms);
    of.blocks.cancel_waits();
  });
  of.loop.spawn([&]() -> async::task<> {
    const buffer_lease none = co_await of.blocks.take().report_to(why);
    CHECK_FALSE(none);
  });
  of.loop.run();
  CHECK(is_late);
  CHECK(why == std::errc::operation_canceled);
}
