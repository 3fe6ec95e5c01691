// SPDX-License-Identifier: MIT
// Datagram endpoints: their parts, the peers that they query, and the objects that remain after a
// failure.
#include <cerrno>
#include <chrono>
#include <string>
#include <system_error>
#include <utility>

#include <support/catch.hpp>
#include <support/reported.hpp>

#include "cm_bench.hpp"

namespace {

namespace cm = adverb::cm;

struct fixture : cm_bench {
  ~fixture() { CHECK(manager.live_objects() == 0); }
};

}  // namespace

TEST_CASE_METHOD(fixture, "a datagram endpoint creates a pair on the device of its address",
                 "[rdma_create_id][rdma_bind_addr][rdma_create_qp]") {
  auto made = cm::datagram_endpoint::create(here, {.max_send_wr = 5, .max_recv_wr = 6});
  REQUIRE(made);
  CHECK_THAT(log(), is_log(R"(
    rdma_create_event_channel
    rdma_create_id event_channel0 ps=UDP
    rdma_bind_addr id0 addr=10.0.0.1:7471
    rdma_create_qp id0 pd0 qp_type=UD cap={max_send_wr=5 max_recv_wr=6 max_send_sge=1
      max_recv_sge=1})"));
  CHECK(made.identifier().native_handle()->channel == made.identifier().channel().native_handle());
  CHECK(made.queue_pair().native_handle() == made.identifier().native_handle()->qp);
  CHECK(made.queue_pair().native_handle()->state == IBV_QPS_RTS);
  CHECK(made.context().native_handle() == manager.context());
  CHECK(made.port() == adverb::port_number{1});
  CHECK(made.protection_domain().native_handle() == manager.domain());
  CHECK(made.send_cq().native_handle() == made.identifier().native_handle()->send_cq);
  CHECK(made.recv_cq().native_handle() == made.identifier().native_handle()->recv_cq);
  CHECK(made.local_address() == here);
  CHECK(made.file_descriptor() == made.identifier().channel().file_descriptor());

  const cm::datagram_endpoint moved = std::move(made);
  CHECK_FALSE(made);
  CHECK(moved);
}

TEST_CASE_METHOD(fixture, "a datagram endpoint creates its pair in the given domain",
                 "[rdma_create_qp]") {
  const adverb::context device = adverb::open_device();
  const adverb::protection_domain own{device};
  const auto made = cm::datagram_endpoint::create(here, {}, own);
  CHECK(machine.line<called::rdma_create_qp>().starts_with("rdma_create_qp id0 pd1 "));
  CHECK(made.protection_domain() == own);
}

TEST_CASE_METHOD(fixture,
                 "a datagram endpoint on the wildcard address fails because it has no device",
                 "[rdma_bind_addr]") {
  const adverb::failure why = reported([](auto&&... policy) {
    const auto none =
        cm::datagram_endpoint::create(cm::socket_address::any_ipv4(7471), {}, {}, policy...);
    CHECK_FALSE(none);
  });
  CHECK(std::string{why.what()} ==
        "rdma_create_qp on 0.0.0.0:7471: EADDRNOTAVAIL (Cannot assign requested address); the "
        "address is a wildcard: a queue pair needs that of one interface");
  CHECK(machine.count<called::rdma_create_qp>() == 0);
}

TEST_CASE("creating a datagram endpoint leaks nothing, whichever call fails") {
  const std::size_t attempts = attempts_until_nothing_fails([](cm_bench& bench) {
    const auto endpoint = cm::datagram_endpoint::create(bench.here);
    CHECK(endpoint);
    bench.machine.fail_nothing();
  });
  // The channel, the identifier, its address and its pair.
  CHECK(attempts > 4);
  for (std::size_t nth = 1; nth < attempts; ++nth)
    go_with_failure(nth, [](cm_bench& bench) {
      std::error_code code;
      const auto endpoint = cm::datagram_endpoint::create(bench.here, {}, {}, code);
      bench.machine.fail_nothing();
      CHECK(code == std::errc::not_enough_memory);
      CHECK_FALSE(endpoint);
    });
}

TEST_CASE_METHOD(fixture, "resolve_peer uses the endpoint's address and domain",
                 "[rdma_connect][ibv_create_ah]") {
  const adverb::context device = adverb::open_device();
  const adverb::protection_domain own{device};
  const auto endpoint = cm::datagram_endpoint::create(here, {}, own);
  rdma_ud_param there{};
  there.qp_num = 0x77;
  there.qkey = RDMA_UDP_QKEY;
  there.ah_attr.port_num = 1;
  there.ah_attr.is_global = 1;
  there.ah_attr.grh.sgid_index = 2;
  there.ah_attr.dlid = 3;
  manager.answer<called::rdma_connect>(
      {{.type = RDMA_CM_EVENT_ESTABLISHED, .private_data = "yes", .datagram = there}});
  machine.forget_calls();
  const auto found = endpoint.resolve_peer(
      peer, {.private_data = cm::private_data::of("hi"), .timeout = std::chrono::seconds{3}});
  REQUIRE(found);
  CHECK_THAT(log(), is_log(R"(
    rdma_create_event_channel
    rdma_create_id event_channel1 ps=UDP
    rdma_resolve_addr id1 src_addr=10.0.0.1:0 dst_addr=10.0.0.2:7471 timeout_ms=3000
    rdma_get_cm_event event_channel1
    rdma_ack_cm_event id1 ADDR_RESOLVED
    rdma_resolve_route id1 timeout_ms=3000
    rdma_get_cm_event event_channel1
    rdma_ack_cm_event id1 ROUTE_RESOLVED
    rdma_connect id1 private_data="\x02\x00hi" responder_resources=255 initiator_depth=255
      flow_control=1 retry_count=6 rnr_retry_count=7
    rdma_get_cm_event event_channel1
    rdma_ack_cm_event id1 ESTABLISHED
    rdma_destroy_id id1
    rdma_destroy_event_channel event_channel1)"));
  CHECK_THAT(machine.lines<called::create_ah>(), is_log(R"(
    ibv_create_ah pd1 attr={port_num=1 dlid=0x3 grh={dgid=:: sgid_index=2}})"));
  CHECK(found.queue_pair() == adverb::qp_number{0x77});
  CHECK(found.queue_key() == cm::datagram_queue_key);
  CHECK(found.address().destination == adverb::lid{3});
  CHECK(found.private_data().size() == 3);
}

TEST_CASE_METHOD(fixture, "next_event of an endpoint returns a pending event",
                 "[rdma_get_cm_event]") {
  const auto endpoint = cm::datagram_endpoint::create(here);
  std::error_code code = std::make_error_code(std::errc::io_error);
  CHECK_FALSE(endpoint.next_event(code));
  CHECK_FALSE(code);
  manager.raise(endpoint.identifier().native_handle(), {RDMA_CM_EVENT_MULTICAST_ERROR, -ENETDOWN});
  const auto event = endpoint.next_event();
  REQUIRE(event);
  CHECK(event->type() == cm::event_type::multicast_error);
  CHECK(event->status() == -ENETDOWN);
}

TEST_CASE_METHOD(fixture, "an endpoint whose close failed can be closed again",
                 "[rdma_destroy_id]") {
  auto endpoint = cm::datagram_endpoint::create(here);
  CHECK(failing<called::rdma_destroy_id>(EIO, [&](auto&&... policy) {
          endpoint.close(policy...);
        }).verb() == "rdma_destroy_id");
  CHECK(endpoint);
  endpoint.close();
  CHECK_FALSE(endpoint);
}
