// SPDX-License-Identifier: MIT
// Datagrams whose peers librdmacm finds: requests, answers, and failures.
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <adverb/adverb.hpp>
#include <adverb/cm.hpp>
#include <support/catch.hpp>

#include "cm/datagram_end.hpp"
#include "cm/support.hpp"

using namespace adverb;
using namespace cm_test;

namespace {

using ud_listener = cm::listener<transport::ud>;
using route = cm::connector<transport::ud, cm::step::route_resolved>;

/// A request that is answered elsewhere, while the test sends it.
template <class Serve>
[[nodiscard]] std::future<void> serve(const Serve& function) {
  return std::async(std::launch::async, function);
}

/// Goes as far as one does without asking.
[[nodiscard]] route route_to(const cm::socket_address& address) {
  auto start = cm::connector<transport::ud>::create();
  auto near = start.resolve_address(address);
  return near.resolve_route();
}

[[nodiscard]] bool says(const failure& why, std::string_view words) {
  return std::string_view{why.what()}.find(words) != std::string_view::npos;
}

/// The answer of one of many pairs.
struct one_of_many {
  std::uint32_t question;
  qp_number queue_pair;
};

}  // namespace

TEST_CASE("A listener creates a queue pair for a request and both sides send",
          "[rdma_connect][rdma_accept][rdma_create_qp][rdma_bind_addr][rdma_listen]") {
  need_datagrams();
  constexpr int rounds = 6;
  two_sides<transport::ud>(
      [](const ud_listener& listener) {
        expect(listener.port() != 0, "the port is known");
        auto request = listener.next_request(std::chrono::seconds{10});
        expect(request.private_data().as<std::uint32_t>() == 42U, "the private data came along");
        expect(request.peer_address().ipv4() == other_side().ipv4(), "the address of who asks");
        auto ready = request.create_queue_pair(datagram_options);
        inbox mail{ready.protection_domain(), ready.queue_pair()};
        const auto here = ready.accept_datagrams(cm::private_data::of(std::uint64_t{7}));
        for (int round = 0; round < rounds; ++round) {
          const letter question = mail.next(here.recv_cq());
          answer(here, question, "no " + question.text);
        }
      },
      [](const cm::socket_address& address) {
        datagram_end here;
        const cm::datagram_peer peer = here.endpoint.resolve_peer(
            address, {.private_data = cm::private_data::of(std::uint32_t{42})});
        CHECK(peer.private_data().as<std::uint64_t>() == 7U);
        CHECK(peer.queue_key() == cm::datagram_queue_key);
        CHECK(peer.queue_pair() != qp_number{});
        for (int round = 0; round < rounds; ++round) {
          const std::string question = "round " + std::to_string(round);
          here.send_to(peer, question);
          const letter answered = here.received();
          CHECK(answered.text == "no " + question);
          CHECK(answered.done.success().receive().source_queue_pair() == peer.queue_pair());
        }
      });
}

TEST_CASE("One datagram pair of the program serves many requests and sends to many peers",
          "[rdma_connect][rdma_accept]") {
  need_datagrams();
  constexpr std::uint32_t peers = 3;
  constexpr std::uint32_t questions = 2 * peers;
  two_sides<transport::ud>(
      [](const ud_listener& listener) {
        std::array<datagram_end, peers> servers;
        // The active side repeats its request when the answer is late.
        std::set<std::uint32_t> asked;
        while (asked.size() < questions) {
          auto request = listener.next_request(std::chrono::seconds{10});
          const auto question = request.private_data().as<std::uint32_t>();
          expect(question.has_value(), "the question came along");
          const auto pair = servers[*question % peers].endpoint.queue_pair();
          request.accept_datagrams(pair,
                                   cm::private_data::of(one_of_many{*question, pair.number()}));
          expect(!request, "the request is answered");
          asked.insert(*question);
        }
        for (std::uint32_t question = 0; question < questions; ++question)
          expect(servers[question % peers].received().text == "no " + std::to_string(question),
                 "the message came to its pair");
      },
      [](const cm::socket_address& address) {
        const datagram_end here;
        for (std::uint32_t question = 0; question < questions; ++question) {
          const auto peer =
              here.endpoint.resolve_peer(address, {.private_data = cm::private_data::of(question)});
          const auto answer = peer.private_data().as<one_of_many>();
          REQUIRE(answer);
          CHECK(answer->question == question);
          CHECK(answer->queue_pair == peer.queue_pair());
          here.send_to(peer, "no " + std::to_string(question));
        }
      });
}

