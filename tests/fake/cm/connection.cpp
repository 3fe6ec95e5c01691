// SPDX-License-Identifier: MIT
// Connections: what they are of, and their end.
#include <cerrno>
#include <chrono>
#include <string>
#include <system_error>
#include <utility>

#include <support/catch.hpp>
#include <support/reported.hpp>
#include <support/told_failures.hpp>

#include "cm_bench.hpp"
#include "interrupting.hpp"

namespace {

namespace cm = adverb::cm;
using namespace std::chrono_literals;

constexpr auto rc = adverb::transport::rc;

struct fixture : cm_bench {
  cm::connection<rc> connection = connected();

  void raise(rdma_cm_event_type type, int status = 0) {
    manager.raise(connection.identifier().native_handle(), {type, status});
  }
};

}  // namespace

TEST_CASE_METHOD(fixture, "a connection returns its parts") {
  CHECK(connection.context().native_handle() == manager.context());
  CHECK(connection.protection_domain().native_handle() == manager.domain());
  CHECK(connection.queue_pair().native_handle() == connection.identifier().native_handle()->qp);
  CHECK(connection.send_cq().native_handle() == connection.identifier().native_handle()->send_cq);
  CHECK(connection.recv_cq().native_handle() == connection.identifier().native_handle()->recv_cq);
  CHECK(connection.peer_address() == peer);
  CHECK(connection.local_address().ipv4() == adverb::ipv4_address{10, 0, 0, 1});
  CHECK(connection.private_data().empty());
}

TEST_CASE_METHOD(fixture, "disconnecting waits for its event", "[rdma_disconnect]") {
  std::error_code code = std::make_error_code(std::errc::io_error);
  connection.disconnect(1s, code);
  CHECK_FALSE(code);
  CHECK(machine.count<called::rdma_disconnect>() == 1);
  CHECK(machine.calls<called::rdma_ack_cm_event>().back().type == RDMA_CM_EVENT_DISCONNECTED);
  CHECK(connection.queue_pair().native_handle()->state == IBV_QPS_ERR);
}

TEST_CASE_METHOD(
    fixture, "wait_disconnected waits for the peer's disconnect, and disconnect then answers it",
    "[rdma_disconnect]") {
  raise(RDMA_CM_EVENT_DISCONNECTED);
  std::error_code code = std::make_error_code(std::errc::io_error);
  connection.wait_disconnected(1s, code);
  CHECK_FALSE(code);
  CHECK(machine.count<called::rdma_disconnect>() == 0);
  connection.disconnect(0s, code);
  CHECK_FALSE(code);
  CHECK(machine.count<called::rdma_disconnect>() == 1);
  CHECK(connection.queue_pair().native_handle()->state == IBV_QPS_ERR);
  connection.wait_disconnected(0s);
}

TEST_CASE_METHOD(fixture, "a disconnect that was read as an event is not waited for again",
                 "[rdma_disconnect]") {
  CHECK_FALSE(connection.next_event());
  raise(RDMA_CM_EVENT_DISCONNECTED);
  CHECK(connection.next_event()->type() == cm::event_type::disconnected);
  connection.disconnect(0s);
  connection.wait_disconnected(0s);

  cm::connection<rc> moved = std::move(connection);
  moved.wait_disconnected(0s);
}

TEST_CASE_METHOD(fixture, "assigning a new connection resets the end of the previous one") {
  raise(RDMA_CM_EVENT_DISCONNECTED);
  connection.wait_disconnected(0s);
  connection = connected();
  std::error_code code;
  connection.wait_disconnected(0s, code);
  CHECK(code == std::errc::timed_out);
}

TEST_CASE_METHOD(fixture, "disconnect fails with ETIMEDOUT if the peer does not answer") {
  manager.answer<called::rdma_disconnect>({});
  adverb::failure why;
  connection.disconnect(1ms, why);
  CHECK(why.verb() == "connection::disconnect");
  CHECK(why.code() == std::errc::timed_out);
  CHECK(why.explanation() == "no event arrived within 1 ms");
  {
    const interrupting signals;
    connection.wait_disconnected(adverb::timeout::endless(), why);
    CHECK(why.code() == std::errc::interrupted);
  }
  raise(RDMA_CM_EVENT_DISCONNECTED);
  connection.wait_disconnected(1s, why);
  CHECK_FALSE(why);
}

