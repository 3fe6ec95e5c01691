// SPDX-License-Identifier: MIT
// Asynchronous connections: many tasks on one thread, and each way in which a connection ends.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <latch>
#include <limits>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <vector>

#include <adverb/adverb.hpp>
#include <adverb/async.hpp>
#include <support/catch.hpp>
#include <support/sanitized.hpp>
#include <support/sleep_meter.hpp>

#include "cm/async_side.hpp"

using namespace async_test;
using namespace std::chrono_literals;

TEST_CASE("One thread serves many connections, by events and by polling",
          "[rdma_connect][rdma_accept][ibv_get_cq_event]") {
  constexpr int clients = test_support::is_sanitized ? 24 : 64;
  for (const async::waiting way :
       {async::waiting::events, async::waiting::busy, async::waiting::adaptive}) {
    side here{{.waiting = way, .completions = completions_for_many_pairs()}};
    int answers = 0;
    here.loop.spawn(serve(here, clients));
    for (int each = 0; each < clients; ++each) here.loop.spawn(ask(here, 4, answers));
    here.loop.run();
    CHECK(answers == clients * 4);
    CHECK(here.loop.connections() == 0);
  }
}

TEST_CASE("An adaptive loop sleeps while nothing completes, and stop wakes it",
          "[ibv_req_notify_cq]") {
  const auto slept = [] {
    side here{{.waiting = async::waiting::adaptive, .spin = 1ms}};
    const auto wait = [&]() -> async::task<> {
      async::connection client = co_await here.listener.accept(small);
      static_cast<void>(co_await client.next());  // The peer sends nothing.
    };
    std::optional<async::connection> server;
    std::optional<sleep_meter> meter;
    std::latch connected{1};
    const auto connect = [&]() -> async::task<> {
      server = co_await async::connect(here.loop, here.address(), small);
      meter.emplace();
      connected.count_down();
    };
    here.loop.spawn(wait());
    here.loop.spawn(connect());
    std::thread other{[&] {
      connected.wait();
      std::this_thread::sleep_for(1s);
      here.loop.stop();
    }};
    here.loop.run();
    const auto length = meter->slept();
    other.join();
    CHECK(server);
    return length;
  };
  CHECK(best_sleep(700ms, slept) >= 700ms);
}

TEST_CASE("stop ends the run of a loop that spins", "[ibv_poll_cq]") {
  for (const async::waiting way : {async::waiting::busy, async::waiting::adaptive}) {
    side here{{.waiting = way, .spin = timeout::endless()}};
    here.loop.spawn(serve(here, 1));
    std::thread other{[&] { here.loop.stop(); }};
    here.loop.run();
    other.join();
    CHECK(here.loop.connections() == 0);
  }
}

TEST_CASE("64 busy connections of a loop make progress at similar rates", "[ibv_poll_cq]") {
  constexpr std::size_t clients = 64;
  constexpr int rounds = 40;
  const auto fewest_answers = [] {
    side here{{.completions = completions_for_many_pairs()}};
    std::vector<async::connection> servers;
    std::vector<int> answers(clients);
    bool is_first_done = false;
    const auto keep_asking = [&](std::size_t which) -> async::task<> {
      const text_memory memory{servers[which], "hello"};
      while (!is_first_done) {
        co_await servers[which].send(memory.region.buffer().slice(0, 5));
        static_cast<void>(co_await servers[which].next());
        if (++answers[which] == rounds) is_first_done = true;
      }
      co_await servers[which].disconnect();
    };
    const auto connect = [&]() -> async::task<> {
      servers.push_back(co_await async::connect(here.loop, here.address(), small));
      if (servers.size() != clients) co_return;
      for (std::size_t each = 0; each < clients; ++each) here.loop.spawn(keep_asking(each));
    };
    here.loop.spawn(serve(here, clients));
    for (std::size_t each = 0; each < clients; ++each) here.loop.spawn(connect());
    here.loop.run();
    CHECK(is_first_done);
    return *std::min_element(answers.begin(), answers.end());
  };
  // A busy machine may delay the packets of one connection.
  int best = 0;
  for (int runs = 0; runs < 5 && best < rounds / 2; ++runs) best = std::max(best, fewest_answers());
  CHECK(best >= rounds / 2);
}

