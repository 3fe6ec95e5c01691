// SPDX-License-Identifier: MIT
// Datagrams whose peers librdmacm finds: who asks, who answers, and what goes wrong.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <future>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <adverb/adverb.hpp>
#include <adverb/cm.hpp>
#include <support/catch.hpp>

#include "cm/support.hpp"

using namespace adverb;

namespace {

/// A request that is answered elsewhere, while the test asks.
template <class Serve>
[[nodiscard]] std::future<void> serve(const Serve& function) {
  return std::async(std::launch::async, function);
}

[[nodiscard]] std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span{text});
}

/// An endpoint with a buffer for what it receives.
struct datagram_end {
  explicit datagram_end(cm::datagram_endpoint&& from) : endpoint{std::move(from)} {}
  datagram_end()
      : datagram_end{cm::datagram_endpoint::create(cm_test::device_address(), options)} {}

  static constexpr queue_pair_options options{
      .max_send_wr = 4, .max_recv_wr = 4, .max_inline_data = 16};

  void expect() { endpoint.queue_pair().post(receive(region.buffer())).check(); }
  void send_to(const datagram_destination& there, std::string_view text) const {
    endpoint.queue_pair().post(send(inline_data{bytes_of(text)}).signaled().to(there)).check();
    next_success(endpoint.send_completion_queue());
  }
  /// What came, after `expect`.
  [[nodiscard]] std::string received() {
    const auto done = next_success(endpoint.receive_completion_queue());
    const auto payload = datagram_payload(bytes, done.success().receive());
    return {reinterpret_cast<const char*>(payload.data()), payload.size()};
  }

  cm::datagram_endpoint endpoint;
  std::array<std::byte, grh_size + 64> bytes{};
  memory_region region{endpoint.protection_domain(), bytes, access_right::local_write};
};

}  // namespace

TEST_CASE("Who listens tells a pair of its own, and both sides send",
          "[rdma_connect][rdma_accept][rdma_create_qp][rdma_bind_addr][rdma_listen]") {
  cm_test::need_datagrams();
  auto listener = cm::listener<transport::ud>::create(cm::socket_address::any(0));
  REQUIRE(listener.port() != 0);
  auto served = serve([&] {
    auto request = listener.next_request(timeout::seconds(10));
    CHECK(request.private_data().as<std::uint32_t>() == 42U);
    CHECK(request.peer_address().ipv4() == cm_test::device_address().ipv4());
    auto ready = request.create_queue_pair(datagram_end::options);
    std::array<std::byte, grh_size + 64> bytes{};
    const memory_region region{ready.protection_domain(), bytes, access_right::local_write};
    ready.queue_pair().post(receive(region.buffer())).check();
    const auto here = ready.accept_datagrams(cm::private_data::of(std::uint64_t{7}));
    const auto done = next_success(here.receive_completion_queue());
    const auto message = done.success().receive();
    CHECK(datagram_payload(bytes, message).size() == 5);
    const global_route_header header{std::span{bytes}.first<grh_size>()};
    const address_handle way{here.protection_domain(), here.port(), done, header};
    here.queue_pair()
        .post(send(inline_data{bytes_of("and back")})
                  .signaled()
                  .to({.address = way,
                       .queue_pair = message.source_queue_pair(),
                       .queue_key = cm::datagram_queue_key}))
        .check();
    next_success(here.send_completion_queue());
  });

  datagram_end here;
  here.expect();
  const cm::datagram_peer peer =
      here.endpoint.resolve_peer(cm_test::device_address(listener.port()),
                                 {.private_data = cm::private_data::of(std::uint32_t{42})});
  CHECK(peer.private_data().as<std::uint64_t>() == 7U);
  CHECK(peer.queue_key() == cm::datagram_queue_key);
  CHECK(peer.queue_pair() != qp_number{});
  here.send_to(peer, "there");
  CHECK(here.received() == "and back");
  served.get();
}

