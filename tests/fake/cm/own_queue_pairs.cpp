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

/// How often a pair is changed until it is in RTR.
constexpr std::size_t rtr_changes = 2;

/// What the program makes by itself, on a context that it opened.
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

TEST_CASE_METHOD(fixture, "an answer that does not come in time is waited for again",
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
  manager.raise(ready.id().native_handle(), {RDMA_CM_EVENT_CONNECT_RESPONSE, 0, "welcome"});
  const auto connection = ready.connect({}, 1s, why);
  CHECK_FALSE(why);
  REQUIRE(connection);
  CHECK(connection.private_data().size() == 7);
  CHECK(state_of(connection) == IBV_QPS_RTS);
  CHECK(machine.count<called::rdma_connect>() == 1);
  CHECK(machine.count<called::rdma_establish>() == 1);
}

TEST_CASE_METHOD(fixture, "a confirmation that does not come in time is waited for again",
                 "[rdma_accept]") {
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
  manager.raise(ready.id().native_handle(), {RDMA_CM_EVENT_ESTABLISHED});
  CHECK(ready.accept({}, 1s, why));
  CHECK_FALSE(why);
  CHECK(machine.count<called::rdma_accept>() == 1);
}

TEST_CASE_METHOD(fixture, "connecting goes on from the call that failed",
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
  CHECK(connection.private_data().size() == 7);
  CHECK(state_of(connection) == IBV_QPS_RTS);
}

TEST_CASE_METHOD(fixture, "a pair that came as far as RTR goes on from there",
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

TEST_CASE_METHOD(fixture, "a pair lets the peer do what both sides agreed on",
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

TEST_CASE_METHOD(fixture, "on InfiniBand a pair is not given what RoCE alone has",
                 "[rdma_init_qp_attr]") {
  machine.devices.at(0).ports.at(0).attributes.link_layer = IBV_LINK_LAYER_INFINIBAND;
  CHECK(ready_to_connect().connect());
  CHECK(ready_to_accept().accept());
}

TEST_CASE_METHOD(fixture, "a pair comes back from a connector that has failed, and connects anew",
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

TEST_CASE_METHOD(fixture, "enhancements are offered, and what the peer answers is set",
                 "[rdma_set_local_ece][rdma_get_remote_ece][ibv_set_ece]") {
  auto ready = ready_to_connect();
  ready.offer_enhancements({.vendor_id = 0x1405, .options = 0x10});
  CHECK(last<called::rdma_set_local_ece>().options.vendor_id == 0x1405);
  CHECK(last<called::rdma_set_local_ece>().options.options == 0x10);
  // The answer is set before RTR, and once: connecting goes on behind it.
  bool before_rtr = false;
  machine.before<called::set_ece>([&] { before_rtr = state_of(ready) == IBV_QPS_INIT; });
  machine.fail<called::rdma_establish>(EIO);
  std::error_code code;
  CHECK_FALSE(ready.connect({}, 1s, code));
  CHECK(ready.connect());
  CHECK(before_rtr);
  CHECK(machine.count<called::set_ece>() == 1);
  // What the fake's peers answer.
  CHECK(last<called::set_ece>().options.vendor_id == 0x1234);
  CHECK(last<called::set_ece>().options.options == 0x5);
}

TEST_CASE_METHOD(fixture, "enhancements that are not offered are not asked for") {
  CHECK(ready_to_connect().connect());
  CHECK(machine.count<called::rdma_get_remote_ece>() == 0);
  CHECK(machine.count<called::set_ece>() == 0);
}

TEST_CASE_METHOD(fixture, "enhancements that a request offers are agreed to",
                 "[rdma_set_local_ece][rdma_get_remote_ece][ibv_set_ece]") {
  auto request = requested(waiting);
  const adverb::connection_enhancements offered = request.id().remote_enhancements();
  CHECK(offered.vendor_id == 0x1234);
  fresh_pair pair = side.make();
  request.id().set_local_enhancements(pair.set_enhancements(offered));
  CHECK(last<called::rdma_set_local_ece>().options.vendor_id == 0x1234);
  CHECK(request.use_queue_pair(std::move(pair)).accept());
}

TEST_CASE_METHOD(fixture, "a connection of one's own pair knows what it is made of, and is drained",
                 "[ibv_poll_cq]") {
  auto connection = ready_to_connect().connect();
  CHECK(connection.context().native_handle() == side.device.native_handle());
  CHECK(connection.protection_domain().native_handle() == side.domain.native_handle());
  CHECK(connection.send_completion_queue().native_handle() == side.queue.native_handle());
  CHECK(connection.receive_completion_queue().native_handle() == side.queue.native_handle());
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

TEST_CASE_METHOD(fixture, "a connection of one's own pair is closed by hand",
                 "[ibv_destroy_qp][rdma_destroy_id]") {
  auto connection = ready_to_connect().connect();
  const adverb::failure why = reported([&] { machine.fail<called::rdma_destroy_id>(EIO); },
                                       [&](auto&&... policy) { connection.close(policy...); });
  CHECK(why.verb() == "rdma_destroy_id");
  connection.close();
  CHECK_FALSE(connection);
}
