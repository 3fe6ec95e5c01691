// SPDX-License-Identifier: MIT
// Listeners and requests: each step, each way in which it fails, and trying it again.
#include <cerrno>
#include <chrono>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <support/catch.hpp>
#include <support/reported.hpp>

#include "cm_bench.hpp"
#include "interrupting.hpp"

namespace {

namespace cm = adverb::cm;
using namespace std::chrono_literals;

constexpr auto rc = adverb::transport::rc;

struct steps : cm_bench {
  ~steps() { CHECK(manager.live_objects() == 0); }
};

}  // namespace

TEST_CASE_METHOD(steps, "a listener is bound, and listens", "[rdma_bind_addr][rdma_listen]") {
  std::error_code code = std::make_error_code(std::errc::io_error);
  const auto at = listener::create(here, {.backlog = 7}, code);
  CHECK_FALSE(code);
  REQUIRE(at);
  CHECK(at.port() == 7471);
  CHECK(at.local_address() == here);
  CHECK_THAT(log(), is_log(R"(
    rdma_create_event_channel
    rdma_create_id event_channel0 ps=TCP
    rdma_bind_addr id0 addr=10.0.0.1:7471
    rdma_listen id0 backlog=7)"));
}

TEST_CASE_METHOD(steps, "a listener on a port has an identifier for each address family",
                 "[rdma_set_option]") {
  auto at = listener::create(0, {.backlog = 7});
  CHECK(at.port() == 40001);
  CHECK(at.local_address() == cm::socket_address::any(at.port()));
  CHECK_THAT(log(), is_log(R"(
    rdma_create_event_channel
    rdma_create_id event_channel0 ps=TCP
    rdma_set_option id0 level=ID optname=ID_AFONLY optval=1 optlen=4
    rdma_bind_addr id0 addr=[::]:0
    rdma_listen id0 backlog=7
    rdma_create_id event_channel0 ps=TCP
    rdma_set_option id1 level=ID optname=ID_AFONLY optval=1 optlen=4
    rdma_bind_addr id1 addr=0.0.0.0:40001
    rdma_listen id1 backlog=7)"));
  for (const auto& each : machine.calls<called::rdma_listen>()) {
    manager.request(each.id, "hello");
    CHECK(at.next_request());
  }
  // The identifiers go before the channel that they are on.
  at = listener::create(here);
  CHECK(at.port() == 7471);
}

TEST_CASE_METHOD(steps, "a listener refuses a port that is free for one address family only") {
  const adverb::failure why =
      reported([&] { machine.fail<called::rdma_bind_addr>(EADDRNOTAVAIL, 2); },
               [](auto&&... policy) { (void)listener::create(7471, {}, policy...); });
  CHECK(std::string{why.what()}.find("rdma_bind_addr 0.0.0.0:7471 on ") == 0);

  CHECK(machine.count<called::rdma_bind_addr>() == 6);

  // If the kernel chooses the port, another attempt is made.
  for (const int taken : {EADDRNOTAVAIL, EADDRINUSE}) {
    machine.fail<called::rdma_bind_addr>(taken, 2);
    std::error_code code = std::make_error_code(std::errc::io_error);
    CHECK(listener::create(0, {}, code));
    CHECK_FALSE(code);
  }
  // But not where another port is no better, and not for ever.
  std::error_code code;
  machine.fail<called::rdma_bind_addr>(ENOMEM, 2);
  CHECK_FALSE(listener::create(0, {}, code));
  CHECK(code == std::errc::not_enough_memory);
  machine.before<called::rdma_bind_addr>(
      [&] { machine.fail<called::rdma_bind_addr>(EADDRNOTAVAIL); });
  machine.forget_calls();
  CHECK_FALSE(listener::create(0, {}, code));
  CHECK(code == std::errc::address_not_available);
  CHECK(machine.count<called::rdma_bind_addr>() == 8);
}

TEST_CASE_METHOD(steps, "a listener sets address reuse before bind", "[rdma_set_option]") {
  const auto first = listener::create(here, {.reuse_address = true});
  CHECK_THAT(log(), is_log(R"(
    rdma_create_event_channel
    rdma_create_id event_channel0 ps=TCP
    rdma_set_option id0 level=ID optname=ID_REUSEADDR optval=1 optlen=4
    rdma_bind_addr id0 addr=10.0.0.1:7471
    rdma_listen id0 backlog=0)"));
  CHECK(listener::create(here, {.reuse_address = true}));

  machine.forget_calls();
  const auto refused = [&](const cm::listener_options& options) {
    CHECK(failing<called::rdma_set_option>(ENOSYS, [&](auto&&... policy) {
            (void)listener::create(here, options, policy...);
          }).verb() == "rdma_set_option");
  };
  refused({.reuse_address = true});
  refused({.address_family_only = true});
  refused({.reuse_address = true, .address_family_only = true});
  CHECK(machine.count<called::rdma_bind_addr>() == 0);
}

TEST_CASE_METHOD(steps, "a listener on every IPv4 address has one identifier") {
  const auto at = listener::create(cm::socket_address::any_ipv4(7471));
  CHECK(at.local_address() == cm::socket_address::any_ipv4(7471));
  const auto six = listener::create(*cm::socket_address::parse("fe80::1%1", 7472));
  CHECK(six.port() == 7472);
  CHECK_THAT(machine.lines<called::rdma_bind_addr>(), is_log(R"(
    rdma_bind_addr id0 addr=0.0.0.0:7471
    rdma_bind_addr id1 addr=[fe80::1%1]:7472)"));
}

TEST_CASE_METHOD(steps, "a listener on a port uses only IPv4 on a machine without IPv6") {
  machine.fail<called::rdma_listen>(EAFNOSUPPORT);
  const auto at = listener::create(7471);
  CHECK(at.local_address() == cm::socket_address::any_ipv4(7471));
}

TEST_CASE_METHOD(steps, "a listener on every address can be limited to one address family") {
  const auto six = listener::create(7471, {.address_family_only = true});
  CHECK(six.local_address() == cm::socket_address::any(7471));
  CHECK_THAT(log(), is_log(R"(
    rdma_create_event_channel
    rdma_create_id event_channel0 ps=TCP
    rdma_set_option id0 level=ID optname=ID_AFONLY optval=1 optlen=4
    rdma_bind_addr id0 addr=[::]:7471
    rdma_listen id0 backlog=0)"));
  CHECK(listener::create(cm::socket_address::any_ipv4(7471), {.address_family_only = true}));
}

TEST_CASE_METHOD(steps, "listening twice on a port is reported", "[rdma_bind_addr]") {
  const auto first = listener::create(here);
  const adverb::failure why =
      reported([](auto&&... policy) { (void)listener::create(here, {}, policy...); });
  CHECK(why.verb() == "rdma_bind_addr");
  CHECK(why.code() == std::errc::address_in_use);
  CHECK(std::string{why.what()}.find("rdma_bind_addr 10.0.0.1:7471 on ") == 0);
}

TEST_CASE_METHOD(steps, "an empty address is refused", "[rdma_bind_addr]") {
  CHECK(reported([](auto&&... policy) {
          (void)listener::create(cm::socket_address{}, {}, policy...);
        }).code() == std::errc::invalid_argument);
}

TEST_CASE_METHOD(steps, "a request has its own channel and the private data of the peer",
                 "[rdma_get_cm_event][rdma_migrate_id]") {
  const auto at = listener::create(here);
  rdma_conn_param told{};
  told.responder_resources = 3;
  manager.request(at.identifier().native_handle(), "hello", told);
  std::error_code code = std::make_error_code(std::errc::io_error);
  machine.forget_calls();
  const auto request = at.next_request(1s, code);
  CHECK_THAT(log(), is_log(R"(
    rdma_get_cm_event event_channel0
    rdma_ack_cm_event id1 CONNECT_REQUEST
    rdma_create_event_channel
    rdma_migrate_id id1 event_channel1)"));
  CHECK_FALSE(code);
  REQUIRE(request);
  CHECK(request.private_data().size() == 5);
  CHECK(request.parameters().max_destination_read_atomic == 3);
  CHECK(request.peer_address().port() == 4711);
  CHECK(request.context().native_handle() == manager.context());
  CHECK(request.protection_domain().native_handle() == manager.domain());
  CHECK(request.identifier().channel() != at.identifier().channel());
  CHECK(manager.unacknowledged(at.identifier().native_handle()) == 0);
}

TEST_CASE_METHOD(steps, "later events of a request arrive on its own channel") {
  const auto at = listener::create(here);
  const auto request = requested(at);
  manager.raise(request.identifier().native_handle(), {RDMA_CM_EVENT_DISCONNECTED});
  CHECK_FALSE(at.identifier().channel().has_event());
  CHECK(request.identifier().channel().has_event());
}

TEST_CASE_METHOD(steps, "next_request reports a timeout") {
  const auto at = listener::create(here);
  const adverb::failure why =
      reported([&](auto&&... policy) { (void)at.next_request(1ms, policy...); });
  CHECK(std::string{why.what()} ==
        "listener::next_request on fake0 10.0.0.1:7471: ETIMEDOUT (Connection timed out); no event "
        "arrived within 1 ms");
  CHECK(requested(at));
}

TEST_CASE_METHOD(steps, "a signal handler ends the wait for a request") {
  const interrupting signals;
  const auto at = listener::create(here);
  for (const auto limit : {adverb::timeout::endless(), adverb::timeout{99s}}) {
    std::error_code code;
    CHECK_FALSE(at.next_request(limit, code));
    CHECK(code == std::errc::interrupted);
  }
}

TEST_CASE_METHOD(steps, "the removal of its device ends the wait for a request") {
  const auto at = listener::create(here);
  const adverb::failure why = reported(
      [&] { manager.raise(at.identifier().native_handle(), {RDMA_CM_EVENT_DEVICE_REMOVAL}); },
      [&](auto&&... policy) { (void)at.next_request(1s, policy...); });
  CHECK(why.code() == std::errc::no_such_device);
  CHECK(why.explanation() == "the device was removed");
}

TEST_CASE_METHOD(steps, "a listener ignores an address change") {
  const auto at = listener::create(here);
  manager.raise(at.identifier().native_handle(), {RDMA_CM_EVENT_ADDR_CHANGE});
  CHECK(requested(at));
}

TEST_CASE_METHOD(steps, "a request is rejected if no event channel can be created for it",
                 "[rdma_create_event_channel][rdma_migrate_id]") {
  const auto at = listener::create(here);
  const auto turned_down = [&]<class Call>(std::in_place_type_t<Call>, std::string_view verb) {
    const auto arrives = [&] {
      manager.request(at.identifier().native_handle());
      machine.fail<Call>(EIO);
    };
    const auto take = [&](auto&&... policy) {
      const auto none = at.next_request(1s, policy...);
      CHECK_FALSE(none);
    };
    machine.forget_calls();
    CHECK(reported(arrives, take).verb() == verb);
    CHECK(machine.count<called::rdma_destroy_id>() == 3);
  };
  turned_down(std::in_place_type<called::rdma_create_event_channel>, "rdma_create_event_channel");
  turned_down(std::in_place_type<called::rdma_migrate_id>, "rdma_migrate_id");
}

TEST_CASE_METHOD(steps, "connection_request::take fails for other events") {
  const auto at = listener::create(here);
  const adverb::failure why = reported([&](auto&&... policy) {
    manager.raise(at.identifier().native_handle(), {RDMA_CM_EVENT_ADDR_CHANGE});
    auto event = at.identifier().channel().next_event();
    (void)cm::connection_request<rc>::take(*event, policy...);
  });
  CHECK(why.verb() == "connection_request::take");
  CHECK(why.code() == std::errc::invalid_argument);
}

TEST_CASE_METHOD(steps, "a request is accepted step by step", "[rdma_create_qp][rdma_accept]") {
  const auto at = listener::create(here);
  auto request = requested(at, "hello");
  machine.forget_calls();
  std::error_code code = std::make_error_code(std::errc::io_error);
  auto waiting = request.create_queue_pair({.max_recv_wr = 3}, {}, code);
  CHECK_FALSE(code);
  CHECK_FALSE(request);
  CHECK(waiting.queue_pair().native_handle()->state == IBV_QPS_INIT);
  const auto connection = waiting.accept({}, 1s, code);
  CHECK_FALSE(code);
  CHECK_FALSE(waiting);
  REQUIRE(connection);
  CHECK(connection.private_data().size() == 5);
  CHECK(connection.queue_pair().native_handle()->state == IBV_QPS_RTS);
  CHECK_THAT(log(), is_log(R"(
    rdma_create_qp id1 pd0 qp_type=RC cap={max_send_wr=1 max_recv_wr=3 max_send_sge=1
      max_recv_sge=1}
    rdma_accept id1 responder_resources=255 initiator_depth=255 flow_control=1 retry_count=6
      rnr_retry_count=7
    rdma_get_cm_event event_channel1
    rdma_ack_cm_event id1 ESTABLISHED)"));
}

TEST_CASE_METHOD(steps, "a step of a request whose call fails can be tried again") {
  const auto at = listener::create(here);
  auto request = requested(at);
  CHECK(failing<called::rdma_create_qp>(ENOMEM, [&](auto&&... policy) {
          (void)request.create_queue_pair({}, {}, policy...);
        }).verb() == "rdma_create_qp");
  auto waiting = request.create_queue_pair();
  CHECK(failing<called::rdma_accept>(EIO, [&](auto&&... policy) {
          (void)waiting.accept({}, 1s, policy...);
        }).verb() == "rdma_accept");
  CHECK(waiting.accept());
}

TEST_CASE_METHOD(steps, "a repeated accept waits again for the event that did not arrive",
                 "[rdma_accept]") {
  const auto at = listener::create(here);
  auto waiting = requested(at).create_queue_pair();
  manager.answer<called::rdma_accept>({});
  const adverb::failure why =
      reported([&](auto&&... policy) { (void)waiting.accept({}, 1ms, policy...); });
  CHECK(why.code() == std::errc::timed_out);
  manager.raise(waiting.identifier().native_handle(), {RDMA_CM_EVENT_ESTABLISHED});
  CHECK(waiting.accept());
  CHECK(machine.count<called::rdma_accept>() == 1);
}

TEST_CASE_METHOD(steps, "accept reports a peer that abandons the connection") {
  const auto at = listener::create(here);
  const auto answered = [&](rdma_cm_event_type type, int status) {
    auto waiting = requested(at).create_queue_pair();
    manager.answer<called::rdma_accept>({{type, status}});
    adverb::failure why;
    CHECK_FALSE(waiting.accept({}, 1s, why));
    return why;
  };
  CHECK(answered(RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT).code() == std::errc::host_unreachable);
  CHECK(answered(RDMA_CM_EVENT_REJECTED, 4).explanation() ==
        "the peer abandoned the connection: the peer timed out");
  CHECK(answered(RDMA_CM_EVENT_DEVICE_REMOVAL, 0).code() == std::errc::no_such_device);
  // An event of success with a status is a failure.
  CHECK(answered(RDMA_CM_EVENT_ESTABLISHED, -EPROTO).code() == std::errc::protocol_error);
  CHECK(answered(RDMA_CM_EVENT_DISCONNECTED, -ETIMEDOUT).code() == std::errc::host_unreachable);
}

TEST_CASE_METHOD(steps, "a refused answer explains that the peer abandoned the connection",
                 "[rdma_create_qp][rdma_accept][rdma_reject]") {
  const auto at = listener::create(here);
  const auto refused_by_the_kernel = [&]<class Call>(Call*, const auto& operation) {
    const adverb::failure why = reported(
        [&] {
          machine.fail<Call>(EINVAL);
          machine.fail<called::rdma_init_qp_attr>(EINVAL);
        },
        operation);
    CHECK(why.code() == std::errc::invalid_argument);
    CHECK(why.explanation() ==
          "possible causes: the peer abandoned the connection, or the request is already answered");
  };
  auto request = requested(at);
  refused_by_the_kernel(static_cast<called::rdma_create_qp*>(nullptr), [&](auto&&... policy) {
    (void)request.create_queue_pair({}, {}, policy...);
  });
  auto waiting = request.create_queue_pair();
  refused_by_the_kernel(static_cast<called::rdma_accept*>(nullptr),
                        [&](auto&&... policy) { (void)waiting.accept({}, 1s, policy...); });
  refused_by_the_kernel(static_cast<called::rdma_reject*>(nullptr),
                        [&](auto&&... policy) { waiting.reject({}, policy...); });
}

TEST_CASE_METHOD(steps,
                 "accept returns a connection that has ended if the peer disconnects meanwhile",
                 "[rdma_accept]") {
  const auto at = listener::create(here);
  auto waiting = requested(at, "hello").create_queue_pair();
  manager.answer<called::rdma_accept>({{RDMA_CM_EVENT_DISCONNECTED}});
  auto connection = waiting.accept({}, 1s);
  REQUIRE(connection);
  CHECK(connection.has_ended());
  CHECK(connection.private_data().size() == 5);
  connection.wait_disconnected(0s);
  connection.disconnect(0s);
  CHECK(machine.count<called::rdma_disconnect>() == 1);
}

TEST_CASE_METHOD(steps, "accept runs the program's preparation before it accepts with the options",
                 "[rdma_create_qp][rdma_accept]") {
  const adverb::context device = adverb::open_device();
  const adverb::protection_domain own{device};
  const auto at = listener::create(here);
  manager.request(at.identifier().native_handle(), "hello");
  const cm::accept_options options{.queue_pair = {.max_recv_wr = 6},
                                   .domain = own,
                                   .connection = {.private_data = cm::private_data::of("ok")}};
  const auto connection = at.accept(options, [&](auto& ready) {
    CHECK(ready.private_data().size() == 5);
    CHECK(ready.queue_pair());
    CHECK(machine.count<called::rdma_accept>() == 0);
  });
  REQUIRE(connection);
  CHECK_THAT((machine.lines<called::rdma_create_qp, called::rdma_accept>()), is_log(R"(
    rdma_create_qp id1 pd1 qp_type=RC cap={max_send_wr=1 max_recv_wr=6 max_send_sge=1
      max_recv_sge=1}
    rdma_accept id1 private_data="\x02\x00ok" responder_resources=255 initiator_depth=255
      flow_control=1 retry_count=6 rnr_retry_count=7)"));

  // A request whose preparation fails is rejected.
  manager.request(at.identifier().native_handle());
  std::error_code code;
  CHECK_FALSE(at.accept(options, [](auto&) { return false; }, code));
  CHECK(code == std::errc::operation_canceled);
  CHECK(machine.count<called::rdma_accept>() == 1);
}

TEST_CASE_METHOD(steps, "accept has separate timeouts for the request and for its connection",
                 "[rdma_accept]") {
  const auto at = listener::create(here);
  const cm::accept_options options{.request_timeout = 20ms, .accept_timeout = 30ms};
  adverb::failure why;
  CHECK_FALSE(at.accept(options, why));
  CHECK(why.verb() == "listener::next_request");
  CHECK(why.code() == std::errc::timed_out);
  CHECK(why.explanation() == "no event arrived within 20 ms");

  manager.request(at.identifier().native_handle());
  manager.answer<called::rdma_accept>({});
  CHECK_FALSE(at.accept(options, why));
  CHECK(why.verb() == "rdma_accept");
  CHECK(why.code() == std::errc::timed_out);
  CHECK(why.explanation() == "10.0.0.2:4711 did not confirm the connection within 30 ms");
}

TEST_CASE_METHOD(steps, "reject sends private data and leaves the request empty", "[rdma_reject]") {
  const auto at = listener::create(here);
  auto request = requested(at);
  const auto reject = [&](auto&&... policy) {
    request.reject(cm::private_data::of("no"), policy...);
  };
  CHECK(failing<called::rdma_reject>(EIO, reject).verb() == "rdma_reject");
  REQUIRE(request);
  CHECK_THAT(machine.lines_of<called::rdma_reject>(reject), is_log(R"(
    rdma_reject id1 private_data="\x02\x00no")"));
  CHECK_FALSE(request);

  auto with_pair = requested(at).create_queue_pair();
  CHECK_THAT(machine.lines_of<called::rdma_reject>([&] { with_pair.reject(); }), is_log(R"(
    rdma_reject id2 private_data="")"));
  CHECK_FALSE(with_pair);
}

TEST_CASE_METHOD(steps, "operations on empty listeners and requests fail without a call") {
  machine.forget_calls();
  const auto empty_one = [](const auto& operation) {
    const adverb::failure why = reported(operation);
    CHECK(why.code() == std::errc::invalid_argument);
    CHECK(why.explanation() ==
          "the connection or other rdma_cm identifier is empty: moved from, closed, or never "
          "created");
  };
  const listener at;
  cm::connection_request<rc> request;
  cm::connection_request<rc, cm::step::ready> waiting;
  empty_one([&](auto&&... policy) { (void)at.next_request(1s, policy...); });
  empty_one([&](auto&&... policy) { (void)request.create_queue_pair({}, {}, policy...); });
  empty_one([&](auto&&... policy) { request.reject({}, policy...); });
  empty_one([&](auto&&... policy) { (void)waiting.accept({}, 1s, policy...); });
  CHECK(machine.log().empty());
}

TEST_CASE("accepting a connection leaks nothing, whichever call fails") {
  const std::size_t attempts = attempts_until_nothing_fails([](cm_bench& bench) {
    const auto at = cm_bench::listener::create(bench.here);
    const auto connection = bench.requested(at).create_queue_pair().accept();
    bench.machine.fail_nothing();
  });
  CHECK(attempts > 13);
}

TEST_CASE("steps after a failed request pass no null object to C and leak nothing") {
  for (std::size_t nth = 1; nth < 20; ++nth) {
    go_with_failure(nth, [](cm_bench& bench) {
      std::error_code code;
      const auto at = cm_bench::listener::create(bench.here, {}, code);
      if (at) bench.manager.request(at.identifier().native_handle());
      auto request = at.next_request(1s, code);
      auto waiting = request.create_queue_pair({}, {}, code);
      const auto connection = waiting.accept({}, 1s, code);
      bench.machine.fail_nothing();
      CHECK(static_cast<bool>(connection) == !code);
    });
  }
}
