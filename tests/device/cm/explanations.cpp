// SPDX-License-Identifier: MIT
// Failures of addresses and steps have explanations that help.
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <future>
#include <iostream>
#include <span>
#include <string>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <adverb/adverb.hpp>
#include <adverb/cm.hpp>
#include <support/catch.hpp>
#include <support/reported.hpp>

#include "cm/guest.hpp"
#include "cm/support.hpp"

using namespace adverb;
using namespace std::chrono_literals;
using cm_test::device_address;
using cm_test::in_numbers;

namespace {

using connector = cm::connector<transport::rc>;

/// "10.1.0.1 (rxe0)": the list of devices in the messages.
std::string device_with_address() {
  return to_string(device_address()) + " (" + cm_test::environment("SOFTRDMA_DEVICE") + ")";
}

failure not_resolved(const cm::socket_address& to, const cm::resolve_options& options = {}) {
  return reported([&](auto&&... policy) {
    auto start = connector::create();
    if (start.resolve_address(to, options, policy...)) FAIL("it was resolved");
    CHECK(start);
  });
}

failure not_listening(const cm::socket_address& at) {
  return reported([&](auto&&... policy) {
    if (cm::listener<transport::rc>::create(at, {}, policy...)) FAIL("it listens");
  });
}

/// A connector that is ready to connect.
cm::connector<transport::rc, cm::step::ready> ready_for(const cm::socket_address& to) {
  auto start = connector::create();
  auto near = start.resolve_address(to);
  auto far = near.resolve_route();
  return far.create_queue_pair();
}

constexpr const char* no_reasons = "iWARP sends no reasons of rejections";

/// Has an interface that no RDMA device serves: 10.9.0.1, with the neighbour 10.9.0.9.
bool add_ordinary_interface() {
  static const bool added = cm_test::in_guest(
      "ip addr add 10.9.0.1/24 dev eth0 && ip link set eth0 up && "
      "ip neigh add 10.9.0.9 lladdr 02:00:00:00:00:09 dev eth0");
  if (!added) tell_skip("an interface without RDMA", "it needs a guest with an interface eth0");
  return added;
}

}  // namespace

TEST_CASE("A failed connect explains that nothing listens on the port",
          "[rdma_connect][optional]") {
  auto ready = ready_for(device_address(4999));
  failure why;
  CHECK_FALSE(ready.connect({}, std::chrono::seconds{10}, why));
  CHECK(why.code() == std::errc::connection_refused);
  CHECK(why.verb() == "rdma_connect");
  CHECK(std::string{why.object()}.ends_with("-> " + to_string(device_address(4999))));
  CHECK(why.explanation().find("nothing listens on that port") != std::string_view::npos);
  if (cm_test::on_iwarp()) return tell_skip("the reason of a rejection", no_reasons);
  REQUIRE(ready.rejection());
  CHECK(ready.rejection()->reason == cm::reject_reason::invalid_service_id);
}

TEST_CASE("A failed connect returns the private data of the rejection", "[rdma_reject][optional]") {
  const auto listener = cm::listener<transport::rc>::create(device_address());
  auto refused = std::async(std::launch::async, [&] {
    auto request = listener.next_request(std::chrono::seconds{10});
    request.reject(cm::private_data::of(std::uint32_t{4711}));
  });
  auto ready = ready_for(listener.local_address());
  failure why;
  CHECK_FALSE(ready.connect({}, std::chrono::seconds{10}, why));
  refused.get();
  REQUIRE(ready.rejection());
  CHECK(ready.rejection()->private_data.as<std::uint32_t>() == 4711);
  if (cm_test::on_iwarp()) return tell_skip("the reason of a rejection", no_reasons);
  CHECK(why.code() == std::errc::connection_refused);
  CHECK(why.explanation() == "the peer rejected the connection: the peer's program refused");
  CHECK(ready.rejection()->reason == cm::reject_reason::by_the_program);
}

TEST_CASE("A failed resolve explains that there is no route to the address",
          "[rdma_resolve_addr]") {
  const failure why = not_resolved(in_numbers("192.0.2.1", 4999));
  CHECK(why.code() == std::errc::network_unreachable);
  CHECK(why.explanation() == "this machine has no route to 192.0.2.1; the RDMA devices here have " +
                                 device_with_address());
}

