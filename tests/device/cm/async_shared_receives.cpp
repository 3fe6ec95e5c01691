// SPDX-License-Identifier: MIT
// Asynchronous connections that share the blocks in which messages arrive.
#include <array>
#include <cerrno>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <adverb/adverb.hpp>
#include <adverb/async.hpp>
#include <support/catch.hpp>

#include "cm/async_side.hpp"

using namespace async_test;

namespace {

[[nodiscard]] async::device_loop_options with_shared(std::uint32_t receives) {
  return {.completions = completions_for_many_pairs(),
          .shared_receives = receives,
          .shared_block_size = 64};
}

constexpr async::connection_options sharing{.max_send_wr = 4, .shared = true};

/// Sends words of its own, so that an answer of another connection is noticed.
async::task<> ask_own(side& here, int number, int& answers) {
  const std::string words = "number " + std::to_string(number);
  async::connection server = co_await async::connect(here.loop, here.address(), small);
  const text_memory memory{server, words};
  for (int each = 0; each < 4; ++each) {
    co_await server.send(memory.region.buffer().slice(0, words.size()));
    const async::message answer = co_await server.next();
    if (text_of(answer) == words) ++answers;
  }
  co_await server.disconnect();
}

}  // namespace

TEST_CASE("Connections that outnumber their shared blocks all get their own messages",
          "[ibv_create_srq][ibv_post_srq_recv]") {
  constexpr int clients = 12;
  // Peers wait for a block, but not on iWARP, where each needs two: its next question may overtake
  // the return of the block of its last.
  side here{with_shared(on_iwarp() ? 2 * clients : 8)};
  int answers = 0;
  for (int round = 0; round < 2; ++round) {
    here.loop.spawn(serve(here, clients, sharing));
    for (int each = 0; each < clients; ++each) here.loop.spawn(ask_own(here, each, answers));
    here.loop.run();
    CHECK(answers == (round + 1) * clients * 4);
    CHECK(here.loop.connections() == 0);
  }
}

TEST_CASE("Messages in shared blocks outlive their connection, and their blocks are posted again",
          "[rdma_disconnect]") {
  constexpr int rounds = 6;
  side here{with_shared(4)};
  std::vector<std::string> arrived;
  const auto passive = [&]() -> async::task<> {
    for (int round = 0; round < rounds; ++round) {
      async::connection client = co_await here.listener.accept(sharing);
      std::vector<async::message> kept;
      for (int each = 0; each < 3; ++each) kept.push_back(co_await client.next());
      const async::message last = co_await client.next();
      CHECK(!last);
      for (const async::message& each : kept) arrived.emplace_back(text_of(each));
      if (round % 2 == 0) co_await client.disconnect();
    }
  };
  const auto active = [&]() -> async::task<> {
    for (int round = 0; round < rounds; ++round) {
      async::connection server = co_await async::connect(here.loop, here.address(), small);
      const text_memory memory{server, "abc"};
      for (std::size_t each = 0; each < 3; ++each)
        co_await server.send(memory.region.buffer().slice(each, 1));
      co_await server.disconnect();
    }
  };
  here.loop.spawn(passive());
  here.loop.spawn(active());
  here.loop.run();
  REQUIRE(arrived.size() == rounds * 3);
  for (std::size_t each = 0; each < arrived.size(); ++each)
    CHECK(arrived[each] == std::string_view{"abc"}.substr(each % 3, 1));
}

TEST_CASE("Every shared block holds a message at once", "[ibv_post_srq_recv]") {
  constexpr std::size_t blocks = 3;
  side here{with_shared(blocks)};
  std::string arrived;
  const auto passive = [&]() -> async::task<> {
    const async::connection client = co_await here.listener.accept(sharing);
    std::vector<async::message> kept;
    while (kept.size() < blocks) kept.push_back(co_await client.next());
    for (const async::message& each : kept) arrived += text_of(each);
    // An end at once may stop the acknowledgement of the last message.
    const async::message none = co_await client.next();
    CHECK(!none);
  };
  const auto active = [&]() -> async::task<> {
    const async::connection server = co_await async::connect(here.loop, here.address(), small);
    const text_memory memory{server, "abc"};
    for (std::size_t each = 0; each < blocks; ++each)
      co_await server.send(memory.region.buffer().slice(each, 1));
    co_await server.disconnect();
  };
  here.loop.spawn(passive());
  here.loop.spawn(active());
  here.loop.run();
  CHECK(arrived == "abc");
}

