// SPDX-License-Identifier: MIT
// Requests to connect that an asynchronous listener shows before they are answered.
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include <adverb/adverb.hpp>
#include <adverb/async.hpp>
#include <support/catch.hpp>

#include "cm/async_side.hpp"
#include "cm/child_process.hpp"

using namespace async_test;

namespace {

constexpr async::connection_options soon{.max_send_wr = 4,
                                         .receives = 8,
                                         .block_size = 64,
                                         .connect_timeout = std::chrono::milliseconds{100}};

[[nodiscard]] async::connection_options with_number(std::uint32_t number) {
  async::connection_options options = small;
  options.connection.private_data = cm::private_data::of(number);
  return options;
}

/// Connects with a number, and reports why that failed, in the words of the peer too.
async::task<> knock(side& here, std::uint32_t number, std::error_code& code,
                    std::optional<std::string>* words = nullptr) {
  std::optional<cm::rejection> rejected;
  const async::connection server =
      co_await async::connect(here.loop, here.address(), with_number(number))
          .rejection_to(rejected)
          .report_to(code);
  if (words != nullptr && rejected) *words = rejected->private_data.text();
  if (server) co_await server.disconnect();
}

}  // namespace

TEST_CASE("A request provides the peer's address and data, and its acceptance carries data back",
          "[rdma_accept][rdma_connect]") {
  side here;
  std::optional<std::uint32_t> question;
  std::optional<std::uint64_t> answer;
  const auto passive = [&]() -> async::task<> {
    async::connection_request request = co_await here.listener.next();
    question = request.private_data().as<std::uint32_t>();
    CHECK(request.peer_address().ipv4() == device_address().ipv4());
    CHECK(request.context().device().name() == open_device().device().name());
    async::connection_options options = small;
    options.connection.private_data = cm::private_data::of(std::uint64_t{7});
    async::connection client = co_await request.accept(options);
    CHECK(!request);
    co_await echo(std::move(client));
  };
  const auto active = [&]() -> async::task<> {
    async::connection server = co_await async::connect(here.loop, here.address(), with_number(42));
    answer = server.established()->private_data().as<std::uint64_t>();
    const text_memory memory{server, "hello"};
    co_await server.send(memory.region.buffer().slice(0, 5));
    const async::message echoed = co_await server.next();
    CHECK(text_of(echoed) == "hello");
    co_await server.disconnect();
  };
  here.loop.spawn(passive());
  here.loop.spawn(active());
  here.loop.run();
  CHECK(question == 42U);
  CHECK(answer == 7U);
}

TEST_CASE("A request is rejected by the program, or by its destructor", "[rdma_reject]") {
  side here;
  std::error_code refused;
  std::error_code dropped;
  std::error_code accepted;
  const auto passive = [&]() -> async::task<> {
    for (int each = 0; each < 3; ++each) {
      async::connection_request request = co_await here.listener.next();
      const auto number = request.private_data().as<std::uint32_t>();
      if (number == 1U) request.reject(cm::private_data::of("full"));
      if (number == 3U) here.loop.spawn(echo(co_await request.accept(small)));
    }
  };
  here.loop.spawn(passive());
  std::optional<std::string> words;
  here.loop.spawn(knock(here, 1, refused, &words));
  here.loop.spawn(knock(here, 2, dropped));
  here.loop.spawn(knock(here, 3, accepted));
  here.loop.run();
  CHECK(refused == rejected_by_program());
  CHECK(words == "full");
  CHECK(dropped == rejected_by_program());
  CHECK(!accepted);
}

TEST_CASE("A request that is accepted with impossible options is rejected", "[rdma_accept]") {
  side here;
  std::error_code here_failed;
  std::error_code refused;
  const auto passive = [&]() -> async::task<> {
    async::connection_request request = co_await here.listener.next();
    async::connection_options options = small;
    options.max_send_sge = 100'000;
    static_cast<void>(co_await request.accept(options).report_to(here_failed));
  };
  here.loop.spawn(passive());
  here.loop.spawn(knock(here, 1, refused));
  here.loop.run();
  CHECK(here_failed);
  CHECK(refused == rejected_by_program());
}

TEST_CASE("Requests beyond the backlog are rejected", "[rdma_listen][optional]") {
  const context device = open_device();
  if (holds(device_facts::frees_requests_beyond_backlog, device))
    return tell_skip("requests beyond the backlog",
                     "soft-iWARP refuses them with a connection that it has freed");
  async::event_loop loop;
  async::listener listener{loop, every_address(), {.backlog = 2}};
  int rejected = 0;
  int served = 0;
  const auto active = [&]() -> async::task<> {
    std::error_code code;
    async::connection server =
        co_await async::connect(loop, device_address(listener.port()), small).report_to(code);
    if (code == rejected_by_program()) ++rejected;
    // The others waited meanwhile, and are served now.
    if (!server) {
      for (int each = 0; each < 2; ++each) loop.spawn(echo(co_await listener.accept(small)));
    } else {
      ++served;
      co_await server.disconnect();
    }
  };
  for (int each = 0; each < 3; ++each) loop.spawn(active());
  loop.run();
  CHECK(rejected == 1);
  CHECK(served == 2);
}

