// SPDX-License-Identifier: MIT
// Asynchronous connections on Asio: its tokens, its cancellation, and the end of its context.
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <exception>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include <adverb/adverb.hpp>
#include <support/catch.hpp>
#include <support/ended_program.hpp>
#include <support/sanitized.hpp>

#include "cm/net_side.hpp"

using namespace async_test;
using namespace std::chrono_literals;

namespace {

/// Two ends of one connection.
struct net_pair {
  explicit net_pair(net_side& here, const async::connection_options& options = small) {
    here.listener.accept(options)([this](std::error_code error, async::connection made) {
      CHECK_FALSE(error);
      passive = std::move(made);
    });
    async::connect(here.loop, here.address(),
                   options)([this](std::error_code error, async::connection made) {
      CHECK_FALSE(error);
      active = std::move(made);
    });
    here.run();
  }
  async::connection passive;
  async::connection active;
};

struct allocations {
  int made = 0;
  int left = 0;
};

template <class T>
struct counting_allocator {
  using value_type = T;
  explicit counting_allocator(allocations* of) noexcept : counts{of} {}
  template <class U>
  explicit(false) counting_allocator(const counting_allocator<U>& other) noexcept
      : counts{other.counts} {}
  [[nodiscard]] T* allocate(std::size_t count) {
    ++counts->made;
    ++counts->left;
    return std::allocator<T>{}.allocate(count);
  }
  void deallocate(T* memory, std::size_t count) noexcept {
    --counts->left;
    std::allocator<T>{}.deallocate(memory, count);
  }
  friend bool operator==(const counting_allocator&, const counting_allocator&) = default;

  allocations* counts;
};

/// A handler with an allocator. Asio has bind_allocator from 1.24 on.
template <class Handler>
struct with_allocator {
  using allocator_type = counting_allocator<void>;
  [[nodiscard]] allocator_type get_allocator() const noexcept { return allocator; }
  template <class... Results>
  void operator()(Results&&... results) {
    handler(std::forward<Results>(results)...);
  }

  Handler handler;
  allocator_type allocator;
};
// Clang before 17 does not deduce the arguments of an aggregate.
template <class Handler>
with_allocator(Handler, counting_allocator<void>) -> with_allocator<Handler>;

}  // namespace

TEST_CASE("One io_context serves many connections", "[rdma_connect][rdma_accept]") {
  constexpr int clients = test_support::is_sanitized ? 24 : 64;
  for (const async::waiting way :
       {async::waiting::events, async::waiting::busy, async::waiting::adaptive}) {
    net_side here{{.waiting = way, .completions = completions_for_many_pairs()}};
    int answers = 0;
    here.spawn(net_serve(here, clients));
    for (int each = 0; each < clients; ++each)
      here.spawn(net_ask(here.loop, here.address(), 4, answers));
    here.run();
    CHECK(answers == clients * 4);
    CHECK(here.loop.connections() == 0);
  }
}

TEST_CASE("An io_context is destroyed with requests in progress, and its connections with it",
          "[rdma_destroy_id][ibv_destroy_cq]") {
  for (int each = 0; each < 8; ++each) {
    net_side here;
    int answers = 0;
    // One more than there are, so that it waits for a request too.
    here.spawn(net_serve(here, 5));
    for (int client = 0; client < 4; ++client)
      here.spawn(net_ask(here.loop, here.address(), 1000, answers));
    here.context.run_for(std::chrono::milliseconds{5 + 7 * each});
    CHECK(answers < 4 * 1000);
  }
}

TEST_CASE("A handler gets the error of a refused connection", "[rdma_connect]") {
  net_side here;
  std::error_code code;
  async::connect(here.loop, device_address(1),
                 small)([&](std::error_code error, async::connection made) {
    code = error;
    CHECK_FALSE(made);
  });
  here.run();
  CHECK(code);
}

