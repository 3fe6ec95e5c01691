// SPDX-License-Identifier: MIT
// The steps of established connections, channels and streams allocate nothing, with tasks, with
// Asio's coroutines and as senders.
#include <array>
#include <chrono>
#include <cstddef>
#include <new>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <adverb/adverb.hpp>
#include <adverb/messages.hpp>
#include <adverb/remote.hpp>
#include <support/catch.hpp>

#include "allocations/replaced_new.hpp"
#include "cm/net_side.hpp"
#include "cm/sender_side.hpp"

using namespace async_test;
using replaced_new::allocated;
using replaced_new::without_memory;

namespace {

/// Counts what is allocated after the slowest connection has done its first rounds, until the
/// fastest has done all.
class steady_state {
 public:
  explicit steady_state(std::size_t connections) : beginning_{connections} {}

  /// A connection has done one more round.
  void note(int round) {
    if (round == first_round && --beginning_ == 0) {
      begin_ = allocated();
      has_begun_ = true;
    }
    if (round == rounds && !has_ended_) {
      has_ended_ = true;
      count_ = allocated() - begin_;
      was_steady_ = has_begun_;
    }
  }
  /// Returns true if there was such a time.
  [[nodiscard]] bool was_steady() const { return was_steady_; }
  [[nodiscard]] std::size_t count() const { return count_; }

  static constexpr int first_round = 50;
  static constexpr int rounds = 150;

 private:
  std::size_t beginning_;
  std::size_t begin_ = 0;
  std::size_t count_ = 0;
  bool has_begun_ = false;
  bool has_ended_ = false;
  bool was_steady_ = false;
};

/// Checks that one of a few runs is steady, and that none allocates in that time. On a busy machine
/// one connection may do all its rounds before another begins.
template <class Run>
void check_steady(const Run& run) {
  bool was_steady = false;
  for (int runs = 0; runs < 5 && !was_steady; ++runs) {
    const steady_state state = run();
    was_steady = state.was_steady();
    if (was_steady) CHECK(state.count() == 0);
  }
  CHECK(was_steady);
}

async::task<> ask_often(const async::connection& server, steady_state& state) {
  const text_memory memory{server, "hello"};
  for (int round = 1; round <= steady_state::rounds; ++round) {
    co_await server.send(memory.region.buffer().slice(0, 5));
    static_cast<void>(co_await server.next());
    state.note(round);
  }
  co_await server.disconnect();
}

/// Connects, and starts all as soon as the last one is connected.
async::task<> connect_one(side& here, std::vector<async::connection>& servers, std::size_t count,
                          steady_state& state) {
  servers.push_back(co_await async::connect(here.loop, here.address(), small));
  if (servers.size() != count) co_return;
  for (const async::connection& each : servers) here.loop.spawn(ask_often(each, state));
}

asio::awaitable<void> net_ask_often(const async::connection& server, steady_state& state) {
  const text_memory memory{server, "hello"};
  for (int round = 1; round <= steady_state::rounds; ++round) {
    co_await server.send(memory.region.buffer().slice(0, 5))(token);
    static_cast<void>(co_await server.next()(token));
    state.note(round);
  }
  co_await server.disconnect()(token);
}

asio::awaitable<void> net_connect_one(net_side& here, std::vector<async::connection>& servers,
                                      std::size_t count, steady_state& state) {
  servers.push_back(co_await async::connect(here.loop, here.address(), small)(token));
  if (servers.size() != count) co_return;
  for (const async::connection& each : servers) here.spawn(net_ask_often(each, state));
}

}  // namespace

TEST_CASE("Tasks that fail for lack of memory end the run of their loop, and not the program") {
  async::event_loop loop;
  std::optional<without_memory> none;
  for (int task = 0; task < 3; ++task)
    loop.spawn([&]() -> async::task<> {
      co_await async::sleep_for(loop, std::chrono::milliseconds{1});
      none.emplace();
      const std::vector<char> too_much(64);
    });
  int caught = 0;
  for (bool has_ended = false; !has_ended;) {
    try {
      loop.run();
      has_ended = true;
    } catch (const std::bad_alloc&) {
      none.reset();
      ++caught;
    }
  }
  CHECK(caught >= 1);
}

TEST_CASE("Echoing tasks allocate nothing", "[ibv_post_send][ibv_get_cq_event]") {
  for (const async::waiting way :
       {async::waiting::events, async::waiting::busy, async::waiting::adaptive}) {
    for (const std::size_t count : {1U, 64U}) {
      check_steady([&] {
        side here{{.waiting = way, .completions = completions_for_many_pairs()}};
        std::vector<async::connection> servers;
        steady_state state{count};
        here.loop.spawn(serve(here, static_cast<int>(count)));
        for (std::size_t each = 0; each < count; ++each)
          here.loop.spawn(connect_one(here, servers, count, state));
        here.loop.run();
        return state;
      });
    }
  }
}

TEST_CASE("Echoing coroutines of Asio allocate nothing", "[ibv_post_send][ibv_get_cq_event]") {
  for (const std::size_t count : {1U, 64U}) {
    check_steady([&] {
      net_side here{{.completions = completions_for_many_pairs()}};
      std::vector<async::connection> servers;
      steady_state state{count};
      here.spawn(net_serve(here, static_cast<int>(count)));
      for (std::size_t each = 0; each < count; ++each)
        here.spawn(net_connect_one(here, servers, count, state));
      here.context.run();
      return state;
    });
  }
}

