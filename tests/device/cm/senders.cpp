// SPDX-License-Identifier: MIT
// The steps of asynchronous connections as senders: how they complete, stop requests, and the ends
// of what they belong to.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>

#include <adverb/adverb.hpp>
#include <adverb/async.hpp>
#include <support/catch.hpp>
#include <support/senders.hpp>

#include "cm/async_side.hpp"
#include "cm/resources.hpp"
#include "cm/sender_side.hpp"

using namespace sender_test;
using namespace std::chrono_literals;

namespace {

template <class Step>
using completions_of = decltype(Step::get_completion_signatures());
template <class... Result>
using completions = protocol::completion_signatures<protocol::set_value_t(Result...),
                                                    protocol::set_error_t(std::error_code),
                                                    protocol::set_stopped_t()>;
static_assert(std::is_same_v<completions_of<async::message_step>, completions<async::message>>);
static_assert(std::is_same_v<completions_of<async::connect_step>, completions<async::connection>>);
static_assert(std::is_same_v<completions_of<async::disconnect_step>, completions<>>);

template <class Receiver>
using next_operation =
    decltype(std::declval<async::message_step>().connect(std::declval<Receiver>()));
struct deaf_receiver : counting_receiver {
  [[nodiscard]] protocol::env get_env() const noexcept { return {}; }
};
static_assert(sizeof(next_operation<deaf_receiver>) < sizeof(next_operation<counting_receiver>),
              "a receiver that never stops its sender needs no stop callback");
static_assert(
    noexcept(std::declval<async::message_step>().connect(std::declval<counting_receiver>())));

/// Sends as many messages as the peer has blocks. It takes none, so the next stays in progress.
void fill_blocks_of_peer(side& here, const async::connection& from, const_buffer part) {
  for (std::uint32_t each = 0; each < small.receives; ++each) {
    const started sending{from.send(part)};
    here.loop.run();
    CHECK(sending.counts().values == 1);
  }
}

/// A connection whose peer has no block left, so that a send stays in progress.
struct with_full_peer {
  with_full_peer() { fill_blocks_of_peer(here, pair.active[0], part); }

  side here;
  connected pair{here};
  text_memory memory{pair.active[0], "hello"};
  mutable_buffer part = memory.region.buffer().slice(0, 5);
};

}  // namespace

TEST_CASE("Senders of one loop serve 64 connections", "[rdma_connect][rdma_accept]") {
  constexpr std::size_t clients = 64;
  constexpr int rounds = 4;
  side here{{.completions = completions_for_many_pairs()}};
  connected ends{here, clients};
  check_exchange(here, ends, rounds);
}

TEST_CASE("A sender completes with the error code of its step", "[rdma_connect]") {
  side here;
  const started refused{async::connect(here.loop, device_address(1), small)};
  here.loop.run();
  CHECK(refused.counts().errors == 1);
  CHECK(refused.counts().all() == 1);

  connected ends{here};
  ends.passive[0].expires_after(50ms);
  const started late{ends.passive[0].next()};
  here.loop.run();
  CHECK(late.counts().code == std::errc::timed_out);
  CHECK(late.counts().all() == 1);
  // An operation that cannot start completes at once.
  const started again{ends.passive[0].next()};
  CHECK(again.counts().code == std::errc::timed_out);
  CHECK(again.counts().all() == 1);
}

TEST_CASE("A sender reports its failure to the step instead", "[rdma_connect]") {
  side here;
  failure why;
  const started refused{async::connect(here.loop, device_address(1), small).report_to(why)};
  here.loop.run();
  CHECK(why);
  CHECK(refused.counts().values == 1);
  CHECK(refused.counts().all() == 1);
}