TEST_CASE("A coroutine on a strand resumes on its strand", "[rdma_connect]") {
  net_side here;
  const auto strand = asio::make_strand(here.context);
  bool was_on_strand = false;
  const auto serve = [&]() -> asio::awaitable<void> {
    async::connection client = co_await here.listener.accept(small)(asio::use_awaitable);
    was_on_strand = strand.running_in_this_thread();
  };
  asio::co_spawn(strand, serve(), asio::detached);
  async::connect(here.loop, here.address(),
                 small)([](std::error_code, const async::connection&) {});
  here.run();
  CHECK(was_on_strand);
}

TEST_CASE("A handler runs on the executor that it is bound to", "[rdma_connect]") {
  net_side here;
  asio::io_context other;
  const auto strand = asio::make_strand(here.context);
  bool ran_on_other = false;
  bool ran_on_strand = false;
  async::connect(here.loop, device_address(1), small)(asio::bind_executor(
      other, [&](std::error_code, const async::connection&) { ran_on_other = true; }));
  async::connect(here.loop, device_address(1),
                 small)(asio::bind_executor(strand, [&](std::error_code, const async::connection&) {
    ran_on_strand = strand.running_in_this_thread();
  }));
  here.run();
  CHECK(ran_on_strand);
  CHECK_FALSE(ran_on_other);
  other.run();
  CHECK(ran_on_other);
}

TEST_CASE("An operation lives in the memory of its handler's allocator", "[rdma_connect]") {
  net_side here;
  allocations counts;
  bool is_done = false;
  async::connect(here.loop, device_address(1),
                 small)(with_allocator{[&](const std::error_code&, const async::connection&) {
                                         CHECK(counts.left == 0);
                                         is_done = true;
                                       },
                                       counting_allocator<void>{&counts}});
  CHECK(counts.made == 1);
  CHECK(counts.left == 1);
  here.run();
  CHECK(is_done);
}

TEST_CASE("A step that finishes when it is started allocates only its operation",
          "[rdma_disconnect]") {
  net_side here;
  net_pair ends{here};
  ends.active.disconnect()([](const std::error_code&) {});
  here.run();
  allocations counts;
  bool is_done = false;
  ends.active.perform(send())(with_allocator{[&](const std::error_code& error) {
                                               CHECK(error);
                                               CHECK(counts.left == 0);
                                               is_done = true;
                                             },
                                             counting_allocator<void>{&counts}});
  CHECK_FALSE(is_done);
  CHECK(counts.made == 1);
  here.run();
  CHECK(is_done);
}

#if ADVERB_HARDENING >= ADVERB_HARDENING_FAST
TEST_CASE("Starting a step of an event_loop with a handler ends the program",
          "[rdma_create_event_channel]") {
  async::event_loop other;
  CHECK(words_at_the_end([&] {
          async::connect(other, device_address(1))([](const std::error_code&, const auto&) {});
        }) ==
        "async_start: EINVAL (Invalid argument); the loop of the step is not the loop_of an "
        "io_context");
}
#endif

TEST_CASE("A step with report_to stores its failure there, and its handler gets no error",
          "[rdma_connect]") {
  net_side here;
  failure why;
  bool is_done = false;
  async::connect(here.loop, device_address(1), small)
      .report_to(why)([&](std::error_code error, const async::connection&) {
        CHECK_FALSE(error);
        is_done = true;
      });
  here.run();
  CHECK(is_done);
  CHECK(why);
}

TEST_CASE("Cancelling a wait for a message leaves the connection as it is", "[ibv_post_recv]") {
  net_side here;
  net_pair ends{here};
  for (const auto type : {asio::cancellation_type::total, asio::cancellation_type::partial,
                          asio::cancellation_type::terminal}) {
    asio::cancellation_signal signal;
    std::error_code code;
    ends.passive.next()(asio::bind_cancellation_slot(
        signal.slot(), [&](std::error_code error, const async::message&) { code = error; }));
    asio::post(here.context, [&] { signal.emit(type); });
    here.run();
    CHECK(code == operation_aborted);
  }
  const text_memory memory{ends.active, "still here"};
  async::message received;
  ends.active.send(memory.region.buffer().slice(0, 10))([](std::error_code) {});
  ends.passive.next()(
      [&](std::error_code, async::message message) { received = std::move(message); });
  here.run();
  CHECK(text_of(received) == "still here");
}