TEST_CASE("A pair of one's own serves many requests, and one pair sends to many peers",
          "[rdma_connect][rdma_accept]") {
  cm_test::need_datagrams();
  constexpr std::uint32_t peers = 3;
  std::array<datagram_end, peers> servers;
  auto listener = cm::listener<transport::ud>::create(cm_test::device_address());
  auto served = serve([&] {
    for (std::uint32_t count = 0; count < 2 * peers; ++count) {
      auto request = listener.next_request(timeout::seconds(10));
      const auto which = request.private_data().as<std::uint32_t>();
      REQUIRE(which);
      request.accept_datagrams(servers[*which].endpoint.queue_pair(),
                               cm::private_data::of(*which + 100));
      CHECK(!request);
    }
  });

  const datagram_end here;
  for (std::uint32_t round = 0; round < 2; ++round)
    for (std::uint32_t which = 0; which < peers; ++which) {
      servers[which].expect();
      const auto peer = here.endpoint.resolve_peer(cm_test::device_address(listener.port()),
                                                   {.private_data = cm::private_data::of(which)});
      CHECK(peer.queue_pair() == servers[which].endpoint.queue_pair().number());
      CHECK(peer.private_data().as<std::uint32_t>() == which + 100);
      here.send_to(peer, "to number " + std::to_string(which));
      CHECK(servers[which].received() == "to number " + std::to_string(which));
    }
  served.get();
}

TEST_CASE("Step by step, on the device that leads to the peer",
          "[rdma_resolve_addr][rdma_resolve_route][rdma_connect]") {
  cm_test::need_datagrams();
  datagram_end server;
  auto listener = cm::listener<transport::ud>::create(cm_test::device_address());
  auto served = serve([&] {
    listener.next_request(timeout::seconds(10)).accept_datagrams(server.endpoint.queue_pair());
  });

  const auto to = cm_test::device_address(listener.port());
  auto start = cm::connector<transport::ud>::create();
  auto near = start.resolve_address(to);
  const datagram_end here{near.create_queue_pair(datagram_end::options)};
  CHECK(here.endpoint.local_address().ipv4() == cm_test::device_address().ipv4());

  auto another = cm::connector<transport::ud>::create();
  auto other_near = another.resolve_address(to);
  auto far = other_near.resolve_route();
  const auto peer = far.resolve_peer(here.endpoint.protection_domain());
  served.get();
  server.expect();
  here.send_to(peer, "hello");
  CHECK(server.received() == "hello");
}

TEST_CASE("A peer that is not there, and one that says no, are told in words", "[rdma_reject]") {
  cm_test::need_datagrams();
  auto listener = cm::listener<transport::ud>::create(cm_test::device_address());
  const datagram_end here;
  failure why;
  SECTION("nobody listens") {
    auto to = cm_test::device_address(listener.port());
    listener = {};
    CHECK(!here.endpoint.resolve_peer(to, {}, why));
    CHECK(why.code() == std::errc::connection_refused);
    CHECK(why.verb() == "rdma_connect");
    INFO(why.what());
    CHECK(std::string_view{why.what()}.find("no one listens on that port") != std::string::npos);
  }
  SECTION("the program rejects") {
    auto served = serve([&] {
      auto request = listener.next_request(timeout::seconds(10));
      request.reject(cm::private_data::of(std::uint32_t{13}));
      CHECK(!request);
    });
    auto start = cm::connector<transport::ud>::create();
    auto near = start.resolve_address(cm_test::device_address(listener.port()));
    auto far = near.resolve_route();
    CHECK(!far.resolve_peer(here.endpoint.protection_domain(), {}, why));
    served.get();
    CHECK(why.code() == std::errc::connection_refused);
    INFO(why.what());
    CHECK(std::string_view{why.what()}.find("the program there refused") != std::string::npos);
    REQUIRE(far.rejection());
    CHECK(far.rejection()->reason == cm::reject_reason::by_the_program);
    CHECK(far.rejection()->private_data.as<std::uint32_t>() == 13U);
  }
  SECTION("nobody answers") {
    CHECK(!here.endpoint.resolve_peer(cm_test::device_address(listener.port()),
                                      {.timeout = std::chrono::milliseconds{200}}, why));
    CHECK(why.code() == std::errc::timed_out);
    INFO(why.what());
    CHECK(std::string_view{why.what()}.find("did not answer within 200 ms") != std::string::npos);
  }
}

