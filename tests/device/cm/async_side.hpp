// SPDX-License-Identifier: MIT
// Shared by the tests of asynchronous connections: a loop with a listener, and an echo.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <system_error>

#include <adverb/adverb.hpp>
#include <adverb/async.hpp>
#include <support/device_facts.hpp>

#include "cm/support.hpp"

namespace async_test {

using namespace adverb;
using namespace cm_test;

/// A loop with a listener, and the address of that listener.
struct side {
  explicit side(const async::device_loop_options& options = {},
                const cm::socket_address& address = every_address())
      : loop{options}, listener{loop, address} {}
  [[nodiscard]] std::uint16_t port() const { return listener.port(); }
  [[nodiscard]] cm::socket_address address() const { return device_address(port()); }
  /// Runs until nothing is left to do.
  void run() { loop.run(); }

  async::event_loop loop;
  async::listener listener;
};

/// For peers that always answer, however slow the machine is. A case that waits for the end of the
/// time fails, because it takes too long.
inline constexpr async::connection_options small{.max_send_wr = 4,
                                                 .receives = 8,
                                                 .block_size = 64,
                                                 .connect_timeout = std::chrono::seconds{30},
                                                 .end_timeout = std::chrono::minutes{1}};

/// Throws the failure of an answer, unless it may be that of a peer which ended the connection as
/// soon as it had the answer.
inline void check_answer(const async::connection& client, const std::error_code& why) {
  if (why && !(why == std::errc::connection_reset &&
               holds(device_facts::received_message_may_stay_unacknowledged,
                     client.protection_domain().context())))
    throw std::system_error{why, "an answer"};
}

inline async::task<> echo(async::connection client) {
  while (const async::message message = co_await client.next()) {
    std::error_code why;
    co_await client.send(message.buffer()).report_to(why);
    check_answer(client, why);
  }
  co_await client.disconnect();
}

inline async::task<> serve(side& here, int clients, async::connection_options options = small) {
  for (int each = 0; each < clients; ++each)
    here.loop.spawn(echo(co_await here.listener.accept(options)));
}

/// Memory for the requests of a connection.
struct text_memory {
  text_memory(const async::connection& of, std::string_view words)
      : domain{of.protection_domain()} {
    std::memcpy(bytes.data(), words.data(), words.size());
    region = memory_region{domain, bytes};
  }
  protection_domain_ref domain;
  std::array<char, 64> bytes{};
  memory_region region;
};

[[nodiscard]] inline std::string_view text_of(const async::message& message) {
  return {reinterpret_cast<const char*>(message.bytes().data()), message.bytes().size()};
}

inline async::task<> ask(async::device_loop& loop, cm::socket_address address, int rounds,
                         int& answers) {
  async::connection server = co_await async::connect(loop, address, small);
  const text_memory memory{server, "hello"};
  for (int each = 0; each < rounds; ++each) {
    co_await server.send(memory.region.buffer().slice(0, 5));
    const async::message answer = co_await server.next();
    if (text_of(answer) == "hello") ++answers;
  }
  co_await server.disconnect();
}

inline async::task<> ask(side& here, int rounds, int& answers) {
  return ask(here.loop, here.address(), rounds, answers);
}

}  // namespace async_test
