// SPDX-License-Identifier: MIT
// A connection in one line on either side.
#include <array>
#include <cstdint>
#include <future>
#include <optional>
#include <string>

#include <adverb/adverb.hpp>
#include <adverb/cm.hpp>
#include <support/catch.hpp>
#include <support/reported.hpp>

#include "cm/guest.hpp"
#include "cm/support.hpp"

using namespace adverb;

namespace {

/// A side whose receive is posted before the connection is made.
struct side {
  std::array<std::byte, 64> bytes{};
  std::optional<memory_region> region;

  void prepare(auto& ready) {
    region.emplace(ready.protection_domain(), bytes, access_right::local_write);
    ready.queue_pair().post(receive(region->buffer())).check();
  }
  /// The connecting side speaks first, which iWARP needs.
  void say(cm::connection<transport::rc>& connection, std::uint8_t word) {
    bytes[63] = std::byte{word};
    connection.queue_pair().post(send(region->slice(63, 1)).signaled()).check();
    next_success(connection.send_completion_queue());
  }
  std::uint8_t hear(cm::connection<transport::rc>& connection) {
    next_success(connection.receive_completion_queue());
    return static_cast<std::uint8_t>(bytes[0]);
  }
};

/// Serves one connection, and answers what it hears plus one. Gives the peer's private data.
std::future<std::uint32_t> serve(const cm::listener<transport::rc>& listener) {
  return std::async(std::launch::async, [&listener] {
    side mine;
    auto connection = listener.accept({.request_timeout = timeout::seconds(10)},
                                      [&](auto& ready) { mine.prepare(ready); });
    const auto word = mine.hear(connection);
    mine.say(connection, static_cast<std::uint8_t>(word + 1));
    connection.wait_disconnected(timeout::seconds(10));
    return connection.private_data().as<std::uint32_t>().value_or(0);
  });
}

/// Connects by `connect`, which is given options and a preparation, and is answered.
void speak(const auto& connect) {
  side mine;
  cm::connect_options options;
  options.connection.private_data = cm::private_data::of(std::uint32_t{4711});
  auto connection = connect(options, [&](auto& ready) { mine.prepare(ready); });
  mine.say(connection, 5);
  CHECK(mine.hear(connection) == 6);
  connection.disconnect();
}

}  // namespace

TEST_CASE("One line on either side connects, by an address",
          "[rdma_connect][rdma_accept][rdma_create_qp]") {
  const auto listener = cm::listener<transport::rc>::create(cm_test::device_address());
  auto served = serve(listener);
  speak([&](const auto& options, auto prepare) {
    return cm::connect(listener.local_address(), options, prepare);
  });
  CHECK(served.get() == 4711);
}

TEST_CASE("One line connects by the address of a host in numbers, and by its name",
          "[rdma_getaddrinfo][optional]") {
  const auto listener = cm::listener<transport::rc>::create(cm_test::device_address());
  const std::string numbers = cm_test::environment("SOFTRDMA_ADDRESS");
  auto served = serve(listener);
  speak([&](const auto& options, auto prepare) {
    return cm::connect(numbers, listener.port(), options, prepare);
  });
  served.get();

  if (!cm_test::in_guest("echo " + numbers + " adverb-peer >>/etc/hosts")) {
    tell_skip("one line by a name", "the machine's names are not to be changed");
    return;
  }
  served = serve(listener);
  speak([&](const auto& options, auto prepare) {
    return cm::connect("adverb-peer", listener.port(), options, prepare);
  });
  served.get();
}

TEST_CASE("One line connects from an address of this machine") {
  const auto listener = cm::listener<transport::rc>::create(cm_test::device_address());
  auto served = serve(listener);
  speak([&](cm::connect_options options, auto prepare) {
    options.from = cm_test::device_address();
    return cm::connect(cm_test::environment("SOFTRDMA_ADDRESS"), listener.port(), options, prepare);
  });
  served.get();
}

TEST_CASE("A listener on a port alone takes IPv6 and IPv4", "[optional]") {
  const auto listener = cm::listener<transport::rc>::create(0);
  REQUIRE(listener.port() != 0);
  if (const auto address = cm_test::link_local_address(listener.port())) {
    auto served = serve(listener);
    speak(
        [&](const auto& options, auto prepare) { return cm::connect(*address, options, prepare); });
    served.get();
  } else {
    tell_skip("a listener on a port alone", "the interface has no link-local IPv6 address");
  }
  // Seen with the siw of Linux 6.1: a peer that comes by IPv4 is reset.
  if (cm_test::on_iwarp()) {
    tell_skip("a listener on a port alone", "over iWARP it takes IPv6 alone");
    return;
  }
  auto served = serve(listener);
  speak([&](const auto& options, auto prepare) {
    return cm::connect(cm_test::device_address(listener.port()), options, prepare);
  });
  served.get();
}

TEST_CASE("Without receives and completion queues of its own a connection is there all the same") {
  const auto listener = cm::listener<transport::rc>::create(cm_test::device_address());
  auto served = std::async(std::launch::async, [&] {
    auto connection = listener.accept();
    connection.wait_disconnected(timeout::seconds(10));
  });
  auto connection = cm::connect(listener.local_address());
  CHECK(connection.peer_address() == listener.local_address());
  CHECK(connection.local_address().ipv4() == listener.local_address().ipv4());
  CHECK(connection.send_completion_queue());
  CHECK(connection.receive_completion_queue());
  // On iWARP the side that asked has to send first, or the other is not established; a
  // disconnect does as well.
  connection.disconnect();
  served.get();
}

TEST_CASE("Queues and a domain of one's own are used") {
  const auto listener = cm::listener<transport::rc>::create(cm_test::device_address());
  auto served = std::async(std::launch::async, [&] {
    auto request = listener.next_request(timeout::seconds(10));
    protection_domain domain{request.context()};
    completion_queue queue{request.context(), 16};
    auto ready = request.create_queue_pair({.send_cq = queue, .recv_cq = queue}, domain);
    auto connection = ready.accept();
    CHECK(connection.send_completion_queue().native_handle() == queue.native_handle());
    CHECK(connection.protection_domain().native_handle() == domain.native_handle());
    connection.wait_disconnected(timeout::seconds(10));
    connection.close();
  });
  auto connection = cm::connect(listener.local_address(), {.queue_pair = {.max_send_wr = 32}});
  connection.disconnect();
  served.get();
}

TEST_CASE("A program that gives up when it sees the queue pair makes no connection") {
  const auto listener = cm::listener<transport::rc>::create(cm_test::device_address());
  const failure gave_up = reported([&](auto&&... policy) {
    auto none = cm::connect(listener.local_address(), {}, [](auto&) { return false; }, policy...);
    CHECK_FALSE(none);
  });
  CHECK(gave_up.code() == std::errc::operation_canceled);
  CHECK(gave_up.verb() == "cm::connect");

  auto served = std::async(std::launch::async, [&] {
    failure why;
    auto none = listener.accept(
        {.request_timeout = timeout::seconds(10)}, [](auto&) { return false; }, why);
    CHECK_FALSE(none);
    return why;
  });
  failure rejected;
  auto none = cm::connect(listener.local_address(), {}, rejected);
  CHECK_FALSE(none);
  INFO(rejected.what());
  CHECK((rejected.code() == std::errc::connection_refused ||
         rejected.code() == std::errc::connection_reset));
  CHECK(served.get().code() == std::errc::operation_canceled);
}