TEST_CASE("A sleep on an io_context ends on time beside a longer one, which can be cancelled",
          "[rdma_create_event_channel]") {
  net_side here;
  asio::cancellation_signal signal;
  std::error_code cancelled;
  std::error_code slept{EINVAL, std::system_category()};
  async::sleep_for(here.loop, 1h)(asio::bind_cancellation_slot(
      signal.slot(), [&](std::error_code error) { cancelled = error; }));
  const auto begin = std::chrono::steady_clock::now();
  // Starts when the context already waits for the longer one.
  asio::steady_timer later{here.context, 50ms};
  later.async_wait([&](const auto&) {
    async::sleep_for(here.loop, 5ms)([&](std::error_code error) {
      slept = error;
      signal.emit(asio::cancellation_type::total);
    });
  });
  here.run();
  CHECK_FALSE(slept);
  CHECK(cancelled == operation_aborted);
  CHECK(std::chrono::steady_clock::now() - begin >= 55ms);
}

TEST_CASE("Only terminal cancellation ends a request in progress, and the connection with it",
          "[ibv_post_send][rdma_disconnect][optional]") {
  if (on_iwarp())
    return tell_skip("a request in progress", "iWARP completes a send that TCP has taken");
  net_side here;
  net_pair ends{here};
  const text_memory memory{ends.active, "hello"};
  const auto part = memory.region.buffer().slice(0, 5);
  // The peer takes none of the messages, and has eight blocks: the ninth stays in progress.
  for (int each = 0; each < 8; ++each) {
    ends.active.send(part)([](std::error_code) {});
    here.run();
  }
  asio::cancellation_signal signal;
  std::error_code code;
  bool is_done = false;
  ends.active.send(part)(asio::bind_cancellation_slot(signal.slot(), [&](std::error_code error) {
    code = error;
    is_done = true;
  }));
  signal.emit(asio::cancellation_type::total);
  here.context.run_for(50ms);
  CHECK_FALSE(is_done);
  signal.emit(asio::cancellation_type::terminal);
  here.context.restart();
  here.run();
  CHECK(is_done);
  CHECK(code == operation_aborted);
}

TEST_CASE("Destroying a connection calls the handlers of its requests later, not at once",
          "[ibv_post_send][rdma_disconnect]") {
  net_side here;
  net_pair ends{here};
  const text_memory memory{ends.active, "hello"};
  int aborted = 0;
  const auto count = [&](std::error_code error) {
    if (error == operation_aborted) ++aborted;
  };
  // More than the peer takes, so that one is in progress, and some wait for room.
  for (int each = 0; each < 16; ++each) ends.active.send(memory.region.buffer().slice(0, 5))(count);
  ends.active.next()([&](std::error_code error, const async::message&) { count(error); });
  ends.active = {};
  CHECK(aborted == 0);
  here.run();
  CHECK(aborted > 1);
  CHECK(here.loop.connections() == 1);
}

TEST_CASE("A stored step copies its arguments, and can be started again", "[ibv_post_send]") {
  net_side here;
  net_pair ends{here};
  const text_memory memory{ends.active, "stored"};
  const auto step = [&] {
    const const_buffer words = memory.region.buffer().slice(0, 6);
    const auto request = send(words).solicited();
    return ends.active.perform(request);
  }();
  // Over what the lambda left on the stack.
  const async::connection moved = std::move(ends.active);
  for (int each = 0; each < 2; ++each) {
    std::string received;
    step([](std::error_code error) { CHECK_FALSE(error); });
    ends.passive.next()(
        [&](std::error_code, const async::message& message) { received = text_of(message); });
    here.run();
    CHECK(received == "stored");
  }
  const auto connecting = [&] {
    const cm::socket_address address = here.address();
    const async::connection_options options = small;
    return async::connect(here.loop, address, options);
  }();
  here.spawn(net_serve(here, 1));
  bool is_connected = false;
  connecting([&](std::error_code error, const async::connection&) { is_connected = !error; });
  here.run();
  CHECK(is_connected);
}

