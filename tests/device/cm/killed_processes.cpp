// SPDX-License-Identifier: MIT
// A peer whose process is killed, in every phase of a connection: the other side gets an event or a
// failure, and can continue.
//
// iWARP makes connections on TCP, so less of a connection needs the program: soft-iWARP (Linux 6.1)
// is connected as soon as it is accepted, whether or not the other program takes the answer; and
// the death of an active peer is visible once the kernel has seen the end of the TCP connection.
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <future>
#include <optional>
#include <thread>

#include <poll.h>

#include <adverb/adverb.hpp>
#include <adverb/cm.hpp>
#include <support/catch.hpp>

#include "cm/child_process.hpp"
#include "cm/resources.hpp"
#include "cm/support.hpp"

using namespace adverb;
using namespace cm_test;

namespace {

/// Sends a word when there is an event to take, which this process never takes.
[[noreturn]] void say_at_event(int descriptor) {
  pollfd watched{descriptor, POLLIN, 0};
  if (::poll(&watched, 1, -1) != 1) std::_Exit(1);
  child_process::say_and_stay();
}

}  // namespace

// The roles of the processes that are killed.

TEST_CASE("role: a client that resolved", "[.]") {
  auto ready = ready_for(device_address(child_process::port()));
  child_process::say_and_stay();
}

TEST_CASE("role: a client that sent its request", "[.]") {
  auto ready = ready_for(device_address(child_process::port()));
  ready.identifier().connect({});
  child_process::say_and_stay();
}

TEST_CASE("role: a client that does not take its answer", "[.]") {
  const auto channel = cm::event_channel::create();
  const auto id = cm::identifier::create(channel, cm::port_space::tcp);
  id.resolve_address(device_address(child_process::port()), {}, std::chrono::seconds{2});
  REQUIRE(channel.next_event()->type() == cm::event_type::address_resolved);
  id.resolve_route(std::chrono::seconds{2});
  REQUIRE(channel.next_event()->type() == cm::event_type::route_resolved);
  id.create_queue_pair<transport::rc>({}, {});
  id.connect({});
  child_process::say();
  say_at_event(channel.file_descriptor());
}

TEST_CASE("role: a client that connected", "[.]") {
  const auto connection = ready_for(device_address(child_process::port())).connect();
  child_process::say_and_stay();
}

TEST_CASE("role: a client that disconnects", "[.]") {
  const auto connection = ready_for(device_address(child_process::port())).connect();
  connection.identifier().disconnect();
  child_process::say_and_stay();
}

TEST_CASE("role: a server that never answers", "[.]") {
  const auto listener = rc_listener::create(every_address());
  child_process::say(listener.port());
  say_at_event(listener.file_descriptor());
}

TEST_CASE("role: a server that accepts", "[.]") {
  const auto listener = rc_listener::create(every_address());
  auto accepted = accept_meanwhile(listener);
  std::thread{[&] { child_process::say_and_stay(listener.port()); }}.detach();
  const auto connection = accepted.get();
  while (true) ::pause();
}

namespace {

/// The objects that the kernel holds for this process when librdmacm has opened the device, and its
/// domain is kept; both stay.
[[nodiscard]] std::string held_with_open_device() {
  {
    auto start = cm::connector<transport::rc>::create();
    CHECK(start.resolve_address(device_address(1)).protection_domain());
  }
  return rdma_objects();
}

/// A listener that has to go on whatever its clients do.
struct server {
  rc_listener listener = rc_listener::create(every_address());
  std::string objects = held_with_open_device();

  /// It still serves, and nothing of the killed client is left.
  ~server() noexcept(false) {
    if (std::uncaught_exceptions() != 0) return;
    {
      auto accepted = accept_meanwhile(listener);
      CHECK(ready_for(device_address(listener.port())).connect());
      CHECK(accepted.get());
    }
    const std::string now = rdma_objects_settled_to(objects);
    CHECK(now == objects);
  }
};

void drain_all(rc_connection& connection) {
  connection.drain(
      [](const completion& each) { CHECK(each.status() == completion_status::flushed); });
}

/// The peer is gone: this side gets a disconnection, and ends.
void hear_the_end(rc_connection& connection) {
  connection.wait_disconnected(std::chrono::seconds{10});
  connection.disconnect();
  drain_all(connection);
}

/// The failure of a request whose peer is gone.
[[nodiscard]] std::errc gone() {
  return on_iwarp() ? std::errc::connection_reset : std::errc::invalid_argument;
}

/// A client that connected is killed after it has reported that.
void kill_connected(const std::string& role) {
  const server serving;
  child_process client{role, serving.listener.port()};
  auto connection = next_ready(serving.listener).accept();
  static_cast<void>(client.word());
  client.kill();
  hear_the_end(connection);
}

/// Kills a process when it has sent its next word, while the call that follows waits.
[[nodiscard]] std::future<void> kill_at_word(child_process& process) {
  return std::async(std::launch::async, [&] {
    static_cast<void>(process.word());
    process.kill();
  });
}

/// Kills a process while the call that follows waits, or before or after it.
[[nodiscard]] std::future<void> kill_meanwhile(child_process& process) {
  return std::async(std::launch::async, [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds{300});
    process.kill();
  });
}

}  // namespace

