// SPDX-License-Identifier: MIT
// Posting in every state, too much of it, and what becomes of it when the state changes.
#include <array>
#include <cerrno>
#include <vector>

#include "place.hpp"

using namespace adverb;

namespace {

template <transport Transport>
using any_pair = queue_pair<Transport, qp_state::any>;

/// The types forbid these posts, so the pair is assumed to be ready, which it is not.
template <transport Transport, class Request>
void check_refused(const any_pair<Transport>& pair, const Request& request) {
  const post_result result = pair.template as<qp_state::rts>().post(request);
  CHECK(result.code() == std::errc::invalid_argument);
  // Either it is known that nothing was accepted, or nothing is known.
  CHECK(result.accepted().value_or(0) == 0);
}
template <transport Transport, class Request>
void check_accepted(const any_pair<Transport>& pair, const Request& request) {
  const post_result result = pair.template as<qp_state::rts>().post(request);
  CHECK(result);
  CHECK(result.accepted() == 1U);
}

/// Checks what can be posted on the way up.
template <transport Transport>
void check_states() {
  const bench bench;
  auto fresh = bench.fresh<Transport>({.max_recv_wr = 8});
  any_pair<Transport> pair = std::move(fresh);
  check_refused(pair, send());
  check_refused(pair, receive());

  auto known = pair.template assume<qp_state::reset>();
  auto waiting = initialised(known);
  const endpoint itself = waiting.endpoint();
  pair = std::move(waiting);
  check_refused(pair, send());
  check_accepted(pair, receive());

  waiting = pair.template assume<qp_state::init>();
  pair = waiting.rtr().remote(itself).apply();
  check_refused(pair, send());
  check_accepted(pair, receive());
}

/// A pair that is connected to itself, with nothing posted that could receive.
queue_pair<transport::rc> lonely(const bench& bench, const queue_pair_options& options) {
  auto waiting = bench.waiting<transport::rc>(options);
  return waiting.connect(waiting.endpoint());
}

/// Posts until it is refused, and returns how many were taken.
template <class Pair, class Request>
std::uint32_t fill(const Pair& pair, const Request& request, std::uint32_t room) {
  std::uint32_t taken = 0;
  post_result result = pair.post(request);
  for (; result && taken < room + 1000; ++taken) result = pair.post(request);
  CHECK(result.code() == std::errc::not_enough_memory);
  CHECK(result.accepted() == 0U);
  return taken;
}

}  // namespace

TEST_CASE("RC sends before RTS and receives before INIT are refused",
          "[ibv_post_send][ibv_post_recv]") {
  check_states<transport::rc>();
}

TEST_CASE("UC sends before RTS and receives before INIT are refused",
          "[ibv_post_send][ibv_post_recv]") {
  check_states<transport::uc>();
}

TEST_CASE("A full receive queue refuses the next request and holds at least max_recv_wr",
          "[ibv_post_recv]") {
  const bench bench;
  const auto pair = bench.waiting<transport::rc>({.max_recv_wr = 10});
  const std::uint32_t room = pair.query().max_recv_wr();
  CHECK(room >= 10);
  CHECK(fill(pair, receive(), room) >= room);
}

TEST_CASE("A full send queue refuses the next request and holds at least max_send_wr",
          "[ibv_post_send]") {
  const bench bench;
  const auto pair = lonely(bench, {.max_send_wr = 10});
  const std::uint32_t room = pair.query().max_send_wr();
  CHECK(room >= 10);
  CHECK(fill(pair, send(), room) >= room);
}

TEST_CASE("A chain with a list that is too long is accepted up to that request",
          "[ibv_post_send][ibv_post_recv]") {
  const bench bench;
  std::array<std::byte, 64> memory{};
  const memory_region region{bench.domain, memory};
  const auto pair = lonely(bench, {.max_send_wr = 8, .max_recv_wr = 8});
  const std::vector<mutable_buffer> list(33, region.slice(0, 1));
  const post_result sent = pair.post(send(), send(std::span{list}), send());
  CHECK(sent.code() == std::errc::invalid_argument);
  CHECK(sent.accepted() == 1U);
  const post_result received = pair.post(receive(), receive(), receive(std::span{list}));
  CHECK(received.code() == std::errc::invalid_argument);
  CHECK(received.accepted() == 2U);
}

TEST_CASE("Inline data beyond the limit of the pair is refused", "[ibv_post_send]") {
  const bench bench;
  const auto pair = lonely(bench, {});
  const std::vector<std::byte> large(2000);
  const post_result result = pair.post(send(inline_data{std::span{large}}));
  CHECK(result.code() == std::errc::invalid_argument);
  CHECK(result.accepted() == 0U);
}

TEST_CASE("A pair that enters ERR flushes its receives in order with their ids",
          "[ibv_modify_qp][ibv_poll_cq]") {
  const bench bench;
  auto pair = bench.waiting<transport::uc>({.max_recv_wr = 4});
  pair.post(receive().id(1), receive().id(2), receive().id(3)).check();
  const auto failed = pair.error();
  for (std::uint64_t id = 1; id <= 3; ++id) {
    const completion flushed = next_completion(bench.queue);
    CHECK(flushed.id() == id);
    CHECK(flushed.status() == completion_status::flushed);
    CHECK(flushed.queue_pair() == failed.number());
  }
}

TEST_CASE("Sends posted in ERR are flushed", "[ibv_post_send][ibv_poll_cq]") {
  const bench bench;
  auto pair = lonely(bench, {.max_send_wr = 4});
  const auto failed = pair.error();
  failed.post(send().id(7), send().id(8).signaled()).check();
  CHECK(next_completion(bench.queue).id() == 7);
  const completion last = next_completion(bench.queue);
  CHECK(last.id() == 8);
  CHECK(last.status() == completion_status::flushed);
}

TEST_CASE("Receives posted in ERR are flushed", "[ibv_post_recv]") {
  const bench bench;
  auto pair = bench.waiting<transport::rc>({.max_recv_wr = 4});
  const auto failed = pair.error();
  failed.post(receive().id(7)).check();
  if (holds(device_facts::receive_in_error_may_stay, bench.device))
    return tell_skip("receives posted in ERR", "Soft-RoCE flushes some of them");
  if (holds(device_facts::receive_in_error_stays, bench.device)) {
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
    std::array<completion, 1> none;
    CHECK(bench.queue.poll(none).empty());
    return;
  }
  CHECK(next_completion(bench.queue).id() == 7);
}

TEST_CASE("A pair that returns to RESET discards its posted receives", "[ibv_modify_qp]") {
  const bench bench;
  auto pair = bench.waiting<transport::rc>({.max_recv_wr = 4});
  pair.post(receive().id(1)).check();
  auto fresh = pair.reset();
  auto waiting = initialised(fresh);
  const std::uint32_t room = waiting.query().max_recv_wr();
  CHECK(fill(waiting, receive(), room) >= room);
  std::array<completion, 1> none;
  CHECK(bench.queue.poll(none).empty());
}
