// SPDX-License-Identifier: MIT
// Multicast groups that librdmacm joins.
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>

#include <adverb/adverb.hpp>
#include <adverb/cm.hpp>
#include <support/catch.hpp>

#include "cm/support.hpp"

using namespace adverb;

namespace {

[[nodiscard]] cm::socket_address group_address(const char* text = "239.7.7.1") {
  return *cm::socket_address::parse(text, 0);
}

/// An endpoint that has posted receives.
struct member {
  member() {
    for (int count = 0; count < 4; ++count)
      endpoint.queue_pair().post(receive(region.buffer())).check();
  }

  void send_to(const datagram_destination& there) const {
    endpoint.queue_pair().post(send(inline_data{text}).signaled().to(there)).check();
    next_success(endpoint.send_completion_queue());
  }
  [[nodiscard]] bool hears() const {
    std::array<completion, 1> batch;
    const spin_until until{std::chrono::milliseconds{300}};
    while (!until.passed())
      if (!endpoint.receive_completion_queue().poll(batch).empty()) return true;
    return false;
  }

  struct spin_until {
    explicit spin_until(std::chrono::milliseconds time)
        : end{std::chrono::steady_clock::now() + time} {}
    [[nodiscard]] bool passed() const { return std::chrono::steady_clock::now() > end; }
    std::chrono::steady_clock::time_point end;
  };

  static constexpr std::array<std::byte, 5> text{};
  cm::datagram_endpoint endpoint = cm::datagram_endpoint::create(
      cm_test::device_address(), {.max_send_wr = 4, .max_recv_wr = 4, .max_inline_data = 16});
  std::array<std::byte, grh_size + 64> bytes{};
  memory_region region{endpoint.protection_domain(), bytes, access_right::local_write};
};

}  // namespace

TEST_CASE("Members receive what is sent to a group until they leave",
          "[rdma_join_multicast][rdma_leave_multicast]") {
  cm_test::need_datagrams();
  const member sender;
  const member receiver;
  auto sending = sender.endpoint.join(group_address());
  REQUIRE(sending);
  CHECK(sending.group() == group_address());
  CHECK(sending.queue_pair() == multicast_qp_number);
  CHECK(sending.queue_key() == cm::datagram_queue_key);
  REQUIRE(sending.address().route);
  CHECK(sending.address().route->destination ==
        gid{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 7, 7, 1}});

  auto receiving = receiver.endpoint.join(group_address());
  sender.send_to(sending);
  CHECK(receiver.hears());
  receiving.close();
  CHECK(!receiving);
  CHECK(receiving.group().is_empty());
  sender.send_to(sending);
  CHECK(!receiver.hears());
  receiving = receiver.endpoint.join(group_address());
  sender.send_to(sending);
  CHECK(receiver.hears());
}

TEST_CASE("Who only sends hears nothing", "[rdma_join_multicast_ex]") {
  cm_test::need_datagrams();
  const member sender;
  const member receiver;
  failure why;
  const auto sending =
      sender.endpoint.join(group_address(), {.role = cm::multicast_role::send_only}, why);
  INFO(why.what());
  REQUIRE(sending);
  const auto receiving = receiver.endpoint.join(group_address());
  sender.send_to(sending);
  CHECK(receiver.hears());
  CHECK(!sender.hears());
}

TEST_CASE("An endpoint is in several groups", "[rdma_join_multicast]") {
  cm_test::need_datagrams();
  const member sender;
  const member receiver;
  const auto first = receiver.endpoint.join(group_address("239.7.7.2"));
  const auto first_way = sender.endpoint.join(group_address("239.7.7.2"));
  const auto second_way = sender.endpoint.join(group_address("239.7.7.3"));
  {
    auto second = receiver.endpoint.join(group_address("239.7.7.3"));
    const auto moved = std::move(second);
    CHECK(!second);
    sender.send_to(second_way);
    CHECK(receiver.hears());
  }
  sender.send_to(second_way);
  CHECK(!receiver.hears());
  sender.send_to(first_way);
  CHECK(receiver.hears());
}

TEST_CASE("A group that was joined twice is received until it is left once",
          "[rdma_join_multicast]") {
  cm_test::need_datagrams();
  const member sender;
  const member receiver;
  const auto way = sender.endpoint.join(group_address());
  auto first = receiver.endpoint.join(group_address());
  const auto second = receiver.endpoint.join(group_address());
  sender.send_to(way);
  CHECK(receiver.hears());
  first.close();
  sender.send_to(way);
  CHECK(!receiver.hears());
}

TEST_CASE("An identifier joins by hand, without a queue pair",
          "[rdma_join_multicast][rdma_leave_multicast]") {
  cm_test::need_datagrams();
  const auto channel = cm::event_channel::create();
  const auto id = cm::identifier::create(channel, cm::port_space::udp);
  id.bind(cm_test::device_address());
  int context = 0;
  id.join_multicast(group_address(), cm::multicast_role::full_member, &context);
  auto event = channel.next_event(timeout::seconds(10));
  REQUIRE(event);
  REQUIRE(event->type() == cm::event_type::multicast_join);
  CHECK(event->join_context() == &context);
  CHECK(event->private_data().empty());
  cm::multicast_membership group{adopt, id, group_address(), *event, id.protection_domain()};
  const member sender;
  const member receiver;
  const auto receiving = receiver.endpoint.join(group_address());
  // The domains of the two are librdmacm's, one for the device.
  sender.send_to(group);
  CHECK(receiver.hears());
  group.close();
  failure why;
  id.leave_multicast(group_address(), why);
  CHECK(why.code() == std::errc::address_not_available);
}

TEST_CASE("What librdmacm cannot attach is told by the event", "[rdma_join_multicast]") {
  cm_test::need_datagrams();
  const member here;
  here.endpoint.id().join_multicast(cm_test::device_address());
  std::optional<cm::event> event;
  while (!event) event = here.endpoint.next_event();
  CHECK(event->type() == cm::event_type::multicast_error);
  CHECK(event->status() == -1);
  event.reset();
  here.endpoint.id().leave_multicast(cm_test::device_address());
}

TEST_CASE("What is no group, or cannot be joined, is refused in words", "[rdma_join_multicast]") {
  cm_test::need_datagrams();
  const member here;
  failure why;
  CHECK(!here.endpoint.join(cm::socket_address{}, {}, why));
  CHECK(why.code() == std::errc::invalid_argument);
  CHECK(!here.endpoint.join(cm_test::device_address(), {}, why));
  CHECK(why.verb() == "rdma_join_multicast");
  CHECK(why.code() == std::errc::invalid_argument);
  CHECK(std::string_view{why.what()}.find("is no multicast address") != std::string::npos);
  CHECK(!here.endpoint.join(group_address("ff0e::1234"), {}, why));
  INFO(why.what());
  CHECK(std::string_view{why.what()}.find("not over RoCE v2") != std::string::npos);
}

TEST_CASE("A membership that outlives its endpoint is told of") {
  cm_test::need_datagrams();
  std::optional<member> here{std::in_place};
  auto group = here->endpoint.join(group_address());
  failure why;
  here->endpoint.close(why);
  CHECK(why.code() == std::errc::device_or_resource_busy);
  CHECK(std::string_view{why.what()}.find("multicast membership") != std::string::npos);
  group.close();
}
