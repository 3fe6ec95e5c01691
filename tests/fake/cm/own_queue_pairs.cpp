// SPDX-License-Identifier: MIT
// Queue pairs of the program's in connections: each way in which connecting and accepting fail, and
// trying them again.
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <string>
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

using fresh_pair = adverb::queue_pair<rc, adverb::qp_state::reset>;

/// The number of changes of a pair until it is in RTR.
constexpr std::size_t rtr_changes = 2;

/// The objects that the program makes by itself, on a context that it opened.
struct own_side {
  adverb::context device = adverb::open_device();
  adverb::protection_domain domain{device};
  adverb::completion_queue queue{device, 16};

  [[nodiscard]] fresh_pair make() {
    return adverb::queue_pair<rc>::create(domain, {.send_cq = queue, .recv_cq = queue});
  }
};

struct fixture : cm_bench {
  own_side side;
  listener waiting = listener::create(here);

  [[nodiscard]] auto ready_to_connect() { return far().use_queue_pair(side.make()); }
  [[nodiscard]] auto ready_to_accept() { return requested(waiting).use_queue_pair(side.make()); }
  [[nodiscard]] ibv_qp_state state_of(const auto& holder) const {
    return holder.queue_pair().native_handle()->state;
  }
};

}  // namespace

TEST_CASE_METHOD(fixture, "a repeated connect waits again for the answer",
                 "[rdma_connect][rdma_establish]") {
  auto ready = ready_to_connect();
  manager.answer<called::rdma_connect>({});
  adverb::failure why;
  CHECK_FALSE(ready.connect({}, 1ms, why));
  CHECK(why.code() == std::errc::timed_out);
  {
    const interrupting signals;
    CHECK_FALSE(ready.connect({}, 100s, why));
    CHECK(why.code() == std::errc::interrupted);
  }
  manager.raise(ready.identifier().native_handle(), {RDMA_CM_EVENT_CONNECT_RESPONSE, 0, "welcome"});
  const auto connection = ready.connect({}, 1s, why);
  CHECK_FALSE(why);
  REQUIRE(connection);
  CHECK(connection.private_data().size() == 7);
  CHECK(state_of(connection) == IBV_QPS_RTS);
  CHECK(machine.count<called::rdma_connect>() == 1);
  CHECK(machine.count<called::rdma_establish>() == 1);
}

TEST_CASE_METHOD(fixture, "a repeated accept waits again for the confirmation", "[rdma_accept]") {
  auto ready = ready_to_accept();
  manager.answer<called::rdma_accept>({});
  adverb::failure why;
  CHECK_FALSE(ready.accept({}, 1ms, why));
  CHECK(why.code() == std::errc::timed_out);
  {
    const interrupting signals;
    CHECK_FALSE(ready.accept({}, 100s, why));
    CHECK(why.code() == std::errc::interrupted);
  }
  manager.raise(ready.identifier().native_handle(), {RDMA_CM_EVENT_ESTABLISHED});
  CHECK(ready.accept({}, 1s, why));
  CHECK_FALSE(why);
  CHECK(machine.count<called::rdma_accept>() == 1);
}

TEST_CASE_METHOD(fixture, "a repeated connect continues at the call that failed",
                 "[rdma_connect][rdma_init_qp_attr][rdma_establish]") {
  auto ready = ready_to_connect();
  const auto fails = [&](const auto& prepare, int error, ibv_qp_state reached) {
    const adverb::failure why =
        reported(prepare, [&](auto&&... policy) { (void)ready.connect({}, 1s, policy...); });
    CHECK(why.code().value() == error);
    CHECK(state_of(ready) == reached);
    CHECK(ready);
  };
  fails([&] { machine.fail<called::rdma_connect>(ENOBUFS); }, ENOBUFS, IBV_QPS_INIT);
  manager.answer<called::rdma_connect>({{RDMA_CM_EVENT_CONNECT_RESPONSE, 0, "welcome"}});
  fails([&] { machine.fail<called::rdma_init_qp_attr>(EIO); }, EIO, IBV_QPS_INIT);
  fails([&] { machine.fail<called::rdma_init_qp_attr>(EIO); }, EIO, IBV_QPS_INIT);
  fails([&] { machine.fail<called::modify_qp>(ENOMEM); }, ENOMEM, IBV_QPS_INIT);
  fails([&] { machine.fail<called::rdma_establish>(EIO); }, EIO, IBV_QPS_RTS);
  fails([&] { machine.fail<called::rdma_establish>(EIO); }, EIO, IBV_QPS_RTS);
  const auto connection = ready.connect();
  CHECK_FALSE(ready);
  const adverb::failure again =
      reported([&](auto&&... policy) { (void)ready.connect({}, 1s, policy...); });
  CHECK(again.code() == std::errc::invalid_argument);
  CHECK(connection.private_data().size() == 7);
  CHECK(state_of(connection) == IBV_QPS_RTS);
}

