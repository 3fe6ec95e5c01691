// SPDX-License-Identifier: MIT
// Multicast groups that librdmacm joins.
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <adverb/adverb.hpp>
#include <adverb/cm.hpp>
#include <support/catch.hpp>

#include "cm/datagram_end.hpp"
#include "cm/support.hpp"

using namespace adverb;
using namespace cm_test;

namespace {

using ud_listener = cm::listener<transport::ud>;

[[nodiscard]] cm::socket_address group_address(const char* text = "239.7.7.1") {
  return *cm::socket_address::parse(text, 0);
}

/// Requests the receiver's address. It answers when it has reached `stage`, so that the answer
/// proves that the receiver is in its groups.
[[nodiscard]] cm::datagram_peer receiver_at(const datagram_end& here,
                                            const cm::socket_address& address,
                                            std::uint32_t stage) {
  return here.endpoint.resolve_peer(address, {.private_data = cm::private_data::of(stage)});
}

/// The other side of it. The kernel repeats a request when an answer is late: such requests are
/// answered again, too.
void reached(std::uint32_t stage, const ud_listener& listener, const datagram_end& here) {
  std::optional<std::uint32_t> asked;
  while (asked != stage) {
    auto request = listener.next_request(std::chrono::seconds{10});
    asked = request.private_data().as<std::uint32_t>();
    request.accept_datagrams(here.endpoint.queue_pair());
  }
}

/// Fails the receiver if anything else came before.
void expect_next(datagram_end& here, std::string_view text) {
  const letter came = here.received();
  expect(came.text == text, std::string{text} + " is what comes next; it was " + came.text);
}

}  // namespace

TEST_CASE("Members receive the messages to a group until they leave",
          "[rdma_join_multicast][rdma_leave_multicast]") {
  need_datagrams();
  two_sides<transport::ud>(
      [](const ud_listener& listener) {
        datagram_end here;
        auto receiving = here.endpoint.join(group_address());
        reached(1, listener, here);
        const letter came = here.received();
        expect(came.text == "to members", "the message to the group came");
        expect(came.header().destination() == receiving.address().route->destination,
               "it came by way of the group");
        receiving.close();
        expect(!receiving, "it is no member any more");
        expect(receiving.group().is_empty(), "it is in no group");
        reached(2, listener, here);
        expect_next(here, "to the pair");
        receiving = here.endpoint.join(group_address());
        reached(3, listener, here);
        expect_next(here, "to members again");
      },
      [](const cm::socket_address& address) {
        datagram_end here;
        const auto group = here.endpoint.join(group_address());
        REQUIRE(group);
        CHECK(group.group() == group_address());
        CHECK(group.queue_pair() == multicast_qp_number);
        CHECK(group.queue_key() == cm::datagram_queue_key);
        REQUIRE(group.address().route);
        CHECK(group.address().route->destination ==
              gid{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 7, 7, 1}});

        // The sender is a member, too.
        (void)receiver_at(here, address, 1);
        here.send_to(group, "to members");
        CHECK(here.received().text == "to members");
        const auto receiver = receiver_at(here, address, 2);
        here.send_to(group, "to those who stay");
        CHECK(here.received().text == "to those who stay");
        here.send_to(receiver, "to the pair");
        (void)receiver_at(here, address, 3);
        here.send_to(group, "to members again");
        CHECK(here.received().text == "to members again");
      });
}

TEST_CASE("A send-only member receives nothing from the group", "[rdma_join_multicast_ex]") {
  need_datagrams();
  two_sides<transport::ud>(
      [](const ud_listener& listener) {
        datagram_end here;
        const auto receiving = here.endpoint.join(group_address());
        reached(1, listener, here);
        const letter came = here.received();
        expect(came.text == "to members", "the message to the group came");
        answer(here.endpoint, came, "it came");
      },
      [](const cm::socket_address& address) {
        datagram_end here;
        failure why;
        const auto sending =
            here.endpoint.join(group_address(), {.role = cm::multicast_role::send_only}, why);
        INFO(why.what());
        REQUIRE(sending);
        (void)receiver_at(here, address, 1);
        here.send_to(sending, "to members");
        CHECK(here.received().text == "it came");
      });
}

