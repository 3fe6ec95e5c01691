// SPDX-License-Identifier: MIT
// Multicast groups: how they are joined and left, and what fails between the two.
#include <cerrno>
#include <chrono>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include <support/catch.hpp>
#include <support/reported.hpp>
#include <support/told_failures.hpp>

#include "cm_bench.hpp"

namespace {

namespace cm = adverb::cm;
using adverb::timeout;

const cm::socket_address group = *cm::socket_address::parse("239.7.7.1", 0);
const cm::socket_address other_group = *cm::socket_address::parse("239.7.7.2", 0);

/// An identifier that is bound, without a queue pair.
struct by_hand : cm_bench {
  cm::event_channel channel = cm::event_channel::create();
  cm::identifier id = cm::identifier::create(channel, cm::port_space::udp);

  by_hand() { id.bind(here); }
  /// Begins to join, and takes the event.
  [[nodiscard]] cm::event joined(cm::multicast_role role = cm::multicast_role::full_member,
                                 void* context = nullptr) {
    id.join_multicast(group, role, context);
    return *channel.next_event();
  }
};

struct member : cm_bench {
  cm::datagram_endpoint endpoint = cm::datagram_endpoint::create(here);

  [[nodiscard]] std::size_t left() const { return machine.count<called::rdma_leave_multicast>(); }
};

}  // namespace

