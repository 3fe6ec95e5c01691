// SPDX-License-Identifier: MIT
// One thread and one channel for every connection: nothing blocks, and a peer that stops in the
// middle of its set-up holds nobody up.
#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <poll.h>

#include <adverb/adverb.hpp>
#include <adverb/cm.hpp>
#include <adverb/core/stop_event.hpp>
#include <support/catch.hpp>

#include "cm/support.hpp"

using namespace adverb;
using namespace cm_test;
using namespace std::chrono_literals;

namespace {

constexpr queue_pair_options small{.max_send_wr = 2, .max_recv_wr = 2};

/// A server of one thread. It takes every event of its identifiers from one channel.
class server {
 public:
  server() { channel_.set_non_blocking(true); }

  [[nodiscard]] cm::socket_address address() const { return device_address(listener_.port()); }
  [[nodiscard]] std::size_t established() const { return connections_.size(); }
  [[nodiscard]] std::size_t accepting() const { return waiting_.size(); }
  [[nodiscard]] std::size_t ended() const { return ended_; }

  /// Takes what has happened, and waits a moment for it when nothing has.
  void turn() {
    pollfd readable{channel_.file_descriptor(), POLLIN, 0};
    ::poll(&readable, 1, 1);
    while (auto event = channel_.next_event()) handle(*event);
  }

 private:
  void handle(cm::event& event) {
    const auto whose = event.identifier().native_handle();
    if (event.type() == cm::event_type::connect_request) {
      auto ready = listener_.take_request(event).create_queue_pair(small);
      ready.queue_pair().post(receive()).check();
      ready.start_accept();
      const auto key = ready.identifier().native_handle();
      waiting_.emplace(key, std::move(ready));
    } else if (const auto found = waiting_.find(whose); found != waiting_.end()) {
      failure why;
      if (auto connection = found->second.finish(event, why)) {
        connections_.emplace(whose, std::move(connection));
        waiting_.erase(found);
      } else if (why) {
        waiting_.erase(found);
      }
    } else if (const auto ending = connections_.find(whose); ending != connections_.end()) {
      ending->second.note(event);
      event.acknowledge();
      if (!ending->second.has_ended()) return;
      ending->second.start_disconnect();
      auto draining = ending->second.start_drain();
      while (!draining.finish([](const completion&) {})) {
      }
      connections_.erase(ending);
      ++ended_;
    }
  }

  cm::event_channel channel_ = cm::event_channel::create();
  cm::listener<> listener_ = cm::listener<>::create(channel_, every_address());
  std::map<rdma_cm_id*, cm::connection_request<transport::rc, cm::step::ready>> waiting_;
  std::map<rdma_cm_id*, cm::connection<>> connections_;
  std::size_t ended_ = 0;
};

using connecting = cm::connector<transport::rc, cm::step::ready>;

/// Turns the server until `done`, for ten seconds at most.
template <class Done>
bool turn_until(server& served, const Done& done) {
  const auto end = std::chrono::steady_clock::now() + 10s;
  while (!done()) {
    if (std::chrono::steady_clock::now() > end) return false;
    served.turn();
  }
  return true;
}

}  // namespace

TEST_CASE("One thread serves sixteen clients while another client is frozen during its connect",
          "[rdma_accept][rdma_connect][rdma_get_cm_event][rdma_ack_cm_event]") {
  server served;
  // It never takes the answer of the server, so it never confirms the connection; on iWARP its
  // kernel does.
  connecting frozen = ready_for(served.address(), small);
  frozen.start_connect();
  const bool confirmed = frozen.context().device().transport_type() == transport_type::iwarp;
  REQUIRE(turn_until(
      served, [&] { return confirmed ? served.established() == 1 : served.accepting() == 1; }));
  const std::size_t before = served.established();

  std::vector<cm::connection<>> clients;
  for (int each = 0; each < 16; ++each) {
    connecting ready = ready_for(served.address(), small);
    ready.start_connect();
    cm::connection<> connection;
    REQUIRE(turn_until(served, [&] {
      if (!connection) connection = ready.finish();
      return connection && served.established() == before + clients.size() + 1;
    }));
    clients.push_back(std::move(connection));
  }
  CHECK(served.accepting() == (confirmed ? 0 : 1));
  for (auto& each : clients) each.queue_pair().post(send().signaled()).check();
  for (auto& each : clients) next_success(each.send_cq());
  for (auto& each : clients) each.start_disconnect();
  REQUIRE(turn_until(served, [&] { return served.ended() == clients.size(); }));
  for (auto& each : clients) {
    each.wait_disconnected(10s);
    each.drain([](const completion&) {});
  }
}

TEST_CASE("A stop token ends the wait for a request, for completions and for the end",
          "[rdma_get_cm_event][ibv_get_cq_event]") {
  const auto listener = rc_listener::create(every_address());
  auto accepted = accept_meanwhile(listener);
  auto connection = ready_for(device_address(listener.port())).connect();
  const auto other_side = accepted.get();
  const auto stopped_while = [&](const auto& wait) {
    std::jthread waiting{[&](const std::stop_token& token) {
      const stop_event stopped{token};
      wait(timeout::endless().woken_by(stopped.file_descriptor()));
    }};
    std::this_thread::sleep_for(20ms);
    waiting.request_stop();
    waiting.join();
  };
  std::error_code code;
  stopped_while([&](timeout limit) { CHECK_FALSE(listener.next_request(limit, code)); });
  CHECK(code == std::errc::operation_canceled);
  stopped_while([&](timeout limit) { connection.wait_disconnected(limit, code); });
  CHECK(code == std::errc::operation_canceled);
  completion batch[4];
  stopped_while([&](timeout limit) {
    CHECK(connection.wait(connection.recv_cq(), batch, limit, code).empty());
  });
  CHECK_FALSE(code);
  CHECK_FALSE(connection.has_ended());
}