TEST_CASE("A failed resolve explains that no RDMA device serves the interface",
          "[rdma_resolve_addr][optional]") {
  if (!add_ordinary_interface()) return;
  const failure elsewhere = not_resolved(in_numbers("10.9.0.9", 4999));
  CHECK(elsewhere.code() == std::errc::no_such_device);
  CHECK(elsewhere.explanation() ==
        "the route to 10.9.0.9 uses no RDMA device; the RDMA devices here have " +
            device_with_address());

  const failure from = not_resolved(device_address(4999), {.from = in_numbers("10.9.0.1", 0)});
  CHECK(from.code() == std::errc::no_such_device);
  CHECK(from.explanation() == "no RDMA device serves 10.9.0.1 (eth0); the RDMA devices here have " +
                                  device_with_address());

  const failure here = not_listening(in_numbers("10.9.0.1", 4999));
  CHECK(here.code() == std::errc::no_such_device);
  CHECK(here.explanation() == from.explanation());
}

TEST_CASE("A failed resolve explains that no neighbour answers", "[rdma_resolve_addr][optional]") {
  if (!add_ordinary_interface()) return;
  auto start = connector::create();
  failure why;
  CHECK_FALSE(start.resolve_address(in_numbers("10.9.0.77", 4999), {.timeout = 200ms}, why));
  INFO(why.what());
  CHECK(why.code() == std::errc::host_unreachable);
  CHECK(why.explanation() == "no neighbour answers for 10.9.0.77");
}

TEST_CASE("A failed connect explains that no RDMA device serves the loopback address") {
  failure why;
  const auto none = cm::connect("127.0.0.1", 4999, {}, why);
  CHECK_FALSE(none);
  CHECK(why.explanation() == "no RDMA device serves 127.0.0.1 (lo); the RDMA devices here have " +
                                 device_with_address());
}

TEST_CASE("A failed resolve explains that the addresses have different families",
          "[rdma_resolve_addr]") {
  const failure why = not_resolved(device_address(4999), {.from = in_numbers("fe80::1%lo", 0)});
  CHECK(why.explanation() ==
        "[fe80::1%lo] is IPv6, and " + to_string(device_address(4999)) + " is IPv4");
}

TEST_CASE("A failed bind explains that this machine does not have the address",
          "[rdma_bind_addr]") {
  const std::string expected =
      "10.77.0.1 is not an address of this machine; the RDMA devices here have " +
      device_with_address();
  CHECK(not_listening(in_numbers("10.77.0.1", 4999)).explanation() == expected);
  CHECK(not_resolved(device_address(4999), {.from = in_numbers("10.77.0.1", 0)}).explanation() ==
        expected);
}

TEST_CASE("A failed bind or resolve explains that no address is given") {
  CHECK(not_listening({}).explanation() == "no address is given");
  CHECK(not_resolved({}).explanation() == "no address is given");
}

TEST_CASE("A failed listen explains that a link-local address needs its interface",
          "[rdma_bind_addr]") {
  const failure why = not_listening(in_numbers("fe80::1", 4999));
  CHECK(why.explanation() == "a link-local address needs its interface: fe80::1%eth0, say");
}

TEST_CASE("A failed listen explains that the port is in use", "[rdma_bind_addr]") {
  const auto first = cm::listener<transport::rc>::create(device_address());
  const std::string expected = "port " + std::to_string(first.port()) +
                               " is in use: another identifier or, over iWARP, a socket has it";
  for (const auto& at : {first.local_address(), cm::socket_address::any(first.port()),
                         cm::socket_address::any_ipv4(first.port())}) {
    const failure why = not_listening(at);
    CHECK((why.code() == std::errc::address_in_use ||
           why.code() == std::errc::address_not_available));
    CHECK(why.explanation() == expected);
  }
}

TEST_CASE("A failed connect explains that the peer did not answer in time", "[rdma_connect]") {
  const auto listener = cm::listener<transport::rc>::create(device_address());
  auto ready = ready_for(listener.local_address());
  // The request is not accepted.
  failure why;
  CHECK_FALSE(ready.connect({}, 300ms, why));
  CHECK(why.code() == std::errc::timed_out);
  CHECK(why.explanation() == to_string(listener.local_address()) +
                                 " did not answer within 300 ms; possible causes: it is down, "
                                 "packets are lost, or its program does not respond");
}

TEST_CASE("A failed accept explains that no request arrived in time") {
  const auto listener = cm::listener<transport::rc>::create(device_address());
  const failure why = reported([&](auto&&... policy) {
    if (listener.accept({.request_timeout = 50ms}, policy...)) FAIL("it is connected");
  });
  CHECK(why.code() == std::errc::timed_out);
  CHECK(why.explanation() == "no event arrived within 50 ms");
}

