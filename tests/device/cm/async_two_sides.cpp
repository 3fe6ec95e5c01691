// SPDX-License-Identifier: MIT
// Asynchronous connections between two loops, each on a thread or a machine of its own, and what
// ends them from there: the peer's process is killed, or its machine falls silent.
#include <chrono>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>

#include <adverb/adverb.hpp>
#include <support/catch.hpp>

#include "cm/child_process.hpp"
#include "cm/guest.hpp"
#include "cm/net_side.hpp"

using namespace async_test;
using namespace std::chrono_literals;

namespace {

constexpr int clients = 4;
constexpr int rounds = 50;

[[nodiscard]] side task_side(const cm::socket_address& address) { return side{{}, address}; }
[[nodiscard]] net_side asio_side(const cm::socket_address& address) {
  return net_side{{}, address};
}

/// Answers a client with one message at a time, and says the word after the first.
async::task<> answer(async::listener& listener) {
  async::connection client = co_await listener.accept(small);
  while (const async::message message = co_await client.next()) {
    co_await client.send(message.buffer());
    child_process::say();
  }
}

/// A process that answers a client.
struct other_process {
  explicit other_process(const cm::socket_address& address)
      : child{"role: an asynchronous server", address.port()}, port_{child.word()} {}
  [[nodiscard]] std::uint16_t port() const { return port_; }

  child_process child;

 private:
  std::uint16_t port_;
};

/// Waits until the client has its answer, and kills the process.
void kill_answering(other_process& server) {
  static_cast<void>(server.child.word());
  std::this_thread::sleep_for(50ms);
  server.child.kill();
}

/// Has the other machine see nothing of this one any more, or see it again.
void set_link(const std::string& state) {
  expect(in_guest("ip link set $SOFTRDMA_INTERFACE " + state), "the link is " + state);
}

/// How a connection to a peer that is gone has ended.
struct ended {
  bool has_answer = false;
  std::error_code wait;
  std::error_code request;
  bool has_message = true;
};

/// Asks once, waits for a message that does not come, and sends another.
async::task<> outlive(async::device_loop& loop, cm::socket_address address, timeout limit,
                      ended& how) {
  async::connection server = co_await async::connect(loop, address, small);
  const text_memory memory{server, "hello"};
  const const_buffer words = memory.region.buffer().slice(0, 5);
  co_await server.send(words);
  how.has_answer = text_of(co_await server.next()) == "hello";
  server.expires_after(limit);
  how.has_message = static_cast<bool>(co_await server.next().report_to(how.wait));
  co_await server.send(words).report_to(how.request);
  std::error_code ignored;
  co_await server.disconnect().report_to(ignored);
}

asio::awaitable<void> net_outlive(async::device_loop& loop, cm::socket_address address,
                                  timeout limit, ended& how) {
  async::connection server = co_await async::connect(loop, address, small)(token);
  const text_memory memory{server, "hello"};
  const const_buffer words = memory.region.buffer().slice(0, 5);
  co_await server.send(words)(token);
  how.has_answer = text_of(co_await server.next()(token)) == "hello";
  server.expires_after(limit);
  how.has_message = static_cast<bool>(co_await server.next().report_to(how.wait)(token));
  co_await server.send(words).report_to(how.request)(token);
  std::error_code ignored;
  co_await server.disconnect().report_to(ignored)(token);
}

/// Outlives its peer with a task, on a loop of its own.
[[nodiscard]] ended outlive_in_task(const cm::socket_address& address, timeout limit) {
  ended how;
  async::event_loop loop;
  loop.spawn(outlive(loop, address, limit, how));
  loop.run();
  CHECK(loop.connections() == 0);
  return how;
}
/// The same in a coroutine of Asio.
[[nodiscard]] ended outlive_on_asio(const cm::socket_address& address, timeout limit) {
  ended how;
  asio::io_context context;
  async::device_loop& loop = async::loop_of(context);
  asio::co_spawn(context, net_outlive(loop, address, limit, how),
                 [](const std::exception_ptr& why) {
                   if (why) std::rethrow_exception(why);
                 });
  context.run();
  CHECK(loop.connections() == 0);
  return how;
}

template <class Outlive>
void check_killed(const Outlive& outlive_peer) {
  two_sides_of([](const cm::socket_address& address) { return other_process{address}; },
               kill_answering,
               [&](const cm::socket_address& address) {
                 const ended how = outlive_peer(address, 10s);
                 CHECK(how.has_answer);
                 CHECK_FALSE(how.has_message);
                 CHECK(how.wait != std::errc::timed_out);
                 CHECK(how.request == std::errc::connection_reset);
               });
}

template <class Outlive>
void check_silent(const Outlive& outlive_peer) {
  two_sides_of([](const cm::socket_address& address) { return other_process{address}; },
               [](other_process& server) {
                 static_cast<void>(server.child.word());
                 std::this_thread::sleep_for(50ms);
                 set_link("down");
                 meet("silent");
                 set_link("up");
               },
               [&](const cm::socket_address& address) {
                 const auto begin = std::chrono::steady_clock::now();
                 const ended how = outlive_peer(address, 300ms);
                 meet("silent");
                 CHECK(how.has_answer);
                 CHECK_FALSE(how.has_message);
                 CHECK(how.wait == std::errc::timed_out);
                 CHECK(how.request == std::errc::timed_out);
                 CHECK(std::chrono::steady_clock::now() - begin < 10s);
               });
}

}  // namespace

TEST_CASE("role: an asynchronous server", "[.]") {
  side here{{}, every_address(child_process::port())};
  child_process::say(here.port());
  here.loop.spawn(answer(here.listener));
  here.loop.run();
}

TEST_CASE("Tasks on two loops speak to each other", "[rdma_connect][rdma_accept]") {
  two_sides_of(
      task_side,
      [](side& here) {
        here.loop.spawn(serve(here, clients));
        here.loop.run();
      },
      [](const cm::socket_address& address) {
        async::event_loop loop;
        int answers = 0;
        for (int each = 0; each < clients; ++each) loop.spawn(ask(loop, address, rounds, answers));
        loop.run();
        CHECK(answers == clients * rounds);
        CHECK(loop.connections() == 0);
      });
}

TEST_CASE("Coroutines on two io_contexts speak to each other", "[rdma_connect][rdma_accept]") {
  two_sides_of(
      asio_side,
      [](net_side& here) {
        here.spawn(net_serve(here, clients));
        here.run();
      },
      [](const cm::socket_address& address) {
        asio::io_context context;
        async::device_loop& loop = async::loop_of(context);
        int answers = 0;
        for (int each = 0; each < clients; ++each)
          asio::co_spawn(context, net_ask(loop, address, rounds, answers), asio::detached);
        context.run();
        CHECK(answers == clients * rounds);
        CHECK(loop.connections() == 0);
      });
}

TEST_CASE("A peer whose process is killed ends the connection of a task", "[rdma_get_cm_event]") {
  check_killed(outlive_in_task);
}

TEST_CASE("A peer whose process is killed ends the connection of a coroutine",
          "[rdma_get_cm_event]") {
  check_killed(outlive_on_asio);
}

TEST_CASE("A deadline ends the connection of a task to a machine that falls silent",
          "[rdma_disconnect][optional]") {
  if (!on_two_hosts()) return tell_skip("a machine that falls silent", "there is one machine");
  check_silent(outlive_in_task);
}

TEST_CASE("A deadline ends the connection of a coroutine to a machine that falls silent",
          "[rdma_disconnect][optional]") {
  if (!on_two_hosts()) return tell_skip("a machine that falls silent", "there is one machine");
  check_silent(outlive_on_asio);
}
