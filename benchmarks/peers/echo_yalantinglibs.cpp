// SPDX-License-Identifier: MIT
// The echo of benchmarks/async with yalantinglibs, as the tests of its sockets use them: the global
// executor, the global device, and reads and writes that are awaited.
#include <array>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <system_error>

#include <async_simple/coro/SyncAwait.h>
#include <ylt/coro_io/ibverbs/ib_io.hpp>
#include <ylt/coro_io/ibverbs/ib_socket.hpp>

#include "../async/common.h"

namespace {

using async_simple::coro::Lazy;

void check(std::error_code error, const char* call) {
  if (error) throw std::system_error{error, call};
}

Lazy<void> serve(const job& given, server_clock& clock) {
  coro_io::ib_socket_t client;
  asio::ip::tcp::acceptor acceptor{client.get_executor(),
                                   {asio::ip::make_address(given.address), given.port}};
  std::puts("ready");
  std::fflush(stdout);
  check(co_await coro_io::async_accept(acceptor, client), "async_accept");
  std::array<char, message_size> bytes{};
  while (true) {
    const auto [failed, length] = co_await coro_io::async_read(client, asio::buffer(bytes));
    if (failed) break;
    count_message(&clock);
    check((co_await coro_io::async_write(client, asio::buffer(bytes))).first, "async_write");
  }
}

Lazy<void> ask(coro_io::ib_socket_t& server, std::size_t messages) {
  std::array<char, message_size> bytes{};
  for (std::size_t each = 0; each < messages; ++each) {
    check((co_await coro_io::async_write(server, asio::buffer(bytes))).first, "async_write");
    check((co_await coro_io::async_read(server, asio::buffer(bytes))).first, "async_read");
  }
}

Lazy<void> ask_all(const job& given) {
  coro_io::ib_socket_t server;
  check(co_await coro_io::async_connect(server, given.address, std::to_string(given.port)),
        "async_connect");
  co_await ask(server, unmeasured);
  const double begin = microseconds();
  co_await ask(server, given.messages);
  report_client(&given, begin, microseconds());
}

}  // namespace

int main(int argc, char** argv) try {
  const job given = job_of(argc, argv);
  easylog::set_min_severity(easylog::Severity::ERROR);
  if (given.is_server) {
    server_clock clock = server_clock_of(&given);
    async_simple::coro::syncAwait(serve(given, clock));
    report_server(&clock);
  } else {
    async_simple::coro::syncAwait(ask_all(given));
  }
  return 0;
} catch (const std::exception& failed) {
  std::fprintf(stderr, "%s\n", failed.what());
  return 1;
}