TEST_CASE("Private data beyond the limit of the link fails with an explanation",
          "[rdma_connect][rdma_accept][rdma_reject]") {
  const std::array<std::byte, 300> bytes{};
  const auto of_size = [&](std::size_t size) {
    return cm::private_data{std::span<const std::byte>{bytes}.first(size)};
  };
  const auto too_long = [](const failure& why, const std::string& what) {
    CHECK(why.code() == std::errc::message_size);
    CHECK(why.explanation() == what);
  };
  const auto listener = cm::listener<transport::rc>::create(device_address());
  auto ready = ready_for(listener.local_address());
  failure why;
  if (cm_test::on_iwarp()) {
    CHECK_FALSE(ready.connect({.private_data = of_size(256)}, std::chrono::seconds{1}, why));
    too_long(why,
             "private data of 256 bytes is too long: a request carries at most 255 over this "
             "link");
    return;
  }
  CHECK_FALSE(ready.connect({.private_data = of_size(57)}, std::chrono::seconds{1}, why));
  too_long(why,
           "private data of 57 bytes is too long: a request carries at most 56 over "
           "InfiniBand and RoCE");

  auto served = std::async(std::launch::async, [&] {
    auto first = listener.next_request(std::chrono::seconds{10});
    CHECK(first.private_data().size() == cm::max_request_data);
    failure refused;
    first.reject(of_size(149), refused);
    too_long(refused,
             "private data of 149 bytes is too long: a rejection carries at most 148 over "
             "InfiniBand and RoCE");
    first.reject(of_size(148));

    auto second = listener.next_request(std::chrono::seconds{10}).create_queue_pair();
    CHECK_FALSE(second.accept({.private_data = of_size(197)}, std::chrono::seconds{1}, refused));
    too_long(refused,
             "private data of 197 bytes is too long: an acceptance carries at most 196 "
             "over InfiniBand and RoCE");
    auto connection = second.accept({.private_data = of_size(196)});
    connection.wait_disconnected(std::chrono::seconds{10});
  });
  // Data of maximum size is accepted by the same connector.
  CHECK_FALSE(ready.connect({.private_data = of_size(56)}, std::chrono::seconds{10}, why));
  REQUIRE(ready.rejection());
  CHECK(ready.rejection()->private_data.size() == cm::max_reject_data);
  auto connection = cm::connect(listener.local_address());
  CHECK(connection.private_data().size() == cm::max_accept_data);
  connection.disconnect();
  served.get();
}

TEST_CASE("Steps of an identifier before its address is resolved fail with an explanation",
          "[rdma_resolve_route]") {
  const auto channel = cm::event_channel::create();
  const auto id = cm::identifier::create(channel, cm::port_space::tcp);
  const auto too_early = [](const failure& why) {
    CHECK(why.code() == std::errc::invalid_argument);
    CHECK(why.explanation() == "the identifier has no device: resolve the address first");
  };
  too_early(reported([&](auto&&... p) { id.resolve_route(std::chrono::seconds{1}, p...); }));
  too_early(
      reported([&](auto&&... p) { id.template create_queue_pair<transport::rc>({}, {}, p...); }));
  too_early(reported([&](auto&&... p) { id.connect({}, p...); }));
  too_early(reported([&](auto&&... p) { id.accept({}, p...); }));
  too_early(reported([&](auto&&... p) { id.reject({}, p...); }));
  too_early(reported([&](auto&&... p) { id.establish(p...); }));
  too_early(reported([&](auto&&... p) { id.disconnect(p...); }));
}

TEST_CASE("The explanation of a refused option does not name the address", "[rdma_set_option]") {
  const auto channel = cm::event_channel::create();
  const auto id = cm::identifier::create(channel, cm::port_space::udp);
  // These are datagrams, which are not acknowledged.
  const failure why = reported(
      [&](auto&&... p) { id.set_acknowledge_timeout(acknowledge_timeout::from_code(14), p...); });
  CHECK(why.code() == std::errc::invalid_argument);
  CHECK(why.explanation().empty());
}

TEST_CASE("Answering a request twice fails with an explanation", "[rdma_reject_ece]") {
  const auto listener = cm::listener<transport::rc>::create(device_address());
  auto ready = ready_for(listener.local_address());
  ready.identifier().connect({});
  auto request = listener.next_request(std::chrono::seconds{5});
  request.identifier().reject_ece();
  failure why;
  request.identifier().reject_ece({}, why);
  CHECK(why.code() == std::errc::invalid_argument);
  CHECK(why.explanation() == (cm_test::on_iwarp()
                                  ? "no request awaits an answer"
                                  : "possible causes: the peer abandoned the connection, or the "
                                    "request is already answered"));
}

