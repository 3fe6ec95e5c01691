// SPDX-License-Identifier: MIT
// Asynchronous connections on Asio: its tokens, its cancellation, and the end of its context.
#include <chrono>
#include <exception>
#include <future>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <adverb/adverb.hpp>
#include <adverb/asio.hpp>
#include <support/catch.hpp>

#include "cm/async_side.hpp"

using namespace async_test;
using namespace std::chrono_literals;

namespace {

constexpr auto wait = asio::use_awaitable;

/// An io_context with a listener, and the address of that listener.
struct net_side {
  explicit net_side(const async::device_loop_options& options = {})
      : loop{async::loop_of(context, options)}, listener{loop, every_address()} {}
  [[nodiscard]] cm::socket_address address() const { return device_address(listener.port()); }

  template <class Coroutine>
  void spawn(Coroutine&& started) {
    asio::co_spawn(context, std::forward<Coroutine>(started), [](const std::exception_ptr& why) {
      if (why) std::rethrow_exception(why);
    });
  }
  /// Runs until nothing is left to do.
  void run() {
    context.run();
    context.restart();
  }

  asio::io_context context;
  async::device_loop& loop;
  async::listener listener;
};

asio::awaitable<void> net_echo(async::connection client) {
  while (const async::message message = co_await client.next()(wait))
    co_await client.send(message.buffer())(wait);
  co_await client.disconnect()(wait);
}

asio::awaitable<void> net_serve(net_side& here, int clients) {
  for (int each = 0; each < clients; ++each)
    here.spawn(net_echo(co_await here.listener.accept(small)(wait)));
}

asio::awaitable<void> net_ask(net_side& here, int rounds, int& answers) {
  async::connection server = co_await async::connect(here.loop, here.address(), small)(wait);
  const text_memory memory{server, "hello"};
  for (int each = 0; each < rounds; ++each) {
    co_await server.send(memory.region.buffer().slice(0, 5))(wait);
    const async::message answer = co_await server.next()(wait);
    if (text_of(answer) == "hello") ++answers;
  }
  co_await server.disconnect()(wait);
}

/// Two ends of one connection.
struct net_pair {
  explicit net_pair(net_side& here) {
    here.listener.accept(small)([this](std::error_code error, async::connection made) {
      CHECK_FALSE(error);
      passive = std::move(made);
    });
    async::connect(here.loop, here.address(),
                   small)([this](std::error_code error, async::connection made) {
      CHECK_FALSE(error);
      active = std::move(made);
    });
    here.run();
  }
  async::connection passive;
  async::connection active;
};

}  // namespace

TEST_CASE("One io_context serves many connections", "[rdma_connect][rdma_accept]") {
  constexpr int clients = 64;
  for (const async::waiting way :
       {async::waiting::events, async::waiting::busy, async::waiting::adaptive}) {
    net_side here{{.waiting = way, .completions = completions_for_many_pairs()}};
    int answers = 0;
    here.spawn(net_serve(here, clients));
    for (int each = 0; each < clients; ++each) here.spawn(net_ask(here, 4, answers));
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
    for (int client = 0; client < 4; ++client) here.spawn(net_ask(here, 1000, answers));
    here.context.run_for(std::chrono::milliseconds{5 + 7 * each});
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

TEST_CASE("A failure can be told to the step instead of the handler", "[rdma_connect]") {
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
    CHECK(code == asio::error::operation_aborted);
  }
  const text_memory memory{ends.active, "still here"};
  async::message received;
  ends.active.send(memory.region.buffer().slice(0, 10))([](std::error_code) {});
  ends.passive.next()(
      [&](std::error_code, async::message message) { received = std::move(message); });
  here.run();
  CHECK(text_of(received) == "still here");
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
  CHECK(code == asio::error::operation_aborted);
}

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
TEST_CASE("An exception of a handler leaves run, and no completion is lost", "[ibv_get_cq_event]") {
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