TEST_CASE("A stop request ends a wait for a message and leaves the connection open",
          "[ibv_post_recv]") {
  side here;
  connected ends{here};
  std::stop_source stop;
  const started waiting{ends.passive[0].next(), stop.get_token()};
  CHECK(waiting.counts().all() == 0);
  stop.request_stop();
  CHECK(waiting.counts().stops == 1);
  const started too_late{ends.passive[0].next(), stop.get_token()};
  CHECK(too_late.counts().stops == 1);

  const text_memory memory{ends.active[0], "still here"};
  bool is_received = false;
  const started sending{ends.active[0].send(memory.region.buffer().slice(0, 10))};
  const started receiving{ends.passive[0].next() |
                          protocol::then([&](const async::message& message) {
                            is_received = text_of(message) == "still here";
                          })};
  here.loop.run();
  CHECK(sending.counts().values == 1);
  CHECK(is_received);
  CHECK(waiting.counts().all() == 1);
  CHECK(too_late.counts().all() == 1);
}

TEST_CASE("A stop request ends a request in progress, and the connection with it",
          "[ibv_post_send][rdma_disconnect][optional]") {
  if (on_iwarp())
    return tell_skip("a request in progress", "iWARP completes a send that TCP has taken");
  with_full_peer ends;
  std::stop_source stop;
  const started sending{ends.pair.active[0].send(ends.part), stop.get_token()};
  stop.request_stop();
  // The device still has the request.
  CHECK(sending.counts().all() == 0);
  ends.here.loop.run();
  CHECK(sending.counts().stops == 1);
  CHECK(sending.counts().all() == 1);
  const started later{ends.pair.active[0].send(ends.part)};
  CHECK(later.counts().stops == 1);
}

TEST_CASE("A stop request ends a wait for room but not requests in progress",
          "[ibv_post_send][optional]") {
  if (on_iwarp())
    return tell_skip("a request in progress", "iWARP completes a send that TCP has taken");
  with_full_peer ends;
  std::deque<started<decltype(ends.pair.active[0].send(ends.part))>> posted;
  for (std::uint32_t each = 0; each < small.max_send_wr; ++each)
    posted.emplace_back(ends.pair.active[0].send(ends.part));
  std::stop_source stop;
  const started waiting{ends.pair.active[0].send(ends.part), stop.get_token()};
  stop.request_stop();
  CHECK(waiting.counts().stops == 1);
  // The peer takes its messages, so that there is room for those that are posted.
  std::uint32_t taken = 0;
  const repeated taking{
      [&] { return ends.pair.passive[0].next() | protocol::then([](async::message) {}); },
      [&] { return ++taken < small.receives + small.max_send_wr; }};
  ends.here.loop.run();
  for (const auto& each : posted) CHECK(each.counts().values == 1);
  CHECK(waiting.counts().all() == 1);
}

TEST_CASE("A stop request ends a connection attempt whose events arrive later",
          "[rdma_connect][rdma_destroy_id]") {
  side here;
  std::stop_source stop;
  const started accepting{here.listener.accept(small), stop.get_token()};
  const started connecting{async::connect(here.loop, here.address(), small), stop.get_token()};
  stop.request_stop();
  CHECK(accepting.counts().stops == 1);
  CHECK(connecting.counts().stops == 1);
  // Both operation states are still there.
  connected ends{here};
  CHECK(accepting.counts().all() == 1);
  CHECK(connecting.counts().all() == 1);
}

TEST_CASE("A stop request ends the sleep of a sender", "[rdma_create_event_channel]") {
  async::event_loop loop;
  std::stop_source stop;
  const started longer{async::sleep_for(loop, 1h), stop.get_token()};
  const started shorter{async::sleep_for(loop, 5ms) | protocol::then([&] { stop.request_stop(); })};
  loop.run();
  CHECK(shorter.counts().values == 1);
  CHECK(longer.counts().stops == 1);
  CHECK(longer.counts().all() == 1);
}

