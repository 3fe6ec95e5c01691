// SPDX-License-Identifier: MIT
// The n-th allocation of a connection, datagrams, a device event, a channel, a ring, a stream and
// registered memory fails, for each n: the program gets an exception or a typed failure, or does
// not need that memory. Nothing hangs or leaks.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <iostream>
#include <iterator>
#include <memory_resource>
#include <new>
#include <span>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include <adverb/adverb.hpp>
#include <adverb/core/sizes.hpp>
#include <adverb/messages.hpp>
#include <adverb/pool.hpp>
#include <support/catch.hpp>

#include "allocations/replaced_new.hpp"
#include "allocations/whole_paths.hpp"
#include "cm/async_side.hpp"
#include "cm/resources.hpp"
#include "random_rounds.hpp"

using namespace whole_paths;
using replaced_new::blocks_in_use;
using replaced_new::threads_without_memory;

namespace {

/// Waits until as many files and blocks are in use as before: other threads may end later.
[[nodiscard]] bool settle_to(std::size_t files, std::size_t blocks) {
  const auto end = std::chrono::steady_clock::now() + 20s;
  while (open_files() != files || blocks_in_use() != blocks) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

/// Returns the number of bytes that the C libraries have allocated.
[[nodiscard]] std::size_t bytes_of_c() { return allocated_bytes() - replaced_new::bytes_in_use(); }

/// Runs a path again and again, with every `step`-th n. In each run `count` allocations fail from
/// the n-th on, or fewer if the program notices. Ends with the run that needs fewer than n
/// allocations.
template <class Path>
void fail_each(const char* name, const Path& path, std::size_t count, std::size_t step) {
  deadline_of_runs limit{name};
  std::size_t nth = 1;
  std::size_t runs = 0;
  std::size_t without_effect = 0;
  for (bool has_failed = true; has_failed; nth += step) {
    ++runs;
    INFO(name << ", allocation " << nth);
    limit.begin(nth);
    const std::size_t files = open_files();
    const std::size_t blocks = blocks_in_use();
    outcome of{std::errc::not_enough_memory};
    {
      const without_memory some{nth - 1, count};
      of.run(path);
      has_failed = without_memory::failed() != 0;
    }
    const bool is_settled = settle_to(files, blocks);
    INFO("files " << files << ", now " << open_files() << ", blocks " << blocks << ", now "
                  << blocks_in_use());
    REQUIRE(is_settled);
    REQUIRE(no_object_is_left(cm::context_list{}));
    CHECK(std::string_view{of.unexpected.data()}.empty());
    CHECK((of.is_whole || of.is_reported()));
    if (!has_failed) CHECK((of.is_whole && !of.is_reported()));
    if (has_failed && !of.is_reported()) ++without_effect;
  }
  CHECK(runs > 1);
  std::cout << name << ": " << runs - 1 << " allocations failed, " << without_effect
            << " of them without effect" << std::endl;
}

/// Fails each allocation alone, and then as many as `most` in a row until the program notices.
/// `settle` waits until other threads of the path hold nothing.
template <class Path>
void fail_each_and_more(const char* name, const Path& path,
                        std::size_t most = without_memory::endless, std::size_t step = 1,
                        const std::function<void()>& settle = nullptr) {
  // The C libraries and the tables of the library keep some memory for the next time.
  for (int each = 0; each < 2; ++each) {
    outcome first{std::errc::not_enough_memory};
    first.run(path);
    REQUIRE(first.is_whole);
    REQUIRE(no_object_is_left(cm::context_list{}));
  }
  if (settle) settle();
  std::this_thread::sleep_for(100ms);  // Other threads end their connections.
  const held before;
  fail_each(name, path, 1, step);
  // Exceptions have used their memory, too.
  const std::size_t bytes = bytes_of_c();
  fail_each(name, path, most, step);
  CHECK(rdma_objects_settled_to(before.objects) == before.objects);
  CHECK(settle_to(before.files, blocks_in_use()));
  // The C libraries keep some for the next time. A structure of librdmacm for each run is more.
  CHECK(bytes_of_c() < bytes + 8192);
}

}  // namespace

TEST_CASE("An asynchronous connection fails in order without each allocation in turn",
          "[rdma_connect][rdma_accept]") {
  fail_each_and_more("connection in tasks", echo_one_message);
}

TEST_CASE("Asynchronous datagrams fail in order without each allocation in turn",
          "[rdma_resolve_addr][rdma_join_multicast][ibv_post_send][optional]") {
  need_datagrams();
  fail_each_and_more("datagrams in tasks", exchange_datagrams);
}

TEST_CASE("The wait for a device event fails in order without each allocation in turn",
          "[ibv_get_async_event][ibv_modify_srq]") {
  fail_each_and_more("device event", await_device_event);
}

TEST_CASE("A channel over RDMA fails in order without each allocation in turn",
          "[rdma_connect][rdma_accept]") {
  fail_each_and_more("channel over RDMA",
                     [](outcome& of) { exchange_messages(of, over(messages::network::rdma)); });
}

TEST_CASE("A channel over TCP fails in order without each allocation in turn") {
  fail_each_and_more("channel over TCP",
                     [](outcome& of) { exchange_messages(of, over(messages::network::tcp)); });
}

// A channel that resumes tries again while there is no memory, without a word to the program. That
// takes time, so only one allocation of four fails, unless ADVERB_RANDOM_SECONDS is set.
namespace {
constexpr std::size_t some_attempts = 5;
[[nodiscard]] std::size_t step_of_slow_paths() { return random_rounds::has_time() ? 1 : 4; }
}  // namespace

TEST_CASE("A channel that resumes over RDMA fails in order without each allocation in turn",
          "[rdma_connect][rdma_accept]") {
  fail_each_and_more(
      "channel that resumes over RDMA",
      [](outcome& of) { exchange_messages(of, resuming_over(messages::network::rdma)); },
      some_attempts, step_of_slow_paths());
}

TEST_CASE("A channel that resumes over TCP fails in order without each allocation in turn") {
  fail_each_and_more(
      "channel that resumes over TCP",
      [](outcome& of) { exchange_messages(of, resuming_over(messages::network::tcp)); },
      some_attempts, step_of_slow_paths());
}

TEST_CASE("A ring fails in order without each allocation in turn", "[ibv_post_send]") {
  fail_each_and_more("ring", pass_through_ring);
}

TEST_CASE("A stream fails in order without each allocation in turn", "[ibv_post_send]") {
  fail_each_and_more("stream", pass_through_stream);
}

namespace {

/// Four pages for a cache of two regions.
alignas(4096) std::array<std::byte, std::size_t{4} * 4096> of_cache{};

/// Allocates from slabs, takes blocks of a pool, and registers memory in a cache.
void use_registered_memory(outcome& of) {
  const context device = open_device();
  const protection_domain domain{device};
  constexpr std::size_t slab = kibibytes(64);
  registered_resource memory{domain, {.slab = slab, .limit = mebibytes(1), .huge_pages = false}};
  const auto is_right = [&](const std::pmr::vector<std::byte>& bytes) {
    return memory.buffer_of(bytes).size() == bytes.size() &&
           std::ranges::count(bytes, std::byte{1}) == std::ssize(bytes);
  };
  bool has_all = true;
  {
    std::pmr::vector<std::byte> small(100, std::byte{1}, &memory);
    std::pmr::vector<std::byte> large(3 * slab, std::byte{1}, &memory);
    // A second slab, and another for what a vector grows to.
    std::pmr::vector<std::byte> growing(slab - 1000, std::byte{1}, &memory);
    growing.resize(2 * slab, std::byte{1});
    has_all = is_right(small) && is_right(large) && is_right(growing);
    buffer_pool pool{memory, {.block_size = 64, .blocks = 100}};
    const buffer_lease first = pool.try_take();
    has_all &= static_cast<bool>(first);
  }
  registration_cache cache{domain, {.max_regions = 2}};
  for (std::size_t each = 0; each < 4; ++each) {
    const std::span<std::byte> bytes = std::span{of_cache}.subspan(each * 4096, 4096);
    has_all &= cache.region(bytes).buffer().size() == bytes.size();
  }
  has_all &= cache.statistics().regions == 2;
  of.is_whole = has_all && memory.statistics().in_use == 0;
}

}  // namespace

TEST_CASE("Registered memory fails in order without each allocation in turn", "[ibv_reg_mr]") {
  fail_each_and_more("registered memory", use_registered_memory);
}

TEST_CASE("A connection of calls that block fails in order without each allocation in turn",
          "[rdma_connect]") {
  const blocking_server server;
  fail_each_and_more(
      "connection of calls that block",
      [&](outcome& of) { echo_in_calls_that_block(of, server.address()); }, without_memory::endless,
      1, [&] { server.wait_until_idle(); });
}

TEST_CASE("A lookup of a name without memory fails with ENOMEM", "[rdma_create_event_channel]") {
  async::event_loop loop;
  failure why;
  {
    const threads_without_memory none;
    loop.spawn([&]() -> async::task<> {
      const std::vector<cm::socket_address> found =
          co_await async::look_up(loop, "127.0.0.1", 1).report_to(why);
      CHECK(found.empty());
    });
    loop.run();
  }
  CHECK(why.code() == std::errc::not_enough_memory);
}

TEST_CASE("A request of a channel that fails for lack of memory does not disturb the next",
          "[ibv_post_send]") {
  side here;
  int answer = 0;
  messages::listener listener{here.loop, every_address(), over(messages::network::rdma)};
  here.loop.spawn([&]() -> async::task<> {
    messages::channel client = co_await listener.accept();
    while (const messages::incoming got = co_await client.next()) co_await got.reply(got.bytes());
  });
  bool is_refused = false;
  here.loop.spawn([&]() -> async::task<> {
    messages::channel server = co_await messages::connect(
        here.loop, device_address(listener.port()), over(messages::network::rdma));
    {
      messages::caller ask{server};
      try {
        const without_memory none;
        static_cast<void>(co_await ask(1).within(40s));
      } catch (const std::bad_alloc&) {
        is_refused = true;
      }
      const messages::incoming reply = co_await ask(2).within(40s);
      answer = reply.as<int>();
    }
    co_await server.close();
  });
  here.loop.run();
  CHECK(is_refused);
  CHECK(answer == 2);
}

TEST_CASE("A loop sleeps without memory", "[rdma_create_event_channel]") {
  async::event_loop loop;
  bool has_slept = false;
  loop.spawn([&]() -> async::task<> {
    co_await async::sleep_for(loop, 100ms);
    has_slept = true;
  });
  {
    const without_memory none;
    loop.run();
  }
  CHECK(has_slept);
}

TEST_CASE("Memory of a loop is given back without memory while requests are in progress",
          "[ibv_post_send]") {
  side here;
  here.loop.spawn(serve(here, 1));
  here.loop.spawn([&]() -> async::task<> {
    const async::connection server = co_await async::connect(here.loop, here.address(), small);
    async::loop_memory memory = server.memory(16);
    server.post(send(memory.buffer()).signaled()).check();
    {
      const without_memory none;
      memory = {};
    }
    const async::message answer = co_await server.next();
    CHECK(answer.bytes().size() == 16);
    co_await server.disconnect();
  });
  here.loop.run();
}
