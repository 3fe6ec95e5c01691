// SPDX-License-Identifier: MIT
// async_echo with Asio: each connection is a coroutine on an io_context. The two programs work with
// each other.
//
//     async_echo_asio                           # the server, until Ctrl-C
//     async_echo_asio 10.1.0.1 --clients 64     # 64 clients
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

#include <asio.hpp>

#include <adverb/adverb.hpp>
#include <adverb/asio.hpp>
#include <adverb/cm.hpp>

#include "common/async_text.hpp"
#include "common/cm_options.hpp"
#include "common/command_line.hpp"
#include "common/patience.hpp"

namespace {

namespace async = adverb::async;
namespace cm = adverb::cm;
constexpr auto token = asio::use_awaitable;

constexpr int rounds = 10;
/// Enough for 300 connections where the device cannot enlarge its queue, such as soft-iWARP.
constexpr async::device_loop_options loop_options{.completions = 20000};

asio::awaitable<void> serve(async::connection_request request) try {
  const async::connection client = co_await request.accept()(token);
  while (const async::message message = co_await client.next()(token))
    co_await client.send(message.buffer())(token);
} catch (const std::system_error& failed) {
  // The client has disconnected. The other clients stay connected.
  std::fprintf(stderr, "async_echo_asio: %s\n", failed.what());
}

asio::awaitable<void> listen(asio::io_context& context, std::uint16_t port) {
  async::listener listener{async::loop_of(context), cm::socket_address::any(port)};
  std::printf("listening on port %d\n", listener.port());
  while (true) asio::co_spawn(context, serve(co_await listener.next()(token)), asio::detached);
}

asio::awaitable<void> ask(async::device_loop& loop, cm::socket_address address,
                          std::uint32_t number) {
  const async::connection server = co_await async::connect(
      loop, address, {.max_inline_data = 64, .dead_after = examples::longest_silence})(token);
  for (int round = 0; round < rounds; ++round) {
    const std::string text =
        "message " + std::to_string(round) + " of client " + std::to_string(number);
    co_await server.send(adverb::inline_data{text})(token);
    const async::message echo = co_await server.next()(token);
    if (examples::text_of(echo) != text)
      throw std::runtime_error{"the server did not echo: " + text};
  }
  co_await server.disconnect()(token);
}

}  // namespace

int main(int argc, char** argv) {
  examples::command_line arguments{
      "Echoes the messages of clients, or is any number of clients of such a server, with Asio.",
      "async_echo_asio"};
  examples::cm_options options;
  std::uint32_t clients = 1;
  options.add_server_to(arguments,
                        "Connect to the server on this host; without it, run as the server");
  options.add_port_to(arguments);
  arguments.add_number("-c,--clients", clients, 1, 4096, "Number of clients");
  return examples::run(arguments, argc, argv, [&] {
    asio::io_context context;
    async::device_loop& loop = async::loop_of(context, loop_options);
    std::exception_ptr failure;
    const auto ended = [&](const std::exception_ptr& why) {
      if (!why) return;
      failure = why;
      context.stop();
    };
    asio::signal_set signals{context};
    if (options.is_client()) {
      const cm::address_list server{options.server, options.port};
      for (std::uint32_t each = 0; each < clients; ++each)
        asio::co_spawn(context, ask(loop, server.front().destination(), each), ended);
    } else {
      signals.add(SIGINT);
      signals.async_wait([&](const std::error_code&, int) {
        ended(std::make_exception_ptr(examples::interrupted{}));
      });
      asio::co_spawn(context, listen(context, options.port), ended);
    }
    context.run();
    if (failure) std::rethrow_exception(failure);
    std::printf("%u clients received %d echoes each\n", clients, rounds);
  });
}
