// SPDX-License-Identifier: MIT
// Features of a loop's tasks other than connections: events, functions that return tasks, ranges of
// tasks, signals, and memory that the loop keeps.
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

#include <adverb/adverb.hpp>
#include <adverb/async.hpp>
#include <support/catch.hpp>

#include "cm/async_side.hpp"
#include "cm/resources.hpp"

using namespace async_test;
using namespace std::chrono_literals;

namespace {

/// Returns the number of descriptors of this process.
}  // namespace

TEST_CASE("An event resumes every task that waits for it", "[rdma_create_event_channel]") {
  async::event_loop loop;
  async::event done{loop};
  int resumed = 0;
  const auto wait = [&]() -> async::task<> {
    if (co_await done.wait()) ++resumed;
  };
  loop.spawn(wait());
  loop.spawn(wait());
  loop.spawn([&]() -> async::task<> {
    co_await async::sleep_for(loop, 10ms);
    CHECK(resumed == 0);
    done.set();
    CHECK(resumed == 0);
  });
  loop.run();
  CHECK(resumed == 2);
  loop.spawn(wait());
  CHECK(resumed == 3);
}

TEST_CASE("A wait for an event returns false at its time limit, and can be cancelled",
          "[rdma_create_event_channel]") {
  async::event_loop loop;
  async::event done{loop};
  std::optional<bool> late;
  std::optional<bool> in_time;
  std::error_code why;
  loop.spawn([&]() -> async::task<> {
    late = co_await done.wait(10ms);
    done.set();
    in_time = co_await done.wait(10ms);
    done.reset();
    loop.spawn([&]() -> async::task<> {
      co_await async::sleep_for(loop, 1ms);
      done.cancel_waits();
    });
    const bool was_set = co_await done.wait(1min).report_to(why);
    CHECK(!was_set);
  });
  loop.run();
  CHECK(late == false);
  CHECK(in_time == true);
  CHECK(why == std::errc::operation_canceled);
}

TEST_CASE("Resetting an event does not undo the waits that it has ended",
          "[rdma_create_event_channel]") {
  async::event_loop loop;
  async::event ready{loop};
  int woken = 0;
  const auto wait = [&](timeout limit) -> async::task<> {
    if (co_await ready.wait(limit)) ++woken;
  };
  loop.spawn(wait(timeout::endless()));
  loop.spawn(wait(1min));
  loop.spawn([&]() -> async::task<> {
    co_await async::sleep_for(loop, 1ms);
    ready.set();
    ready.reset();
  });
  loop.run();
  CHECK(woken == 2);
}

TEST_CASE("A spawned lambda keeps its captures until its task has ended",
          "[rdma_create_event_channel]") {
  async::event_loop loop;
  std::string result;
  loop.spawn([&result, &loop, words = std::string(100, 'x')]() -> async::task<> {
    co_await async::sleep_for(loop, 1ms);
    result = words;
  });
  loop.run();
  CHECK(result == std::string(100, 'x'));
}

TEST_CASE("Awaiting a vector of tasks returns their results in its order",
          "[rdma_create_event_channel]") {
  async::event_loop loop;
  const auto number = [&](int value) -> async::task<int> {
    co_await async::sleep_for(loop, std::chrono::milliseconds{10 - value});
    co_return value;
  };
  int ended = 0;
  const auto count = [&]() -> async::task<> {
    co_await async::sleep_for(loop, 1ms);
    ++ended;
  };
  std::vector<int> numbers;
  loop.spawn([&]() -> async::task<> {
    std::vector<async::task<int>> tasks;
    for (int each = 0; each < 4; ++each) tasks.push_back(number(each));
    numbers = co_await async::when_all(std::move(tasks));
    std::vector<async::task<>> counts;
    for (int each = 0; each < 3; ++each) counts.push_back(count());
    co_await async::when_all(std::move(counts));
    co_await async::when_all(std::vector<async::task<>>{});
  });
  loop.run();
  CHECK(numbers == std::vector{0, 1, 2, 3});
  CHECK(ended == 3);
}

TEST_CASE("A signal ends the run of a loop", "[rdma_create_event_channel]") {
  async::event_loop loop;
  loop.stop_on({SIGUSR1, SIGUSR2});
  for (const int signal : {SIGUSR1, SIGUSR2}) {
    loop.spawn([&, signal]() -> async::task<> {
      ::raise(signal);
      co_await async::sleep_for(loop, 1min);
    });
    loop.run();
    CHECK(loop.has_work());
  }
  loop.cancel_sleeps();
}

