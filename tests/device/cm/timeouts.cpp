// SPDX-License-Identifier: MIT
// Waits that end without what was waited for: the time is up, or a signal handler ran.
#include <chrono>
#include <csignal>
#include <future>
#include <string>

#include <sys/time.h>

#include <adverb/adverb.hpp>
#include <adverb/cm.hpp>
#include <support/catch.hpp>

#include "cm/support.hpp"

using namespace adverb;
using namespace cm_test;

namespace {

constexpr std::chrono::milliseconds soon{300};

/// An address of the device's subnet that nobody has.
[[nodiscard]] cm::socket_address nobody() {
  std::string text{environment("SOFTRDMA_ADDRESS")};
  text.replace(text.rfind('.') + 1, std::string::npos, "77");
  return *cm::socket_address::parse(text, 7471);
}

/// A connection of this process with itself.
struct both_sides {
  rc_listener listener = rc_listener::create(every_address());
  std::future<rc_connection> accepting =
      std::async(std::launch::async, [this] { return next_ready(listener).accept(); });
  rc_connection near = ready_for(device_address(listener.port())).connect();
  rc_connection far = accepting.get();
};

/// An active side that does not take the answer.
struct silent_client {
  explicit silent_client(std::uint16_t port) {
    id.resolve_address(device_address(port), {}, std::chrono::seconds{2});
    REQUIRE(channel.next_event()->type() == cm::event_type::address_resolved);
    id.resolve_route(std::chrono::seconds{2});
    REQUIRE(channel.next_event()->type() == cm::event_type::route_resolved);
    id.create_queue_pair<transport::rc>({}, {});
    id.connect({});
  }
  cm::event_channel channel = cm::event_channel::create();
  cm::identifier id = cm::identifier::create(channel, cm::port_space::tcp);
};

void check_timed_out(const failure& why) {
  INFO(why.what());
  CHECK(why.code() == std::errc::timed_out);
  CHECK(why.explanation().find("within 300 ms") != std::string_view::npos);
}

/// Has a signal handler run in a while, and again and again: the first signal may come before the
/// wait that it is to end.
class alarm_soon {
 public:
  alarm_soon() {
    struct sigaction action{};
    action.sa_handler = [](int) {};
    ::sigaction(SIGALRM, &action, nullptr);
    const itimerval repeated{{0, 200'000}, {0, 200'000}};
    ::setitimer(ITIMER_REAL, &repeated, nullptr);
  }
  alarm_soon(const alarm_soon&) = delete;
  alarm_soon& operator=(const alarm_soon&) = delete;
  ~alarm_soon() {
    const itimerval none{};
    ::setitimer(ITIMER_REAL, &none, nullptr);
  }
};

void check_interrupted(const failure& why) {
  INFO(why.what());
  CHECK(why.code() == std::errc::interrupted);
  CHECK(why.explanation() == "a signal handler ran meanwhile");
}

}  // namespace

TEST_CASE("An address without a neighbour fails and leaves the connector usable",
          "[rdma_resolve_addr][optional]") {
  // A device without neighbours resolves every address without a request.
  auto start = cm::connector<transport::rc>::create();
  failure why;
  auto near = start.resolve_address(nobody(), {.timeout = soon}, why);
  if (near) return tell_skip("addresses that nobody has", "the device needs no neighbours");
  INFO(why.what());
  CHECK(why.code() == std::errc::host_unreachable);
  CHECK(why.explanation().starts_with("no neighbour answers for "));
  near = start.resolve_address(device_address(7471));
  CHECK(near);
}

TEST_CASE("next_request times out if no request arrives", "[rdma_get_cm_event]") {
  const auto listener = rc_listener::create(every_address());
  failure why;
  CHECK(!listener.next_request(soon, why));
  check_timed_out(why);
}

TEST_CASE("connect times out if the request is not answered", "[rdma_connect]") {
  const auto listener = rc_listener::create(every_address());
  auto ready = ready_for(device_address(listener.port()));
  failure why;
  CHECK(!ready.connect({}, soon, why));
  check_timed_out(why);
}

TEST_CASE("accept times out if the client does not confirm", "[rdma_accept][optional]") {
  if (on_iwarp())
    return tell_skip("acceptances that are not taken", "the kernel takes them for the program");
  const auto listener = rc_listener::create(every_address());
  const silent_client client{listener.port()};
  auto ready = next_ready(listener);
  failure why;
  CHECK(!ready.accept({}, soon, why));
  check_timed_out(why);
}

TEST_CASE("wait_disconnected and disconnect time out if the peer does not respond",
          "[rdma_disconnect][optional]") {
  both_sides sides;
  failure why;
  sides.near.wait_disconnected(soon, why);
  check_timed_out(why);
  CHECK(!sides.near.has_ended());
  if (on_iwarp()) return tell_skip("ends without an answer", "the kernel answers for the program");
  sides.near.queue_pair().post(receive()).check();
  sides.near.disconnect(soon, why);
  check_timed_out(why);
  // It has ended on this side nevertheless.
  CHECK(sides.near.drain([](const completion&) {}) == 1);
  sides.far.wait_disconnected(std::chrono::seconds{10});
  sides.far.disconnect();
  sides.near.wait_disconnected(std::chrono::seconds{10});
}

TEST_CASE("A signal handler ends each wait with EINTR", "[rdma_get_cm_event][optional]") {
  failure why;
  const auto listener = rc_listener::create(every_address());
  {
    auto start = cm::connector<transport::rc>::create();
    const alarm_soon alarm;
    if (start.resolve_address(nobody(), {}, why))
      tell_skip("a signal while an address is resolved", "the device needs no neighbours");
    else
      check_interrupted(why);
  }
  {
    const alarm_soon alarm;
    CHECK(!listener.next_request(std::chrono::seconds{10}, why));
    check_interrupted(why);
  }
  {
    const alarm_soon alarm;
    CHECK(!listener.next_request(timeout::endless(), why));
    check_interrupted(why);
  }
  {
    auto ready = ready_for(device_address(listener.port()));
    const alarm_soon alarm;
    CHECK(!ready.connect({}, std::chrono::seconds{10}, why));
    check_interrupted(why);
  }
  if (!on_iwarp()) {
    const auto other = rc_listener::create(every_address());
    const silent_client client{other.port()};
    auto ready = next_ready(other);
    const alarm_soon alarm;
    CHECK(!ready.accept({}, std::chrono::seconds{10}, why));
    check_interrupted(why);
  }
  both_sides sides;
  {
    const alarm_soon alarm;
    sides.near.wait_disconnected(timeout::endless(), why);
    check_interrupted(why);
  }
  if (!on_iwarp()) {
    const alarm_soon alarm;
    sides.near.disconnect(std::chrono::seconds{10}, why);
    check_interrupted(why);
  }
}