TEST_CASE_METHOD(fixture, "disconnect fails with EHOSTUNREACH if the kernel's time limit passes") {
  manager.answer<called::rdma_disconnect>({{RDMA_CM_EVENT_DISCONNECTED, -ETIMEDOUT}});
  adverb::failure why;
  connection.disconnect(1s, why);
  CHECK(why.code() == std::errc::host_unreachable);
  CHECK(why.explanation() == "the peer did not answer the disconnect request");
  CHECK(connection.has_ended());
}

TEST_CASE_METHOD(fixture, "disconnect reports a failed call and does not wait",
                 "[rdma_disconnect]") {
  const adverb::failure why = failing<called::rdma_disconnect>(
      EINVAL, [&](auto&&... policy) { connection.disconnect(99s, policy...); });
  CHECK(why.verb() == "rdma_disconnect");
}

TEST_CASE_METHOD(fixture,
                 "timewait, a change of address or of a neighbour do not end a connection") {
  std::error_code code;
  for (const rdma_cm_event_type each :
       {RDMA_CM_EVENT_TIMEWAIT_EXIT, RDMA_CM_EVENT_ADDR_CHANGE, RDMA_CM_EVENT_UNREACHABLE}) {
    raise(each, each == RDMA_CM_EVENT_UNREACHABLE ? -ETIMEDOUT : 0);
    connection.wait_disconnected(1ms, code);
    CHECK(code == std::errc::timed_out);
    CHECK_FALSE(connection.has_ended());
  }
  raise(RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
  raise(RDMA_CM_EVENT_ADDR_CHANGE);
  connection.disconnect();
}

TEST_CASE_METHOD(fixture, "a rejection ends an established connection") {
  raise(RDMA_CM_EVENT_REJECTED, 28);
  connection.wait_disconnected(1s);
  CHECK(connection.has_ended());
  connection.disconnect(0s);
}

TEST_CASE_METHOD(fixture, "the removal of the device ends the wait for the peer's disconnect") {
  CHECK_FALSE(connection.has_ended());
  raise(RDMA_CM_EVENT_DEVICE_REMOVAL);
  adverb::failure why;
  connection.wait_disconnected(1s, why);
  CHECK(why.code() == std::errc::no_such_device);
  CHECK(why.explanation() == "the device was removed");
  CHECK(connection.has_ended());
  connection.wait_disconnected(0s, why);
  CHECK_FALSE(why);
}

TEST_CASE_METHOD(fixture, "the descriptor of a connection is readable while an event is pending") {
  CHECK(connection.file_descriptor() == connection.identifier().channel().file_descriptor());
  raise(RDMA_CM_EVENT_DEVICE_REMOVAL);
  CHECK(connection.identifier().channel().has_event());
  CHECK(connection.next_event()->type() == cm::event_type::device_removal);
}

TEST_CASE_METHOD(fixture, "closing or destroying a connection leaks nothing",
                 "[rdma_destroy_qp][rdma_destroy_id]") {
  const adverb::failure why =
      failing<called::rdma_destroy_id>(EIO, [&](auto&&... policy) { connection.close(policy...); });
  CHECK(why.verb() == "rdma_destroy_id");
  CHECK(connection);
  connection.close();
  CHECK_FALSE(connection);
  connection = connected();
  cm::connection<rc> other = connected();
  other = std::move(connection);
  other = {};
  connection = {};
  CHECK(manager.live_objects() == 0);
}

TEST_CASE_METHOD(fixture, "operations on a closed connection fail without a call") {
  connection.close();
  machine.forget_calls();
  CHECK(reported([&](auto&&... policy) { connection.disconnect(1s, policy...); }).code() ==
        std::errc::invalid_argument);
  CHECK(reported([&](auto&&... policy) { connection.wait_disconnected(1s, policy...); }).code() ==
        std::errc::invalid_argument);
  CHECK(machine.log().empty());
  cm::connection<rc> empty;
  CHECK(reported([&](auto&&... policy) { (void)empty.next_event(policy...); }).code() ==
        std::errc::invalid_argument);
  CHECK(reported([&](auto&&... policy) { empty.wait_disconnected(1s, policy...); }).code() ==
        std::errc::invalid_argument);
}