TEST_CASE("A datagram peer is resolved step by step on the device of its route",
          "[rdma_resolve_addr][rdma_resolve_route][rdma_connect]") {
  need_datagrams();
  two_sides<transport::ud>(
      [](const ud_listener& listener) {
        datagram_end server;
        listener.next_request(std::chrono::seconds{10})
            .accept_datagrams(server.endpoint.queue_pair());
        expect(server.received().text == "hello", "the message came");
      },
      [](const cm::socket_address& address) {
        auto start = cm::connector<transport::ud>::create();
        auto near = start.resolve_address(address);
        const datagram_end here{near.create_queue_pair(datagram_options)};
        CHECK(here.endpoint.local_address().ipv4() == device_address().ipv4());
        const auto peer = route_to(address).resolve_peer(here.endpoint.protection_domain());
        here.send_to(peer, "hello");
      });
}

TEST_CASE("A failed connect explains that no program listens on the port", "[rdma_connect]") {
  need_datagrams();
  two_sides<transport::ud>([](const ud_listener&) {},
                           [](const cm::socket_address& address) {
                             const datagram_end here;
                             failure why;
                             CHECK(!here.endpoint.resolve_peer(address.with_port(1), {}, why));
                             INFO(why.what());
                             CHECK(why.code() == std::errc::connection_refused);
                             CHECK(why.verb() == "rdma_connect");
                             CHECK(says(why, "nothing listens on that port"));
                           });
}

TEST_CASE("A rejection carries the reason and the private data of the peer", "[rdma_reject]") {
  need_datagrams();
  two_sides<transport::ud>(
      [](const ud_listener& listener) {
        auto request = listener.next_request(std::chrono::seconds{10});
        request.reject(cm::private_data::of(std::uint32_t{13}));
        expect(!request, "the request is answered");
      },
      [](const cm::socket_address& address) {
        const datagram_end here;
        auto far = route_to(address);
        failure why;
        CHECK(!far.resolve_peer(here.endpoint.protection_domain(), {}, why));
        INFO(why.what());
        CHECK(why.code() == std::errc::connection_refused);
        CHECK(says(why, "the peer's program refused"));
        REQUIRE(far.rejection());
        CHECK(far.rejection()->reason == cm::reject_reason::by_the_program);
        CHECK(far.rejection()->private_data.as<std::uint32_t>() == 13U);
      });
}

TEST_CASE("A connect that times out explains that the peer did not answer", "[rdma_connect]") {
  need_datagrams();
  two_sides<transport::ud>(
      [](const ud_listener&) {},
      [](const cm::socket_address& address) {
        const datagram_end here;
        failure why;
        CHECK(!route_to(address).resolve_peer(here.endpoint.protection_domain(),
                                              {.timeout = std::chrono::milliseconds{200}}, why));
        INFO(why.what());
        CHECK(why.code() == std::errc::timed_out);
        CHECK(says(why, "did not answer within 200 ms"));
      });
}

