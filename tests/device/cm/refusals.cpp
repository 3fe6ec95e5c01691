// SPDX-License-Identifier: MIT
// Connections that are refused, and the events on each side.
#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <vector>

#include <adverb/adverb.hpp>
#include <adverb/cm.hpp>
#include <support/catch.hpp>

#include "cm/support.hpp"

using namespace adverb;
using namespace cm_test;

TEST_CASE("A connect to a port without a listener fails", "[rdma_connect][optional]") {
  auto ready = ready_for(device_address(7999));
  failure why;
  const auto connection = ready.connect({}, std::chrono::seconds{10}, why);
  CHECK(!connection);
  INFO(why.what());
  CHECK(why.verb() == "rdma_connect");
  CHECK(why.code() == std::errc::connection_refused);
  if (on_iwarp())
    return tell_skip("the reason of a rejection", "the call itself fails, without an event");
  REQUIRE(ready.rejection());
  CHECK(ready.rejection()->reason == cm::reject_reason::invalid_service_id);
}

TEST_CASE("Listening on a port in use fails", "[rdma_listen][rdma_bind_addr]") {
  const auto first = rc_listener::create(every_address());
  failure why;
  CHECK(!rc_listener::create(device_address(first.port()), {}, why));
  CHECK(why.verb() == "rdma_bind_addr");
  // The kernel's error if one of the two listens on every address.
  CHECK(why.code() == std::errc::address_not_available);
  const auto exact = rc_listener::create(device_address());
  CHECK(!rc_listener::create(device_address(exact.port()), {}, why));
  CHECK(why.code() == std::errc::address_in_use);
  // The first one goes on.
  auto accepted = accept_meanwhile(first);
  CHECK(ready_for(device_address(first.port())).connect());
  CHECK(accepted.get());
}

TEST_CASE("A hundred requests of ten threads are rejected, and the next is accepted",
          "[rdma_reject]") {
  const auto listener = rc_listener::create(every_address());
  constexpr unsigned askers = 10;
  constexpr unsigned requests = 10;
  auto served = std::async(std::launch::async, [&] {
    for (unsigned rejected = 0; rejected < askers * requests; ++rejected)
      listener.next_request(std::chrono::seconds{20}).reject(cm::private_data::of(rejected));
    return next_ready(listener).accept();
  });
  std::vector<std::future<unsigned>> asking;
  for (unsigned asker = 0; asker < askers; ++asker)
    asking.push_back(std::async(std::launch::async, [&] {
      unsigned refused = 0;
      for (unsigned asked = 0; asked < requests; ++asked) {
        auto ready = ready_for(device_address(listener.port()));
        failure why;
        const auto connection = ready.connect({}, std::chrono::seconds{20}, why);
        if (why.code() == rejected_by_program() && ready.rejection() &&
            ready.rejection()->private_data.as<unsigned>() < askers * requests &&
            ready.rejection()->reason == cm::reject_reason::by_the_program)
          ++refused;
      }
      return refused;
    }));
  unsigned refused = 0;
  for (auto& each : asking) refused += each.get();
  CHECK(refused == askers * requests);
  CHECK(ready_for(device_address(listener.port())).connect());
  CHECK(served.get());
}

TEST_CASE("Private data that is too long is refused and leaves the connection set-up usable",
          "[rdma_connect][rdma_accept][rdma_reject]") {
  const auto listener = rc_listener::create(every_address());
  const std::vector<std::byte> bytes(256);
  const auto data = [&](std::size_t size) {
    return cm::private_data{std::span{bytes}.first(size)};
  };
  const auto too_long = [](std::size_t size, const std::string& message, std::size_t limit) {
    return "private data of " + std::to_string(size) + " bytes is too long: " + message +
           " carries at most " + std::to_string(limit) + " over InfiniBand and RoCE";
  };
  // The sizes that InfiniBand and RoCE carry. Soft-iWARP (Linux 6.1) carries as much, but not all
  // of 255 bytes.
  const std::size_t longest_request = 56;
  const std::size_t longest_acceptance = 196;
  failure why;
  auto asking = ready_for(device_address(listener.port()));
  CHECK(!asking.connect({.private_data = data(256)}, std::chrono::seconds{10}, why));
  CHECK(why.code() == std::errc::message_size);
  if (!on_iwarp()) {
    CHECK(!asking.connect({.private_data = data(57)}, std::chrono::seconds{10}, why));
    CHECK(why.code() == std::errc::message_size);
    CHECK(why.explanation() == too_long(57, "a request", 56));
  }

  const auto connect_meanwhile = [&](cm_test::ready_connector& connector) {
    return std::async(std::launch::async, [&] {
      failure refused;
      return connector.connect({.private_data = data(longest_request)}, std::chrono::seconds{10},
                               refused);
    });
  };
  auto connected = connect_meanwhile(asking);
  auto ready = next_ready(listener);
  CHECK(!ready.accept({.private_data = data(256)}, std::chrono::seconds{10}, why));
  CHECK(why.code() == std::errc::message_size);
  if (!on_iwarp()) {
    ready.reject(data(149), why);
    CHECK(why.code() == std::errc::message_size);
    CHECK(why.explanation() == too_long(149, "a rejection", 148));
    CHECK(!ready.accept({.private_data = data(197)}, std::chrono::seconds{10}, why));
    CHECK(why.code() == std::errc::message_size);
    CHECK(why.explanation() == too_long(197, "an acceptance", 196));
  }
  CHECK(ready.private_data().size() == longest_request);
  CHECK(ready.accept({.private_data = data(longest_acceptance)}));
  CHECK(connected.get().private_data().size() == longest_acceptance);
}