TEST_CASE_METHOD(fixture, "a repeated connect continues with a pair in RTR",
                 "[rdma_init_qp_attr]") {
  auto ready = ready_to_connect();
  std::error_code code;
  // The last one is that of RTS.
  machine.fail<called::modify_qp>(ENOMEM, rtr_changes + 1);
  CHECK_FALSE(ready.connect({}, 1s, code));
  CHECK(code == std::errc::not_enough_memory);
  CHECK(state_of(ready) == IBV_QPS_RTR);
  CHECK(ready.connect({}, 1s, code));
  CHECK_FALSE(code);

  auto asked = ready_to_accept();
  machine.fail<called::modify_qp>(ENOMEM, rtr_changes + 1);
  CHECK_FALSE(asked.accept({}, 1s, code));
  CHECK(state_of(asked) == IBV_QPS_RTR);
  machine.fail<called::rdma_accept>(EIO);
  CHECK_FALSE(asked.accept({}, 1s, code));
  CHECK(code == std::errc::io_error);
  CHECK(state_of(asked) == IBV_QPS_RTS);
  CHECK(asked.accept({}, 1s, code));
  CHECK_FALSE(code);
}

TEST_CASE_METHOD(fixture, "a connected pair grants the agreed remote rights",
                 "[rdma_init_qp_attr]") {
  const auto rights_of = [&](const auto& holder) {
    return machine.attributes(holder.queue_pair().native_handle()).qp_access_flags;
  };
  auto ready = ready_to_connect();
  CHECK(rights_of(ready) == 0);
  constexpr unsigned agreed = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
  CHECK(rights_of(ready.connect()) == agreed);
  CHECK(rights_of(ready_to_accept().accept()) == agreed);
}

TEST_CASE_METHOD(fixture, "on InfiniBand a pair connects without the attributes of RoCE",
                 "[rdma_init_qp_attr]") {
  machine.devices.at(0).ports.at(0).attributes.link_layer = IBV_LINK_LAYER_INFINIBAND;
  CHECK(ready_to_connect().connect());
  CHECK(ready_to_accept().accept());
}

TEST_CASE_METHOD(fixture, "a pair that was taken from a failed connector can connect again",
                 "[rdma_connect]") {
  auto ready = ready_to_connect();
  manager.answer<called::rdma_connect>({{RDMA_CM_EVENT_REJECTED, 28, "not you"}});
  adverb::failure why;
  CHECK_FALSE(ready.connect({}, 1s, why));
  CHECK(why.code() == std::errc::connection_refused);
  REQUIRE(ready.rejection());
  CHECK(ready.rejection()->private_data.size() == 7);
  ready = far().use_queue_pair(ready.take_queue_pair());
  CHECK_FALSE(ready.rejection());
  machine.fail<called::rdma_establish>(EIO);
  CHECK_FALSE(ready.connect({}, 1s, why));
  ready = far().use_queue_pair(ready.take_queue_pair());
  CHECK(state_of(ready) == IBV_QPS_INIT);
  CHECK(ready.connect());
}