TEST_CASE("Private data of maximum size arrives on both sides") {
  need_datagrams();
  static constexpr std::byte last{0xab};
  const std::vector<std::byte> bytes(cm::max_datagram_request_data, last);
  const std::span<const std::byte> data{bytes};
  two_sides<transport::ud>(
      [&](const ud_listener& listener) {
        const datagram_end here;
        auto request = listener.next_request(std::chrono::seconds{10});
        const auto came = request.private_data().bytes();
        expect(came.size() == cm::max_datagram_request_data, "all of it came");
        expect(came.back() == last, "the last byte came");
        request.accept_datagrams(here.endpoint.queue_pair(),
                                 data.first(cm::max_datagram_accept_data));
      },
      [&](const cm::socket_address& address) {
        const datagram_end here;
        const auto peer = here.endpoint.resolve_peer(address, {.private_data = data});
        const auto came = peer.private_data().bytes();
        REQUIRE(came.size() == cm::max_datagram_accept_data);
        CHECK(came.back() == last);
      });
}

TEST_CASE("Private data beyond the maximum size is refused") {
  need_datagrams();
  auto listener = ud_listener::create(device_address());
  const datagram_end here;
  const auto to = device_address(listener.port());
  const std::vector<std::byte> bytes(cm::max_datagram_request_data + 1);
  const std::span<const std::byte> data{bytes};
  failure why;
  SECTION("in a request") {
    CHECK(!here.endpoint.resolve_peer(to, {.private_data = data}, why));
    CHECK(why.code() == std::errc::message_size);
    CHECK(why.verb() == "rdma_connect");
  }
  SECTION("and to who answers") {
    auto asked = serve([&] {
      failure late;
      CHECK(!here.endpoint.resolve_peer(to, {.timeout = std::chrono::seconds{2}}, late));
    });
    auto request = listener.next_request(std::chrono::seconds{10});
    request.accept_datagrams(here.endpoint.queue_pair(),
                             data.first(cm::max_datagram_accept_data + 1), why);
    CHECK(why.code() == std::errc::message_size);
    CHECK(why.verb() == "rdma_accept");
    request = {};
    asked.get();
  }
}

TEST_CASE("accept_datagrams refuses a queue pair with another queue key") {
  need_datagrams();
  auto listener = ud_listener::create(device_address());
  const datagram_end here;
  completion_queue queue{here.endpoint.context(), 1};
  auto fresh = queue_pair<transport::ud>::create(here.endpoint.protection_domain(),
                                                 {.send_cq = queue, .recv_cq = queue});
  const auto other = fresh.init().port(here.endpoint.port()).queue_key(queue_key{0x77}).apply();
  auto asked = serve([&] {
    failure late;
    CHECK(!here.endpoint.resolve_peer(device_address(listener.port()),
                                      {.timeout = std::chrono::seconds{5}}, late));
    CHECK(late.code() == std::errc::connection_refused);
  });
  auto request = listener.next_request(std::chrono::seconds{10});
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
  need_datagrams();
  failure why;
  CHECK(!cm::datagram_endpoint::create(cm::socket_address::any_ipv4(0), {}, {}, why));
  CHECK(why.code() == std::errc::address_not_available);
  CHECK(std::string_view{why.what()}.find("the address is a wildcard") != std::string::npos);
  CHECK(!cm::datagram_endpoint::create({ipv4_address{127, 0, 0, 1}, 0}, {}, {}, why));
  CHECK(why.explanation() == "no RDMA device has this address: none has a loopback address");
  const auto endpoint = cm::datagram_endpoint::create(device_address());
  CHECK(!cm::datagram_endpoint::create(endpoint.local_address(), {}, {}, why));
  CHECK(why.code() == std::errc::address_in_use);
}

TEST_CASE("Destroying an unanswered request rejects it") {
  need_datagrams();
  two_sides<transport::ud>(
      [](const ud_listener& listener) {
        expect(static_cast<bool>(listener.next_request(std::chrono::seconds{10})), "it came");
      },
      [](const cm::socket_address& address) {
        const datagram_end here;
        failure why;
        CHECK(!here.endpoint.resolve_peer(address, {}, why));
        CHECK(why.code() == std::errc::connection_refused);
      });
}
