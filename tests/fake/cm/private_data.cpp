// SPDX-License-Identifier: MIT
// Private data: bytes and values, padded, of the wrong size, too long.
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <support/catch.hpp>
#include <support/reported.hpp>

#include "cm_bench.hpp"

namespace {

namespace cm = adverb::cm;

struct greeting {
  std::uint32_t number;
  char word[10];
};

std::string wire(const cm::private_data& data) {
  return {reinterpret_cast<const char*>(data.bytes().data()), data.bytes().size()};
}
cm::private_data came(std::string bytes) {
  return cm::private_data{std::as_bytes(std::span{bytes})};
}

}  // namespace

TEST_CASE("private data has a little-endian length before the value") {
  const std::string sent = wire(cm::private_data::of(std::array<char, 3>{'a', 'b', 'c'}));
  CHECK(sent == std::string{"\3\0abc", 5});
}

TEST_CASE("private_data::as returns the value, with or without padding") {
  std::string bytes = wire(cm::private_data::of(greeting{7, "hello"}));
  for (const std::size_t size : {bytes.size(), cm::max_request_data, cm::max_accept_data}) {
    bytes.resize(size);
    const auto got = came(bytes).as<greeting>();
    REQUIRE(got);
    CHECK(got->number == 7);
    CHECK(std::string{got->word} == "hello");
  }
}

TEST_CASE("private_data::as returns none if the value has another size") {
  std::string bytes = wire(cm::private_data::of(std::uint32_t{7}));
  CHECK_FALSE(came(bytes).as<std::uint64_t>());
  CHECK_FALSE(came(bytes).as<std::uint16_t>());
  bytes.resize(cm::max_request_data);
  CHECK_FALSE(came(bytes).as<std::uint64_t>());
  CHECK(came(bytes).as<std::uint32_t>() == 7U);
}

TEST_CASE("private_data::as returns none if the value is truncated") {
  std::string bytes = wire(cm::private_data::of(std::uint32_t{7}));
  while (!bytes.empty()) {
    bytes.pop_back();
    CAPTURE(bytes.size());
    CHECK_FALSE(came(bytes).as<std::uint32_t>());
  }
}

TEST_CASE("private data keeps up to 255 bytes and the size that arrived") {
  CHECK(cm::private_data{}.empty());
  CHECK(wire(came("hello")) == "hello");
  CHECK(came("hello").size() == 5);
  const std::string most(255, 'x');
  CHECK(wire(came(most)) == most);
  CHECK(came(most + "yz").size() == 257);
  CHECK(wire(came(most + "yz")) == most);
}

TEST_CASE_METHOD(cm_bench, "private data beyond the limit is refused without a call",
                 "[rdma_connect][rdma_accept][rdma_reject]") {
  auto connecting = ready();
  const auto refused = [](std::string_view words, const auto& operation) {
    const adverb::failure why = reported(operation);
    CHECK(why.code() == std::errc::message_size);
    CHECK(why.explanation() == words);
  };
  const auto limit = std::chrono::seconds{1};
  const auto bytes = [](std::size_t count) { return came(std::string(count, 'x')); };
  refused(
      "private data of 57 bytes is too long: a request carries at most 56 over InfiniBand and RoCE",
      [&](auto&&... policy) {
        (void)connecting.connect({.private_data = bytes(57)}, limit, policy...);
      });
  CHECK(machine.count<called::rdma_connect>() == 0);
  (void)connecting.connect({.private_data = bytes(56)});
  CHECK(last<called::rdma_connect>().private_data.size() == 56);

  const auto at = listener::create(here);
  auto request = requested(at);
  refused(
      "private data of 149 bytes is too long: a rejection carries at most 148 over InfiniBand and "
      "RoCE",
      [&](auto&&... policy) { request.reject(bytes(149), policy...); });
  CHECK(request);
  auto accepting = request.create_queue_pair();
  refused(
      "private data of 197 bytes is too long: an acceptance carries at most 196 over InfiniBand "
      "and RoCE",
      [&](auto&&... policy) {
        (void)accepting.accept({.private_data = bytes(197)}, limit, policy...);
      });
  CHECK(machine.count<called::rdma_reject>() == 0);
  CHECK(machine.count<called::rdma_accept>() == 0);
  // It is whole, and can be tried again.
  CHECK(accepting.accept());
}

TEST_CASE_METHOD(cm_bench, "datagrams carry more private data in a request and less in an answer",
                 "[rdma_connect][rdma_accept][rdma_reject]") {
  const auto channel = cm::event_channel::create();
  const auto id = cm::identifier::create(channel, cm::port_space::udp);
  id.bind(here);
  const auto longest_of = [&](const auto& send) {
    const adverb::failure why =
        reported([&](auto&&... policy) { send(came(std::string(255, 'x')), policy...); });
    CHECK(why.code() == std::errc::message_size);
    return std::string{why.explanation()};
  };
  const std::string link = " over InfiniBand and RoCE";
  const std::string too_long = "private data of 255 bytes is too long: ";
  CHECK(longest_of([&](const cm::private_data& data, auto&&... policy) {
          id.connect({.private_data = data}, policy...);
        }) == too_long + "a request carries at most " +
                  std::to_string(cm::max_datagram_request_data) + link);
  CHECK(longest_of([&](const cm::private_data& data, auto&&... policy) {
          id.accept({.private_data = data}, policy...);
        }) == too_long + "an acceptance carries at most " +
                  std::to_string(cm::max_datagram_accept_data) + link);
  CHECK(longest_of([&](const cm::private_data& data, auto&&... policy) {
          id.reject(data, policy...);
        }) == too_long + "a rejection carries at most " +
                  std::to_string(cm::max_datagram_accept_data) + link);
}

TEST_CASE_METHOD(cm_bench, "a request between native addresses has room for more private data") {
  using adverb::detail::cm_message;
  const auto channel = cm::event_channel::create();
  for (const auto& [space, request, acceptance] :
       {std::tuple{cm::port_space::tcp, 92U, 196U}, std::tuple{cm::port_space::udp, 216U, 136U}}) {
    const auto id = cm::identifier::create(channel, space);
    id.bind(here);
    sockaddr& from = id.native_handle()->route.addr.src_addr;
    const sa_family_t family = std::exchange(from.sa_family, AF_IB);
    const auto limit = [&](cm_message message) {
      return adverb::detail::limit_of(id.native_handle(), message).bytes;
    };
    CHECK(limit(cm_message::request) == request);
    CHECK(limit(cm_message::acceptance) == acceptance);
    from.sa_family = family;
  }
}

TEST_CASE_METHOD(cm_bench, "connect with private data fails on an identifier without a device") {
  const auto channel = cm::event_channel::create();
  const auto id = cm::identifier::create(channel, cm::port_space::tcp);
  const adverb::failure why = reported([&](auto&&... policy) {
    id.connect({.private_data = came(std::string(200, 'x'))}, policy...);
  });
  CHECK(why.code() == std::errc::invalid_argument);
  CHECK(why.explanation() == "the identifier has no device: resolve the address first");
}