TEST_CASE("An endpoint can be in several groups", "[rdma_join_multicast]") {
  need_datagrams();
  two_sides<transport::ud>(
      [](const ud_listener& listener) {
        datagram_end here;
        const auto first = here.endpoint.join(group_address("239.7.7.2"));
        {
          auto second = here.endpoint.join(group_address("239.7.7.3"));
          const auto moved = std::move(second);
          expect(!second, "the membership moved");
          reached(1, listener, here);
          expect_next(here, "to the second");
          expect_next(here, "to the first");
        }
        reached(2, listener, here);
        expect_next(here, "to the first again");
      },
      [](const cm::socket_address& address) {
        const datagram_end here;
        const auto first =
            here.endpoint.join(group_address("239.7.7.2"), {.role = cm::multicast_role::send_only});
        const auto second =
            here.endpoint.join(group_address("239.7.7.3"), {.role = cm::multicast_role::send_only});
        (void)receiver_at(here, address, 1);
        here.send_to(second, "to the second");
        here.send_to(first, "to the first");
        (void)receiver_at(here, address, 2);
        here.send_to(second, "to the second again");
        here.send_to(first, "to the first again");
      });
}

TEST_CASE("A group that was joined twice is received until the first leave",
          "[rdma_join_multicast]") {
  need_datagrams();
  two_sides<transport::ud>(
      [](const ud_listener& listener) {
        datagram_end here;
        auto first = here.endpoint.join(group_address());
        const auto second = here.endpoint.join(group_address());
        reached(1, listener, here);
        expect_next(here, "to members");
        first.close();
        reached(2, listener, here);
        expect_next(here, "to the pair");
      },
      [](const cm::socket_address& address) {
        datagram_end here;
        const auto group = here.endpoint.join(group_address());
        (void)receiver_at(here, address, 1);
        here.send_to(group, "to members");
        const auto receiver = receiver_at(here, address, 2);
        here.send_to(group, "to no one");
        here.send_to(receiver, "to the pair");
      });
}

TEST_CASE("An identifier without a queue pair can join a group",
          "[rdma_join_multicast][rdma_leave_multicast]") {
  need_datagrams();
  const auto by_hand = group_address("239.7.7.4");
  const auto channel = cm::event_channel::create();
  const auto id = cm::identifier::create(channel, cm::port_space::udp);
  id.bind(device_address());
  int context = 0;
  id.join_multicast(by_hand, cm::multicast_role::full_member, &context);
  auto event = channel.next_event(std::chrono::seconds{10});
  REQUIRE(event);
  REQUIRE(event->type() == cm::event_type::multicast_join);
  CHECK(event->join_context() == &context);
  CHECK(event->private_data().empty());
  cm::multicast_membership group{adopt, id, by_hand, *event, id.protection_domain()};
  const datagram_end sender;
  datagram_end receiver;
  const auto receiving = receiver.endpoint.join(by_hand);
  // The domains of the two are librdmacm's, one for the device.
  sender.send_to(group, "to members");
  CHECK(receiver.received().text == "to members");
  group.close();
  failure why;
  id.leave_multicast(by_hand, why);
  CHECK(why.code() == std::errc::address_not_available);
}

TEST_CASE("The event reports a group that librdmacm cannot attach", "[rdma_join_multicast]") {
  need_datagrams();
  const datagram_end here;
  here.endpoint.identifier().join_multicast(device_address());
  std::optional<cm::event> event;
  while (!event) event = here.endpoint.next_event();
  CHECK(event->type() == cm::event_type::multicast_error);
  CHECK(event->status() == -1);
  event.reset();
  here.endpoint.identifier().leave_multicast(device_address());
}

TEST_CASE("A refused join explains what is wrong with the group", "[rdma_join_multicast]") {
  need_datagrams();
  const datagram_end here;
  failure why;
  CHECK(!here.endpoint.join(cm::socket_address{}, {}, why));
  CHECK(why.code() == std::errc::invalid_argument);
  CHECK(!here.endpoint.join(device_address(), {}, why));
  CHECK(why.verb() == "rdma_join_multicast");
  CHECK(why.code() == std::errc::invalid_argument);
  CHECK(std::string_view{why.what()}.find("is not a multicast address") != std::string::npos);
  CHECK(!here.endpoint.join(group_address("ff0e::1234"), {}, why));
  INFO(why.what());
  CHECK(std::string_view{why.what()}.find("not over RoCE v2") != std::string::npos);
}

TEST_CASE("An endpoint with a membership fails to close with EBUSY") {
  need_datagrams();
  std::optional<datagram_end> here{std::in_place};
  auto group = here->endpoint.join(group_address());
  failure why;
  here->endpoint.close(why);
  CHECK(why.code() == std::errc::device_or_resource_busy);
  CHECK(std::string_view{why.what()}.find("multicast membership") != std::string::npos);
  group.close();
}