#if defined(ADVERB_BOOST_ASIO) || ASIO_VERSION >= 102400
TEST_CASE("A deferred step copies its arguments, and starts when it gets its handler",
          "[ibv_post_send]") {
  net_side here;
  net_pair ends{here};
  const text_memory memory{ends.active, "later"};
  auto deferred = [&] {
    const const_buffer words = memory.region.buffer().slice(0, 5);
    return ends.active.send(words)(asio::deferred);
  }();
  here.run();
  bool is_sent = false;
  std::string received;
  std::move(deferred)([&](std::error_code error) { is_sent = !error; });
  ends.passive.next()(
      [&](std::error_code, const async::message& message) { received = text_of(message); });
  here.run();
  CHECK(is_sent);
  CHECK(received == "later");
}
#endif

TEST_CASE("A deadline ends the operations of Asio with ETIMEDOUT", "[rdma_disconnect]") {
  net_side here;
  net_pair ends{here};
  ends.passive.expires_after(50ms);
  std::error_code code;
  ends.passive.next()([&](std::error_code error, const async::message&) { code = error; });
  here.run();
  CHECK(code == std::errc::timed_out);
}

// Asio keeps the exceptions of handlers that it runs inside another, and throws them as one later.
TEST_CASE("An exception of a handler propagates from run, and no completion is lost",
          "[ibv_get_cq_event]") {
  net_side here;
  net_pair ends{here};
  const text_memory memory{ends.active, "hello"};
  const auto part = memory.region.buffer().slice(0, 5);
  int sent = 0;
  for (int each = 0; each < 4; ++each) {
    ends.active.send(part)([&](std::error_code error) {
      CHECK_FALSE(error);
      ++sent;
      throw std::runtime_error{"told"};
    });
  }
  CHECK_THROWS(here.context.run());
  while (sent < 4) CHECK_THROWS(here.context.run());
  here.context.run();
  CHECK(sent == 4);
}

TEST_CASE("A connection is destroyed although its last handlers throw", "[ibv_destroy_qp]") {
  net_side here;
  int finished = 0;
  {
    net_pair ends{here, {.max_send_wr = 4, .receives = 2, .block_size = 64, .end_timeout = 0ms}};
    const text_memory memory{ends.active, "hello"};
    const auto part = memory.region.buffer().slice(0, 5);
    for (int each = 0; each < 6; ++each) {
      ends.active.send(part)([&](std::error_code) {
        ++finished;
        throw std::runtime_error{"told"};
      });
    }
    ends.active = {};
    ends.passive = {};
    for (bool has_ended = false; !has_ended;) {
      try {
        here.context.run();
        has_ended = true;
      } catch (const std::exception&) {
      }
    }
  }
  CHECK(finished == 6);
  CHECK(here.loop.connections() == 0);
}

TEST_CASE("Lookups finish although the handlers of others throw", "[rdma_getaddrinfo]") {
  net_side here;
  int finished = 0;
  for (int each = 0; each < 4; ++each) {
    async::look_up(here.loop, "127.0.0.1",
                   7471)([&](std::error_code error, const std::vector<cm::socket_address>& found) {
      CHECK_FALSE(error);
      CHECK(found.size() == 1);
      ++finished;
      throw std::runtime_error{"told"};
    });
  }
  for (bool has_ended = false; !has_ended;) {
    try {
      here.context.run();
      has_ended = true;
    } catch (const std::exception&) {
    }
  }
  CHECK(finished == 4);
}

TEST_CASE("A future gets the result of a step", "[rdma_connect]") {
  net_side here;
  here.spawn(net_serve(here, 1));
  std::future<async::connection> made =
      async::connect(here.loop, here.address(), small)(asio::use_future);
  while (made.wait_for(0s) != std::future_status::ready) here.context.run_one();
  {
    const async::connection server = made.get();
    CHECK(server);
  }
  here.run();
}