TEST_CASE("A deadline ends the waits of a connection with ETIMEDOUT", "[rdma_disconnect]") {
  side here;
  std::error_code code;
  const auto passive = [&]() -> async::task<> {
    async::connection client = co_await here.listener.accept(small);
    static_cast<void>(co_await client.next());  // The peer sends nothing, and ends.
  };
  const auto active = [&]() -> async::task<> {
    async::connection server = co_await async::connect(here.loop, here.address(), small);
    server.expires_after(50ms);
    static_cast<void>(co_await server.next().report_to(code));
    std::error_code again;
    co_await server.perform(send()).report_to(again);
    CHECK(again == std::errc::timed_out);
  };
  here.loop.spawn(passive());
  here.loop.spawn(active());
  here.loop.run();
  CHECK(code == std::errc::timed_out);
}

TEST_CASE("A connection exchanges messages after a cancelled wait", "[ibv_post_recv]") {
  side here;
  std::error_code code;
  int answers = 0;
  std::optional<async::connection> server;
  const auto wait = [&]() -> async::task<> {
    static_cast<void>(co_await server->next().report_to(code));
    const text_memory memory{*server, "again"};
    co_await server->send(memory.region.buffer().slice(0, 5));
    const async::message answer = co_await server->next();
    if (text_of(answer) == "again") ++answers;
    co_await server->disconnect();
  };
  const auto active = [&]() -> async::task<> {
    server.emplace(co_await async::connect(here.loop, here.address(), small));
    here.loop.spawn(wait());
    server->cancel_waits();
  };
  here.loop.spawn(serve(here, 1));
  here.loop.spawn(active());
  here.loop.run();
  CHECK(code == std::errc::operation_canceled);
  CHECK(answers == 1);
}

TEST_CASE("A cancelled wait can be repeated at once", "[ibv_post_recv]") {
  side here;
  std::error_code first, second;
  std::optional<async::connection> server;
  const auto wait = [&]() -> async::task<> {
    static_cast<void>(co_await server->next().report_to(first));
    server->expires_after(50ms);
    static_cast<void>(co_await server->next().report_to(second));
    server.reset();
  };
  const auto active = [&]() -> async::task<> {
    server.emplace(co_await async::connect(here.loop, here.address(), small));
    here.loop.spawn(wait());
    server->cancel_waits();
  };
  here.loop.spawn(serve(here, 1));
  here.loop.spawn(active());
  here.loop.run();
  CHECK(first == std::errc::operation_canceled);
  CHECK(second == std::errc::timed_out);
}

TEST_CASE("A cancelled disconnect fails with ECANCELED", "[rdma_disconnect]") {
  side here;
  std::error_code code;
  std::optional<async::connection> server;
  const auto end = [&]() -> async::task<> {
    co_await server->disconnect().report_to(code);
    server.reset();
  };
  const auto active = [&]() -> async::task<> {
    server.emplace(co_await async::connect(here.loop, here.address(), small));
    here.loop.spawn(end());
    server->cancel_waits();
  };
  here.loop.spawn(serve(here, 1));
  here.loop.spawn(active());
  here.loop.run();
  CHECK(code == std::errc::operation_canceled);
}

TEST_CASE("A message outlives the object of its connection, which then ends",
          "[rdma_disconnect][ibv_post_recv]") {
  side here;
  bool is_intact = false;
  const auto passive = [&]() -> async::task<> {
    async::connection client = co_await here.listener.accept(small);
    async::message kept = co_await client.next();
    const async::message none = co_await client.next();
    CHECK_FALSE(none);
    co_await client.disconnect();
    client = {};
    is_intact = text_of(kept) == "hello";
  };
  const auto active = [&]() -> async::task<> {
    async::connection server = co_await async::connect(here.loop, here.address(), small);
    const text_memory memory{server, "hello"};
    co_await server.send(memory.region.buffer().slice(0, 5));
    co_await server.disconnect();
  };
  here.loop.spawn(passive());
  here.loop.spawn(active());
  here.loop.run();
  CHECK(is_intact);
  CHECK(here.loop.connections() == 0);
}

