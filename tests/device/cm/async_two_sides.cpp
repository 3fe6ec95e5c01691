// SPDX-License-Identifier: MIT
// Asynchronous connections between two loops, each on a thread or a machine of its own, and what
// ends them from there: the peer's process is killed, its machine falls silent, or loses its power.
#include <chrono>
#include <cstdint>
#include <exception>
#include <future>
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

/// Answers a client with one message at a time, and reports each to the parent process.
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

/// Has the other machine see nothing of this one any more: its packets go to an address that nobody
/// has. See device_facts::unsent_management_datagram_ends_connecting for why the link stays up.
void fall_silent() {
  expect(in_guest("ip neigh replace $SOFTRDMA_PEER_ADDRESS lladdr 02:00:00:00:00:00 "
                  "dev $SOFTRDMA_INTERFACE nud permanent"),
         "this machine is silent");
}
void speak_again() {
  expect(in_guest("ip neigh del $SOFTRDMA_PEER_ADDRESS dev $SOFTRDMA_INTERFACE"),
         "this machine speaks");
}

/// For peers that do not answer.
constexpr async::connection_options short_end{
    .max_send_wr = 4, .receives = 8, .block_size = 64, .end_timeout = 1s};

/// The end of a connection to a peer that is gone.
struct ended {
  bool has_answer = false;
  std::error_code wait;
  std::error_code request;
  bool has_message = true;
};

/// Gets one answer, waits for a message that does not come, and sends another.
async::task<> outlive(async::device_loop& loop, cm::socket_address address, timeout limit,
                      ended& how) {
  async::connection server = co_await async::connect(loop, address, short_end);
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
  async::connection server = co_await async::connect(loop, address, short_end)(token);
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
                 fall_silent();
                 meet("silent");
                 speak_again();
               },
               [&](const cm::socket_address& address) {
                 const ended how = outlive_peer(address, 300ms);
                 meet("silent");
                 CHECK(how.has_answer);
                 CHECK_FALSE(how.has_message);
                 CHECK(how.wait == std::errc::timed_out);
                 CHECK(how.request == std::errc::timed_out);
               });
}

constexpr std::uint16_t port_of_lost = 7469;
/// The other side is sure to be gone when a request was tried again this often.
constexpr async::connection_options few_retries{
    .max_send_wr = 4, .receives = 8, .block_size = 64, .connection = {.retry_count = 3}};

/// Takes messages until this machine loses its power.
async::task<> take_until_power_off(async::connection client, int& messages) {
  while (const async::message message = co_await client.next())
    if (++messages == 200) expect(in_guest("echo b > /proc/sysrq-trigger"), "the power is off");
}
async::task<> accept_until_power_off(async::event_loop& loop, async::listener& listener,
                                     int& messages) {
  while (true) loop.spawn(take_until_power_off(co_await listener.accept(small), messages));
}

/// The ends of the connections to a machine without power.
struct lost {
  int sent = 0;
  std::error_code request;
  std::error_code wait_meanwhile;
  std::error_code later_request;
  std::error_code silent_wait;
  std::error_code new_connection;
};

async::task<> wait_meanwhile(const async::connection& server, lost& how) {
  static_cast<void>(co_await server.next().report_to(how.wait_meanwhile));
}
/// Sends until that fails, while another task waits for a message. Then connects anew.
async::task<> send_until_lost(async::event_loop& loop, cm::socket_address address, lost& how) {
  async::connection server = co_await async::connect(loop, address, few_retries);
  const text_memory memory{server, "hello"};
  const const_buffer words = memory.region.buffer().slice(0, 5);
  loop.spawn(wait_meanwhile(server, how));
  for (; !how.request; ++how.sent) co_await server.send(words).report_to(how.request);
  co_await server.send(words).report_to(how.later_request);
  std::error_code ignored;
  co_await server.disconnect().report_to(ignored);
  async::connection_options impatient = few_retries;
  impatient.connect_timeout = 500ms;
  static_cast<void>(
      co_await async::connect(loop, address, impatient).report_to(how.new_connection));
}
/// Waits for a message, and sends nothing.
async::task<> wait_in_silence(async::event_loop& loop, cm::socket_address address, lost& how) {
  async::connection server = co_await async::connect(loop, address, few_retries);
  server.expires_after(3s);
  static_cast<void>(co_await server.next().report_to(how.silent_wait));
}

asio::awaitable<void> net_send_until_lost(async::device_loop& loop, cm::socket_address address,
                                          lost& how) {
  async::connection server = co_await async::connect(loop, address, few_retries)(token);
  const text_memory memory{server, "hello"};
  const const_buffer words = memory.region.buffer().slice(0, 5);
  for (; !how.request; ++how.sent) co_await server.send(words).report_to(how.request)(token);
  co_await server.send(words).report_to(how.later_request)(token);
}

}  // namespace

TEST_CASE("role: one of two machines loses its power", "[.]") {
  if (environment("SOFTRDMA_HOST") == "2") {
    side here{{}, every_address(port_of_lost)};
    meet("listening");
    int messages = 0;
    here.loop.spawn(accept_until_power_off(here.loop, here.listener, messages));
    here.loop.run();
    FAIL("the power is still on");
  }
  meet("listening");
  find_neighbour();
  const cm::socket_address address = other_side(port_of_lost);
  auto on_asio = std::async(std::launch::async, [&] {
    lost how;
    asio::io_context context;
    async::device_loop& loop = async::loop_of(context);
    asio::co_spawn(context, net_send_until_lost(loop, address, how), asio::detached);
    context.run();
    expect(loop.connections() == 0, "nothing is left on the io_context");
    return how;
  });
  lost how;
  async::event_loop loop;
  loop.spawn(send_until_lost(loop, address, how));
  loop.spawn(wait_in_silence(loop, address, how));
  loop.run();
  CHECK(loop.connections() == 0);
  CHECK(how.sent > 1);
  CHECK(how.request == completion_status::retries_exceeded);
  CHECK(how.wait_meanwhile == completion_status::retries_exceeded);
  CHECK(how.later_request == completion_status::retries_exceeded);
  CHECK(how.silent_wait == std::errc::timed_out);
  CHECK(how.new_connection == std::errc::timed_out);
  const lost other = on_asio.get();
  CHECK(other.sent > 1);
  CHECK(other.request == completion_status::retries_exceeded);
  CHECK(other.later_request == completion_status::retries_exceeded);
}

TEST_CASE("role: an asynchronous server", "[.]") {
  side here{{}, every_address(child_process::port())};
  child_process::say(here.port());
  here.loop.spawn(answer(here.listener));
  here.loop.run();
}

TEST_CASE("Tasks on the loops of two processes exchange messages", "[rdma_connect][rdma_accept]") {
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

TEST_CASE("Coroutines on the io_contexts of two processes exchange messages",
          "[rdma_connect][rdma_accept]") {
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