TEST_CASE("The shared blocks of unread messages are posted again after their connection ends",
          "[ibv_post_srq_recv]") {
  side here{with_shared(4)};
  constexpr int rounds = 6;
  const auto passive = [&]() -> async::task<> {
    for (int round = 0; round < rounds; ++round) {
      const async::connection client = co_await here.listener.accept(sharing);
      static_cast<void>(co_await client.next());
    }
  };
  int done = 0;
  const auto active = [&]() -> async::task<> {
    for (int round = 0; round < rounds; ++round) {
      async::connection server = co_await async::connect(here.loop, here.address(), small);
      const text_memory memory{server, "abc"};
      for (std::size_t each = 0; each < 3; ++each)
        static_cast<void>(server.post(send(memory.region.buffer().slice(each, 1)).signaled()));
      std::error_code ended;
      co_await server.perform(send()).report_to(ended);
      while (co_await server.next().report_to(ended)) {
      }
      ++done;
    }
  };
  here.loop.spawn(passive());
  here.loop.spawn(active());
  here.loop.run();
  CHECK(done == rounds);
}

TEST_CASE(
    "A message too long for its shared block ends the connection, and the block is posted again",
    "[ibv_post_srq_recv]") {
  constexpr std::uint32_t blocks = 2;
  async::device_loop_options options = with_shared(blocks);
  options.shared_block_size = 16;
  side here{options};
  std::uint32_t refused = 0;
  std::string arrived;
  const auto passive = [&]() -> async::task<> {
    for (std::uint32_t each = 0; each < 2 * blocks; ++each) {
      const async::connection client = co_await here.listener.accept(sharing);
      std::error_code why;
      const async::message none = co_await client.next().report_to(why);
      if (!none) ++refused;
    }
    const async::connection client = co_await here.listener.accept(sharing);
    const async::message message = co_await client.next();
    arrived = text_of(message);
  };
  const auto active = [&]() -> async::task<> {
    for (std::uint32_t each = 0; each < 2 * blocks; ++each) {
      const async::connection server = co_await async::connect(here.loop, here.address(), small);
      const text_memory memory{server, "too long"};
      std::error_code ended;
      co_await server.send(memory.region.buffer()).report_to(ended);
      static_cast<void>(co_await server.next().report_to(ended));
    }
    const async::connection server = co_await async::connect(here.loop, here.address(), small);
    const text_memory memory{server, "short"};
    std::error_code why;
    co_await server.send(memory.region.buffer().slice(0, 5)).report_to(why);
    check_answer(server, why);
  };
  here.loop.spawn(passive());
  here.loop.spawn(active());
  here.loop.run();
  CHECK(refused == 2 * blocks);
  CHECK(arrived == "short");
}

TEST_CASE("A loop without shared receives refuses connections that need them", "[ibv_create_srq]") {
  side here;
  failure why;
  std::error_code refused;
  const auto passive = [&]() -> async::task<> {
    static_cast<void>(co_await here.listener.accept(sharing).report_to(why));
  };
  const auto active = [&]() -> async::task<> {
    static_cast<void>(co_await async::connect(here.loop, here.address(), small).report_to(refused));
  };
  here.loop.spawn(passive());
  here.loop.spawn(active());
  here.loop.run();
  CHECK(why.code() == std::errc::invalid_argument);
  CHECK(why.explanation() == "the options of the loop have no shared receives");
  CHECK(refused == rejected_by_program());
}