TEST_CASE_METHOD(fixture, "connect offers enhancements and sets those of the answer",
                 "[rdma_set_local_ece][rdma_get_remote_ece][ibv_set_ece]") {
  auto ready = ready_to_connect();
  CHECK_THAT(log_of([&] { ready.offer_ece({.vendor_id = 0x1405, .options = 0x10}); }),
             is_log("rdma_set_local_ece id1 vendor_id=0x1405 options=0x10"));
  // The answer is set before RTR, and once: connecting goes on behind it.
  machine.fail<called::rdma_establish>(EIO);
  std::error_code code;
  machine.forget_calls();
  CHECK_FALSE(ready.connect({}, 1s, code));
  CHECK(ready.connect());
  CHECK_THAT((machine.lines<called::rdma_get_remote_ece, called::set_ece, called::modify_qp,
                            called::rdma_establish>()),
             is_log(R"(
    rdma_get_remote_ece id1
    ibv_set_ece qp0 vendor_id=0x1234 options=0x5
    ibv_modify_qp qp0 qp_state=INIT qp_access_flags=REMOTE_WRITE|REMOTE_READ pkey_index=0
      port_num=1
    ibv_modify_qp qp0 qp_state=RTR ah_attr={port_num=1 grh={dgid=:: sgid_index=2}}
      path_mtu=1024 rq_psn=0x0 min_rnr_timer=12 max_dest_rd_atomic=1 dest_qp_num=0x77
    ibv_modify_qp qp0 qp_state=RTS timeout=19 retry_cnt=6 rnr_retry=7 max_rd_atomic=1
      sq_psn=0x0
    rdma_establish id1
    rdma_establish id1
    ibv_modify_qp qp0 min_rnr_timer=12)"));
}

TEST_CASE_METHOD(fixture, "connect does not query enhancements that it did not offer") {
  CHECK(ready_to_connect().connect());
  CHECK_THAT((machine.lines<called::rdma_get_remote_ece, called::set_ece>()), is_log({}));
}

TEST_CASE_METHOD(fixture, "a request's enhancements can be set and returned",
                 "[rdma_set_local_ece][rdma_get_remote_ece][ibv_set_ece]") {
  auto request = requested(waiting);
  const adverb::ece offered = request.identifier().remote_ece();
  CHECK(offered.vendor_id == 0x1234);
  fresh_pair pair = side.make();
  request.identifier().set_local_ece(pair.set_ece(offered));
  CHECK_THAT((machine.lines<called::set_ece, called::rdma_set_local_ece>()), is_log(R"(
    ibv_set_ece qp0 vendor_id=0x1234 options=0x5
    rdma_set_local_ece id1 vendor_id=0x1234 options=0x5)"));
  CHECK(request.use_queue_pair(std::move(pair)).accept());
}

TEST_CASE_METHOD(fixture, "a connection of an own queue pair returns its parts and drains the pair",
                 "[ibv_poll_cq]") {
  auto connection = ready_to_connect().connect();
  CHECK(connection.context().native_handle() == side.device.native_handle());
  CHECK(connection.protection_domain().native_handle() == side.domain.native_handle());
  CHECK(connection.send_cq().native_handle() == side.queue.native_handle());
  CHECK(connection.recv_cq().native_handle() == side.queue.native_handle());
  connection.queue_pair().post(adverb::receive().id(7)).check();
  CHECK_FALSE(connection.has_ended());
  connection.disconnect();
  CHECK(connection.has_ended());
  std::uint64_t drained = 0;
  CHECK(connection.drain([&](const adverb::completion& each) { drained = each.id(); }) == 1);
  CHECK(drained == 7);
  CHECK(connection.take_queue_pair().native_handle()->state == IBV_QPS_RESET);
  const adverb::failure why =
      reported([&](auto&&... policy) { connection.drain([](const auto&) {}, 1s, policy...); });
  CHECK(why.code() == std::errc::invalid_argument);
}

TEST_CASE_METHOD(fixture, "a connection of the program's queue pair can be closed",
                 "[ibv_destroy_qp][rdma_destroy_id]") {
  auto connection = ready_to_connect().connect();
  const auto close = [&](auto&&... policy) { connection.close(policy...); };
  CHECK(failing<called::rdma_destroy_id>(EIO, close).verb() == "rdma_destroy_id");
  connection.close();
  CHECK_FALSE(connection);
}