TEST_CASE("A server survives a client that is killed before it requests a connection") {
  const server serving;
  child_process client{"role: a client that resolved", serving.listener.port()};
  static_cast<void>(client.word());
  client.kill();
  failure why;
  CHECK(!serving.listener.next_request(std::chrono::milliseconds{200}, why));
  CHECK(why.code() == std::errc::timed_out);
}

TEST_CASE("A server survives a client that is killed before its request is taken",
          "[rdma_accept]") {
  const server serving;
  child_process client{"role: a client that sent its request", serving.listener.port()};
  static_cast<void>(client.word());
  client.kill();
  // The request is there still, and shows its end by what can no longer be done with it.
  auto request = serving.listener.next_request(std::chrono::seconds{10});
  failure why;
  auto ready = request.create_queue_pair({}, {}, why);
  rc_connection connection;
  if (!why) connection = ready.accept({}, std::chrono::seconds{10}, why);
  INFO(why.what());
  if (on_iwarp() && connection) return hear_the_end(connection);
  CHECK(!connection);
  // The end of the client may arrive before the acceptance, or after it.
  if (!on_iwarp() && why.code() == std::errc::connection_refused) return;
  CHECK(why.code() == gone());
  if (!on_iwarp())
    CHECK(why.explanation() ==
          "possible causes: the peer abandoned the connection, or the request is already answered");
}

TEST_CASE("A server survives a client that is killed while its request is examined",
          "[rdma_accept][rdma_reject][optional]") {
  const server serving;
  // The end of the client may arrive after the rejection.
  for (int tries = on_iwarp() ? 1 : 10; tries != 0; --tries) {
    child_process client{"role: a client that sent its request", serving.listener.port()};
    auto ready = next_ready(serving.listener);
    static_cast<void>(client.word());
    client.kill();
    failure why;
    ready.reject({}, why);
    if (!why) continue;
    CHECK(why.code() == gone());
    if (!on_iwarp())
      CHECK(
          why.explanation() ==
          "possible causes: the peer abandoned the connection, or the request is already answered");
    return;
  }
  tell_skip("a rejection that comes too late", "the kernel takes it");
}

TEST_CASE("A server survives a client that is killed before it takes the acceptance",
          "[rdma_accept]") {
  const server serving;
  child_process client{"role: a client that does not take its answer", serving.listener.port()};
  auto ready = next_ready(serving.listener);
  static_cast<void>(client.word());
  auto killer = kill_at_word(client);
  failure why;
  auto connection = ready.accept({}, std::chrono::seconds{10}, why);
  killer.get();
  INFO(why.what());
  if (on_iwarp()) {
    REQUIRE(connection);
    return hear_the_end(connection);
  }
  CHECK(!connection);
  CHECK(why.code() == std::errc::connection_refused);
  CHECK(std::string{why.explanation()}.starts_with("the peer abandoned the connection: "));
}

TEST_CASE("A server survives a client that is killed while connected", "[rdma_get_cm_event]") {
  kill_connected("role: a client that connected");
}

TEST_CASE("A server survives a client that is killed while it disconnects", "[rdma_disconnect]") {
  kill_connected("role: a client that disconnects");
}

TEST_CASE("A server survives a client that is killed while the server disconnects",
          "[rdma_disconnect]") {
  const server serving;
  child_process client{"role: a client that connected", serving.listener.port()};
  auto connection = next_ready(serving.listener).accept();
  static_cast<void>(client.word());
  auto killer = kill_meanwhile(client);
  connection.disconnect();
  killer.get();
  drain_all(connection);
}

TEST_CASE("A client survives a server that is killed while the client connects", "[rdma_connect]") {
  child_process server{"role: a server that never answers"};
  const std::uint16_t port = server.word();
  auto ready = ready_for(device_address(port));
  auto killer = kill_at_word(server);
  failure why;
  CHECK(!ready.connect({}, std::chrono::seconds{10}, why));
  killer.get();
  INFO(why.what());
  // The kernel rejects in place of the program.
  CHECK(why.code() == rejected_by_program());
  // And afterwards.
  auto again = ready_for(device_address(port));
  CHECK(!again.connect({}, std::chrono::seconds{10}, why));
  CHECK(why.code() == std::errc::connection_refused);
}

TEST_CASE("A client survives a server that is killed while connected", "[rdma_get_cm_event]") {
  child_process server{"role: a server that accepts"};
  auto connection = ready_for(device_address(server.word())).connect();
  // libsiw (rdma-core 44) refuses receives without a buffer.
  std::array<std::byte, 8> bytes{};
  const memory_region region{connection.protection_domain(), bytes, access_right::local_write};
  connection.queue_pair().post(receive(region.buffer())).check();
  server.kill();
  hear_the_end(connection);
}

TEST_CASE("A client survives a server that is killed while the client disconnects",
          "[rdma_disconnect]") {
  child_process server{"role: a server that accepts"};
  auto connection = ready_for(device_address(server.word())).connect();
  auto killer = kill_meanwhile(server);
  failure why;
  connection.disconnect(std::chrono::seconds{10}, why);
  killer.get();
  INFO(why.what());
  CHECK(!why);
  drain_all(connection);
}