TEST_CASE("Memory of the loop that the device uses outlives its task", "[ibv_dereg_mr]") {
  side here;
  std::size_t sent = 0;
  const auto passive = [&]() -> async::task<> {
    const async::connection client = co_await here.listener.accept(small);
    std::error_code why;
    while (const async::message message = co_await client.next().report_to(why))
      sent += message.bytes().size();
  };
  const auto active = [&]() -> async::task<> {
    const async::connection server = co_await async::connect(here.loop, here.address(), small);
    const async::loop_memory memory = server.memory(64);
    REQUIRE(memory.bytes().size() == 64);
    for (int each = 0; each < 3; ++each) co_await server.send(memory.slice(0, 32));
    // Posted, and destroyed with the frame.
    static_cast<void>(server.post(send(memory.buffer())));
  };
  for (int round = 0; round < 3; ++round) {
    here.loop.spawn(passive());
    here.loop.spawn(active());
    here.loop.run();
  }
  CHECK(sent >= 3 * 96);
}

TEST_CASE("Memory of the loop stays registered while a request that uses it is in progress",
          "[ibv_dereg_mr][optional]") {
  if (on_iwarp())
    return tell_skip("a request in progress", "iWARP completes a send that TCP has taken");
  side here;
  std::vector<async::message> kept;
  std::string last;
  const auto passive = [&]() -> async::task<> {
    const async::connection client = co_await here.listener.accept(small);
    for (std::uint32_t each = 0; each < small.receives; ++each)
      kept.push_back(co_await client.next());
    // The last message waits for a block.
    co_await async::sleep_for(here.loop, 100ms);
    kept.clear();
    const async::message message = co_await client.next();
    last = text_of(message);
  };
  const auto active = [&]() -> async::task<> {
    const async::connection server = co_await async::connect(here.loop, here.address(), small);
    const text_memory memory{server, "hello"};
    for (std::uint32_t each = 0; each < small.receives; ++each)
      co_await server.send(memory.region.buffer().slice(0, 5));
    {
      const async::loop_memory given_back = server.memory(64);
      std::memcpy(given_back.bytes().data(), "last", 4);
      server.post(send(given_back.slice(0, 4)).signaled()).check();
    }
    const async::message none = co_await server.next();
    CHECK_FALSE(none);
  };
  here.loop.spawn(passive());
  here.loop.spawn(active());
  here.loop.run();
  CHECK(last == "last");
}