TEST_CASE("A sender is stopped when the program cancels its step", "[rdma_destroy_id]") {
  side here;
  connected ends{here};
  const started waiting{ends.passive[0].next()};
  const started ending{ends.passive[0].disconnect()};
  ends.passive[0].cancel_waits();
  here.loop.run();
  CHECK(waiting.counts().stops == 1);

  const started next{ends.active[0].next()};
  ends.active[0] = {};
  here.loop.run();
  CHECK(next.counts().stops == 1);
  CHECK(waiting.counts().all() == 1);
  CHECK(ending.counts().all() == 1);
  CHECK(next.counts().all() == 1);

  std::optional<async::listener> listener{std::in_place, here.loop, every_address()};
  const started accepting{listener->accept(small)};
  const started asking{listener->next()};
  listener.reset();
  here.loop.run();
  CHECK(accepting.counts().stops == 1);
  CHECK(accepting.counts().all() == 1);
  CHECK(asking.counts().stops == 1);
  CHECK(asking.counts().all() == 1);
}

TEST_CASE("Each sender completes once when its loop is destroyed",
          "[rdma_destroy_id][ibv_destroy_cq]") {
  std::optional<side> here{std::in_place};
  std::optional<connected> ends{std::in_place, *here};
  std::optional<text_memory> memory{std::in_place, ends->active[0], "hello"};
  const auto part = memory->region.buffer().slice(0, 5);
  fill_blocks_of_peer(*here, ends->active[0], part);
  const started next{ends->active[0].next()};
  const started sending{ends->active[0].send(part)};
  const started accepting{here->listener.accept(small)};
  const started connecting{async::connect(here->loop, here->address(), small)};
  int next_again = 0;
  const repeated again{
      [&] { return ends->active[0].next() | protocol::then([](async::message) {}); },
      [&] { return ++next_again < 8; }};
  ends.reset();
  memory.reset();
  here.reset();
  CHECK(next.counts().stops == 1);
  CHECK(next.counts().all() == 1);
  CHECK(sending.counts().all() == 1);
  CHECK((on_iwarp() || sending.counts().stops == 1));
  CHECK(accepting.counts().stops == 1);
  CHECK(accepting.counts().all() == 1);
  CHECK(connecting.counts().stops == 1);
  CHECK(connecting.counts().all() == 1);
  CHECK(again.counts().stops == 1);
}

TEST_CASE("A sender of a request is stopped after the loop that ends has destroyed its queue pair",
          "[ibv_destroy_qp][optional]") {
  if (on_iwarp())
    return tell_skip("a request in progress", "iWARP completes a send that TCP has taken");
  const auto pairs = [] {
    const std::string all = rdma_objects();
    const std::size_t begin = all.find(" qp ");
    REQUIRE(begin != std::string::npos);
    return std::stoi(all.substr(begin + 4));
  };
  const auto listener = rc_listener::create(every_address());
  auto accepted = accept_meanwhile(listener);
  std::optional<async::event_loop> loop{std::in_place};
  std::optional<async::connection> client;
  {
    const started connecting{
        async::connect(*loop, device_address(listener.port()), small) |
        protocol::then([&](async::connection made) { client = std::move(made); })};
    loop->run();
  }
  // It has no receive, so that the send stays in progress.
  const rc_connection peer = accepted.get();
  const int before = pairs();
  int at_stop = before;
  std::optional<text_memory> memory{std::in_place, client.value(), "hello"};
  struct noting_receiver {
    void set_value() noexcept {}
    void set_error(const std::error_code& /*unused*/) noexcept {}
    void set_stopped() noexcept { note(); }
    std::function<void()> note;
  };
  auto sending =
      protocol::connect(client->send(memory->region.buffer()), noting_receiver{[&] {
                          // The kernel frees some objects after the call that destroys them.
                          for (int each = 0; each < 400 && at_stop != before - 1; ++each) {
                            std::this_thread::sleep_for(50ms);
                            at_stop = pairs();
                          }
                        }});
  protocol::start(sending);
  client.reset();
  memory.reset();
  loop.reset();
  CHECK(at_stop == before - 1);
}