TEST_CASE("A connect that is not answered fails at its time limit", "[rdma_connect]") {
  side here;
  failure why;
  async::connection_request kept;
  const auto passive = [&]() -> async::task<> {
    std::error_code ignored;
    kept = co_await here.listener.next().report_to(ignored);
  };
  const auto active = [&]() -> async::task<> {
    async::connection_options options = soon;
    // On a busy machine the limit may end before the request is sent.
    for (std::chrono::milliseconds limit{100}; limit < std::chrono::seconds{20}; limit *= 2) {
      options.connect_timeout = limit;
      static_cast<void>(co_await async::connect(here.loop, here.address(), options).report_to(why));
      if (kept && why.verb() == "rdma_connect") break;
    }
    here.listener.cancel_waits();
  };
  here.loop.spawn(passive());
  here.loop.spawn(active());
  here.loop.run();
  INFO(why.what());
  CHECK(why.code() == std::errc::timed_out);
  CHECK(why.verb() == "rdma_connect");
  CHECK(kept);
  CHECK(here.loop.connections() == 0);
}

TEST_CASE("An accept that the peer does not confirm fails at its time limit",
          "[rdma_accept][optional]") {
  if (on_iwarp())
    return tell_skip("acceptances that are not taken", "the kernel takes them for the program");
  side here;
  failure why;
  auto silent = ready_for(here.address());
  silent.start_connect();
  const auto passive = [&]() -> async::task<> {
    static_cast<void>(co_await here.listener.accept(soon).report_to(why));
  };
  here.loop.spawn(passive());
  here.loop.run();
  INFO(why.what());
  CHECK(why.code() == std::errc::timed_out);
  CHECK(why.verb() == "rdma_accept");
  CHECK(here.loop.connections() == 0);
}

TEST_CASE("Waits for requests are cancelled, and requests that are not taken are rejected",
          "[rdma_reject]") {
  std::error_code refused;
  std::error_code cancelled;
  {
    side here;
    const auto wait = [&]() -> async::task<> {
      static_cast<void>(co_await here.listener.next().report_to(cancelled));
    };
    here.loop.spawn(wait());
    here.listener.cancel_waits();
    here.loop.run();
  }
  CHECK(cancelled == std::errc::operation_canceled);
  async::event_loop loop;
  std::optional<async::listener> listener{std::in_place, loop, every_address()};
  const auto active = [&]() -> async::task<> {
    const async::connection server =
        co_await async::connect(loop, device_address(listener->port()), small).report_to(refused);
  };
  const auto close = [&]() -> async::task<> {
    static_cast<void>(co_await listener->next());
    listener.reset();
  };
  loop.spawn(active());
  loop.spawn(close());
  loop.run();
  CHECK(refused == rejected_by_program());
}

TEST_CASE("A peer that does not finish the handshake does not delay others", "[rdma_accept]") {
  side here;
  auto idle = cm::connector<transport::rc>::create()
                  .resolve_address(here.address())
                  .resolve_route()
                  .create_queue_pair();
  idle.start_connect();
  const auto accept = [](async::connection_request request) -> async::task<> {
    co_await echo(co_await request.accept(small));
  };
  const auto listen = [&]() -> async::task<> {
    while (true) here.loop.spawn(accept(co_await here.listener.next()));
  };
  int answers = 0;
  const auto active = [&]() -> async::task<> {
    co_await ask(here, 1, answers);
    here.loop.stop();
  };
  here.loop.spawn(listen());
  here.loop.spawn(active());
  here.loop.run();
  CHECK(answers == 1);
}

TEST_CASE("A listener continues after a client is killed before its request is accepted",
          "[rdma_accept][rdma_get_cm_event]") {
  side here;
  child_process client{"role: a client that sent its request", here.port()};
  std::error_code code;
  int answers = 0;
  const auto passive = [&]() -> async::task<> {
    async::connection_request request = co_await here.listener.next();
    static_cast<void>(client.word());
    client.kill();
    // On iWARP the kernel connects with the client that is gone, and then notices.
    const async::connection made = co_await request.accept(small).report_to(code);
    if (made) {
      const async::message none = co_await made.next().report_to(code);
      CHECK_FALSE(none);
    }
    here.loop.spawn(serve(here, 1));
    here.loop.spawn(ask(here, 1, answers));
  };
  here.loop.spawn(passive());
  here.loop.run();
  CHECK((code || on_iwarp()));
  CHECK(answers == 1);
  CHECK(here.loop.connections() == 0);
}

TEST_CASE("A listener of a loop on every IPv6 address leaves the port free for an IPv4 listener",
          "[rdma_set_option]") {
  async::event_loop loop;
  const async::listener six{loop, cm::socket_address::any(0), {.address_family_only = true}};
  std::error_code code;
  const async::listener four{loop, cm::socket_address::any_ipv4(six.port()), {}, code};
  CHECK(!code);
  CHECK(four.port() == six.port());
}
