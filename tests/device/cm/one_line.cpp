// SPDX-License-Identifier: MIT
// A connection in one line on either side.
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <future>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <adverb/adverb.hpp>
#include <adverb/async.hpp>
#include <adverb/cm.hpp>
#include <adverb/messages.hpp>
#include <support/catch.hpp>
#include <support/named_host.hpp>
#include <support/reported.hpp>
#include <support/skip.hpp>

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
  /// The connecting side speaks first, which iWARP needs. It leaves with the answer, before rxe
  /// acknowledges it perhaps.
  void say(cm::connection<transport::rc>& connection, std::uint8_t word) {
    bytes[63] = std::byte{word};
    connection.queue_pair().post(send(region->slice(63, 1))).check();
  }
  std::uint8_t hear(cm::connection<transport::rc>& connection) {
    next_success(connection.recv_cq());
    return static_cast<std::uint8_t>(bytes[0]);
  }
};

/// Serves one connection, and answers each number plus one. Gives the peer's private data.
std::future<std::uint32_t> serve(const cm::listener<transport::rc>& listener) {
  return std::async(std::launch::async, [&listener] {
    side mine;
    auto connection = listener.accept({.request_timeout = std::chrono::seconds{10}},
                                      [&](auto& ready) { mine.prepare(ready); });
    const auto word = mine.hear(connection);
    mine.say(connection, static_cast<std::uint8_t>(word + 1));
    connection.wait_disconnected(std::chrono::seconds{10});
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

TEST_CASE("One line on each side connects to an address",
          "[rdma_connect][rdma_accept][rdma_create_qp]") {
  const auto listener = cm::listener<transport::rc>::create(cm_test::device_address());
  auto served = serve(listener);
  speak([&](const auto& options, auto prepare) {
    return cm::connect(listener.local_address(), options, prepare);
  });
  CHECK(served.get() == 4711);
}

TEST_CASE("One line connects to a host by its numeric address and by its name") {
  const auto listener = cm::listener<transport::rc>::create(cm_test::device_address());
  const std::string numbers = cm_test::environment("SOFTRDMA_ADDRESS");
  const named_host host{{numbers}};
  for (const std::string& name : {numbers, std::string{host.name}}) {
    auto served = serve(listener);
    speak([&](const auto& options, auto prepare) {
      return cm::connect(name, listener.port(), options, prepare);
    });
    served.get();
  }
}

TEST_CASE("One line tries the addresses of a host in order") {
  const auto listener = cm::listener<transport::rc>::create(cm_test::device_address());
  // No device leads there; no one answers there; it listens. On soft-iWARP (Linux 6.1) asking who
  // does not answer takes minutes.
  std::vector<std::string> addresses{"127.0.0.1", cm_test::environment("SOFTRDMA_ADDRESS")};
  if (!cm_test::on_iwarp()) addresses.insert(addresses.begin() + 1, "10.1.0.77");
  const named_host host{addresses};
  auto served = serve(listener);
  speak([&](cm::connect_options options, auto prepare) {
    options.resolve_timeout = std::chrono::seconds{4};
    options.connect_timeout = std::chrono::seconds{5};
    return cm::connect(host.name, listener.port(), options, prepare);
  });
  served.get();
}

TEST_CASE("A task connects to a host in one line, and other tasks run during the lookup") {
  async::event_loop loop;
  async::listener listener{loop, cm_test::device_address()};
  const named_host host{{"127.0.0.1", cm_test::environment("SOFTRDMA_ADDRESS")}};
  host.is_slow = true;
  loop.spawn([](async::device_loop& at) -> async::task<> {
    co_await async::sleep_for(at, std::chrono::milliseconds{50});
    named_host::is_slow = false;
    named_host::is_slow.notify_all();
  }(loop));
  loop.spawn([](async::listener& on) -> async::task<> {
    async::connection client = co_await on.accept();
    const async::message none = co_await client.next();
    CHECK_FALSE(none);
    co_await client.disconnect();
  }(listener));
  bool is_connected = false;
  loop.spawn([](async::device_loop& at, std::uint16_t port, bool& done) -> async::task<> {
    async::connection server = co_await async::connect(at, named_host::name, port);
    CHECK(server.established()->peer_address() == cm_test::device_address(port));
    co_await server.disconnect();
    done = true;
  }(loop, listener.port(), is_connected));
  loop.run();
  CHECK(is_connected);
}

TEST_CASE("A task that cannot reach a host throws the failure of the furthest attempt") {
  async::event_loop loop;
  const auto failure_of = [&](const char* name) {
    std::string words;
    loop.spawn([](async::device_loop& at, const char* to, std::string& what) -> async::task<> {
      try {
        static_cast<void>(co_await async::connect(at, to, 7479));
      } catch (const error& failed) {
        what = failed.what();
      }
    }(loop, name, words));
    loop.run();
    return words;
  };
  const named_host host{{"127.0.0.1", cm_test::environment("SOFTRDMA_ADDRESS"), "127.0.0.2"}};
  const std::string refusal = failure_of(host.name);
  CAPTURE(refusal);
  CHECK(
      (refusal.find("ECONNREFUSED") != refusal.npos || refusal.find("ECONNRESET") != refusal.npos));
  named_host::system_error = EMFILE;
  const std::string exhaustion = failure_of(host.name);
  CAPTURE(exhaustion);
  CHECK(exhaustion.find("EMFILE") != exhaustion.npos);
}

TEST_CASE("A loop can end during a lookup") {
  const named_host host{{cm_test::environment("SOFTRDMA_ADDRESS")}};
  host.is_slow = true;
  {
    async::event_loop loop;
    loop.spawn([](async::device_loop& at) -> async::task<> {
      static_cast<void>(co_await async::look_up(at, named_host::name, 7471));
    }(loop));
  }
  async::event_loop loop;
  bool is_found = false;
  loop.spawn([](async::device_loop& at, bool& found) -> async::task<> {
    const auto addresses = co_await async::look_up(at, named_host::name, 7471);
    found = addresses == std::vector{cm_test::device_address(7471)};
  }(loop, is_found));
  host.is_slow = false;
  host.is_slow.notify_all();
  loop.run();
  CHECK(is_found);
}

TEST_CASE("A failure to reach a host names the address that answered") {
  const named_host host{{"127.0.0.1", cm_test::environment("SOFTRDMA_ADDRESS"), "127.0.0.2"}};
  failure why;
  CHECK_FALSE(cm::connect(host.name, 7479, {}, why));
  CHECK(why.code() == std::errc::connection_refused);
  CHECK(std::string{why.object()}.ends_with("-> " + to_string(cm_test::device_address(7479))));
  CHECK(why.explanation().find("nothing listens on that port") != std::string_view::npos);
}

TEST_CASE("A rejected connect does not try another address of the host") {
  const std::string numbers = cm_test::environment("SOFTRDMA_ADDRESS");
  const named_host host{{numbers, numbers}};
  const auto listener = cm::listener<transport::rc>::create(cm_test::device_address());
  for (const bool with_words : {true, false}) {
    auto served = std::async(std::launch::async, [&] {
      listener.next_request(std::chrono::seconds{10})
          .reject(with_words ? cm::private_data::of(std::uint32_t{4711}) : cm::private_data{});
      failure none;
      CHECK_FALSE(listener.next_request(std::chrono::seconds{1}, none));
      CHECK(none.code() == std::errc::timed_out);
    });
    failure why;
    const auto refused = cm::connect(host.name, listener.port(), {}, why);
    CHECK_FALSE(refused);
    INFO(why.what());
    CHECK(
        (why.code() == std::errc::connection_refused || why.code() == std::errc::connection_reset));
    served.get();
  }
}

TEST_CASE("Each attempt to connect a channel to a host has a session of its own",
          "[rdma_connect]") {
  const std::string numbers = cm_test::environment("SOFTRDMA_ADDRESS");
  const named_host host{{numbers, numbers}};
  const auto listener = cm::listener<transport::rc>::create(cm_test::device_address());
  messages::channel_options options;
  options.over = messages::network::rdma;
  options.connect_timeout = std::chrono::seconds{2};
  options.resume_within = std::chrono::seconds{1};
  std::error_code why;
  async::event_loop loop;
  loop.spawn([&]() -> async::task<> {
    try {
      const messages::channel none =
          co_await messages::connect(loop, host.name, listener.port(), options);
    } catch (const std::system_error& failed) {
      why = failed.code();
    }
  });
  loop.run();
  CHECK(why == std::errc::timed_out);
  std::array<std::uint64_t, 2> sessions{};
  for (std::uint64_t& each : sessions) {
    const auto request = listener.next_request(std::chrono::seconds{10});
    const auto of_peer = detail::handshake::decode(request.private_data());
    REQUIRE(of_peer);
    each = of_peer->session;
  }
  CHECK(sessions[0] != 0);
  CHECK(sessions[1] != 0);
  CHECK(sessions[0] != sessions[1]);
}

TEST_CASE("One line connects UC", "[rdma_create_ep][optional]") {
  if (cm_test::on_iwarp()) return tell_skip("UC in one line", "iWARP has RC alone");
  const auto listener = cm::listener<transport::uc>::create(cm_test::device_address());
  auto served = std::async(std::launch::async, [&] {
    auto connection = listener.accept({.request_timeout = std::chrono::seconds{10}});
    connection.wait_disconnected(std::chrono::seconds{10});
  });
  auto connection =
      cm::connect<transport::uc>(cm_test::environment("SOFTRDMA_ADDRESS"), listener.port());
  CHECK(connection.queue_pair().query().state() == qp_state::rts);
  connection.disconnect();
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

TEST_CASE("A listener on a port accepts IPv6 and IPv4", "[optional]") {
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
  auto served = serve(listener);
  speak([&](const auto& options, auto prepare) {
    return cm::connect(cm_test::device_address(listener.port()), options, prepare);
  });
  served.get();
}

TEST_CASE("A listener on every IPv6 address leaves the port free for an IPv4 listener",
          "[rdma_set_option]") {
  const auto six = cm::listener<transport::rc>::create(0, {.address_family_only = true});
  const auto four = cm::listener<transport::rc>::create(cm::socket_address::any_ipv4(six.port()));
  auto served = serve(four);
  speak([&](const auto& options, auto prepare) {
    return cm::connect(cm_test::device_address(six.port()), options, prepare);
  });
  served.get();
}

TEST_CASE("A listener on every address occupies its port in both address families") {
  const auto first = cm::listener<transport::rc>::create(0);
  for (const auto& at :
       {cm::socket_address::any(first.port()), cm::socket_address::any_ipv4(first.port()),
        cm_test::device_address(first.port())}) {
    const failure why = reported([&](auto&&... policy) {
      const auto none = cm::listener<transport::rc>::create(at, {}, policy...);
      CHECK_FALSE(none);
    });
    CHECK(why.explanation() ==
          "port " + std::to_string(first.port()) +
              " is in use: another identifier or, over iWARP, a socket has it");
  }
}

TEST_CASE("A connection is established without receives and completion queues of the program") {
  const auto listener = cm::listener<transport::rc>::create(cm_test::device_address());
  auto served = std::async(std::launch::async, [&] {
    auto connection = listener.accept();
    connection.wait_disconnected(std::chrono::seconds{10});
  });
  auto connection = cm::connect(listener.local_address());
  CHECK(connection.peer_address() == listener.local_address());
  CHECK(connection.local_address().ipv4() == listener.local_address().ipv4());
  CHECK(connection.send_cq());
  CHECK(connection.recv_cq());
  // The active side has to send first on iWARP, or the other is not established; a disconnect does
  // as well.
  connection.disconnect();
  served.get();
}

TEST_CASE("connect uses the given completion queues and domain") {
  const auto listener = cm::listener<transport::rc>::create(cm_test::device_address());
  auto served = std::async(std::launch::async, [&] {
    auto request = listener.next_request(std::chrono::seconds{10});
    protection_domain domain{request.context()};
    completion_queue queue{request.context(), 16};
    auto ready = request.create_queue_pair({.send_cq = queue, .recv_cq = queue}, domain);
    auto connection = ready.accept();
    CHECK(connection.send_cq().native_handle() == queue.native_handle());
    CHECK(connection.protection_domain().native_handle() == domain.native_handle());
    connection.wait_disconnected(std::chrono::seconds{10});
    connection.close();
  });
  auto connection = cm::connect(listener.local_address(), {.queue_pair = {.max_send_wr = 32}});
  connection.disconnect();
  served.get();
}

TEST_CASE("Each side sets its own RNR timer", "[ibv_modify_qp][optional]") {
  if (cm_test::on_iwarp()) return tell_skip("the RNR timer", "iWARP has none");
  const auto listener = cm::listener<transport::rc>::create(cm_test::device_address());
  auto served = std::async(std::launch::async, [&] {
    auto connection = listener.accept({.connection = {.rnr_timer = std::chrono::milliseconds{10}}});
    const rnr_timer timer = connection.queue_pair().query().rnr_timer();
    connection.wait_disconnected(std::chrono::seconds{10});
    return timer;
  });
  auto connection = cm::connect(listener.local_address());
  CHECK(connection.queue_pair().query().rnr_timer() == std::chrono::microseconds{640});
  connection.disconnect();
  CHECK(served.get() == std::chrono::milliseconds{10});
}

TEST_CASE("connect and accept fail with ECANCELED if the program's function returns false") {
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
        {.request_timeout = std::chrono::seconds{10}}, [](auto&) { return false; }, why);
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