TEST_CASE("Destroying a listener cancels the waits for its requests", "[rdma_destroy_id]") {
  async::event_loop loop;
  std::optional<async::listener> listener{std::in_place, loop, every_address()};
  int ended = 0;
  const auto accept = [&]() -> async::task<> {
    std::error_code code;
    static_cast<void>(co_await listener->accept(small).report_to(code));
    if (code == std::errc::operation_canceled) ++ended;
  };
  loop.spawn(accept());
  loop.spawn(accept());
  listener.reset();
  CHECK(ended == 0);
  loop.run();
  CHECK(ended == 2);
}

TEST_CASE("Destroying a loop destroys its tasks with requests in progress, and its connections",
          "[rdma_destroy_id][ibv_destroy_cq]") {
  for (int each = 0; each < 8; ++each) {
    side here;
    int answers = 0;
    here.loop.spawn(serve(here, 4));
    constexpr int endless = std::numeric_limits<int>::max();
    for (int client = 0; client < 4; ++client) here.loop.spawn(ask(here, endless, answers));
    std::jthread stopping{[&] {
      std::this_thread::sleep_for(std::chrono::milliseconds{5 + 7 * each});
      here.loop.stop();
    }};
    here.loop.run();
    CHECK(here.loop.has_work());
  }
}

TEST_CASE("A connect to a port without a listener is refused", "[rdma_connect]") {
  side here;
  std::error_code code;
  const auto active = [&]() -> async::task<> {
    static_cast<void>(co_await async::connect(here.loop, device_address(1), small).report_to(code));
  };
  here.loop.spawn(active());
  here.loop.run();
  CHECK(code);
}

TEST_CASE("disconnect waits until end_timeout for a peer that does not answer",
          "[rdma_disconnect][ibv_destroy_qp][optional]") {
  if (on_iwarp())
    return tell_skip("an end without an answer", "the kernel of the peer answers for it");
  const auto listener = cm::listener<transport::rc>::create(every_address());
  const cm::socket_address address = device_address(listener.port());
  std::latch may_answer{1};
  std::thread peer{[&] {
    auto first = listener.accept();
    auto second = listener.accept();
    may_answer.wait();
    first.disconnect();
    second.disconnect();
  }};
  async::event_loop loop;
  bool has_answer = false;
  const auto end = [&](timeout limit, std::error_code& code) -> async::task<> {
    async::connection_options options = small;
    options.end_timeout = limit;
    const async::connection server = co_await async::connect(loop, address, options);
    co_await server.disconnect().report_to(code);
  };
  const auto be_patient = [&]() -> async::task<> {
    std::error_code code;
    co_await end(timeout::endless(), code);
    CHECK(!code);
    has_answer = true;
  };
  const auto be_impatient = [&]() -> async::task<> {
    std::error_code code;
    co_await end(50ms, code);
    CHECK(code == std::errc::timed_out);
    CHECK(!has_answer);
    may_answer.count_down();
  };
  loop.spawn(be_patient());
  loop.spawn(be_impatient());
  loop.run();
  peer.join();
  CHECK(has_answer);
}

TEST_CASE("An exception of a task propagates from run, which can be called again",
          "[rdma_create_event_channel]") {
  async::event_loop loop;
  loop.spawn([]() -> async::task<> {
    throw std::runtime_error{"told"};
    co_return;
  }());
  CHECK_THROWS_WITH(loop.run(), "told");
  loop.run();
}

TEST_CASE("A task awaits 200,000 tasks in turn that end at once", "[rdma_create_event_channel]") {
  constexpr int count = 200'000;
  async::event_loop loop;
  int ended = 0;
  const auto end_at_once = [&]() -> async::task<> {
    ++ended;
    co_return;
  };
  const auto await_all = [&]() -> async::task<> {
    for (int each = 0; each < count; ++each) co_await end_at_once();
  };
  loop.spawn(await_all());
  loop.run();
  CHECK(ended == count);
}

TEST_CASE("A loop destroys the tasks that have not ended, the newest first",
          "[rdma_create_event_channel]") {
  std::vector<int> destroyed;
  struct guard {
    ~guard() { order->push_back(number); }
    std::vector<int>* order;
    int number;
  };
  {
    side here;
    const auto wait = [&](int number) -> async::task<> {
      const guard counted{&destroyed, number};
      static_cast<void>(co_await here.listener.next());
    };
    for (int each = 0; each < 3; ++each) here.loop.spawn(wait(each));
  }
  CHECK(destroyed == std::vector{2, 1, 0});
}
