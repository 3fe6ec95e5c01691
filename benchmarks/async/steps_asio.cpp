// SPDX-License-Identifier: MIT
// The steps of a connection in coroutines of Asio.
#include <chrono>
#include <cstdint>
#include <exception>

#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/use_awaitable.hpp>

#include <adverb/asio.hpp>

#include "steps.hpp"

namespace {

namespace async = adverb::async;
constexpr auto wait = asio::use_awaitable;

asio::awaitable<void> echo(steps::side& here, std::uint64_t times) {
  for (std::uint64_t each = 0; each < times; ++each) {
    const async::message message = co_await here.connection.next()(wait);
    co_await here.connection.send(message.buffer())(wait);
  }
}

asio::awaitable<void> echo_with_deadline(steps::side& here, std::uint64_t times) {
  for (std::uint64_t each = 0; each < times; ++each) {
    here.connection.expires_after(std::chrono::seconds{5});
    const async::message message = co_await here.connection.next()(wait);
    co_await here.connection.send(message.buffer())(wait);
  }
}

asio::awaitable<void> send(steps::side& here, std::uint64_t times) {
  for (std::uint64_t each = 0; each < times; ++each)
    co_await here.connection.send(here.region.buffer())(wait);
}

}  // namespace

int main() {
  const adverb::context device = adverb::open_device();
  asio::io_context context{1};
  steps::side here{async::loop_of(context, {.waiting = async::waiting::busy}), device};
  const auto count = [&](const char* job,
                         asio::awaitable<void> (*run)(steps::side&, std::uint64_t)) {
    counting::count(job, "Asio", [&](std::uint64_t times) {
      asio::co_spawn(context, run(here, times), [](const std::exception_ptr& why) {
        if (why) std::rethrow_exception(why);
      });
      context.restart();
      context.run();
    });
  };
  count("echo", echo);
  count("send", send);
  // Last: the loop keeps the time from here on.
  count("echo with deadline", echo_with_deadline);
}