TEST_CASE("Repeated steps of an identifier fail with an explanation",
          "[rdma_resolve_addr][rdma_resolve_route][rdma_create_qp][rdma_connect]") {
  const auto listener = cm::listener<transport::rc>::create(device_address());
  const cm::socket_address to = listener.local_address();
  const auto channel = cm::event_channel::create();
  const auto id = cm::identifier::create(channel, cm::port_space::tcp);
  const auto why_not = [](const auto& step) {
    failure why;
    step(why);
    CHECK(why.code() == std::errc::invalid_argument);
    return std::string{why.explanation()};
  };
  const auto next = [&] {
    const auto event = channel.next_event(std::chrono::seconds{5});
    REQUIRE(event);
    REQUIRE(event->status() == 0);
  };

  id.resolve_address(to, {}, std::chrono::seconds{2});
  next();
  CHECK(why_not([&](failure& why) { id.resolve_address(to, {}, std::chrono::seconds{2}, why); }) ==
        "the address " + to_string(to) + " is already resolved or being resolved");
  CHECK(why_not([&](failure& why) { id.bind(device_address(), why); }) ==
        "it has the address " + to_string(id.local_address()) + " already");
  CHECK(why_not([&](failure& why) { id.listen(1, why); }) ==
        "it was created to connect to " + to_string(to));
  CHECK(
      why_not([&](failure& why) { id.connect({.queue_pair_number = qp_number{1}}, why); }) ==
      "possible causes: the route is not resolved yet, a connection was already requested, or more "
      "reads and atomics in progress than the device allows");

  id.resolve_route(std::chrono::seconds{2});
  next();
  CHECK(why_not([&](failure& why) { id.resolve_route(std::chrono::seconds{2}, why); }) ==
        "the route is already resolved");
  id.create_queue_pair<transport::rc>({}, {});
  CHECK(why_not([&](failure& why) { id.create_queue_pair<transport::rc>({}, {}, why); }) ==
        "it already has a queue pair");
  CHECK(why_not([&](failure& why) { id.disconnect(why); }) == "it is not connected");
  id.connect({});
  CHECK(
      why_not([&](failure& why) { id.connect({}, why); }) ==
      "possible causes: the route is not resolved yet, a connection was already requested, or more "
      "reads and atomics in progress than the device allows");

  const auto listening = cm::identifier::create(channel, cm::port_space::tcp);
  listening.bind(device_address());
  listening.listen(1);
  CHECK(why_not([&](failure& why) { listening.listen(1, why); }) == "it already listens");
}

TEST_CASE("A failed event channel explains that the program has too many open files",
          "[rdma_create_event_channel]") {
  // The first one reads what devices there are, for which it needs files.
  REQUIRE(cm::event_channel::create());
  // For the first virtual call of an object the undefined-behaviour sanitizer makes a pipe.
  REQUIRE(failure{std::make_error_code(std::errc::too_many_files_open), "nothing",
                  [](failure_description&) {}});
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  const rlimit none{0, before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
  failure why;
  const auto channel = cm::event_channel::create(why);
  REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK_FALSE(channel);
  CHECK(why.code() == std::errc::too_many_files_open);
  CHECK(why.explanation() ==
        "rdma_cm: this program has too many files open to open /dev/infiniband/rdma_cm: see ulimit "
        "-n");
}

namespace {

/// Returns whether another user cannot make a channel, for this reason.
bool another_user_is_told(const std::string& explanation) {
  const pid_t child = fork();
  if (child == 0) {
    failure why;
    if (setuid(65534) == 0) static_cast<void>(cm::event_channel::create(why));
    if (why.explanation() == explanation) _exit(0);
    std::cout << why.what() << std::endl;
    _exit(1);
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && status == 0;
}

}  // namespace

TEST_CASE("A failed event channel explains a missing permission",
          "[rdma_create_event_channel][optional]") {
  if (!cm_test::in_guest("chmod 600 /dev/infiniband/rdma_cm")) {
    tell_skip("a channel that is not there", "the machine's devices are not to be changed");
    return;
  }
  CHECK(
      another_user_is_told("rdma_cm: user 65534 may not open /dev/infiniband/rdma_cm (mode 600)"));
  REQUIRE(cm_test::in_guest("chmod 666 /dev/infiniband/rdma_cm"));
}
