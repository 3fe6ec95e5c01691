// SPDX-License-Identifier: MIT
// Connectors: each step, each way in which it fails, and trying it again.
#include <cerrno>
#include <chrono>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>

#include <support/catch.hpp>
#include <support/reported.hpp>

#include "cm_bench.hpp"
#include "interrupting.hpp"

namespace {

namespace cm = adverb::cm;
using namespace std::chrono_literals;

constexpr auto rc = adverb::transport::rc;

const std::string between = " on fake0 10.0.0.1:40001 -> 10.0.0.2:7471: ";

struct steps : cm_bench {
  ~steps() { CHECK(manager.live_objects() == 0); }

  /// Checks how a rejection is reported and explained.
  void rejected(fake::cm_event event, std::errc code, std::string_view words,
                cm::reject_reason reason) {
    auto waiting = ready();
    manager.answer<called::rdma_connect>({std::move(event)});
    adverb::failure why;
    (void)waiting.connect({}, 1s, why);
    CHECK(why.code() == code);
    CHECK(why.explanation() == "the peer rejected the connection: " + std::string{words});
    CHECK(waiting.rejection()->reason == reason);
  }
};

}  // namespace

TEST_CASE_METHOD(steps, "each step calls its function and waits for its event",
                 "[rdma_resolve_addr][rdma_resolve_route][rdma_create_qp][rdma_connect][rdma_get_"
                 "cm_event][rdma_ack_cm_event]") {
  std::error_code code = std::make_error_code(std::errc::io_error);
  auto start = connector::create(code);
  REQUIRE_FALSE(code);
  CHECK((::fcntl(start.identifier().channel().file_descriptor(), F_GETFL) & O_NONBLOCK) != 0);

  auto at_address = start.resolve_address(peer, {.from = here, .timeout = 300ms}, code);
  REQUIRE_FALSE(code);
  CHECK_FALSE(start);
  CHECK(at_address.context().native_handle() == manager.context());
  CHECK(at_address.protection_domain().native_handle() == manager.domain());

  auto at_route = at_address.resolve_route(400ms, code);
  REQUIRE_FALSE(code);
  CHECK_FALSE(at_address);

  auto waiting = at_route.create_queue_pair({.max_recv_wr = 3}, {}, code);
  REQUIRE_FALSE(code);
  CHECK_FALSE(at_route);
  CHECK(waiting.queue_pair().native_handle()->state == IBV_QPS_INIT);
  CHECK_FALSE(waiting.rejection());

  rdma_conn_param told{};
  told.responder_resources = 9;
  told.initiator_depth = 8;
  manager.answer<called::rdma_connect>(
      {{.type = RDMA_CM_EVENT_CONNECT_RESPONSE, .private_data = "welcome", .connection = told}});
  const auto connection = waiting.connect({}, 1s, code);
  REQUIRE_FALSE(code);
  CHECK_FALSE(waiting);
  REQUIRE(connection);
  CHECK(connection.private_data().size() == 7);
  CHECK(connection.parameters().max_destination_read_atomic == 9);
  CHECK(connection.queue_pair().native_handle()->state == IBV_QPS_RTS);
  CHECK_THAT(log(), is_log(R"(
    rdma_create_event_channel
    rdma_create_id event_channel0 ps=TCP
    rdma_resolve_addr id0 src_addr=10.0.0.1:7471 dst_addr=10.0.0.2:7471 timeout_ms=300
    rdma_get_cm_event event_channel0
    rdma_ack_cm_event id0 ADDR_RESOLVED
    rdma_resolve_route id0 timeout_ms=400
    rdma_get_cm_event event_channel0
    rdma_ack_cm_event id0 ROUTE_RESOLVED
    rdma_create_qp id0 pd0 qp_type=RC cap={max_send_wr=1 max_recv_wr=3 max_send_sge=1
      max_recv_sge=1}
    rdma_connect id0 responder_resources=255 initiator_depth=255 flow_control=1 retry_count=6
      rnr_retry_count=7
    rdma_get_cm_event event_channel0
    rdma_ack_cm_event id0 ESTABLISHED)"));
}

TEST_CASE_METHOD(steps, "a step whose call failed can be repeated") {
  auto start = connector::create();
  CHECK(message_of<called::rdma_resolve_addr>(EIO, [&](auto&&... policy) {
          (void)start.resolve_address(peer, {}, policy...);
        }) == "rdma_resolve_addr 10.0.0.2:7471 on rdma_cm identifier: EIO (Input/output error)");
  REQUIRE(start);
  auto at_address = start.resolve_address(peer);
  CHECK(message_of<called::rdma_resolve_route>(ENETDOWN, [&](auto&&... policy) {
          (void)at_address.resolve_route(1s, policy...);
        }) == "rdma_resolve_route" + between + "ENETDOWN (Network is down)");
  REQUIRE(at_address);
  auto at_route = at_address.resolve_route();
  CHECK(
      message_of<called::rdma_create_qp>(
          ENOMEM, [&](auto&&... policy) { (void)at_route.create_queue_pair({}, {}, policy...); }) ==
      "rdma_create_qp" + between +
          "ENOMEM (Cannot allocate memory); possible causes: no memory is left, the device has no "
          "room for "
          "another queue pair, or the limit of locked memory (ulimit -l)");
  REQUIRE(at_route);
  auto waiting = at_route.create_queue_pair();
  CHECK(message_of<called::rdma_connect>(EIO, [&](auto&&... policy) {
          (void)waiting.connect({}, 1s, policy...);
        }) == "rdma_connect" + between + "EIO (Input/output error)");
  REQUIRE(waiting);
  CHECK(waiting.connect());
}

TEST_CASE_METHOD(steps, "a step whose event reports a failure can be repeated") {
  auto start = connector::create();
  const adverb::failure why = reported(
      [&] {
        manager.answer<called::rdma_resolve_addr>({{RDMA_CM_EVENT_ADDR_ERROR, -EHOSTUNREACH}});
      },
      [&](auto&&... policy) { (void)start.resolve_address(peer, {}, policy...); });
  CHECK(std::string{why.what()}.find("rdma_resolve_addr on 10.0.0.1:40001 -> 10.0.0.2:7471: "
                                     "EHOSTUNREACH (No route to host); ") == 0);
  CHECK(why.explanation().find("no neighbour answers for ") != std::string_view::npos);
  REQUIRE(start);
  auto at_address = start.resolve_address(peer);
  CHECK(std::string{reported(
                        [&] {
                          manager.answer<called::rdma_resolve_route>(
                              {{RDMA_CM_EVENT_ROUTE_ERROR, -ETIMEDOUT}});
                        },
                        [&](auto&&... policy) { (void)at_address.resolve_route(1s, policy...); })
                        .what()} ==
        "rdma_resolve_route" + between +
            "EHOSTUNREACH (No route to host); the path was not found; possible "
            "causes: the subnet manager does not answer, or it has no path to the address");
  REQUIRE(at_address);
  CHECK(at_address.resolve_route());
}

TEST_CASE_METHOD(steps, "a repeated step waits again for the event that did not arrive in time") {
  auto start = connector::create();
  manager.answer<called::rdma_resolve_addr>({});
  const cm::resolve_options hasty{.timeout = 1ms};
  adverb::failure why;
  CHECK_FALSE(start.resolve_address(peer, hasty, why));
  CHECK(std::string{why.what()} ==
        "rdma_resolve_addr on 10.0.0.1:40001 -> 10.0.0.2:7471: ETIMEDOUT (Connection timed out); "
        "no event arrived within 1.001 s");
  REQUIRE(start);
  manager.raise(start.identifier().native_handle(), {RDMA_CM_EVENT_ADDR_RESOLVED});
  auto at_address = start.resolve_address(peer, hasty, why);
  CHECK_FALSE(why);
  REQUIRE(at_address);
  CHECK(machine.count<called::rdma_resolve_addr>() == 1);

  manager.answer<called::rdma_resolve_route>({});
  CHECK_FALSE(at_address.resolve_route(1ms, why));
  CHECK(why.code() == std::errc::timed_out);
  manager.raise(at_address.identifier().native_handle(), {RDMA_CM_EVENT_ROUTE_RESOLVED});
  auto at_route = at_address.resolve_route(1ms, why);
  CHECK_FALSE(why);

  auto waiting = at_route.create_queue_pair();
  manager.answer<called::rdma_connect>({});
  CHECK_FALSE(waiting.connect({}, 1ms, why));
  CHECK(why.verb() == "rdma_connect");
  CHECK(why.code() == std::errc::timed_out);
  CHECK(why.explanation().find(" within 1 ms") != std::string_view::npos);
  CHECK_FALSE(waiting.connect({}, 0ms, why));
  manager.raise(waiting.identifier().native_handle(), {RDMA_CM_EVENT_CONNECT_RESPONSE});
  CHECK(waiting.connect({}, 1ms, why));
  CHECK_FALSE(why);
  CHECK(machine.count<called::rdma_connect>() == 1);
}

TEST_CASE_METHOD(steps, "the RNR timer is set after connecting, and its failure is ignored",
                 "[ibv_modify_qp]") {
  auto waiting = ready();
  machine.forget_calls();
  machine.fail<called::modify_qp>(EINVAL, 4);
  CHECK(waiting.connect({.rnr_timer = 10ms}));
  CHECK_THAT(machine.lines<called::modify_qp>(), is_log(R"(
    ibv_modify_qp qp0 qp_state=INIT qp_access_flags=REMOTE_WRITE|REMOTE_READ pkey_index=0
      port_num=1
    ibv_modify_qp qp0 qp_state=RTR ah_attr={port_num=1 grh={dgid=:: sgid_index=2}}
      path_mtu=1024 rq_psn=0x0 min_rnr_timer=12 max_dest_rd_atomic=1 dest_qp_num=0x77
    ibv_modify_qp qp0 qp_state=RTS timeout=19 retry_cnt=6 rnr_retry=7 max_rd_atomic=1
      sq_psn=0x0
    ibv_modify_qp qp0 min_rnr_timer=20)"));
}

TEST_CASE_METHOD(steps, "the RNR timer is not set on iWARP", "[ibv_modify_qp]") {
  auto waiting = ready();
  ibv_device& device = *waiting.identifier().context().native_handle()->device;
  device.transport_type = IBV_TRANSPORT_IWARP;
  machine.forget_calls();
  CHECK(waiting.connect({.rnr_timer = 10ms}));
  for (const std::string& each : machine.lines<called::modify_qp>().lines)
    CHECK(each.find("min_rnr_timer=20") == std::string::npos);
}

TEST_CASE_METHOD(steps, "a repeated step waits again after a signal handler interrupted it") {
  const interrupting signals;
  auto start = connector::create();
  manager.answer<called::rdma_resolve_addr>({});
  adverb::failure why;
  CHECK_FALSE(start.resolve_address(peer, {.timeout = 100s}, why));
  CHECK(std::string{why.what()} ==
        "rdma_resolve_addr on 10.0.0.1:40001 -> 10.0.0.2:7471: EINTR (Interrupted system call); a "
        "signal handler ran meanwhile");
  manager.raise(start.identifier().native_handle(), {RDMA_CM_EVENT_ADDR_RESOLVED});
  CHECK(start.resolve_address(peer));
  CHECK(machine.count<called::rdma_resolve_addr>() == 1);
}

TEST_CASE_METHOD(steps,
                 "resolve_address fails with EALREADY while another address is being resolved") {
  auto start = connector::create();
  manager.answer<called::rdma_resolve_addr>({});
  std::error_code code;
  (void)start.resolve_address(peer, {.timeout = 0s}, code);
  CHECK(code == std::errc::timed_out);
  const adverb::failure why =
      reported([&](auto&&... policy) { (void)start.resolve_address(here, {}, policy...); });
  CHECK(std::string{why.what()} ==
        "rdma_resolve_addr on 10.0.0.1:40001 -> 10.0.0.2:7471: EALREADY (Operation already in "
        "progress); "
        "another address is still being resolved");
  CHECK(machine.count<called::rdma_resolve_addr>() == 1);
}

TEST_CASE_METHOD(steps, "a step that failed after its timeout can be started again") {
  auto start = connector::create();
  manager.answer<called::rdma_resolve_addr>({});
  std::error_code code;
  (void)start.resolve_address(peer, {.timeout = 0s}, code);
  manager.raise(start.identifier().native_handle(), {RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT});
  (void)start.resolve_address(peer, {.timeout = 0s}, code);
  CHECK(code == std::errc::host_unreachable);
  CHECK(machine.count<called::rdma_resolve_addr>() == 1);
  CHECK(start.resolve_address(here, {}, code));
  CHECK_FALSE(code);
  CHECK(machine.count<called::rdma_resolve_addr>() == 2);
}

TEST_CASE_METHOD(steps, "a step reports a failed read of an event and can wait again") {
  auto start = connector::create();
  std::error_code code;
  machine.fail<called::rdma_get_cm_event>(EIO);
  CHECK_FALSE(start.resolve_address(peer, {}, code));
  CHECK(code == std::errc::io_error);
  CHECK(start.resolve_address(peer, {}, code));
  CHECK_FALSE(code);
  CHECK(machine.count<called::rdma_resolve_addr>() == 1);
}

TEST_CASE_METHOD(steps, "a step waits again if another thread took the event") {
  auto start = connector::create();
  machine.fail<called::rdma_get_cm_event>(EAGAIN);
  std::error_code code = std::make_error_code(std::errc::io_error);
  CHECK(start.resolve_address(peer, {}, code));
  CHECK_FALSE(code);
  CHECK(machine.count<called::rdma_get_cm_event>() == 2);
}

TEST_CASE_METHOD(steps, "moving a connector moves the step in progress") {
  auto start = connector::create();
  manager.answer<called::rdma_resolve_addr>({});
  std::error_code code;
  (void)start.resolve_address(peer, {.timeout = 0s}, code);
  CHECK(code == std::errc::timed_out);
  auto moved = std::move(start);
  // The one whose place it takes goes, the identifier before its channel.
  auto other = connector::create();
  other = std::move(moved);
  manager.raise(other.identifier().native_handle(), {RDMA_CM_EVENT_ADDR_RESOLVED});
  CHECK(other.resolve_address(peer));
  CHECK(machine.count<called::rdma_resolve_addr>() == 1);
}

TEST_CASE_METHOD(steps, "a step ignores unrelated events") {
  for (const auto type : {RDMA_CM_EVENT_ADDR_CHANGE, RDMA_CM_EVENT_TIMEWAIT_EXIT}) {
    manager.answer<called::rdma_connect>({{type}, {RDMA_CM_EVENT_CONNECT_RESPONSE}});
    CHECK(connected());
    // And when there is nothing else, the time runs out.
    auto waiting = ready();
    manager.answer<called::rdma_connect>({{type}});
    std::error_code code;
    CHECK_FALSE(waiting.connect({}, 1ms, code));
    CHECK(code == std::errc::timed_out);
  }
}

TEST_CASE_METHOD(steps, "a rejection holds its reason and private data", "[rdma_connect]") {
  auto waiting = ready();
  manager.answer<called::rdma_connect>({{RDMA_CM_EVENT_REJECTED, 28, "not you"}});
  adverb::failure why;
  CHECK_FALSE(waiting.connect({}, 1s, why));
  const std::string from = std::to_string(waiting.identifier().local_address().port());
  CHECK(std::string{why.what()} ==
        "rdma_connect on fake0 10.0.0.1:" + from +
            " -> 10.0.0.2:7471: ECONNREFUSED (Connection refused); the peer rejected the "
            "connection: the peer's program refused");
  REQUIRE(waiting);
  REQUIRE(waiting.rejection());
  CHECK(waiting.rejection()->reason == cm::reject_reason::by_the_program);
  CHECK(waiting.rejection()->private_data.size() == 7);
  CHECK(waiting.queue_pair().native_handle()->state == IBV_QPS_ERR);
}

TEST_CASE_METHOD(steps, "each reject reason has a description or a number", "[rdma_connect]") {
  const auto is_reserved = [](int reason) { return reason == 34 || reason == 36; };
  for (int reason = 1; reason <= 36; ++reason) {
    CAPTURE(reason);
    const auto known = static_cast<cm::reject_reason>(reason);
    const bool has_words = !is_reserved(reason);
    CHECK(describe(known).empty() != has_words);
    std::string words =
        has_words ? std::string{describe(known)} : "reason " + std::to_string(reason);
    if (known == cm::reject_reason::by_the_program)
      words =
          "possible causes: its program refused or ended, or listens on this port of other "
          "addresses only";
    rejected({RDMA_CM_EVENT_REJECTED, reason}, std::errc::connection_refused, words, known);
  }
}

TEST_CASE_METHOD(steps, "a rejection of iWARP has no reason") {
  rejected({RDMA_CM_EVENT_REJECTED, -ECONNREFUSED}, std::errc::connection_refused,
           "possible causes: nothing listens on that port, or the program refused",
           cm::reject_reason::unspecified);
}

TEST_CASE_METHOD(steps, "a rejection of iWARP with private data comes from the program") {
  rejected({RDMA_CM_EVENT_REJECTED, -ECONNRESET, "no room"}, std::errc::connection_reset,
           "the peer's program refused", cm::reject_reason::by_the_program);
}

TEST_CASE_METHOD(steps, "each event that ends a connect has an explanation", "[rdma_connect]") {
  const auto ended = [&](rdma_cm_event_type type, int status, std::errc code,
                         std::string_view words) {
    CAPTURE(rdma_event_str(type), status);
    auto waiting = ready();
    manager.answer<called::rdma_connect>({{type, status}});
    adverb::failure why;
    CHECK_FALSE(waiting.connect({}, 1s, why));
    CHECK(waiting);
    CHECK_FALSE(waiting.rejection());
    CHECK(why.code() == code);
    CHECK(why.explanation() == words);
  };
  constexpr std::string_view no_answer =
      "the peer did not answer; possible causes: it is down, packets are lost, or its program does "
      "not respond";
  constexpr std::string_view connect_error = "the answer was: connect error";
  using enum std::errc;
  ended(RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT, host_unreachable, no_answer);
  ended(RDMA_CM_EVENT_UNREACHABLE, 0, host_unreachable, no_answer);
  ended(RDMA_CM_EVENT_DEVICE_REMOVAL, 0, no_such_device, "the device was removed");
  ended(RDMA_CM_EVENT_DISCONNECTED, 0, connection_reset, "the peer disconnected meanwhile");
  ended(RDMA_CM_EVENT_CONNECT_ERROR, -EPROTO, protocol_error, connect_error);
  ended(RDMA_CM_EVENT_CONNECT_ERROR, 0, connection_aborted, connect_error);
}

TEST_CASE_METHOD(steps, "operations on an empty connector fail without a call") {
  machine.forget_calls();
  const auto empty_one = [](const auto& operation) {
    const adverb::failure why = reported(operation);
    CHECK(why.code() == std::errc::invalid_argument);
    CHECK(why.explanation() ==
          "the connection or other rdma_cm identifier is empty: moved from, closed, or never "
          "created");
  };
  connector start;
  cm::connector<rc, cm::step::address_resolved> at_address;
  cm::connector<rc, cm::step::route_resolved> at_route;
  cm::connector<rc, cm::step::ready> waiting;
  empty_one([&](auto&&... policy) { (void)start.resolve_address(peer, {}, policy...); });
  empty_one([&](auto&&... policy) { (void)at_address.resolve_route(1s, policy...); });
  empty_one([&](auto&&... policy) { (void)at_route.create_queue_pair({}, {}, policy...); });
  empty_one([&](auto&&... policy) { (void)waiting.connect({}, 1s, policy...); });
  CHECK(machine.log().empty());
}

TEST_CASE("connecting leaks nothing, whichever call fails") {
  const std::size_t attempts = attempts_until_nothing_fails([](cm_bench& bench) {
    const auto connection = bench.connected();
    bench.machine.fail_nothing();
  });
  // The channel, the identifier, three events, six objects, five changes of the pair and its calls.
  CHECK(attempts > 13);
}

TEST_CASE("steps after a failed connector pass no null object to C and leak nothing") {
  for (std::size_t nth = 1; nth < 20; ++nth) {
    go_with_failure(nth, [](cm_bench& bench) {
      std::error_code code;
      auto start = cm_bench::connector::create(code);
      auto at_address = start.resolve_address(bench.peer, {}, code);
      auto at_route = at_address.resolve_route(1s, code);
      auto waiting = at_route.create_queue_pair({}, {}, code);
      const auto connection = waiting.connect({}, 1s, code);
      bench.machine.fail_nothing();
      CHECK(static_cast<bool>(connection) == !code);
    });
  }
}