TEST_CASE_METHOD(by_hand, "full and send-only members are joined with their context pointers",
                 "[rdma_join_multicast][rdma_join_multicast_ex][rdma_leave_multicast]") {
  int mine = 0;
  int another = 0;
  machine.name("mine", mine);
  machine.name("another", another);
  CHECK_THAT((machine.lines_of<called::rdma_join_multicast, called::rdma_join_multicast_ex,
                               called::rdma_leave_multicast>([&] {
               CHECK(joined(cm::multicast_role::full_member, &mine).join_context() == &mine);
               id.leave_multicast(group);
               CHECK(joined(cm::multicast_role::send_only, &another).join_context() == &another);
               id.leave_multicast(group);
             })),
             is_log(R"(
    rdma_join_multicast id0 addr=239.7.7.1:0 context=mine
    rdma_leave_multicast id0 addr=239.7.7.1:0
    rdma_join_multicast_ex id0 addr=239.7.7.1:0 join_flags=SENDONLY_FULLMEMBER context=another
    rdma_leave_multicast id0 addr=239.7.7.1:0)"));
}

TEST_CASE_METHOD(by_hand, "a failed multicast call names the group",
                 "[rdma_join_multicast][rdma_join_multicast_ex][rdma_leave_multicast]") {
  const std::string rest = " 239.7.7.1 on fake0 10.0.0.1:7471: EIO (Input/output error)";
  using enum cm::multicast_role;
  CHECK(message_of<called::rdma_join_multicast>(EIO, [&](auto&&... policy) {
          id.join_multicast(group, full_member, nullptr, policy...);
        }) == "rdma_join_multicast" + rest);
  CHECK(message_of<called::rdma_join_multicast_ex>(EIO, [&](auto&&... policy) {
          id.join_multicast(group, send_only, nullptr, policy...);
        }) == "rdma_join_multicast_ex" + rest);
  CHECK(message_of<called::rdma_leave_multicast>(EIO, [&](auto&&... policy) {
          id.leave_multicast(group, policy...);
        }) == "rdma_leave_multicast" + rest);
}

TEST_CASE_METHOD(member, "the groups of a removed device are left without a failure",
                 "[rdma_leave_multicast]") {
  const told_failures told;
  {
    const cm::multicast_membership joined = endpoint.join(group);
    machine.fail_by([](const fake::call& made) {
      const std::string line = made.line();
      const bool concerns_device =
          line.starts_with("rdma_leave_multicast") || line.starts_with("rdma_init_qp_attr");
      return concerns_device ? ENXIO : 0;
    });
  }
  machine.fail_nothing();
  CHECK(told.messages().empty());
  CHECK(left() == 1);
  {
    const cm::multicast_membership joined = endpoint.join(group);
    machine.fail<called::rdma_leave_multicast>(ENXIO);
  }
  REQUIRE(told.messages().size() == 1);
  CHECK(told.messages()[0] ==
        "rdma_leave_multicast 239.7.7.1 on fake0 10.0.0.1:7471: ENXIO (No such device or "
        "address)");
}

TEST_CASE_METHOD(by_hand, "a failed join explains what is wrong with the group",
                 "[rdma_join_multicast]") {
  const auto why_not = [&](const cm::identifier& who, const cm::socket_address& to, int error) {
    machine.fail<called::rdma_join_multicast>(error);
    adverb::failure failed;
    who.join_multicast(to, cm::multicast_role::full_member, nullptr, failed);
    CHECK(failed.code().value() == error);
    return std::string{failed.explanation()};
  };
  const auto why = [&](const cm::identifier& who, const char* to, int error) {
    return why_not(who, *cm::socket_address::parse(to, 0), error);
  };
  constexpr int not_supported = 524;
  const std::string no_group =
      "it is not a multicast address: those are 224.0.0.0 to 239.255.255.255, and ff00::/8";
  const std::string no_device =
      "the identifier has no device yet: bind() or resolve_address() first";
  const std::string no_ipv6 =
      "Linux joins IPv6 groups over InfiniBand and RoCE v1, and not over RoCE v2";
  CHECK(why(id, "239.7.7.1", EINVAL).empty());
  CHECK(why(id, "239.7.7.1", not_supported).empty());
  machine.fail<called::rdma_init_qp_attr>(ENXIO);
  CHECK(why(id, "239.7.7.1", ENXIO) == "the device was removed");
  CHECK(why(id, "10.0.0.2", EINVAL) == no_group);
  CHECK(why(id, "fe80::1", EINVAL) == no_group);
  CHECK(why(id, "ff0e::1", EINVAL).empty());
  CHECK(why(id, "ff0e::1", not_supported) == no_ipv6);
  // There is no explanation for a destination without an IP address.
  CHECK(why_not(id, {adverb::gid{}, cm::service_id{1}}, EINVAL).empty());
  CHECK(why_not(id, {}, EINVAL).empty());
  const cm::identifier nowhere = cm::identifier::create(channel, cm::port_space::udp);
  CHECK(why(nowhere, "239.7.7.1", EINVAL) == no_device);
  CHECK(why(nowhere, "10.0.0.2", EINVAL) == no_device + "; " + no_group);
}

TEST_CASE_METHOD(member, "a membership is a destination until it is left",
                 "[rdma_join_multicast][rdma_leave_multicast]") {
  cm::multicast_membership joined;
  CHECK_THAT(
      (machine.lines_of<called::rdma_join_multicast, called::attach_mcast, called::create_ah>(
          [&] { joined = endpoint.join(group); })),
      is_log(R"(
    rdma_join_multicast id0 addr=239.7.7.1:0 context=unnamed
    ibv_attach_mcast qp0 gid=ff0e::ef07:701 lid=0xc001
    ibv_create_ah pd0 attr={port_num=1 grh={dgid=ff0e::ef07:701 sgid_index=2}})"));
  REQUIRE(joined);
  CHECK(joined.group() == group);
  CHECK(joined.identifier() == endpoint.identifier());
  CHECK(joined.queue_pair() == adverb::multicast_qp_number);
  CHECK(joined.queue_key() == cm::datagram_queue_key);
  REQUIRE(joined.address().route);
  CHECK(joined.address().route->source == adverb::gid_index{2});
  const adverb::datagram_destination there = joined;
  CHECK(there.address);

  const auto close = [&] {
    std::error_code code = std::make_error_code(std::errc::io_error);
    joined.close(code);
    CHECK_FALSE(code);
    CHECK_FALSE(joined);
    CHECK(joined.group().is_empty());
    CHECK_FALSE(joined.identifier());
  };
  CHECK_THAT(machine.lines_of(close), is_log(R"(
    ibv_destroy_ah ah0
    rdma_leave_multicast id0 addr=239.7.7.1:0
    ibv_detach_mcast qp0 gid=ff0e::ef07:701 lid=0xc001)"));
  CHECK_THAT(machine.lines_of(close), is_log({}));
}

TEST_CASE_METHOD(by_hand, "a membership of an endpoint sends from the domain of its pair",
                 "[ibv_create_ah]") {
  const adverb::protection_domain own{id.context()};
  const auto endpoint = cm::datagram_endpoint::create(here.with_port(0), {}, own);
  const auto joined = endpoint.join(group);
  CHECK(machine.line<called::create_ah>().starts_with("ibv_create_ah pd1 "));
}

TEST_CASE_METHOD(member, "a send-only member attaches no queue pair", "[rdma_join_multicast_ex]") {
  cm::multicast_membership joined;
  const auto join = [&] { joined = endpoint.join(group, {.role = cm::multicast_role::send_only}); };
  CHECK_THAT((machine.lines_of<called::rdma_join_multicast_ex, called::rdma_join_multicast,
                               called::attach_mcast>(join)),
             is_log("rdma_join_multicast_ex id0 addr=239.7.7.1:0 join_flags=SENDONLY_FULLMEMBER "
                    "context=unnamed"));
  CHECK(joined);
}

TEST_CASE_METHOD(member, "a moved membership is left once", "[rdma_leave_multicast]") {
  auto first = endpoint.join(group);
  const auto leaves = [&](const auto& action) {
    return machine.lines_of<called::rdma_leave_multicast, called::destroy_ah>(action);
  };
  std::optional<cm::multicast_membership> second;
  CHECK_THAT(leaves([&] { second = std::move(first); }), is_log({}));
  CHECK_FALSE(first);
  CHECK(first.group().is_empty());
  CHECK(second->group() == group);

  CHECK_THAT(leaves([&] { *second = endpoint.join(other_group); }), is_log(R"(
    ibv_destroy_ah ah0
    rdma_leave_multicast id0 addr=239.7.7.1:0)"));
  CHECK(second->group() == other_group);
  cm::multicast_membership& itself = *second;
  CHECK_THAT(leaves([&] { *second = std::move(itself); }), is_log({}));
  CHECK(*second);
  CHECK_THAT(leaves([&] { second.reset(); }), is_log(R"(
    ibv_destroy_ah ah1
    rdma_leave_multicast id0 addr=239.7.7.2:0)"));
}

TEST_CASE_METHOD(member, "closing an endpoint in a group fails") {
  auto joined = endpoint.join(group);
  adverb::failure why;
  endpoint.close(why);
  CHECK(why.code() == std::errc::device_or_resource_busy);
  CHECK(std::string{why.what()}.find("1 multicast membership") != std::string::npos);
  CHECK(endpoint);
  joined.close();
  endpoint.close();
  CHECK_FALSE(endpoint);
}

TEST_CASE_METHOD(member, "join refuses an address that is not a group without a call",
                 "[rdma_join_multicast]") {
  machine.forget_calls();
  const adverb::failure why = reported([&](auto&&... policy) {
    const auto none = endpoint.join(peer, {}, policy...);
    CHECK_FALSE(none);
  });
  CHECK(why.verb() == "rdma_join_multicast");
  CHECK(why.code() == std::errc::invalid_argument);
  CHECK(std::string{why.what()}.find("rdma_join_multicast 10.0.0.2:7471 on fake0 10.0.0.1:") == 0);
  CHECK(why.explanation().find("it is not a multicast address") == 0);
  CHECK(machine.log().empty());

  const cm::datagram_endpoint empty;
  CHECK(
      reported([&](auto&&... policy) { (void)empty.join(group, {}, policy...); }).explanation() ==
      "the connection or other rdma_cm identifier is empty: moved from, closed, or never created");
}

TEST_CASE_METHOD(member, "a failed join does not leave the group", "[rdma_join_multicast]") {
  (void)failing<called::rdma_join_multicast>(
      ENOMEM, [&](auto&&... policy) { (void)endpoint.join(group, {}, policy...); });
  CHECK(left() == 0);
  endpoint.close();
}

TEST_CASE_METHOD(member, "a failed join leaves the group to release its memory in librdmacm",
                 "[rdma_join_multicast][rdma_leave_multicast]") {
  const auto answered = [&](int status) {
    const adverb::failure why = reported(
        [&] {
          manager.answer<called::rdma_join_multicast>({{RDMA_CM_EVENT_MULTICAST_ERROR, status}});
        },
        [&](auto&&... policy) {
          const auto none = endpoint.join(group, {}, policy...);
          CHECK_FALSE(none);
        });
    CHECK(why.verb() == "rdma_join_multicast");
    return why;
  };
  adverb::failure why = answered(-1);
  CHECK(why.code() == std::errc::io_error);
  CHECK(why.explanation() == "librdmacm could not attach the queue pair to the group");
  CHECK(left() == 3);
  why = answered(-ENETUNREACH);
  CHECK(why.code() == std::errc::network_unreachable);
  CHECK(why.explanation() == "possible causes: the join failed, or an earlier membership is lost");
  CHECK(left() == 6);

  manager.answer<called::rdma_join_multicast>({});
  CHECK_FALSE(endpoint.join(group, {.timeout = std::chrono::seconds{0}}, why));
  CHECK(why.code() == std::errc::timed_out);
  CHECK(why.explanation() == "no event arrived within 0 us");
  CHECK(left() == 7);
  endpoint.close();
}

TEST_CASE_METHOD(member, "the loss of a group does not affect a join in progress",
                 "[rdma_join_multicast]") {
  const auto first = endpoint.join(group);
  CHECK_FALSE(first.is_lost());
  fake::cm_event lost{RDMA_CM_EVENT_MULTICAST_ERROR, -ENETUNREACH};
  lost.datagram.qp_num = 0xffffff;
  lost.datagram.private_data = machine.calls<called::rdma_join_multicast>()[0].context;
  manager.raise(endpoint.identifier().native_handle(), lost);
  const auto second = endpoint.join(other_group);
  REQUIRE(second);
  CHECK_FALSE(second.is_lost());
  CHECK(first.is_lost());

  auto third = endpoint.join(*cm::socket_address::parse("239.7.7.3", 0));
  lost.datagram.private_data = machine.calls<called::rdma_join_multicast>()[2].context;
  manager.raise(endpoint.identifier().native_handle(), lost);
  {
    const auto event = endpoint.next_event();
    REQUIRE(event);
    CHECK(event->type() == cm::event_type::multicast_error);
  }
  const cm::multicast_membership moved = std::move(third);
  CHECK(moved.is_lost());
  CHECK_FALSE(second.is_lost());
}

TEST_CASE_METHOD(member, "start_join joins a group without blocking", "[rdma_join_multicast]") {
  auto joining = endpoint.start_join(group);
  CHECK(joining.file_descriptor() == endpoint.file_descriptor());
  const auto joined = joining.finish();
  REQUIRE(joined);
  CHECK_FALSE(joining);
  CHECK(joining.file_descriptor() == -1);

  manager.answer<called::rdma_join_multicast>({});
  auto given_up = endpoint.start_join(other_group);
  CHECK_FALSE(given_up.finish());
  REQUIRE(given_up);
  given_up = {};
  CHECK(left() == 1);
}

TEST_CASE("endpoints on a shared channel join a group", "[rdma_join_multicast]") {
  cm_bench bench;
  cm::event_channel channel = cm::event_channel::create();
  channel.set_non_blocking(true);
  auto endpoint = cm::datagram_endpoint::create(channel, cm_bench::here);
  const auto other = cm::datagram_endpoint::create(channel, cm_bench::here.with_port(7472));
  auto joining = endpoint.start_join(group);
  adverb::failure why;
  CHECK_FALSE(joining.finish(why));
  CHECK(why.code() == std::errc::invalid_argument);
  auto joining_too = other.start_join(group);
  auto event = channel.next_event();
  REQUIRE(event);
  CHECK_FALSE(joining_too.finish(*event, why));
  CHECK(why.explanation() == "the event belongs to another identifier");
  const auto joined = joining.finish(*event);
  REQUIRE(joined);
  event = channel.next_event();
  CHECK(joining_too.finish(*event));

  bench.manager.raise(endpoint.identifier().native_handle(), {RDMA_CM_EVENT_MULTICAST_ERROR});
  event = channel.next_event();
  other.note(*event);
  CHECK_FALSE(joined.is_lost());
  endpoint.note(*event);
  CHECK(joined.is_lost());
  event.reset();
}

TEST_CASE_METHOD(member, "join leaves the group if its address handle fails", "[ibv_create_ah]") {
  CHECK(failing<called::create_ah>(ENOMEM, [&](auto&&... policy) {
          const auto none = endpoint.join(group, {}, policy...);
          CHECK_FALSE(none);
        }).verb() == "ibv_create_ah");
  CHECK(left() == 3);
}

TEST_CASE_METHOD(member, "a membership that fails to leave reports the failure and becomes empty",
                 "[rdma_leave_multicast]") {
  auto joined = endpoint.join(group);
  adverb::failure why;
  machine.fail<called::rdma_leave_multicast>(EIO);
  joined.close(why);
  CHECK(std::string{why.what()}.find("rdma_leave_multicast 239.7.7.1 on fake0 10.0.0.1:") == 0);
  CHECK_FALSE(joined);

  const told_failures told;
  {
    const auto again = endpoint.join(group);
    machine.fail<called::rdma_leave_multicast>(EIO);
  }
  REQUIRE(told.messages().size() == 1);
  CHECK(told.messages()[0].find("rdma_leave_multicast 239.7.7.1 on fake0 10.0.0.1:") == 0);
  endpoint.close();
}

TEST_CASE_METHOD(by_hand, "a membership takes over its join event",
                 "[rdma_join_multicast][rdma_leave_multicast]") {
  const adverb::protection_domain own{id.context()};
  cm::event event = joined();
  {
    // Else the fake would find fault with leaving.
    const cm::multicast_membership group_of_own{adverb::adopt, id, group, event, own};
    REQUIRE(group_of_own);
    CHECK(event.native_handle() == nullptr);
    CHECK(group_of_own.queue_pair() == adverb::multicast_qp_number);
    CHECK(machine.line<called::create_ah>().starts_with("ibv_create_ah pd1 "));
    std::error_code code;
    id.close(code);
    CHECK(code == std::errc::device_or_resource_busy);
  }
  CHECK(machine.count<called::rdma_leave_multicast>() == 1);

  event = joined();
  const cm::multicast_membership in_default{adverb::adopt, id, group, event};
  CHECK(machine.line<called::create_ah>().starts_with("ibv_create_ah pd0 "));
}

TEST_CASE_METHOD(by_hand, "adopting a membership leaves the group if its address handle fails",
                 "[ibv_create_ah]") {
  std::optional<cm::event> event;
  CHECK(reported(
            [&] {
              event = joined();
              machine.fail<called::create_ah>(ENOMEM);
            },
            [&](auto&&... policy) {
              const cm::multicast_membership none{adverb::adopt, id, group, *event, {}, policy...};
              CHECK_FALSE(none);
            })
            .verb() == "ibv_create_ah");
  CHECK(machine.count<called::rdma_leave_multicast>() == 3);
  id.close();
}
