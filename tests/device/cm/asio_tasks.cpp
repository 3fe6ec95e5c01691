// SPDX-License-Identifier: MIT
// Tasks on an io_context.
#include <optional>
#include <stdexcept>

#include <adverb/adverb.hpp>
#include <adverb/asio.hpp>
#include <adverb/async/connect_by_name.hpp>
#include <adverb/async/task.hpp>
#include <support/catch.hpp>

#include "cm/async_side.hpp"

using namespace async_test;

namespace {

/// The loop of an io_context, and a listener on it.
struct task_side {
  [[nodiscard]] cm::socket_address address() const { return device_address(listener.port()); }

  asio::io_context context;
  async::device_loop& loop = async::loop_of(context);
  async::listener listener{loop, every_address()};
};

async::task<> accept_one(task_side& here) { co_await echo(co_await here.listener.accept(small)); }

async::task<> ask_once(task_side& here, int& answers) {
  async::connection server = co_await async::connect(here.loop, here.address(), small);
  const text_memory memory{server, "hello"};
  co_await server.send(memory.region.buffer().slice(0, 5));
  const async::message answer = co_await server.next();
  if (text_of(answer) == "hello") ++answers;
  co_await server.disconnect();
}

}  // namespace

TEST_CASE("An io_context runs tasks until they have ended", "[rdma_connect][rdma_accept]") {
  task_side here;
  int answers = 0;
  for (int each = 0; each < 8; ++each) {
    here.loop.spawn(accept_one(here));
    here.loop.spawn(ask_once(here, answers));
  }
  here.context.run();
  CHECK(answers == 8);
  CHECK(!here.loop.has_work());
}

TEST_CASE("A task on an io_context connects to a host", "[rdma_connect][rdma_accept]") {
  task_side here;
  bool is_connected = false;
  const auto connect = [&]() -> async::task<> {
    const async::connection server = co_await async::connect(
        here.loop, environment("SOFTRDMA_ADDRESS"), here.listener.port(), small);
    co_await server.disconnect();
    is_connected = true;
  };
  here.loop.spawn(accept_one(here));
  here.loop.spawn(connect());
  here.context.run();
  CHECK(is_connected);
}

TEST_CASE("An exception of a task propagates from run of its io_context, which can be called again",
          "[rdma_connect]") {
  task_side here;
  int answers = 0;
  const auto fail = [&]() -> async::task<> {
    co_await ask_once(here, answers);
    throw std::runtime_error{"told"};
  };
  here.loop.spawn(accept_one(here));
  here.loop.spawn(fail());
  CHECK_THROWS_WITH(here.context.run(), "told");
  here.context.run();
  CHECK(answers == 1);
  CHECK(!here.loop.has_work());
}

TEST_CASE("An io_context destroys the tasks that have not ended", "[rdma_destroy_id]") {
  int destroyed = 0;
  struct guard {
    ~guard() { ++*count; }
    int* count;
  };
  std::optional<task_side> here{std::in_place};
  const auto wait = [&]() -> async::task<> {
    const guard counted{&destroyed};
    static_cast<void>(co_await here->listener.next());
  };
  for (int each = 0; each < 3; ++each) here->loop.spawn(wait());
  here.reset();
  CHECK(destroyed == 3);
}
