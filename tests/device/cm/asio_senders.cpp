// SPDX-License-Identifier: MIT
// The steps of asynchronous connections as senders on an io_context.
#include <chrono>
#include <cstddef>
#include <optional>
#include <stop_token>
#include <system_error>
#include <utility>

#include <adverb/adverb.hpp>
#include <adverb/asio.hpp>
#include <support/catch.hpp>
#include <support/senders.hpp>

#include "cm/net_side.hpp"
#include "cm/sender_side.hpp"

using namespace sender_test;
using namespace std::chrono_literals;

TEST_CASE("Senders on an io_context serve connections beside its handlers",
          "[rdma_connect][rdma_accept]") {
  constexpr std::size_t clients = 8;
  constexpr int rounds = 4;
  net_side here{{.completions = completions_for_many_pairs()}};
  bool is_handled = false;
  asio::post(here.context, [&] { is_handled = true; });
  // `run` returns when all senders have completed.
  connected ends{here, clients};
  CHECK(is_handled);
  check_exchange(here, ends, rounds);
}

TEST_CASE("A sender and a coroutine on one io_context exchange messages", "[ibv_post_send]") {
  net_side here;
  here.spawn(net_serve(here, 1));
  std::optional<async::connection> server;
  std::optional<text_memory> memory;
  bool is_answered = false;
  const started asking{async::connect(here.loop, here.address(), small) |
                       protocol::let_value([&](async::connection& made) {
                         server.emplace(std::move(made));
                         memory.emplace(*server, "hello");
                         return server->send(memory->region.buffer().slice(0, 5));
                       })};
  while (asking.counts().all() == 0) here.context.run_one();
  REQUIRE(asking.counts().values == 1);
  const started answer{server->next() | protocol::then([&](const async::message& message) {
                         is_answered = text_of(message) == "hello";
                         server.reset();
                       })};
  here.run();
  CHECK(is_answered);
  CHECK(here.loop.connections() == 0);
}

TEST_CASE("A handler of an io_context stops senders, and a deadline ends them",
          "[ibv_post_recv][rdma_disconnect]") {
  net_side here;
  connected ends{here};
  std::stop_source stop;
  const started waiting{ends.passive[0].next(), stop.get_token()};
  asio::post(here.context, [&] { stop.request_stop(); });
  here.run();
  CHECK(waiting.counts().stops == 1);
  CHECK(waiting.counts().all() == 1);

  ends.passive[0].expires_after(50ms);
  const started late{ends.passive[0].next()};
  here.run();
  CHECK(late.counts().code == std::errc::timed_out);
  CHECK(late.counts().all() == 1);
}

TEST_CASE("Each sender completes once when its io_context is destroyed",
          "[rdma_destroy_id][ibv_destroy_cq]") {
  std::optional<net_side> here{std::in_place};
  std::optional<connected> ends{std::in_place, *here};
  const started next{ends->active[0].next()};
  const started accepting{here->listener.accept(small)};
  const started connecting{async::connect(here->loop, here->address(), small)};
  ends.reset();
  here.reset();
  for (const completed* each : {&next.counts(), &accepting.counts(), &connecting.counts()}) {
    CHECK(each->stops == 1);
    CHECK(each->all() == 1);
  }
}