TEST_CASE("Memory of the loop is freed when no connection uses it any more", "[ibv_dereg_mr]") {
  side here;
  const auto passive = [&]() -> async::task<> {
    const async::connection client = co_await here.listener.accept(small);
    while (const async::message message = co_await client.next()) {
    }
  };
  const auto active = [&]() -> async::task<> {
    const async::connection server = co_await async::connect(here.loop, here.address(), small);
    {
      const async::loop_memory memory = server.memory(64);
      co_await server.send(memory.buffer());
    }
    co_await async::sleep_for(here.loop, 1ms);
    // The blocks are the only regions left in the domain.
    std::error_code why;
    async::loop_memory more = server.memory(1'000, access_right::local_write, why);
    CHECK(!why);
    more = server.memory(64);
    CHECK(more.region().size() == 64);
    co_await server.disconnect();
  };
  here.loop.spawn(passive());
  here.loop.spawn(active());
  here.loop.run();
}

TEST_CASE("try_send drops a message if the send queue is full", "[ibv_post_send]") {
  side here;
  int dropped = 0;
  std::string received;
  const auto passive = [&]() -> async::task<> {
    async::connection client = co_await here.listener.accept(small);
    while (const async::message message = co_await client.next()) received += message.text();
  };
  const auto active = [&]() -> async::task<> {
    async::connection_options options = small;
    options.max_inline_data = 16;
    const async::connection server = co_await async::connect(here.loop, here.address(), options);
    const std::string one = "x";
    const std::string last = "end";
    for (int each = 0; each < 20; ++each)
      if (!server.try_send(inline_data{one})) ++dropped;
    co_await server.send(inline_data{last});
    co_await server.disconnect();
  };
  here.loop.spawn(passive());
  here.loop.spawn(active());
  here.loop.run();
  CHECK(dropped > 0);
  CHECK(received == std::string(static_cast<std::size_t>(20 - dropped), 'x') + "end");
}

TEST_CASE("why_stalled reports that the program holds every block of a connection",
          "[ibv_post_recv]") {
  side here;
  std::string reason;
  std::string before;
  const auto passive = [&]() -> async::task<> {
    const async::connection client = co_await here.listener.accept(small);
    before = client.why_stalled();
    std::vector<async::message> held;
    for (std::uint32_t each = 0; each < small.receives; ++each)
      held.push_back(co_await client.next());
    reason = client.why_stalled();
  };
  const auto active = [&]() -> async::task<> {
    const async::connection server = co_await async::connect(here.loop, here.address(), small);
    for (std::uint32_t each = 0; each < small.receives; ++each) co_await server.send();
    std::error_code ignored;
    static_cast<void>(co_await server.next().report_to(ignored));
  };
  here.loop.spawn(passive());
  here.loop.spawn(active());
  here.loop.run();
  CHECK(before.empty());
  CHECK(reason == "the program holds every block: the next message arrives when one is destroyed");
}

TEST_CASE("A message that arrives before the deadline is received although the loop runs late",
          "[ibv_poll_cq]") {
  side here;
  std::error_code why = std::make_error_code(std::errc::io_error);
  std::error_code answer = why;
  std::promise<void> waits;
  std::promise<void> sent;
  const auto passive = [&]() -> async::task<> {
    const async::connection client = co_await here.listener.accept(small);
    client.expires_after(1s);
    here.loop.post([&] {
      waits.set_value();
      sent.get_future().wait();
      std::this_thread::sleep_for(1200ms);  // The deadline passes meanwhile.
    });
    const async::message message = co_await client.next().report_to(why);
    CHECK(message);
    client.expires_after(timeout::endless());
    co_await client.send(message.buffer()).report_to(answer);
  };
  auto peer = std::async(std::launch::async, [&] {
    async::event_loop loop;
    loop.spawn([&]() -> async::task<> {
      const async::connection server = co_await async::connect(loop, here.address(), small);
      waits.get_future().wait();
      co_await server.send();
      sent.set_value();
      const async::message received = co_await server.next();
      CHECK(received);
      // The end of this side would flush the answer if it is not acknowledged.
      std::error_code ignored;
      const async::message none = co_await server.next().report_to(ignored);
      CHECK_FALSE(none);
    });
    loop.run();
  });
  here.loop.spawn(passive());
  here.loop.run();
  peer.get();
  CHECK(!why);
  CHECK(!answer);
}

TEST_CASE("A message is read as text and as a value", "[ibv_post_recv]") {
  side here;
  std::string text;
  std::uint32_t number = 0;
  failure why;
  const auto passive = [&]() -> async::task<> {
    const async::connection client = co_await here.listener.accept(small);
    const async::message message = co_await client.next();
    text = message.text();
    number = message.as<std::uint32_t>();
    static_cast<void>(message.as<std::uint64_t>(why));
  };
  const auto active = [&]() -> async::task<> {
    async::connection_options options = small;
    options.max_inline_data = 16;
    const async::connection server = co_await async::connect(here.loop, here.address(), options);
    const std::string letters = "abcd";
    co_await server.send(inline_data{letters});
    std::error_code ignored;
    static_cast<void>(co_await server.next().report_to(ignored));
  };
  here.loop.spawn(passive());
  here.loop.spawn(active());
  here.loop.run();
  CHECK(text == "abcd");
  CHECK(number == 0x64636261);
  CHECK(why.code() == std::errc::message_size);
  CHECK(why.explanation() == "the message has 4 bytes, and the type has 8");
}

TEST_CASE("A loop that cannot be created leaks no descriptor", "[rdma_create_event_channel]") {
  {
    const async::event_loop first;
  }
  // The undefined-behaviour sanitizer needs a descriptor when it first checks a category.
  CHECK_FALSE(std::system_category() == std::generic_category());
  CHECK_FALSE(std::generic_category() == std::system_category());
  const std::size_t before = open_files();
  int failures = 0;
  for (std::size_t more = 0; more < 8; ++more) {
    {
      const few_files some{more};
      try {
        const async::event_loop loop;
      } catch (const error&) {
        ++failures;
      }
    }
    CHECK(open_files() == before);
  }
  CHECK(failures >= 3);
}

TEST_CASE("A connect to a name explains that no descriptor is left for its lookup",
          "[rdma_create_event_channel]") {
  async::event_loop loop;
  failure why;
  CHECK_FALSE(std::system_category() == std::generic_category());
  CHECK_FALSE(std::generic_category() == std::system_category());
  rlimit old{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &old) == 0);
  const rlimit none{0, old.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  loop.spawn([&]() -> async::task<> {
    try {
      const async::connection server = co_await async::connect(loop, "localhost", 7471, small);
    } catch (const error& failed) {
      // The undefined-behaviour sanitizer needs a descriptor to check the type of `failed`.
      CHECK(::setrlimit(RLIMIT_NOFILE, &old) == 0);
      why = failed.failure();
    }
  });
  loop.run();
  CHECK(why.code() == std::errc::too_many_files_open);
  CHECK(why.verb() == "eventfd");
}

TEST_CASE("A posted function runs during a flood of connection requests",
          "[rdma_get_cm_event][optional]") {
  if (on_iwarp())
    skip("a flood of connection requests", "soft-iWARP makes no 150 queue pairs in one process");
  constexpr std::size_t requests = 150;
  side here;
  std::size_t taken = 0;
  std::optional<std::size_t> taken_before_post;
  std::vector<ready_connector> askers;
  for (std::size_t each = 0; each < requests; ++each)
    askers.push_back(ready_for(here.address(), {.max_send_wr = 1, .max_recv_wr = 1}));
  here.loop.spawn([&]() -> async::task<> {
    while (taken < requests) {
      const async::connection_request request = co_await here.listener.next();
      if (++taken == 1) here.loop.post([&] { taken_before_post = taken; });
    }
  });
  for (ready_connector& each : askers) each.start_connect();
  std::this_thread::sleep_for(1s);  // The requests come to the channel.
  here.loop.run();
  CHECK(taken == requests);
  REQUIRE(taken_before_post);
  CHECK(*taken_before_post <= 64);
}
