// SPDX-License-Identifier: MIT
// Asynchronous datagrams: peers, multicast groups, and the end of an endpoint.
#include <chrono>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <adverb/adverb.hpp>
#include <adverb/async.hpp>
#include <support/catch.hpp>

#include "cm/async_side.hpp"

using namespace async_test;
using namespace std::chrono_literals;

namespace {

/// Registered words.
struct words_on {
  words_on(const async::datagram_endpoint& of, std::string_view words) : bytes{words} {
    region = memory_region{of.protection_domain(), bytes};
  }
  std::string bytes;
  memory_region region;
};

[[nodiscard]] std::string text_of(const async::datagram& received) {
  const auto bytes = received.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

using ud_in_init = queue_pair<transport::ud, qp_state::init>;

/// A queue pair without librdmacm, on the queue of the loop.
[[nodiscard]] ud_in_init own_pair(async::device_loop& loop, context_ref device) {
  const completion_queue_ref queue = loop.queue(device);
  auto fresh = queue_pair<transport::ud>::create(
      loop.domain(device),
      {.send_cq = queue, .recv_cq = queue, .max_send_wr = 4, .max_recv_wr = 8});
  return fresh.init().port(first_port).queue_key(queue_key{0x77}).apply();
}
[[nodiscard]] queue_pair<transport::ud> ready(ud_in_init& waiting) {
  auto receiving = waiting.rtr().apply();
  return receiving.rts().apply();
}

/// Answers each datagram with its own words, until one is empty.
async::task<> answer_all(const async::datagram_endpoint& here) {
  while (true) {
    const async::datagram question = co_await here.next();
    if (question.bytes().empty()) break;
    const cm::datagram_target sender = here.sender_of(question);
    co_await here.send(sender, question.buffer());
  }
  co_await here.close();
}

/// Sends a message so many times, and counts the answers.
async::task<> ask(const async::datagram_endpoint& here, datagram_destination there, int rounds,
                  int& answers) {
  const words_on memory{here, "hello"};
  for (int each = 0; each < rounds; ++each) {
    co_await here.send(there, memory.region.const_buffer());
    const async::datagram came = co_await here.next();
    if (text_of(came) == "hello") ++answers;
  }
  co_await here.perform(send().to(there));
}

}  // namespace

TEST_CASE("Endpoints without librdmacm exchange datagrams, and answer any sender",
          "[ibv_create_ah][ibv_post_send][ibv_modify_qp]") {
  need_datagrams();
  const context device = open_device();
  async::event_loop loop;
  auto near = own_pair(loop, device);
  auto far = own_pair(loop, device);
  const endpoint far_end = far.endpoint();
  const address_handle way{loop.domain(device), near.address_of(far_end)};
  const async::datagram_endpoint here{loop, ready(near), small};
  const async::datagram_endpoint there{loop, ready(far), small};
  int answers = 0;
  loop.spawn(answer_all(there));
  loop.spawn(ask(here,
                 {.address = way, .queue_pair = far_end.number, .queue_key = far_end.queue_key}, 20,
                 answers));
  loop.run();
  CHECK(answers == 20);
}

TEST_CASE("A peer is found by the address of its listener", "[rdma_resolve_addr][rdma_connect]") {
  need_datagrams();
  async::event_loop loop;
  async::datagram_listener listener{loop, every_address()};
  const async::datagram_endpoint here{loop, device_address(), small};
  const async::datagram_endpoint there{loop, device_address(), small};
  int answers = 0;
  bool stopped = false;
  std::error_code refused;
  std::error_code end;
  const auto introduce = [&]() -> async::task<> {
    while (auto request = co_await listener.next().report_to(end)) {
      if (request.private_data().as<std::uint32_t>() == 42U)
        request.accept_datagrams(there.queue_pair(), cm::private_data::of(std::uint64_t{7}));
    }
    stopped = true;
  };
  const auto find = [&]() -> async::task<> {
    const cm::datagram_peer peer = co_await here.resolve(
        device_address(listener.port()), {.private_data = cm::private_data::of(std::uint32_t{42})});
    CHECK(peer.queue_pair() == there.queue_pair().number());
    CHECK(peer.private_data().as<std::uint64_t>() == 7U);
    co_await ask(here, peer, 4, answers);
    const auto none = co_await here.resolve(device_address(listener.port())).report_to(refused);
    CHECK(!none);
    listener.cancel_waits();
  };
  loop.spawn(answer_all(there));
  loop.spawn(introduce());
  loop.spawn(find());
  loop.run();
  CHECK(answers == 4);
  CHECK(refused == std::errc::connection_refused);
  CHECK(end == std::errc::operation_canceled);
  CHECK(stopped);
}

TEST_CASE("An endpoint joins multicast groups, sends to them and leaves them",
          "[rdma_join_multicast][rdma_leave_multicast]") {
  need_datagrams();
  async::event_loop loop;
  const async::datagram_endpoint here{loop, device_address(), small};
  const async::datagram_endpoint there{loop, device_address(), small};
  const auto group = *cm::socket_address::parse("239.7.8.1", 0);
  const auto other = *cm::socket_address::parse("239.7.8.2", 0);
  std::string heard;
  cm::multicast_membership second;
  const auto join_second = [&]() -> async::task<> { second = co_await there.join(other); };
  const auto member = [&]() -> async::task<> {
    loop.spawn(join_second());
    cm::multicast_membership first = co_await there.join(group);
    CHECK(first.group() == group);
    const cm::multicast_membership sender =
        co_await here.join(group, {.role = cm::multicast_role::send_only});
    const words_on memory{here, "to all"};
    co_await here.send(sender, memory.region.const_buffer());
    {
      const async::datagram came = co_await there.next();
      heard = text_of(came);
      CHECK(came.header().destination() == first.address().route->destination);
    }
    first.close();
    failure why;
    static_cast<void>(co_await there.join(device_address()).report_to(why));
    CHECK(why.code() == std::errc::invalid_argument);
  };
  loop.spawn(member());
  loop.run();
  CHECK(heard == "to all");
  CHECK(second);
  second.close();
}

TEST_CASE("An endpoint is usable after cancel_waits, and ended by cancel", "[ibv_modify_qp]") {
  need_datagrams();
  async::event_loop loop;
  const async::datagram_endpoint here{loop, device_address(), small};
  std::error_code waited;
  std::error_code resolved;
  std::error_code ended;
  std::error_code joined;
  const auto wait = [&]() -> async::task<> {
    static_cast<void>(co_await here.next().report_to(waited));
    static_cast<void>(co_await here.next().report_to(ended));
    const auto group = *cm::socket_address::parse("239.7.8.3", 0);
    static_cast<void>(co_await here.join(group).report_to(joined));
  };
  const auto resolve = [&]() -> async::task<> {
    static_cast<void>(co_await here.resolve(device_address(1)).report_to(resolved));
    here.cancel();
  };
  loop.spawn(wait());
  loop.spawn(resolve());
  here.cancel_waits();
  loop.run();
  CHECK(waited == std::errc::operation_canceled);
  CHECK(resolved == std::errc::operation_canceled);
  CHECK(ended == std::errc::operation_canceled);
  CHECK(joined == std::errc::operation_canceled);
}

TEST_CASE(
    "An endpoint is refused on a wildcard address, on a port in use, or with a queue pair on "
    "another queue",
    "[rdma_bind_addr]") {
  need_datagrams();
  const context device = open_device();
  async::event_loop loop;
  failure why;
  CHECK(!async::datagram_endpoint{loop, every_address(), small, why});
  CHECK(why.code() == std::errc::address_not_available);
  {
    const cm::datagram_endpoint first = cm::datagram_endpoint::create(device_address());
    CHECK(!async::datagram_endpoint{loop, first.local_address(), small, why});
    CHECK(why.code() == std::errc::address_in_use);
    // The loop takes leave of it.
    loop.run();
  }
  const completion_queue other{device, 16};
  const protection_domain domain{device};
  auto fresh = queue_pair<transport::ud>::create(domain, {.send_cq = other, .recv_cq = other});
  auto waiting = fresh.init().port(first_port).queue_key(queue_key{0x77}).apply();
  CHECK(!async::datagram_endpoint{loop, ready(waiting), small, why});
  CHECK(why.code() == std::errc::invalid_argument);
  CHECK(loop.connections() == 0);
}