TEST_CASE("A send of Asio reuses the memory of the wait before it", "[ibv_post_send]") {
  constexpr std::size_t count = 8;
  net_side here;
  std::vector<async::connection> clients;
  const auto accept = [&]() -> async::task<> {
    clients.push_back(co_await here.listener.accept(small));
  };
  const auto ask = [&]() -> async::task<> {
    const async::connection server = co_await async::connect(here.loop, here.address(), small);
    const text_memory memory{server, "hello"};
    co_await server.send(memory.region.buffer().slice(0, 5));
    static_cast<void>(co_await server.next());
  };
  for (std::size_t each = 0; each < count; ++each) here.loop.spawn(accept());
  std::vector<async::message> messages;
  messages.reserve(count);
  std::size_t new_blocks = 1;
  const auto answer_all = [&] {
    const std::size_t before = allocated();
    for (std::size_t each = 0; each < count; ++each)
      clients[each].send(messages[each].buffer())(
          [&messages, each](const auto& /*error*/) { messages[each] = {}; });
    new_blocks = allocated() - before;
  };
  const auto wait = [&]() -> async::task<> {
    while (clients.size() < count)
      co_await async::sleep_for(here.loop, std::chrono::milliseconds{1});
    for (const async::connection& each : clients)
      each.next()([&](const auto& /*error*/, async::message message) {
        messages.push_back(std::move(message));
        if (messages.size() == count) answer_all();
      });
  };
  here.loop.spawn(wait());
  for (std::size_t each = 0; each < count; ++each) here.loop.spawn(ask());
  here.context.run();
  CHECK(new_blocks == 0);
}

TEST_CASE("Echoing senders allocate nothing", "[ibv_post_send][ibv_get_cq_event]") {
  for (const std::size_t count : {1U, 64U}) {
    check_steady([&] {
      side here{{.completions = completions_for_many_pairs()}};
      sender_test::connected ends{here, count};
      steady_state state{count};
      std::vector<int> answers(count);
      sender_test::exchange(here, ends, [&](std::size_t which, const async::message&) {
        state.note(++answers[which]);
        return answers[which] < steady_state::rounds;
      });
      ends.passive.clear();
      here.loop.run();
      return state;
    });
  }
}

/// Echoes the messages of a channel, and replies to its requests.
async::task<> echo_channel(messages::listener& listener) {
  messages::channel client = co_await listener.accept();
  while (const messages::incoming got = co_await client.next()) {
    if (got.is_request())
      co_await got.reply(got.bytes());
    else
      co_await client.send(got.bytes());
  }
}

TEST_CASE("Messages of channels allocate nothing", "[ibv_post_send]") {
  side here;
  steady_state state{1};
  messages::listener listener{here.loop, every_address()};
  here.loop.spawn(echo_channel(listener));
  here.loop.spawn([&]() -> async::task<> {
    messages::channel server =
        co_await messages::connect(here.loop, device_address(listener.port()));
    const async::loop_memory memory = server.memory(1000);
    for (int round = 1; round <= steady_state::rounds; ++round) {
      co_await server.send(round, memory.buffer());
      static_cast<void>(co_await server.next());
      state.note(round);
    }
    co_await server.close();
  });
  here.loop.run();
  CHECK(state.was_steady());
  CHECK(state.count() == 0);
}

TEST_CASE("Requests and replies of channels allocate nothing", "[ibv_post_send]") {
  side here;
  steady_state state{1};
  messages::listener listener{here.loop, every_address()};
  here.loop.spawn(echo_channel(listener));
  here.loop.spawn([&]() -> async::task<> {
    messages::channel server =
        co_await messages::connect(here.loop, device_address(listener.port()));
    {
      messages::caller ask{server};
      for (int round = 1; round <= steady_state::rounds; ++round) {
        static_cast<void>(co_await ask(round).within(std::chrono::seconds{40}));
        state.note(round);
      }
    }
    co_await server.close();
  });
  here.loop.run();
  CHECK(state.was_steady());
  CHECK(state.count() == 0);
}

TEST_CASE("Reads and writes of streams allocate nothing", "[ibv_post_send]") {
  side here;
  steady_state state{1};
  // Each message waits for memory of the peer, and some is inline.
  const stream_options options{.send_buffer = 4096, .receive_buffer = 4096};
  std::array<std::byte, 3000> memory{};
  here.loop.spawn([&]() -> async::task<> {
    const remote_stream client = co_await remote_stream::accept(here.listener, options);
    std::array<std::byte, 1000> bytes{};
    while (const std::size_t size = co_await client.read(bytes))
      co_await client.write(std::span{bytes}.first(size));
    co_await client.close();
  });
  here.loop.spawn([&]() -> async::task<> {
    const remote_stream server =
        co_await remote_stream::connect(here.loop, here.address(), options);
    for (int round = 1; round <= steady_state::rounds; ++round) {
      co_await server.write(std::span{memory}.first(40));
      co_await server.write(memory);
      for (std::size_t read = 0; read < memory.size() + 40;) read += co_await server.read(memory);
      state.note(round);
    }
    co_await server.shutdown();
    const std::size_t end = co_await server.read(memory);
    CHECK(end == 0);
    co_await server.close();
  });
  here.loop.run();
  CHECK(state.was_steady());
  CHECK(state.count() == 0);
}