TEST_CASE("As much private data as there is room for") {
  cm_test::need_datagrams();
  auto listener = cm::listener<transport::ud>::create(cm_test::device_address());
  const datagram_end here;
  const auto to = cm_test::device_address(listener.port());
  const std::vector<std::byte> bytes(cm::max_datagram_request_data + 1, std::byte{0xab});
  const std::span<const std::byte> data{bytes};
  failure why;
  SECTION("is carried both ways") {
    auto served = serve([&] {
      auto request = listener.next_request(timeout::seconds(10));
      const auto came = request.private_data().bytes();
      REQUIRE(came.size() == cm::max_datagram_request_data);
      CHECK(came.back() == std::byte{0xab});
      request.accept_datagrams(here.endpoint.queue_pair(),
                               data.first(cm::max_datagram_accept_data));
    });
    const auto peer =
        here.endpoint.resolve_peer(to, {.private_data = data.first(cm::max_datagram_request_data)});
    served.get();
    const auto came = peer.private_data().bytes();
    REQUIRE(came.size() == cm::max_datagram_accept_data);
    CHECK(came.back() == std::byte{0xab});
  }
  SECTION("a byte more is refused to who asks") {
    CHECK(!here.endpoint.resolve_peer(to, {.private_data = data}, why));
    CHECK(why.code() == std::errc::message_size);
    CHECK(why.verb() == "rdma_connect");
  }
  SECTION("and to who answers") {
    auto asked = serve([&] {
      failure late;
      CHECK(!here.endpoint.resolve_peer(to, {.timeout = timeout::seconds(2)}, late));
    });
    auto request = listener.next_request(timeout::seconds(10));
    request.accept_datagrams(here.endpoint.queue_pair(),
                             data.first(cm::max_datagram_accept_data + 1), why);
    CHECK(why.code() == std::errc::message_size);
    CHECK(why.verb() == "rdma_accept");
    request = {};
    asked.get();
  }
}

TEST_CASE("A pair whose queue key peers are not told is refused") {
  cm_test::need_datagrams();
  auto listener = cm::listener<transport::ud>::create(cm_test::device_address());
  const datagram_end here;
  completion_queue queue{here.endpoint.context(), 1};
  auto fresh = queue_pair<transport::ud>::create(here.endpoint.protection_domain(),
                                                 {.send_cq = queue, .recv_cq = queue});
  const auto other = fresh.init().port(here.endpoint.port()).queue_key(queue_key{0x77}).apply();
  auto asked = serve([&] {
    failure late;
    CHECK(!here.endpoint.resolve_peer(cm_test::device_address(listener.port()),
                                      {.timeout = timeout::seconds(5)}, late));
    CHECK(late.code() == std::errc::connection_refused);
  });
  auto request = listener.next_request(timeout::seconds(10));
  failure why;
  request.accept_datagrams(other, {}, why);
  CHECK(why.code() == std::errc::invalid_argument);
  INFO(why.what());
  CHECK(std::string_view{why.what()}.find("its queue key is 0x77") != std::string::npos);
  CHECK(request);
  request.reject();
  asked.get();
}

TEST_CASE("An endpoint needs the address of a device", "[rdma_bind_addr]") {
  cm_test::need_datagrams();
  failure why;
  CHECK(!cm::datagram_endpoint::create(cm::socket_address::any_ipv4(0), {}, {}, why));
  CHECK(why.code() == std::errc::address_not_available);
  CHECK(std::string_view{why.what()}.find("stands for every interface") != std::string::npos);
  const auto endpoint = cm::datagram_endpoint::create(cm_test::device_address());
  CHECK(!cm::datagram_endpoint::create(endpoint.local_address(), {}, {}, why));
  CHECK(why.code() == std::errc::address_in_use);
}

TEST_CASE("A request that nobody answers is rejected as it dies") {
  cm_test::need_datagrams();
  auto listener = cm::listener<transport::ud>::create(cm_test::device_address());
  const datagram_end here;
  auto dropped = serve([&] { (void)listener.next_request(timeout::seconds(10)); });
  failure why;
  CHECK(!here.endpoint.resolve_peer(cm_test::device_address(listener.port()),
                                    {.timeout = timeout::seconds(5)}, why));
  dropped.get();
  CHECK(why.code() == std::errc::connection_refused);
}
