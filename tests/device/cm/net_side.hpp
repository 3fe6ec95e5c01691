// SPDX-License-Identifier: MIT
// Shared by the tests of asynchronous connections on Asio: an io_context with a listener, and an
// echo. `asio` is that of Boost with ADVERB_BOOST_ASIO.
#pragma once

#include <cstdint>
#include <exception>
#include <system_error>
#include <utility>

#include <adverb/adverb.hpp>
#include <adverb/asio.hpp>

#include "cm/async_side.hpp"

#if defined(ADVERB_BOOST_ASIO)
namespace asio = boost::asio;
#endif

namespace async_test {

/// The token of coroutines.
inline constexpr auto token = asio::use_awaitable;

/// The error of cancelled operations.
inline const std::error_code operation_aborted =
    asio::error::make_error_code(asio::error::operation_aborted);

/// An io_context with a listener, and the address of that listener.
struct net_side {
  explicit net_side(const async::device_loop_options& options = {},
                    const cm::socket_address& address = every_address())
      : loop{async::loop_of(context, options)}, listener{loop, address} {}
  [[nodiscard]] std::uint16_t port() const { return listener.port(); }
  [[nodiscard]] cm::socket_address address() const { return device_address(port()); }

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

inline asio::awaitable<void> net_echo(async::connection client) {
  while (const async::message message = co_await client.next()(token)) {
    std::error_code why;
    co_await client.send(message.buffer()).report_to(why)(token);
    check_answer(client, why);
  }
  co_await client.disconnect()(token);
}

inline asio::awaitable<void> net_serve(net_side& here, int clients) {
  for (int each = 0; each < clients; ++each)
    here.spawn(net_echo(co_await here.listener.accept(small)(token)));
}

inline asio::awaitable<void> net_ask(async::device_loop& loop, cm::socket_address address,
                                     int rounds, int& answers) {
  async::connection server = co_await async::connect(loop, address, small)(token);
  const text_memory memory{server, "hello"};
  for (int each = 0; each < rounds; ++each) {
    co_await server.send(memory.region.buffer().slice(0, 5))(token);
    const async::message answer = co_await server.next()(token);
    if (text_of(answer) == "hello") ++answers;
  }
  co_await server.disconnect()(token);
}

}  // namespace async_test
